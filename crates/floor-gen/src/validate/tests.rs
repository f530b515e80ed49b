//! Breaks every rule once on a valid floor; the validator must report that rule.

use alloc::vec::Vec;

use super::{Violation, validate};
use crate::floor::{Floor, Furniture, Item, Point, RoomRole, Terrain};
use crate::generator::generate;
use crate::spec::{FloorSpec, Kind};

/// The rules, as [`rule`] names them.
const RULES: [&str; 29] = [
    "landing out of reach",
    "group",
    "grid size",
    "outside",
    "no such room",
    "open border",
    "stairs",
    "room id",
    "room box",
    "room center",
    "room cell",
    "lock id",
    "lock cell",
    "door without lock",
    "lock without key",
    "no such lock",
    "exit out of reach",
    "key out of reach",
    "lock order",
    "room out of reach",
    "secret in the open",
    "thing out of reach",
    "things collide",
    "furniture place",
    "furniture collides",
    "landmark",
    "metric critical_path",
    "metric passable_cells",
    "metric loops",
];

/// The name of a violation's rule; each metric is a rule of its own. A new rule must be added to [`RULES`], and needs a
/// case.
fn rule(violation: &Violation) -> &'static str {
    match violation {
        Violation::Metric { name: "critical_path", .. } => "metric critical_path",
        Violation::Metric { name: "passable_cells", .. } => "metric passable_cells",
        Violation::Metric { name: "loops", .. } => "metric loops",
        Violation::Metric { .. } => "a metric that is not listed here",
        other => other.rule(),
    }
}

/// A change to a valid floor, and the violation that it causes.
type Case<'a> = (&'a dyn Fn(&mut Floor<'_>), &'a dyn Fn(&Violation) -> bool);

const SIDE: usize = 100;

fn at(point: Point) -> usize {
    usize::from(point.y) * SIDE + usize::from(point.x)
}

fn point(at: usize) -> Point {
    Point { x: (at % SIDE) as u16, y: (at / SIDE) as u16 }
}

/// A valid floor with at least three locks, a secret room and a vault.
fn good_floor() -> Floor<'static> {
    let spec = |seed| FloorSpec::resolve(seed, 9, 0, 0, Some(Kind::Standard)).unwrap();
    let good = (0..)
        .map(|seed| generate(&spec(seed)))
        .find(|floor| {
            let has = |role| floor.rooms.iter().any(|room| room.role == role);
            has(RoomRole::Secret) && has(RoomRole::Vault) && floor.locks.len() >= 3
        })
        .unwrap();
    assert_eq!(validate(&good), Ok(()));
    good
}

#[test]
fn every_broken_rule_is_reported() {
    let good = good_floor();
    let lock = good.locks[0];
    let (key_place, key) = good.items.iter().enumerate().find(|(_, item)| item.opens_lock == lock.id).unwrap();
    // Rock inside the border, and a cell of a room.
    let rock = (SIDE + 1..SIDE * (SIDE - 1) - 1)
        .find(|&at| (1..SIDE - 1).contains(&(at % SIDE)) && good.terrain[at] == Terrain::Wall)
        .unwrap();
    let ground =
        (0..good.terrain.len()).find(|&at| good.region[at] != 0 && good.terrain[at] == Terrain::Floor).unwrap();
    let secret = good.rooms.iter().position(|room| room.role == RoomRole::Secret).unwrap();
    let wall_up = |f: &mut Floor<'_>| {
        for cell in f.terrain.iter_mut().filter(|cell| matches!(cell, Terrain::Door | Terrain::LockedDoor)) {
            *cell = Terrain::Wall;
        }
    };
    let vault = good.rooms.iter().position(|room| room.role == RoomRole::Vault).unwrap();
    let piece = good.furniture[0];
    let place = |f: &mut Floor<'_>, at: Point| f.furniture.push(Furniture { archetype: "urn", at });
    let swap = |id: u8| [0, 2, 1].get(usize::from(id)).copied().unwrap_or(id);

    // Long because it is a flat table, whose cases share the places above.
    let cases: [Case<'_>; 36] = [
        (&|f| f.terrain.truncate(9_999), &|v| matches!(v, Violation::GridSize { grid: "terrain", cells: 9_999 })),
        (&|f| f.entry.x = 100, &|v| matches!(v, Violation::Outside("entry", _))),
        (&|f| f.connections[0].to_room = 250, &|v| *v == Violation::NoSuchRoom(250)),
        (&|f| f.terrain[5] = Terrain::Floor, &|v| *v == Violation::OpenBorder(point(5))),
        (&|f| f.exit = f.entry, &|v| matches!(v, Violation::Stairs { kind: Terrain::StairsDown, .. })),
        (&|f| f.rooms[1].id = 0, &|v| *v == Violation::RoomId(1)),
        (&|f| f.rooms[1].max.x += 1, &|v| *v == Violation::RoomBox(1)),
        (&|f| f.terrain[at(f.rooms[1].center)] = Terrain::Pillar, &|v| *v == Violation::RoomCenter(1)),
        (&|f| f.terrain[ground] = Terrain::Wall, &|v| *v == Violation::RoomCell(point(ground))),
        (&|f| f.locks[0].id = 9, &|v| *v == Violation::LockId(9)),
        (&|f| f.terrain[at(lock.at)] = Terrain::Door, &|v| *v == Violation::LockCell(lock.at)),
        (&|f| f.terrain[rock] = Terrain::LockedDoor, &|v| *v == Violation::DoorWithoutLock(point(rock))),
        (&|f| f.items.retain(|item| item.opens_lock != lock.id), &|v| *v == Violation::LockWithoutKey(lock.id)),
        (&|f| f.connections[0].lock_id = 77, &|v| *v == Violation::NoSuchLock(77)),
        (&|f| f.items[key_place].opens_lock = 78, &|v| *v == Violation::NoSuchLock(78)),
        (&wall_up, &|v| *v == Violation::ExitOutOfReach),
        (&|f| f.items[key_place].at = f.exit, &|v| *v == Violation::KeyOutOfReach(lock.id)),
        // Swaps the ids of the first two locks and their keys: only the order is wrong.
        (
            &|f| {
                f.locks.iter_mut().for_each(|lock| lock.id = swap(lock.id));
                f.items.iter_mut().for_each(|item| item.opens_lock = swap(item.opens_lock));
                f.connections.iter_mut().for_each(|connection| connection.lock_id = swap(connection.lock_id));
            },
            &|v| *v == Violation::LockOrder,
        ),
        (&wall_up, &|v| matches!(v, Violation::RoomOutOfReach(..))),
        (
            &|f| {
                f.terrain
                    .iter_mut()
                    .filter(|cell| **cell == Terrain::SecretDoor)
                    .for_each(|cell| *cell = Terrain::Door);
            },
            &|v| *v == Violation::SecretInTheOpen(good.rooms[secret].center),
        ),
        (&|f| f.spawns[0].at = point(rock), &|v| *v == Violation::ThingOutOfReach("spawn", point(rock))),
        (&|f| f.items.push(Item { at: key.at, archetype: "gem", value: 1, opens_lock: 0 }), &|v| {
            *v == Violation::ThingsCollide(key.at)
        }),
        (&|f| f.landing = point(rock), &|v| *v == Violation::LandingOutOfReach(point(rock))),
        (&|f| f.landing = f.rooms[secret].center, &|v| matches!(v, Violation::LandingOutOfReach(_))),
        (&|f| f.spawns[0].group = 200, &|v| *v == Violation::Group(200)),
        // In rock, in a doorway, on stairs, over a chasm; on another piece, on an item.
        (&|f| place(f, point(rock)), &|v| *v == Violation::FurniturePlace(point(rock))),
        (&|f| place(f, lock.at), &|v| *v == Violation::FurniturePlace(lock.at)),
        (&|f| place(f, f.exit), &|v| *v == Violation::FurniturePlace(good.exit)),
        (&|f| f.terrain[at(piece.at)] = Terrain::Chasm, &|v| *v == Violation::FurniturePlace(piece.at)),
        (&|f| place(f, piece.at), &|v| *v == Violation::FurnitureCollides(piece.at)),
        (&|f| place(f, key.at), &|v| *v == Violation::FurnitureCollides(key.at)),
        (&|f| f.landmark = Some(vault as u8), &|v| *v == Violation::Landmark(vault)),
        (&|f| f.landmark = Some(f.rooms.len() as u8), &|v| *v == Violation::Landmark(good.rooms.len())),
        (&|f| f.metrics.critical_path += 1, &|v| matches!(v, Violation::Metric { name: "critical_path", .. })),
        (&|f| f.metrics.passable_cells += 1, &|v| matches!(v, Violation::Metric { name: "passable_cells", .. })),
        (&|f| f.metrics.loops += 1, &|v| matches!(v, Violation::Metric { name: "loops", .. })),
    ];
    let mut named: Vec<&str> = Vec::new();
    for (case, (change, names)) in cases.iter().enumerate() {
        let mut floor = good.clone();
        change(&mut floor);
        let violations = validate(&floor).expect_err("the change was not found");
        let found = violations.iter().find(|violation| names(violation));
        named.push(rule(found.unwrap_or_else(|| panic!("case {case}: {violations:?}"))));
    }
    let missing: Vec<_> = RULES.iter().filter(|rule| !named.contains(rule)).collect();
    assert!(missing.is_empty(), "no case breaks these rules: {missing:?}");
}
