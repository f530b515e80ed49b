//! The layout of each kind of floor: rooms, connections, locks. The contents of the rooms are common to all kinds.

use crate::arena::Arena;
use crate::plan::Plan;
use crate::rng::Streams;
use crate::spec::Kind;
use crate::stages::kind_rules::KindRules;
use crate::stages::survey::LayoutRejected;

mod avenues;
mod boss;
mod cavern;
mod court;
mod cyclic;
mod event;
mod fallback;
mod halls;
mod keep;
mod maze;
mod standard;
mod story;

/// Lays out the rooms of a floor in an arena of solid rock.
pub(crate) type LayOut = fn(&mut Arena, &Plan<'_>, &Streams<'_>) -> Result<(), LayoutRejected>;

/// The layout of a kind, and what the kind decides for the shared stages.
pub(crate) const fn of(kind: Kind) -> (LayOut, KindRules) {
    match kind {
        Kind::Boss => (boss::lay_out, boss::RULES),
        Kind::Keep => (keep::lay_out, keep::RULES),
        Kind::Cavern => (cavern::lay_out, cavern::RULES),
        Kind::Maze => (maze::lay_out, maze::RULES),
        Kind::Cyclic => (cyclic::lay_out, cyclic::RULES),
        Kind::Story => (story::lay_out, story::RULES),
        Kind::Event => (event::lay_out, event::RULES),
        Kind::Halls => (halls::lay_out, halls::RULES),
        Kind::Standard => (standard::lay_out, standard::RULES),
    }
}

pub(crate) use fallback::{lay_out as lay_out_fallback, room_of as fallback_room_of};
