//! From a spec to a floor: lay out, furnish, survey; and the plain floor that takes over when a layout does not fit.

use crate::arena::Arena;
use crate::floor::{Connection, Floor, Room};
use crate::kinds;
use crate::rng::Streams;
use crate::spec::FloorSpec;
use crate::stages::survey::Unfit;
use crate::stages::{gates, loot, monsters, roles, scenery, survey, traps};

/// Layouts tried before the refuge takes over. The first fits nearly always.
const ATTEMPTS: u32 = 4;

/// Makes floors. Keeps its scratch from floor to floor, so make one a thread and use it again.
#[derive(Debug, Default)]
pub struct Generator {
    arena: Arena,
    fallbacks: u64,
}

impl Generator {
    /// A generator that has made nothing yet and holds no memory.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The floor of that spec: always the same, and always valid.
    #[must_use]
    pub fn generate(&mut self, spec: &FloorSpec) -> Floor {
        for attempt in 0..ATTEMPTS {
            if self.attempt(spec, &Streams::new(spec, attempt)).is_ok() {
                return self.finish(spec);
            }
        }
        self.fallbacks += 1;
        self.take_refuge(spec)
    }

    /// How many floors of this generator came from the plain construction that stands in for a layout that does not
    /// fit.
    #[must_use]
    pub const fn fallbacks(&self) -> u64 {
        self.fallbacks
    }

    fn attempt(&mut self, spec: &FloorSpec, streams: &Streams) -> Result<(), Unfit> {
        self.arena.reset(spec);
        kinds::lay_out(&mut self.arena, spec, streams)?;
        furnish(&mut self.arena, spec, streams);
        survey::measure(&mut self.arena)
    }

    /// The construction that cannot fail.
    fn take_refuge(&mut self, spec: &FloorSpec) -> Floor {
        let streams = Streams::new(spec, ATTEMPTS);
        self.arena.reset(spec);
        kinds::lay_out_refuge(&mut self.arena, spec, &streams);
        furnish(&mut self.arena, spec, &streams);
        let measured = survey::measure(&mut self.arena);
        debug_assert_eq!(measured, Ok(()));
        self.finish(spec)
    }

    /// Copies the floor out of the scratch.
    fn finish(&self, spec: &FloorSpec) -> Floor {
        let arena = &self.arena;
        let room = |(id, room): (usize, &crate::arena::Chamber)| Room {
            id: id as u8,
            min: room.min,
            max: room.max,
            role: room.role,
            center: arena.point(room.center),
        };
        let connection = |way: &crate::arena::Way| Connection {
            from_room: way.from,
            to_room: way.to,
            lock_id: way.lock,
            secret: way.secret,
        };
        Floor {
            spec: *spec,
            terrain: arena.terrain.clone(),
            region: arena.region.clone(),
            entry: arena.point(arena.entry),
            exit: arena.point(arena.exit),
            rooms: arena.rooms.iter().enumerate().map(room).collect(),
            connections: arena.ways.iter().map(connection).collect(),
            spawns: arena.spawns.clone(),
            items: arena.items.clone(),
            locks: arena.locks.clone(),
            traps: arena.traps.clone(),
            metrics: arena.metrics,
        }
    }
}

/// The floor of that spec, from a fresh [`Generator`].
#[must_use]
pub fn generate(spec: &FloorSpec) -> Floor {
    Generator::new().generate(spec)
}

/// Fills the rooms of a layout.
fn furnish(arena: &mut Arena, spec: &FloorSpec, streams: &Streams) {
    gates::put_stairs(arena, &mut streams.open("stairs"));
    gates::lay_keys(arena, &mut streams.open("keys"));
    roles::assign(arena, &mut streams.open("roles"));
    scenery::dress(arena, &mut streams.open("scenery"));
    loot::lay(arena, spec.number(), &mut streams.open("loot"));
    monsters::settle(arena, spec.number(), &mut streams.open("monsters"));
    traps::set(arena, spec.number(), &mut streams.open("traps"));
}
