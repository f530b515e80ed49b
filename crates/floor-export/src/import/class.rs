//! The classes of things on a map.

use crate::picture::tiles::Tile;

/// What a thing on a map is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Entry,
    Exit,
    Landing,
    Room,
    Connection,
    Lock,
    Trap,
    Item,
    Spawn,
    Furniture,
}

impl Class {
    const ALL: [Self; 10] = [
        Self::Entry,
        Self::Exit,
        Self::Landing,
        Self::Room,
        Self::Connection,
        Self::Lock,
        Self::Trap,
        Self::Item,
        Self::Spawn,
        Self::Furniture,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Entry => "entry",
            Self::Exit => "exit",
            Self::Landing => "landing",
            Self::Room => "room",
            Self::Connection => "connection",
            Self::Lock => "lock",
            Self::Trap => "trap",
            Self::Item => "item",
            Self::Spawn => "spawn",
            Self::Furniture => "furniture",
        }
    }

    /// The class of a name, in whatever letters, also of several: `spawn`, `Spawn` and `Spawns`.
    pub(super) fn named(name: &str) -> Option<Self> {
        let name = name.trim().to_lowercase();
        Self::ALL.into_iter().find(|class| name == class.name() || name.strip_suffix('s') == Some(class.name()))
    }

    /// All names, for errors.
    pub(super) fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }

    /// What a tile stands for when it is placed as an object.
    pub(super) const fn of_tile(tile: Tile) -> Option<Self> {
        match tile {
            Tile::Monster => Some(Self::Spawn),
            Tile::Key(_) | Tile::Loot => Some(Self::Item),
            Tile::Trap => Some(Self::Trap),
            Tile::Locked(_) => Some(Self::Lock),
            Tile::Terrain(_) | Tile::Wall(_) => None,
        }
    }

    /// Whether its things have an archetype.
    pub(super) const fn has_archetype(self) -> bool {
        matches!(self, Self::Spawn | Self::Item | Self::Trap | Self::Furniture)
    }
}
