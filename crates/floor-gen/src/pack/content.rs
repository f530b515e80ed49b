//! What a pack says, checked and ready for the generator.

use alloc::string::String;
use alloc::vec::Vec;

use super::look::Look;
use super::params::Params;
use super::vault::Vault;
use crate::form::Form;
use crate::role::RoomRole;
use crate::spec::Kind;
use crate::terrain::Terrain;

/// The kinds that the schedule draws, in the order of a theme's weights.
pub(crate) const DRAWN: [Kind; 7] =
    [Kind::Standard, Kind::Keep, Kind::Halls, Kind::Cavern, Kind::Cyclic, Kind::Maze, Kind::Event];

/// A name of a pack, as an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct NameId(pub(crate) u16);

/// Everything that a pack says about floors.
#[derive(Debug, Clone, Default)]
pub(crate) struct Content {
    /// The kind of floor 1.
    pub(crate) first: Option<Kind>,
    /// By the number of the kind, from 1.
    pub(crate) params: [Params; Kind::ALL.len()],
    pub(crate) themes: Vec<Theme>,
    /// Indices of themes, in the order of the floors.
    pub(crate) order: Vec<u8>,
    /// Leaders, followers and weights.
    pub(crate) packs: Vec<MonsterPack>,
    /// Monsters beside a boss.
    pub(crate) guards: Vec<Part>,
    /// What the scenes of a story are drawn from.
    pub(crate) beats: Vec<Beat>,
    pub(crate) plain: Vec<Choice>,
    pub(crate) fine: Vec<Choice>,
    pub(crate) traps: Vec<Choice>,
    pub(crate) key: NameId,
    pub(crate) hint: NameId,
    pub(crate) blessing: NameId,
    pub(crate) vaults: Vec<Vault>,
    pub(crate) names: Vec<String>,
}

/// The monsters, the ground and the dangers of some floors.
#[derive(Debug, Clone, Default)]
pub struct Theme {
    pub(crate) name: String,
    /// The weight of each kind of [`DRAWN`].
    pub(crate) weights: [u32; DRAWN.len()],
    pub(crate) ground: Ground,
    /// The monsters of each [`Part`].
    pub(crate) roster: [Vec<Choice>; Part::ALL.len()],
    pub(crate) look: Look,
}

/// The terrain of a theme besides bare floor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ground {
    /// Impassable.
    pub(crate) deep: Terrain,
    /// Passable.
    pub(crate) cover: [Terrain; 2],
}

impl Ground {
    pub(crate) const DEEP: [&'static str; 3] = ["chasm", "deep_water", "lava"];
    pub(crate) const COVER: [&'static str; 3] = ["grass", "rubble", "shallow_water"];

    /// The terrain of a name of one of the lists.
    pub(crate) fn terrain(name: &str) -> Terrain {
        match name {
            "chasm" => Terrain::Chasm,
            "deep_water" => Terrain::DeepWater,
            "lava" => Terrain::Lava,
            "grass" => Terrain::Grass,
            "shallow_water" => Terrain::ShallowWater,
            _ => Terrain::Rubble,
        }
    }
}

impl Default for Ground {
    fn default() -> Self {
        Self { deep: Terrain::Chasm, cover: [Terrain::Rubble; 2] }
    }
}

/// A name that is drawn by weight, from a floor number on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) name: NameId,
    pub(crate) weight: u32,
    pub(crate) from: u32,
}

/// A leader and its followers, by their parts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MonsterPack {
    pub(crate) leader: Part,
    pub(crate) follower: Part,
    pub(crate) weight: u32,
}

/// A scene that a story may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Beat {
    pub(crate) part: StoryPart,
    pub(crate) role: RoomRole,
    pub(crate) form: Form,
    /// Share of its plot's sides that it fills, in thousandths.
    pub(crate) fill: (i32, i32),
    pub(crate) weight: u32,
}

impl Beat {
    pub(crate) const ROLES: [RoomRole; 9] = [
        RoomRole::Entry,
        RoomRole::Exit,
        RoomRole::Boss,
        RoomRole::Passage,
        RoomRole::Combat,
        RoomRole::Key,
        RoomRole::Treasure,
        RoomRole::Shrine,
        RoomRole::Shop,
    ];
    pub(crate) const ROLE_NAMES: [&'static str; Self::ROLES.len()] =
        ["entry", "exit", "boss", "passage", "combat", "key", "treasure", "shrine", "shop"];

    /// Whether only the arrival is the entry, and only the departure the exit.
    pub(crate) fn has_fitting_role(&self) -> bool {
        let is = |part| self.part == part;
        match self.role {
            RoomRole::Entry => is(StoryPart::Arrival),
            RoomRole::Exit => is(StoryPart::Departure),
            _ => !is(StoryPart::Arrival) && !is(StoryPart::Departure),
        }
    }
}

/// A scene's part in a story.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StoryPart {
    Arrival,
    /// The action that rises.
    Rise,
    /// Holds the key of the gate that closes the act.
    Key,
    /// Before the gate.
    Rest,
    /// Before the departure.
    Climax,
    Departure,
    /// Beside the walk.
    Side,
}

impl StoryPart {
    pub(crate) const ALL: [Self; 7] =
        [Self::Arrival, Self::Rise, Self::Key, Self::Rest, Self::Climax, Self::Departure, Self::Side];
    /// Their names in a pack.
    pub(crate) const NAMES: [&'static str; Self::ALL.len()] =
        ["arrival", "rise", "key", "rest", "climax", "departure", "side"];
}

/// A monster's part in a fight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Brute,
    Skirmisher,
    Archer,
    Caster,
    Swarm,
    Boss,
}

impl Part {
    pub(crate) const ALL: [Self; 6] =
        [Self::Brute, Self::Skirmisher, Self::Archer, Self::Caster, Self::Swarm, Self::Boss];

    pub(crate) const NAMES: [&'static str; Self::ALL.len()] =
        ["brute", "skirmisher", "archer", "caster", "swarm", "boss"];
}

impl Content {
    pub(crate) const fn params(&self, kind: Kind) -> &Params {
        &self.params[kind as usize - 1]
    }

    /// The index of the theme of floor `number`.
    pub(crate) fn theme_of(&self, number: u32) -> usize {
        let band = number.saturating_sub(1) / self.params(Kind::Standard).schedule.floors_per_theme;
        usize::from(self.order[band as usize % self.order.len()])
    }

    pub(crate) fn name(&self, id: NameId) -> &str {
        &self.names[usize::from(id.0)]
    }
}

impl Theme {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How its floors look.
    #[must_use]
    pub const fn look(&self) -> Look {
        self.look
    }

    pub(crate) fn monsters(&self, part: Part) -> &[Choice] {
        &self.roster[part as usize]
    }
}
