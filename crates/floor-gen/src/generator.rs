//! From a spec to a floor: lays out rooms, fills them and measures the result. A simpler layout, the fallback, replaces
//! layouts that are rejected.

use crate::arena::{Arena, ConnectionDraft, RoomDraft};
use crate::floor::{Connection, Floor, Furniture, Item, Room, RoomRole, Spawn, Trap};
use crate::kinds;
use crate::observer::Observer;
use crate::pack::Pack;
use crate::plan::Plan;
use crate::rng::{Rng, Streams};
use crate::spec::FloorSpec;
use crate::stages::survey::LayoutRejected;
use crate::stages::{
    furnish, gates, lakes, landmark, loot, monsters, names, patrols, roles, scenery, side_vaults, stairs, survey,
    traps, windows,
};

/// Layouts tried before the fallback. The first is nearly always accepted. On the smallest floors a vault or a second
/// room fits about every second time, and another try costs a few microseconds.
const ATTEMPTS: u32 = 10;

/// Generates floors. It reuses its memory from floor to floor: make one for each thread.
#[derive(Debug, Default)]
pub struct Generator {
    arena: Arena,
    fallbacks: u64,
}

impl Generator {
    /// A generator without allocated memory.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The floor of `spec`, which is of the built-in pack: always the same, and always valid.
    #[must_use]
    pub fn generate(&mut self, spec: &FloorSpec) -> Floor<'static> {
        self.generate_of(Pack::tower(), spec)
    }

    /// The floor of `spec`, which [`Pack::resolve`] of `pack` returned: always the same, and always valid.
    #[must_use]
    pub fn generate_of<'p>(&mut self, pack: &'p Pack, spec: &FloorSpec) -> Floor<'p> {
        self.build(pack, spec, None)
    }

    /// The same floor; `observer` is notified of each stage.
    #[must_use]
    pub fn generate_observed(&mut self, spec: &FloorSpec, observer: &dyn Observer) -> Floor<'static> {
        self.generate_observed_of(Pack::tower(), spec, observer)
    }

    /// The same of a pack.
    #[must_use]
    pub fn generate_observed_of<'p>(&mut self, pack: &'p Pack, spec: &FloorSpec, observer: &dyn Observer) -> Floor<'p> {
        self.build(pack, spec, Some(observer))
    }

    /// How many floors this generator took from the fallback.
    #[must_use]
    pub const fn fallbacks(&self) -> u64 {
        self.fallbacks
    }

    fn build<'p>(&mut self, pack: &'p Pack, spec: &FloorSpec, observer: Option<&dyn Observer>) -> Floor<'p> {
        assert_eq!(spec.pack(), pack.hash(), "the spec belongs to another pack");
        let plan = &Plan::new(&pack.content, spec);
        for attempt in 0..ATTEMPTS {
            if let Some(observer) = observer {
                observer.attempt(attempt);
            }
            let streams = &Streams::new(spec, attempt).observed_by(observer);
            match self.attempt(plan, streams) {
                Ok(()) => {
                    let floor = self.finish(plan, streams);
                    if let Some(observer) = observer {
                        self.report_furniture(plan, observer);
                        observer.finished(false);
                    }
                    return floor;
                }
                Err(LayoutRejected(why)) => {
                    if let Some(observer) = observer {
                        observer.rejected(why);
                    }
                }
            }
        }
        self.fallbacks += 1;
        let floor = self.generate_fallback(plan, &Streams::new(spec, ATTEMPTS).observed_by(observer));
        if let Some(observer) = observer {
            self.report_furniture(plan, observer);
            observer.finished(true);
        }
        floor
    }

    fn report_furniture(&self, plan: &Plan<'_>, observer: &dyn Observer) {
        for (room, draft) in (0..).zip(&self.arena.rooms) {
            if let Some(set) = draft.set {
                observer.furnished(room, plan.content.name(set));
            }
        }
    }

    fn attempt(&mut self, plan: &Plan<'_>, streams: &Streams<'_>) -> Result<(), LayoutRejected> {
        self.arena.reset(plan);
        stairs::reserve(&mut self.arena, plan);
        let (lay_out, _) = kinds::of(plan.spec.kind());
        lay_out(&mut self.arena, plan, streams)?;
        side_vaults::place(&mut self.arena, plan, streams);
        streams.note("rooms", self.arena.rooms.len());
        streams.note("ways", self.arena.connections.len());
        streams.note("locks", self.arena.locks.len());
        populate(&mut self.arena, plan, streams)?;
        streams.begin("survey");
        survey::measure(&mut self.arena)
    }

    /// Builds the fallback, which no spec rejects.
    fn generate_fallback<'p>(&mut self, plan: &Plan<'p>, streams: &Streams<'_>) -> Floor<'p> {
        self.arena.reset(plan);
        let (_, rules) = kinds::of(plan.spec.kind());
        kinds::lay_out_fallback(&mut self.arena, plan, &rules, streams)
            .expect("the fallback has rooms for both stairs");
        populate(&mut self.arena, plan, streams).expect("the stairs lie in those rooms");
        survey::measure(&mut self.arena)
            .expect("the fallback's key lies before its only lock, and scenery blocks no path");
        self.finish(plan, streams)
    }

    /// Copies the floor out of the arena, and names it.
    fn finish<'p>(&self, plan: &Plan<'p>, streams: &Streams<'_>) -> Floor<'p> {
        let arena = &self.arena;
        let room = |(id, room): (usize, &RoomDraft)| Room {
            id: id as u8,
            min: room.min,
            max: room.max,
            role: room.role,
            center: arena.point(room.center),
        };
        let connection = |draft: &ConnectionDraft| Connection {
            from_room: draft.from,
            to_room: draft.to,
            lock_id: draft.lock,
            secret: draft.secret,
        };
        let name = |id| plan.content.name(id);
        let spawn = |&Spawn { at, archetype, level, behaviour, group }: &Spawn<_>| {
            let archetype = name(archetype);
            Spawn { at, archetype, level, behaviour, group }
        };
        let trap = |&Trap { at, archetype, level }: &Trap<_>| Trap { at, archetype: name(archetype), level };
        let item = |&Item { at, archetype, value, opens_lock }: &Item<_>| {
            let archetype = name(archetype);
            Item { at, archetype, value, opens_lock }
        };
        let piece = |&Furniture { at, archetype }: &Furniture<_>| Furniture { at, archetype: name(archetype) };
        Floor {
            spec: plan.spec,
            theme: plan.theme().name(),
            terrain: arena.terrain.clone(),
            region: arena.region.clone(),
            entry: arena.point(arena.entry),
            exit: arena.point(arena.exit),
            landing: arena.point(arena.landing),
            rooms: arena.rooms.iter().enumerate().map(room).collect(),
            connections: arena.connections.iter().map(connection).collect(),
            spawns: arena.spawns.iter().map(spawn).collect(),
            items: arena.items.iter().map(item).collect(),
            locks: arena.locks.clone(),
            traps: arena.traps.iter().map(trap).collect(),
            furniture: arena.furniture.iter().map(piece).collect(),
            landmark: arena.landmark,
            names: names::name(arena, plan, streams),
            metrics: arena.metrics,
        }
    }
}

/// The floor of `spec`, from a new [`Generator`].
#[must_use]
pub fn generate(spec: &FloorSpec) -> Floor<'static> {
    Generator::new().generate(spec)
}

/// The center of a room that is reached without a key, where one lands who falls. Nothing else lies there.
fn landing(arena: &mut Arena, rng: &mut Rng) -> usize {
    let is_free = |room: &usize| {
        let draft = &arena.rooms[*room];
        draft.zone == 0 && draft.role == RoomRole::Combat && !draft.set_piece && !arena.is_reserved(draft.center)
    };
    let room = rng.choose((0..arena.rooms.len()).filter(is_free), |_| 1);
    // The entry's room is always reached.
    let room = room.or_else(|| arena.rooms.iter().position(|room| room.role == RoomRole::Entry)).unwrap_or(0);
    let center = arena.rooms[room].center;
    arena.reserve(center);
    center
}

/// Fills the rooms of a layout.
fn populate(arena: &mut Arena, plan: &Plan<'_>, streams: &Streams<'_>) -> Result<(), LayoutRejected> {
    let (_, rules) = &kinds::of(plan.spec.kind());
    stairs::build(arena, plan)?;
    gates::place_keys(arena, plan, rules, &mut streams.open("keys"));
    if !rules.fixed_roles {
        roles::assign(arena, &mut streams.open("roles"));
    }
    arena.landing = landing(arena, &mut streams.open("landing"));
    let lakes = lakes::place_lakes(arena, plan, &mut streams.open("lakes"));
    streams.note("lakes", lakes);
    windows::cut(arena, plan, &mut streams.open("windows"));
    scenery::decorate(arena, plan, rules, &mut streams.open("scenery"));
    arena.landmark = landmark::choose(arena);
    furnish::furnish(arena, plan, rules, &mut streams.open("furniture"));
    loot::place_loot(arena, plan, &mut streams.open("loot"));
    monsters::place_monsters(arena, plan, &mut streams.open("monsters"));
    patrols::place(arena, plan, &mut streams.open("patrols"));
    traps::place_traps(arena, plan, &mut streams.open("traps"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Kind;
    use crate::validate::validate;

    fn plan(spec: &FloorSpec) -> Plan<'static> {
        Plan::new(&Pack::tower().content, spec)
    }

    const SIZES: [(u32, u32); 9] =
        [(16, 16), (16, 17), (31, 16), (33, 47), (64, 64), (100, 100), (16, 512), (512, 16), (512, 512)];

    #[test]
    fn the_fallback_is_valid_at_every_size_and_kind() {
        let mut generator = Generator::new();
        for (width, height) in SIZES {
            for kind in Kind::ALL {
                for seed in 0..20 {
                    let spec = FloorSpec::resolve(seed, 30, width, height, Some(kind)).unwrap();
                    let floor = generator.generate_fallback(&plan(&spec), &Streams::new(&spec, ATTEMPTS));
                    assert_eq!(validate(&floor), Ok(()), "{spec:?}");
                    assert!(width.min(height) < 100 || floor.metrics.loops >= 2, "{spec:?}");
                }
            }
        }
    }

    #[test]
    fn a_generator_is_send() {
        fn assert_send<T: Send>() {}
        assert_send::<Generator>();
    }

    #[test]
    fn an_extra_draw_in_one_stage_changes_no_other_stage() {
        // The first layout of this floor is accepted.
        let spec = FloorSpec::resolve(42, 9, 0, 0, Some(Kind::Standard)).unwrap();
        let make = |stage| {
            let mut generator = Generator::new();
            let streams = Streams::new(&spec, 0).with_extra_draw(stage);
            generator.attempt(&plan(&spec), &streams).unwrap();
            generator.finish(&plan(&spec), &streams)
        };
        let baseline = make("no such stage");
        let traps = make("traps");
        assert_ne!(traps.traps, baseline.traps);
        assert_eq!(Floor { traps: baseline.traps.clone(), ..traps }, baseline);
        let scenery = make("scenery");
        assert_ne!(scenery.terrain, baseline.terrain);
        // Furniture stands on other cells then, and may move the center of a room.
        let mut rooms = scenery.rooms.iter().zip(&baseline.rooms);
        assert!(rooms.all(|(a, b)| (a.min, a.max, a.role) == (b.min, b.max, b.role)));
        assert_eq!((&scenery.region, scenery.rooms.len()), (&baseline.region, baseline.rooms.len()));
        assert_eq!((&scenery.connections, &scenery.locks), (&baseline.connections, &baseline.locks));
        let loops = make("loops");
        assert_ne!(loops.connections, baseline.connections);
        assert_eq!((&loops.region, loops.rooms.len()), (&baseline.region, baseline.rooms.len()));
        assert_eq!((loops.locks, loops.entry, loops.exit), (baseline.locks.clone(), baseline.entry, baseline.exit));
    }
}
