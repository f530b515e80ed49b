//! The layout of each kind of floor: rooms, connections, locks. The contents of the rooms are common to all kinds.

use crate::arena::Arena;
use crate::rng::Streams;
use crate::spec::{FloorSpec, Kind};
use crate::stages::kind_rules::KindRules;
use crate::stages::survey::LayoutRejected;

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

/// Lays out a floor of the spec's kind.
pub(crate) fn lay_out(arena: &mut Arena, spec: &FloorSpec, streams: &Streams<'_>) -> Result<(), LayoutRejected> {
    match spec.kind() {
        Kind::Boss => boss::lay_out(arena, streams),
        Kind::Keep => keep::lay_out(arena, spec, streams),
        Kind::Cavern => cavern::lay_out(arena, spec, streams),
        Kind::Maze => maze::lay_out(arena, spec, streams),
        Kind::Cyclic => cyclic::lay_out(arena, spec, streams),
        Kind::Story => story::lay_out(arena, spec, streams),
        Kind::Event => event::lay_out(arena, spec, streams),
        Kind::Halls => halls::lay_out(arena, spec, streams),
        Kind::Standard => standard::lay_out(arena, spec, streams),
    }
}

/// What the kind decides for the shared stages.
pub(crate) const fn rules(kind: Kind) -> KindRules {
    match kind {
        Kind::Boss => boss::RULES,
        Kind::Keep => keep::RULES,
        Kind::Cavern => cavern::RULES,
        Kind::Maze => maze::RULES,
        Kind::Cyclic => cyclic::RULES,
        Kind::Story => story::RULES,
        Kind::Event => event::RULES,
        Kind::Halls => halls::RULES,
        Kind::Standard => standard::RULES,
    }
}

pub(crate) use fallback::lay_out as lay_out_fallback;
