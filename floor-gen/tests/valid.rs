//! Every spec gives a floor that the validator accepts, the same one each time, whatever was generated before.

use floor_gen::validate::{Violation, validate};
use floor_gen::{Floor, FloorSpec, Generator, Item, Kind, Lock, Point, RoomRole, Terrain, generate};
use proptest::prelude::*;

/// Any spec that a caller can ask for.
fn specs() -> impl Strategy<Value = FloorSpec> {
    let side = prop_oneof![6 => 16u32..=40, 5 => 16u32..=128, 1 => 16u32..=512, 1 => Just(512), 1 => Just(16)];
    let number = prop_oneof![3 => 1u32..=100, 1 => 1u32..=1_000_000];
    let kind = proptest::option::of(prop::sample::select(Kind::OFFERED));
    (any::<u64>(), number, side.clone(), side, kind).prop_map(|(seed, number, width, height, kind)| {
        FloorSpec::resolve(seed, number, width, height, kind).expect("in range")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_floor_is_valid(spec in specs()) {
        prop_assert_eq!(validate(&generate(&spec)), Ok(()));
    }

    #[test]
    fn a_used_generator_makes_the_same_floors(before in specs(), spec in specs()) {
        let mut generator = Generator::new();
        let _ = generator.generate(&before);
        prop_assert_eq!(generator.generate(&spec), generate(&spec));
    }
}

#[test]
fn a_standard_floor_of_the_default_size_has_what_it_promises() {
    let mut generator = Generator::new();
    for seed in 0..2_000 {
        let spec = FloorSpec::resolve(seed, 1 + seed as u32 % 60, 0, 0, Some(Kind::Standard)).unwrap();
        let floor = generator.generate(&spec);
        assert!(floor.metrics.loops >= 2, "{spec:?}: {} loops", floor.metrics.loops);
        assert!(!floor.locks.is_empty(), "{spec:?}: no lock");
        assert!(floor.rooms.len() >= 15, "{spec:?}: {} rooms", floor.rooms.len());
        assert!(!floor.spawns.is_empty() && !floor.traps.is_empty(), "{spec:?}: nothing to fear");
        assert!(floor.items.iter().any(|item| item.opens_lock == 0), "{spec:?}: nothing to find");
        // The exit is not in sight of the entry.
        assert!(floor.metrics.critical_path >= 60, "{spec:?}: {} steps", floor.metrics.critical_path);
    }
    assert_eq!(generator.fallbacks(), 0);
}

#[test]
fn a_boss_waits_behind_a_gate_before_the_exit() {
    let mut generator = Generator::new();
    for seed in 0..500 {
        let spec = FloorSpec::resolve(seed, 10, 0, 0, None).unwrap();
        assert_eq!(spec.kind(), Kind::Boss);
        let floor = generator.generate(&spec);
        let arena = floor.rooms.iter().position(|room| room.role == RoomRole::Boss).unwrap();
        let gate = floor.connections.iter().find(|way| way.lock_id != 0).unwrap();
        assert!(usize::from(gate.from_room) == arena || usize::from(gate.to_room) == arena, "{spec:?}");
        let boss = floor.spawns.iter().max_by_key(|spawn| spawn.level).unwrap();
        assert_eq!(room_of(&floor, boss.at), Some(arena), "{spec:?}");
        assert!(floor.rooms.iter().any(|room| room.role == RoomRole::Vault || room.role == RoomRole::Exit));
    }
}

fn room_of(floor: &Floor, at: Point) -> Option<usize> {
    usize::from(floor.region[usize::from(at.y) * usize::from(floor.spec.width()) + usize::from(at.x)]).checked_sub(1)
}

/// The validator itself: each harm done to a good floor is found, and named for what it is.
#[test]
fn harm_is_found() {
    let spec = FloorSpec::resolve(11, 9, 0, 0, Some(Kind::Standard)).unwrap();
    let good = generate(&spec);
    let at = |point: Point| usize::from(point.y) * 100 + usize::from(point.x);
    let found = |harm: &dyn Fn(&mut Floor)| {
        let mut floor = good.clone();
        harm(&mut floor);
        validate(&floor).expect_err("the harm was not found")
    };
    let lock = good.locks[0];
    let (key_place, key) = good.items.iter().enumerate().find(|(_, item)| item.opens_lock == lock.id).unwrap();

    type Case<'a> = (&'a dyn Fn(&mut Floor), &'a dyn Fn(&Violation) -> bool);
    let cases: [Case<'_>; 15] = [
        (&|f| f.terrain.truncate(9_999), &|v| matches!(v, Violation::GridSize { .. })),
        (&|f| f.entry.x = 100, &|v| matches!(v, Violation::Outside("entry", _))),
        (&|f| f.connections[0].to_room = 250, &|v| matches!(v, Violation::NoSuchRoom(250))),
        (&|f| f.terrain[5] = Terrain::Floor, &|v| matches!(v, Violation::OpenBorder(Point { x: 5, y: 0 }))),
        (&|f| f.exit = f.entry, &|v| matches!(v, Violation::Stairs { kind: Terrain::StairsDown, .. })),
        (&|f| f.rooms[1].id = 0, &|v| *v == Violation::RoomId(1)),
        (&|f| f.rooms[1].max.x += 1, &|v| *v == Violation::RoomBox(1)),
        (&|f| f.terrain[at(f.rooms[1].center)] = Terrain::Pillar, &|v| *v == Violation::RoomCenter(1)),
        (&|f| f.locks[0].id = 9, &|v| *v == Violation::LockId(9)),
        (&|f| f.terrain[at(lock.at)] = Terrain::Door, &|v| *v == Violation::LockCell(lock.at)),
        (&|f| f.items.retain(|item| item.opens_lock != lock.id), &|v| *v == Violation::LockWithoutKey(lock.id)),
        (&|f| f.items[key_place].at = f.exit, &|v| *v == Violation::KeyOutOfReach(lock.id)),
        (&|f| f.items.push(Item { at: key.at, archetype: "gem", value: 1, opens_lock: 0 }), &|v| {
            *v == Violation::ThingsCollide(key.at)
        }),
        (&|f| f.metrics.critical_path += 1, &|v| matches!(v, Violation::Measure { name: "critical_path", .. })),
        (
            &|f| {
                let rock = f.terrain.iter().rposition(|&cell| cell == Terrain::Wall).unwrap() - 101;
                f.terrain[rock] = Terrain::LockedDoor;
                f.locks.push(Lock { id: 200, at: Point { x: (rock % 100) as u16, y: (rock / 100) as u16 } });
            },
            &|v| *v == Violation::LockId(200),
        ),
    ];
    for (case, (harm, names)) in cases.iter().enumerate() {
        let violations = found(harm);
        assert!(violations.iter().any(names), "case {case}: {violations:?}");
    }
}

#[test]
fn walls_across_the_way_are_found() {
    let spec = FloorSpec::resolve(11, 9, 64, 64, Some(Kind::Standard)).unwrap();
    let mut floor = generate(&spec);
    for cell in floor.terrain.iter_mut().filter(|cell| matches!(cell, Terrain::Door | Terrain::LockedDoor)) {
        *cell = Terrain::Wall;
    }
    let violations = validate(&floor).unwrap_err();
    assert!(violations.contains(&Violation::ExitOutOfReach), "{violations:?}");
    assert!(violations.iter().any(|v| matches!(v, Violation::RoomOutOfReach(..))), "{violations:?}");
}
