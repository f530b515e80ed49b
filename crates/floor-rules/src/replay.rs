//! A climb of a floor from its log.

use core::fmt;

use crate::{
    act::Act,
    event::Refusal,
    floor::{Floor, FloorError},
    hero::Hero,
    level::Level,
};

/// Why a log is none of this floor, this hero and this seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplayError {
    /// The rules cannot play on the floor.
    Floor(FloorError),
    /// A byte that is no act.
    Unknown {
        /// Its place, from 0.
        index: u32,
        /// The byte.
        byte: u8,
    },
    /// The first act that is impossible.
    Refused {
        /// Its place, from 0.
        index: u32,
        /// The act.
        act: Act,
        /// Why.
        why: Refusal,
    },
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Floor(error) => error.fmt(f),
            Self::Unknown { index, byte } => write!(f, "byte {index} of the log, {byte}, is no act"),
            Self::Refused { index, act, why } => write!(f, "act {index} of the log, {act:?}, is impossible: {why}"),
        }
    }
}

impl core::error::Error for ReplayError {}

/// Plays the acts of a log, one a byte. [`Level::next_hero`] of the result says whether it leads to the stairs.
///
/// # Errors
/// [`ReplayError`] at the first act that is impossible; after [`MAX_ACTS`](crate::MAX_ACTS) every one is.
pub fn replay(floor: &Floor<'_>, hero: &Hero, seed: u128, log: &[u8]) -> Result<Level, ReplayError> {
    let mut level = Level::new(floor, hero.clone(), seed).map_err(ReplayError::Floor)?;
    for (index, byte) in (0..).zip(log.iter().copied()) {
        let act = Act::from_byte(byte).ok_or(ReplayError::Unknown { index, byte })?;
        level.act(act).map_err(|why| ReplayError::Refused { index, act, why })?;
    }
    Ok(level)
}
