//! The facts of a floor that a condition can use.

use std::cell::{OnceCell, RefCell};

use floor_gen::{Floor, FloorSpec, Generator, RoomRole, Theme};

/// Defines [`Fact`] from one list of variants, names and functions that compute the value.
macro_rules! facts {
    ($($Fact:ident = $name:literal: $value:expr,)+) => {
        /// A numeric property of a floor. A kind or theme is represented by its number.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum Fact {
            $($Fact,)+
        }

        impl Fact {
            /// All facts, in the order of the list.
            pub(crate) const ALL: [Self; [$($name),+].len()] = [$(Self::$Fact),+];

            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $(Self::$Fact => $name,)+
                }
            }

            /// The value of the fact. Generates the floor of the candidate if needed.
            pub(super) fn evaluate(self, candidate: &Candidate<'_>) -> i128 {
                let value: fn(&Candidate<'_>) -> i128 = match self {
                    $(Self::$Fact => $value,)+
                };
                value(candidate)
            }
        }
    };
}

// Those that follow from the spec come first.
facts! {
    Kind = "kind": |floor| floor.spec.kind() as i128,
    Theme = "theme": |floor| floor.theme() as i128,
    Seed = "seed": |floor| floor.spec.seed().into(),
    Number = "number": |floor| floor.spec.number().into(),
    Width = "width": |floor| floor.spec.width().into(),
    Height = "height": |floor| floor.spec.height().into(),
    Rooms = "rooms": |floor| floor.generated().rooms.len() as i128,
    Connections = "connections": |floor| floor.generated().connections.len() as i128,
    Loops = "loops": |floor| floor.generated().metrics.loops.into(),
    Locks = "locks": |floor| floor.generated().locks.len() as i128,
    Secrets = "secrets": |floor| floor.rooms(RoomRole::Secret),
    Treasures = "treasures": |floor| floor.rooms(RoomRole::Treasure),
    Vaults = "vaults": |floor| floor.rooms(RoomRole::Vault),
    Shrines = "shrines": |floor| floor.rooms(RoomRole::Shrine),
    Shops = "shops": |floor| floor.rooms(RoomRole::Shop),
    Spawns = "spawns": |floor| floor.generated().spawns.len() as i128,
    Items = "items": |floor| floor.generated().items.len() as i128,
    Traps = "traps": |floor| floor.generated().traps.len() as i128,
    Passable = "passable": |floor| floor.generated().metrics.passable_cells.into(),
    CriticalPath = "critical_path": |floor| floor.generated().metrics.critical_path.into(),
    Difficulty = "difficulty": |floor| floor.generated().metrics.difficulty.into(),
    Bytes = "bytes": |floor| floor_wire::unframed(&floor_wire::framed(floor.generated())).len() as i128,
}

impl Fact {
    /// The value as text; kinds and themes by name.
    pub(crate) fn display(self, candidate: &Candidate<'_>) -> String {
        match self {
            Self::Kind => candidate.spec.kind().name().to_owned(),
            Self::Theme => candidate.theme().name().to_owned(),
            number => number.evaluate(candidate).to_string(),
        }
    }
}

/// A floor to test against a condition. It is generated on demand.
#[derive(Debug)]
pub(crate) struct Candidate<'g> {
    pub(crate) spec: FloorSpec,
    generator: &'g RefCell<Generator>,
    floor: OnceCell<Floor>,
}

impl<'g> Candidate<'g> {
    pub(crate) const fn new(spec: FloorSpec, generator: &'g RefCell<Generator>) -> Self {
        Self { spec, generator, floor: OnceCell::new() }
    }

    /// Whether the floor was generated.
    pub(crate) fn was_generated(&self) -> bool {
        self.floor.get().is_some()
    }

    fn theme(&self) -> Theme {
        Theme::of_number(self.spec.number())
    }

    fn generated(&self) -> &Floor {
        self.floor.get_or_init(|| self.generator.borrow_mut().generate(&self.spec))
    }

    /// The number of rooms with a role.
    fn rooms(&self, role: RoomRole) -> i128 {
        self.generated().rooms.iter().filter(|room| room.role == role).count() as i128
    }
}
