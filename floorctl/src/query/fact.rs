//! The facts of a floor that a condition can use.

use std::cell::{OnceCell, RefCell};

use floor_gen::{Floor, FloorSpec, Generator, RoomRole};

/// Defines [`Fact`] from one list of variants and names.
macro_rules! facts {
    ($($Fact:ident = $name:literal,)+) => {
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
        }
    };
}

// Those that follow from the spec come first.
facts! {
    Kind = "kind",
    Theme = "theme",
    Seed = "seed",
    Number = "number",
    Width = "width",
    Height = "height",
    Rooms = "rooms",
    Connections = "connections",
    Loops = "loops",
    Locks = "locks",
    Secrets = "secrets",
    Treasures = "treasures",
    Vaults = "vaults",
    Shrines = "shrines",
    Shops = "shops",
    Spawns = "spawns",
    Items = "items",
    Traps = "traps",
    Passable = "passable",
    CriticalPath = "critical_path",
    Difficulty = "difficulty",
    Bytes = "bytes",
}

impl Fact {
    /// The value of the fact. Generates the floor of the candidate if needed.
    pub(super) fn evaluate(self, candidate: &Candidate<'_>) -> i128 {
        let spec = &candidate.spec;
        let floor = || candidate.floor();
        let count = |len: usize| len as i128;
        let rooms = |role| floor().rooms.iter().filter(|room| room.role == role).count() as i128;
        match self {
            Self::Kind => spec.kind() as i128,
            Self::Theme => floor_gen::Theme::of_number(spec.number()) as i128,
            Self::Seed => spec.seed().into(),
            Self::Number => spec.number().into(),
            Self::Width => spec.width().into(),
            Self::Height => spec.height().into(),
            Self::Rooms => count(floor().rooms.len()),
            Self::Connections => count(floor().connections.len()),
            Self::Loops => floor().metrics.loops.into(),
            Self::Locks => count(floor().locks.len()),
            Self::Secrets => rooms(RoomRole::Secret),
            Self::Treasures => rooms(RoomRole::Treasure),
            Self::Vaults => rooms(RoomRole::Vault),
            Self::Shrines => rooms(RoomRole::Shrine),
            Self::Shops => rooms(RoomRole::Shop),
            Self::Spawns => count(floor().spawns.len()),
            Self::Items => count(floor().items.len()),
            Self::Traps => count(floor().traps.len()),
            Self::Passable => floor().metrics.passable_cells.into(),
            Self::CriticalPath => floor().metrics.critical_path.into(),
            Self::Difficulty => floor().metrics.difficulty.into(),
            Self::Bytes => count(floor_wire::unframed(&floor_wire::framed(floor())).len()),
        }
    }

    /// The value as text; kinds and themes by name.
    pub(crate) fn display(self, candidate: &Candidate<'_>) -> String {
        match self {
            Self::Kind => candidate.spec.kind().name().to_owned(),
            Self::Theme => floor_gen::Theme::of_number(candidate.spec.number()).name().to_owned(),
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

    fn floor(&self) -> &Floor {
        self.floor.get_or_init(|| self.generator.borrow_mut().generate(&self.spec))
    }
}
