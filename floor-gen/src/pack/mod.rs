//! A pack: everything about floors that a designer may change, as text files.

mod files;

use alloc::boxed::Box;
use alloc::string::String;

use once_cell::race::OnceBox;

pub use files::{FileError, Files};

use crate::schedule;
use crate::spec::{FloorSpec, Kind, PackHash, SpecError};

/// The content of floors.
#[derive(Debug)]
pub struct Pack {
    name: String,
    description: String,
    hash: PackHash,
}

impl Pack {
    /// The built-in pack, `tower`.
    #[must_use]
    pub fn tower() -> &'static Self {
        static TOWER: OnceBox<Pack> = OnceBox::new();
        TOWER.get_or_init(|| {
            Box::new(Self {
                name: "tower".into(),
                description: "The tower: seven themes, nine kinds of floor".into(),
                hash: PackHash::BUILT_IN,
            })
        })
    }

    /// Its name, `[a-z][a-z0-9-]{0,31}`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What a person reads in a list of packs.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Its version.
    #[must_use]
    pub const fn hash(&self) -> PackHash {
        self.hash
    }

    /// Resolves a request for a floor of this pack: a side of 0 becomes [`FloorSpec::DEFAULT_SIDE`], and `None` becomes
    /// the kind that the pack's schedule gives the number.
    ///
    /// # Errors
    /// The first argument that is out of range.
    pub fn resolve(
        &self,
        seed: u64,
        number: u32,
        width: u32,
        height: u32,
        kind: Option<Kind>,
    ) -> Result<FloorSpec, SpecError> {
        let kind = || kind.unwrap_or_else(|| schedule::kind_of(seed, number));
        FloorSpec::checked(self.hash, seed, number, width, height, kind)
    }
}

impl FloorSpec {
    /// [`Pack::resolve`] of the built-in pack.
    ///
    /// # Errors
    /// The first argument that is out of range.
    pub fn resolve(seed: u64, number: u32, width: u32, height: u32, kind: Option<Kind>) -> Result<Self, SpecError> {
        Pack::tower().resolve(seed, number, width, height, kind)
    }
}
