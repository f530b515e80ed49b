//! Every spec gives a valid floor, and always the same one, whatever the generator made before.

use floor_gen::validate::validate;
use floor_gen::{Floor, FloorSpec, Generator, Kind, Point, RoomRole, generate};
use proptest::prelude::*;

/// Any spec that a caller can ask for.
fn specs() -> impl Strategy<Value = FloorSpec> {
    let side = prop_oneof![6 => 16u32..=40, 5 => 16u32..=128, 1 => 16u32..=512, 1 => Just(512), 1 => Just(16)];
    let number = prop_oneof![3 => 1u32..=100, 1 => 1u32..=1_000_000];
    let kind = proptest::option::of(prop::sample::select(Kind::ALL.to_vec()));
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
fn a_standard_floor_of_the_default_size_has_loops_locks_and_contents() {
    let mut generator = Generator::new();
    for seed in 0..2_000 {
        let spec = FloorSpec::resolve(seed, 1 + seed as u32 % 60, 0, 0, Some(Kind::Standard)).unwrap();
        let floor = generator.generate(&spec);
        assert!(floor.metrics.loops >= 2, "{spec:?}: {} loops", floor.metrics.loops);
        assert!(!floor.locks.is_empty(), "{spec:?}: no lock");
        assert!(floor.rooms.len() >= 15, "{spec:?}: {} rooms", floor.rooms.len());
        assert!(!floor.spawns.is_empty() && !floor.traps.is_empty(), "{spec:?}: nothing to fear");
        assert!(floor.items.iter().any(|item| item.opens_lock == 0), "{spec:?}: nothing to find");
        // The tower decides where the stairs lie, and leaves them apart.
        assert!(floor.metrics.critical_path >= 40, "{spec:?}: {} steps", floor.metrics.critical_path);
    }
    assert_eq!(generator.fallbacks(), 0);
}

#[test]
fn a_boss_room_lies_behind_a_lock_before_the_exit() {
    let mut generator = Generator::new();
    for seed in 0..500 {
        let spec = FloorSpec::resolve(seed, 10, 0, 0, None).unwrap();
        assert_eq!(spec.kind(), Kind::Boss);
        let floor = generator.generate(&spec);
        let arena = floor.rooms.iter().position(|room| room.role == RoomRole::Boss).unwrap();
        let gate = floor.connections.iter().find(|connection| connection.lock_id != 0).unwrap();
        assert!(usize::from(gate.from_room) == arena || usize::from(gate.to_room) == arena, "{spec:?}");
        let boss = floor.spawns.iter().max_by_key(|spawn| spawn.level).unwrap();
        assert_eq!(room_of(&floor, boss.at), Some(arena), "{spec:?}");
        assert!(floor.rooms.iter().any(|room| room.role == RoomRole::Vault || room.role == RoomRole::Exit));
    }
}

fn room_of(floor: &Floor<'_>, at: Point) -> Option<usize> {
    usize::from(floor.region[usize::from(at.y) * usize::from(floor.spec.width()) + usize::from(at.x)]).checked_sub(1)
}
