//! From a spec to a floor: lay out, furnish, survey; and the plain floor that takes over when a layout does not fit.

use crate::arena::{Arena, Chamber, Way};
use crate::explain::Watcher;
use crate::floor::{Connection, Floor, Room};
use crate::kinds;
use crate::rng::Streams;
use crate::spec::{FloorSpec, Kind};
use crate::stages::survey::Unfit;
use crate::stages::{gates, lakes, loot, monsters, roles, scenery, survey, traps};
use crate::theme::Theme;

/// Layouts tried before the refuge takes over. The first fits nearly always; on the least floors, where a vault or a second
/// room finds its place in one try of two, another try costs a few microseconds.
const ATTEMPTS: u32 = 10;

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
        self.build(spec, None)
    }

    /// The same floor, while `watcher` is told what each stage does.
    #[must_use]
    pub fn generate_watched(&mut self, spec: &FloorSpec, watcher: &dyn Watcher) -> Floor {
        self.build(spec, Some(watcher))
    }

    /// How many floors of this generator came from the plain construction that stands in for a layout that does not
    /// fit.
    #[must_use]
    pub const fn fallbacks(&self) -> u64 {
        self.fallbacks
    }

    fn build(&mut self, spec: &FloorSpec, watcher: Option<&dyn Watcher>) -> Floor {
        for attempt in 0..ATTEMPTS {
            if let Some(watcher) = watcher {
                watcher.attempt(attempt);
            }
            match self.attempt(spec, &Streams::new(spec, attempt).watched(watcher)) {
                Ok(()) => return self.finish(spec),
                Err(Unfit(why)) => {
                    if let Some(watcher) = watcher {
                        watcher.refused(why);
                    }
                }
            }
        }
        self.fallbacks += 1;
        self.take_refuge(spec, &Streams::new(spec, ATTEMPTS).watched(watcher))
    }

    fn attempt(&mut self, spec: &FloorSpec, streams: &Streams<'_>) -> Result<(), Unfit> {
        self.arena.reset(spec);
        kinds::lay_out(&mut self.arena, spec, streams)?;
        streams.note("rooms", self.arena.rooms.len());
        streams.note("ways", self.arena.ways.len());
        streams.note("locks", self.arena.locks.len());
        furnish(&mut self.arena, spec, streams);
        streams.begin("survey");
        survey::measure(&mut self.arena)
    }

    /// The construction that cannot fail.
    fn take_refuge(&mut self, spec: &FloorSpec, streams: &Streams<'_>) -> Floor {
        self.arena.reset(spec);
        kinds::lay_out_refuge(&mut self.arena, spec, streams)
            .expect("every room of the refuge lies on its one winding walk");
        furnish(&mut self.arena, spec, streams);
        survey::measure(&mut self.arena)
            .expect("the refuge's key lies before its one lock, and nothing laid in a room cuts a way");
        self.finish(spec)
    }

    /// Copies the floor out of the scratch.
    fn finish(&self, spec: &FloorSpec) -> Floor {
        let arena = &self.arena;
        let room = |(id, room): (usize, &Chamber)| Room {
            id: id as u8,
            min: room.min,
            max: room.max,
            role: room.role,
            center: arena.point(room.center),
        };
        let connection =
            |way: &Way| Connection { from_room: way.from, to_room: way.to, lock_id: way.lock, secret: way.secret };
        Floor {
            spec: *spec,
            theme: Theme::of_number(spec.number()),
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
fn furnish(arena: &mut Arena, spec: &FloorSpec, streams: &Streams<'_>) {
    gates::put_stairs(arena, &mut streams.open("stairs"));
    gates::lay_keys(arena, spec, &mut streams.open("keys"));
    // A story's roles are told by its beats.
    if spec.kind() != Kind::Story {
        roles::assign(arena, &mut streams.open("roles"));
    }
    let lakes = lakes::flood(arena, spec, &mut streams.open("lakes"));
    streams.note("lakes", lakes);
    scenery::dress(arena, spec, &mut streams.open("scenery"));
    loot::lay(arena, spec, &mut streams.open("loot"));
    monsters::settle(arena, spec, &mut streams.open("monsters"));
    traps::set(arena, spec.number(), &mut streams.open("traps"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::validate;

    const SIZES: [(u32, u32); 9] =
        [(16, 16), (16, 17), (31, 16), (33, 47), (64, 64), (100, 100), (16, 512), (512, 16), (512, 512)];

    #[test]
    fn the_refuge_holds_at_every_size_and_kind() {
        let mut generator = Generator::new();
        for (width, height) in SIZES {
            for kind in Kind::ALL {
                for seed in 0..20 {
                    let spec = FloorSpec::resolve(seed, 30, width, height, Some(kind)).unwrap();
                    let floor = generator.take_refuge(&spec, &Streams::new(&spec, ATTEMPTS));
                    assert_eq!(validate(&floor), Ok(()), "{spec:?}");
                    assert!(width.min(height) < 100 || floor.metrics.loops >= 2, "{spec:?}");
                }
            }
        }
    }

    #[test]
    fn a_generator_moves_between_threads() {
        fn sends<T: Send>() {}
        sends::<Generator>();
    }

    #[test]
    fn a_draw_more_in_one_stage_leaves_the_others_alone() {
        let spec = FloorSpec::resolve(42, 7, 0, 0, Some(Kind::Standard)).unwrap();
        let make = |disturbed| {
            let mut generator = Generator::new();
            generator.attempt(&spec, &Streams::new(&spec, 0).disturb(disturbed)).unwrap();
            generator.finish(&spec)
        };
        let calm = make("no such stage");
        let traps = make("traps");
        assert_ne!(traps.traps, calm.traps);
        assert_eq!(Floor { traps: calm.traps.clone(), ..traps }, calm);
        let scenery = make("scenery");
        assert_ne!(scenery.terrain, calm.terrain);
        assert_eq!((&scenery.region, &scenery.rooms), (&calm.region, &calm.rooms));
        assert_eq!((&scenery.connections, &scenery.locks), (&calm.connections, &calm.locks));
        let loops = make("loops");
        assert_ne!(loops.connections, calm.connections);
        assert_eq!((&loops.region, loops.rooms.len()), (&calm.region, calm.rooms.len()));
        assert_eq!((loops.locks, loops.entry, loops.exit), (calm.locks.clone(), calm.entry, calm.exit));
    }
}
