//! How each kind of floor is laid out: rooms, ways, and what is shut. What stands in the rooms is common to all.

use crate::arena::Arena;
use crate::rng::Streams;
use crate::spec::{FloorSpec, Kind};
use crate::stages::survey::Unfit;

mod boss;
mod cavern;
mod court;
mod cyclic;
mod event;
mod halls;
mod keep;
mod maze;
mod refuge;
mod standard;
mod story;

/// Lays out a floor of the spec's kind.
pub(crate) fn lay_out(arena: &mut Arena, spec: &FloorSpec, streams: &Streams<'_>) -> Result<(), Unfit> {
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

pub(crate) use keep::Plot;
pub(crate) use refuge::lay_out as lay_out_refuge;
