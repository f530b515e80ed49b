//! What a pack says, checked and ready for the generator.

use alloc::string::String;
use alloc::vec::Vec;

use super::grammar::Grammar;
use super::look::Look;
pub(crate) use super::name_id::NameId;
use super::params::Params;
use super::vault::Vault;
use crate::form::Form;
use crate::role::RoomRole;
use crate::spec::Kind;
use crate::terrain::Terrain;

/// The kinds that the schedule draws, in the order of a theme's weights.
pub(crate) const DRAWN: [Kind; 7] =
    [Kind::Standard, Kind::Keep, Kind::Halls, Kind::Cavern, Kind::Cyclic, Kind::Maze, Kind::Event];

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
    /// What rooms are furnished as.
    pub(crate) furniture: Vec<FurnitureSet>,
    /// By the number of the role: the furniture sets for it, a bit each.
    pub(crate) sets_of_role: [u128; FurnitureSet::ROLES.len() + 1],
    pub(crate) names: Vec<String>,
    /// The place of each name in alphabetical order.
    pub(crate) ranks: Vec<u16>,
    /// What floors and rooms are called.
    pub(crate) grammar: Grammar,
    pub(crate) shown: Shown,
}

/// What a player's view shows that it leaves out otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shown {
    /// The roles of rooms.
    pub roles: bool,
    /// Monsters.
    pub monsters: bool,
    /// Loot and keys.
    pub items: bool,
    /// Traps.
    pub traps: bool,
}

impl Shown {
    pub(crate) const NAMES: [&'static str; 4] = ["roles", "monsters", "items", "traps"];
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

/// What a room may be furnished as.
#[derive(Debug, Clone, Default)]
pub(crate) struct FurnitureSet {
    pub(crate) name: NameId,
    /// The types of its pieces, by their letters from A.
    pub(crate) pieces: Vec<NameId>,
    /// The roles and kinds that it is for, a bit each by number.
    pub(crate) roles: u16,
    pub(crate) kinds: u16,
    /// The names of the themes that it is for; empty: all. And the themes of the pack, a bit each.
    pub(crate) themes: Vec<NameId>,
    pub(crate) theme_bits: u64,
    /// Whether it is for built rooms or for caves only.
    pub(crate) built: Option<bool>,
    /// Only for the room that the floor is remembered by.
    pub(crate) landmark: bool,
    /// Least and greatest cells of its room, and the least side.
    pub(crate) area: (u32, u32),
    pub(crate) side: u32,
    pub(crate) weight: u32,
    pub(crate) layers: Vec<Layer>,
    /// What stands where nothing else does.
    pub(crate) fill: Motif,
}

/// One thing that a set places, and how.
#[derive(Debug, Clone)]
pub(crate) struct Layer {
    pub(crate) how: How,
    pub(crate) motif: Motif,
    /// How many of its copies stand, in hundredths.
    pub(crate) share: u32,
    /// Cells of the room for each cluster or scattered piece.
    pub(crate) per: u32,
    /// Distance of a corner's copy from the corner, in hundredths of the room's sides.
    pub(crate) inset: u32,
    /// Side of a cluster.
    pub(crate) size: u32,
}

/// How a layer places its map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// Side by side, over the whole room.
    Rows,
    /// Along all walls; the first row stands against the wall.
    Walls,
    /// Along the two long walls.
    Sides,
    /// Along the two short walls.
    Ends,
    Middle,
    Corners,
    /// Patches whose cells are drawn from those of the map.
    Clusters,
    /// Single cells that are drawn from those of the map.
    Scatter,
}

impl How {
    pub(crate) const ALL: [Self; 8] =
        [Self::Rows, Self::Walls, Self::Sides, Self::Ends, Self::Middle, Self::Corners, Self::Clusters, Self::Scatter];
    /// Their names in a pack.
    pub(crate) const NAMES: [&'static str; Self::ALL.len()] =
        ["rows", "walls", "sides", "ends", "middle", "corners", "clusters", "scatter"];
}

/// A small map of furniture and ground.
#[derive(Debug, Clone, Default)]
pub(crate) struct Motif {
    pub(crate) width: i32,
    pub(crate) height: i32,
    /// Columns at its end and rows at its foot that are empty: the space between two copies.
    pub(crate) spare: (i32, i32),
    /// Cells that block, and pieces.
    pub(crate) blocks: u32,
    pub(crate) pieces: u32,
    /// What is walked over first. What blocks follows so that each cell touches one before it: then no gap between two
    /// parts has to be closed, which could cut a path.
    pub(crate) marks: Vec<Mark>,
}

/// A cell of a motif.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    pub(crate) x: i32,
    pub(crate) y: i32,
    pub(crate) put: Put,
}

/// What a cell of a motif gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Put {
    Nothing,
    /// A piece that one walks over.
    Over(NameId),
    /// A piece that blocks.
    Block(NameId),
    Ground(Terrain),
    /// The theme's impassable ground.
    Deep,
    /// The theme's ground cover.
    Cover,
}

impl Put {
    pub(crate) const fn blocks(self) -> bool {
        matches!(self, Self::Block(_) | Self::Deep | Self::Ground(Terrain::Pillar))
    }
}

impl FurnitureSet {
    /// By the number of the role, from 1.
    pub(crate) const ROLES: [&'static str; 11] =
        ["entry", "exit", "combat", "treasure", "key", "shrine", "shop", "boss", "vault", "secret", "passage"];
}

impl Motif {
    /// The greatest columns and rows.
    pub(crate) const MOST: usize = 15;
    /// What a cell may be besides a letter, as errors list it.
    pub(crate) const GROUND: &'static str = "`.` `~` `\"` `,` `=` `O` `*` `%`";

    /// The motif of rows of text. Letters stand for `pieces`: a large one blocks, over a small one one walks. `Err` is
    /// the first character that means nothing.
    pub(crate) fn of<'t>(rows: impl Iterator<Item = &'t str>, pieces: &[NameId]) -> Result<Self, char> {
        let (mut motif, mut blocks) = (Self::default(), Vec::new());
        let mut last = (0, 0);
        for (row, y) in rows.zip(0..) {
            for (drawn, x) in row.chars().zip(0..) {
                let piece = |first: char| pieces.get((drawn as usize).checked_sub(first as usize)?).copied();
                let put = match drawn {
                    ' ' => continue,
                    '.' => Put::Nothing,
                    '~' => Put::Ground(Terrain::ShallowWater),
                    '"' => Put::Ground(Terrain::Grass),
                    ',' => Put::Ground(Terrain::Rubble),
                    '=' => Put::Ground(Terrain::Bridge),
                    'O' => Put::Ground(Terrain::Pillar),
                    '*' => Put::Deep,
                    '%' => Put::Cover,
                    _ => match (piece('a'), piece('A')) {
                        (Some(piece), _) => Put::Over(piece),
                        (_, Some(piece)) => Put::Block(piece),
                        _ => return Err(drawn),
                    },
                };
                if put != Put::Nothing {
                    last = (last.0.max(x), last.1.max(y));
                }
                motif.pieces += u32::from(matches!(put, Put::Over(_) | Put::Block(_)));
                (if put.blocks() { &mut blocks } else { &mut motif.marks }).push(Mark { x, y, put });
            }
            motif.width = motif.width.max(row.chars().count() as i32);
            motif.height = y + 1;
        }
        motif.spare = (motif.width - 1 - last.0, motif.height - 1 - last.1);
        motif.blocks = blocks.len() as u32;
        let mut grown = motif.marks.len();
        while !blocks.is_empty() {
            let touches = |mark: &Mark| {
                let near = |other: &Mark| (other.x - mark.x).abs() <= 1 && (other.y - mark.y).abs() <= 1;
                motif.marks[grown..].iter().any(near)
            };
            let next = blocks.iter().position(touches);
            if next.is_none() {
                grown = motif.marks.len();
            }
            motif.marks.push(blocks.remove(next.unwrap_or(0)));
        }
        Ok(motif)
    }
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
