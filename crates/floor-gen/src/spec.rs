//! Names a floor. A [`FloorSpec`] is always resolved and in range, so no later code checks it again.

use core::fmt;

/// Which version of which pack: the hash of its canonical form, or [`PackHash::BUILT_IN`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PackHash(pub u64);

impl PackHash {
    /// The pack that this crate contains. Its floors depend on [`GENERATOR_VERSION`](crate::GENERATOR_VERSION) alone.
    pub const BUILT_IN: Self = Self(0);
}

/// 16 hexadecimal digits.
impl fmt::Display for PackHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Names one floor by pack, tower, number, size, kind and view, all resolved and in range. A `Copy` value of 32 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FloorSpec {
    pack: PackHash,
    seed: u64,
    number: u32,
    width: u16,
    height: u16,
    kind: Kind,
    view: View,
}

impl FloorSpec {
    /// The lowest floor number.
    pub const MIN_NUMBER: u32 = 1;
    /// The highest floor number.
    pub const MAX_NUMBER: u32 = 1_000_000;
    /// The smallest width and height, in cells.
    pub const MIN_SIDE: u16 = 16;
    /// The largest width and height, in cells.
    pub const MAX_SIDE: u16 = 512;
    /// The width and height of a floor whose request names none, in cells.
    pub const DEFAULT_SIDE: u16 = 100;

    /// The floor of a request, in which a side of 0 is [`Self::DEFAULT_SIDE`]. `kind` is asked when the rest is in range.
    pub(crate) fn checked(
        pack: PackHash,
        seed: u64,
        number: u32,
        width: u32,
        height: u32,
        kind: impl FnOnce() -> Kind,
    ) -> Result<Self, SpecError> {
        if !(Self::MIN_NUMBER..=Self::MAX_NUMBER).contains(&number) {
            return Err(SpecError::Number(number));
        }
        let width = side(width).ok_or(SpecError::Width(width))?;
        let height = side(height).ok_or(SpecError::Height(height))?;
        Ok(Self { pack, seed, number, width, height, kind: kind(), view: View::Everything })
    }

    /// The pack that it belongs to.
    #[must_use]
    pub const fn pack(&self) -> PackHash {
        self.pack
    }

    /// The tower's seed.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// The number of the floor in its tower, 1 ..= 1_000_000.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// Cells from west to east, 16 ..= 512.
    #[must_use]
    pub const fn width(&self) -> u16 {
        self.width
    }

    /// Cells from north to south, 16 ..= 512.
    #[must_use]
    pub const fn height(&self) -> u16 {
        self.height
    }

    /// The kind of floor.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// What of the floor is sent. A new spec has [`View::Everything`]; the floor itself does not depend on it.
    #[must_use]
    pub const fn view(&self) -> View {
        self.view
    }

    /// The same floor in that view.
    #[must_use]
    pub const fn with_view(self, view: View) -> Self {
        Self { view, ..self }
    }

    /// Width times height.
    #[must_use]
    pub const fn cells(&self) -> usize {
        self.width as usize * self.height as usize
    }
}

/// Replaces 0 by the default side; `None` out of range.
fn side(cells: u32) -> Option<u16> {
    match u16::try_from(cells).ok()? {
        0 => Some(FloorSpec::DEFAULT_SIDE),
        n if (FloorSpec::MIN_SIDE..=FloorSpec::MAX_SIDE).contains(&n) => Some(n),
        _ => None,
    }
}

/// What of a floor is sent. The numbers are those of `floors.v1.View`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[repr(u8)]
pub enum View {
    /// The whole floor.
    #[default]
    Everything = 0,
    /// What a player may know on arrival, with a map in hand.
    Player = 1,
}

impl View {
    /// Every view, in the order of its number.
    pub const ALL: [Self; 2] = [Self::Everything, Self::Player];

    /// The view of that number, if there is one.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|view| *view as u32 == number)
    }
}

/// Defines [`Kind`] from one list of variants, numbers and names.
macro_rules! kinds {
    ($($(#[$doc:meta])* $Kind:ident = $number:literal $name:literal,)+) => {
        /// The kind of a floor. The numbers are those of `floors.v1.FloorKind`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Kind {
            $($(#[$doc])* $Kind = $number,)+
        }

        impl Kind {
            /// Every kind, in the order of its number.
            pub const ALL: [Self; [$($number),+].len()] = [$(Self::$Kind),+];
            pub(crate) const NAMES: [&'static str; Self::ALL.len()] = [$($name),+];

            /// Its name in lower case.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Kind => $name,)+
                }
            }
        }
    };
}

kinds! {
    /// Rooms and corridors, grown by accretion, with loops.
    Standard = 1 "standard",
    /// Halls side by side behind thick walls.
    Keep = 2 "keep",
    /// Large rooms far apart, joined by long corridors.
    Halls = 3 "halls",
    /// A cave.
    Cavern = 4 "cavern",
    /// A graph of cycles.
    Cyclic = 5 "cyclic",
    /// A braided maze with rooms.
    Maze = 6 "maze",
    /// A boss's arena with approach and reward.
    Boss = 7 "boss",
    /// A hand-made vault in a court.
    Event = 8 "event",
    /// Scenes in a fixed order.
    Story = 9 "story",
}

impl Kind {
    /// The kind of that number, if there is one.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u32 == number)
    }

    /// The kind whose [`name`](Self::name) is exactly `name`, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a spec does not name a floor, with the rejected value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecError {
    /// Not in [`FloorSpec::MIN_NUMBER`] ..= [`FloorSpec::MAX_NUMBER`].
    Number(u32),
    /// Not 0 nor in [`FloorSpec::MIN_SIDE`] ..= [`FloorSpec::MAX_SIDE`].
    Width(u32),
    /// Not 0 nor in [`FloorSpec::MIN_SIDE`] ..= [`FloorSpec::MAX_SIDE`].
    Height(u32),
}

impl SpecError {
    /// The name of the field that is out of range.
    #[must_use]
    pub const fn field(&self) -> &'static str {
        match self {
            Self::Number(_) => "number",
            Self::Width(_) => "width",
            Self::Height(_) => "height",
        }
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(n) => {
                write!(f, "floor number {n} is not in {} ..= {}", FloorSpec::MIN_NUMBER, FloorSpec::MAX_NUMBER)
            }
            Self::Width(n) | Self::Height(n) => write!(
                f,
                "{} {n} is not in {} ..= {} (or 0 for that of the pack)",
                self.field(),
                FloorSpec::MIN_SIDE,
                FloorSpec::MAX_SIDE
            ),
        }
    }
}

impl core::error::Error for SpecError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_found_by_its_exact_name() {
        for kind in Kind::ALL {
            assert_eq!(Kind::from_name(kind.name()), Some(kind));
        }
        for unknown in ["", "Cavern", "cavern ", "hut"] {
            assert_eq!(Kind::from_name(unknown), None, "{unknown:?}");
        }
    }
}
