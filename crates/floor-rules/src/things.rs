//! Items and traps: what they are by their archetype, and what became of them.

use crate::{
    floor::{Item, Trap},
    point::Point,
};

/// An item.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Loot {
    pub(crate) at: Point,
    pub(crate) kind: LootKind,
    pub(crate) is_taken: bool,
}

/// What an item is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LootKind {
    /// The id of its lock.
    Key(u32),
    Potion,
    Bread,
    Blade,
    Elixir,
    /// These are worth their gold, too.
    Scroll(u32),
    Map(u32),
    Treasure(u32),
}

/// A trap.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pitfall {
    pub(crate) at: Point,
    pub(crate) kind: PitfallKind,
    pub(crate) state: PitfallState,
}

/// What a trap does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PitfallKind {
    Net,
    /// Turns of poison.
    Gas(u32),
    /// Damage in points.
    Blades(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PitfallState {
    Hidden,
    Seen,
    Sprung,
}

impl Loot {
    /// An archetype that these rules do not know is treasure.
    pub(crate) fn new(item: &Item<'_>) -> Self {
        let kind = match item.archetype {
            _ if item.opens_lock != 0 => LootKind::Key(item.opens_lock),
            "potion" => LootKind::Potion,
            "bread" => LootKind::Bread,
            "blade" => LootKind::Blade,
            "elixir" | "blessing" => LootKind::Elixir,
            "scroll" => LootKind::Scroll(item.value),
            "torn_map" => LootKind::Map(item.value),
            _ => LootKind::Treasure(item.value),
        };
        Self { at: item.at, kind, is_taken: false }
    }
}

impl Pitfall {
    /// An archetype that these rules do not know hurts.
    pub(crate) fn new(trap: &Trap<'_>) -> Self {
        let kind = match trap.archetype {
            "net" => PitfallKind::Net,
            "gas" => PitfallKind::Gas(3 + trap.level / 2),
            _ => PitfallKind::Blades(4 + trap.level / 2),
        };
        Self { at: trap.at, kind, state: PitfallState::Hidden }
    }
}
