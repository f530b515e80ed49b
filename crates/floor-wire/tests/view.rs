//! The player's view of generated floors.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use floor_gen::{FloorSpec, Generator, Kind, pack::Shown};
use floor_proto::{
    grid, hash,
    v1::{self, RoomRole, Terrain, View},
};
use floor_wire::{message, view::of_player};

const ALL: Shown = Shown { roles: true, monsters: true, items: true, traps: true };

fn floors() -> impl Iterator<Item = v1::Floor> {
    let mut generator = Generator::new();
    let sizes = [(16, 16), (40, 32), (64, 64), (100, 100)];
    let specs = Kind::ALL.into_iter().flat_map(move |kind| {
        sizes.into_iter().flat_map(move |(width, height)| {
            (0..8).map(move |seed| FloorSpec::resolve(seed, 3 + 11 * seed as u32, width, height, Some(kind)).unwrap())
        })
    });
    specs.map(move |spec| message(&generator.generate(&spec)))
}

fn view(floor: &v1::Floor, shown: Shown) -> v1::Floor {
    of_player(floor.clone(), shown).unwrap()
}

fn cells(grid: &Option<v1::Grid>) -> Vec<u8> {
    grid::decode(grid.as_ref().unwrap()).unwrap()
}

fn set(grid: &mut Option<v1::Grid>, cells: &[u8]) {
    let (width, height) = grid.as_ref().map(|grid| (grid.width, grid.height)).unwrap();
    *grid = Some(grid::encode(width, height, cells));
}

#[test]
fn it_has_no_secret_and_nothing_that_it_does_not_show() {
    let mut secrets = 0;
    for floor in floors() {
        let seen = view(&floor, Shown::default());
        assert_eq!(seen.spec.as_ref().unwrap().view(), View::Player);
        secrets += floor.rooms.iter().filter(|room| room.role() == RoomRole::Secret).count();
        let open = |floor: &v1::Floor| floor.rooms.iter().filter(|room| room.role() != RoomRole::Secret).count();
        assert_eq!(seen.rooms.len(), open(&floor), "every room that is reached without searching is there");
        assert!(!cells(&seen.terrain).contains(&(Terrain::SecretDoor as u8)));
        assert!(seen.connections.iter().all(|connection| !connection.secret));
        assert!(seen.rooms.iter().all(|room| room.role() == RoomRole::Unspecified));
        assert_eq!((seen.spawns.len(), seen.items.len(), seen.traps.len()), (0, 0, 0));
        let metrics = seen.metrics.unwrap();
        assert_eq!((metrics.critical_path, metrics.difficulty), (0, 0));
        assert_eq!((seen.entry, seen.exit, seen.landing), (floor.entry, floor.exit, floor.landing));
    }
    assert!(secrets > 100, "{secrets} secret rooms");
}

#[test]
fn ids_have_no_gaps_and_agree_with_the_grids() {
    for floor in floors() {
        let seen = view(&floor, ALL);
        let (terrain, region) = (cells(&seen.terrain), cells(&seen.region));
        let width = seen.terrain.as_ref().unwrap().width;
        let at = |point: Option<v1::Point>| point.map(|at| (at.y * width + at.x) as usize).unwrap();
        for (id, room) in (0u32..).zip(&seen.rooms) {
            assert_eq!(room.id, id);
            assert_eq!(region[at(room.center)], id as u8 + 1);
            let cells = (0u32..).zip(&region).filter(|(_, mark)| **mark == id as u8 + 1);
            let (x, y): (Vec<u32>, Vec<u32>) = cells.map(|(cell, _)| (cell % width, cell / width)).unzip();
            let corners = |of: &[u32]| (of.iter().min().copied(), of.iter().max().copied());
            let (min, max) = (room.min.unwrap(), room.max.unwrap());
            assert_eq!([corners(&x), corners(&y)], [(Some(min.x), Some(max.x)), (Some(min.y), Some(max.y))]);
        }
        assert!(region.iter().all(|mark| usize::from(*mark) <= seen.rooms.len()));
        for (id, lock) in (1..).zip(&seen.locks) {
            assert_eq!((lock.id, terrain[at(lock.at)]), (id, Terrain::LockedDoor as u8));
        }
        let doors = terrain.iter().filter(|cell| **cell == Terrain::LockedDoor as u8).count();
        assert_eq!(doors, seen.locks.len());
        for connection in &seen.connections {
            assert!(connection.from_room.max(connection.to_room) < seen.rooms.len() as u32);
            assert!(connection.lock_id <= seen.locks.len() as u32);
        }
        for cell in [seen.entry, seen.exit, seen.landing].into_iter().chain(seen.spawns.iter().map(|spawn| spawn.at)) {
            assert_ne!(terrain[at(cell)], Terrain::Wall as u8);
        }
    }
}

/// Whoever plays with two floors that differ in what is hidden must not be able to tell them apart.
#[test]
fn floors_that_differ_in_hidden_things_alone_have_the_same_view() {
    let mut changed = 0;
    for floor in floors() {
        let seen = hash::encode_hashed(&view(&floor, Shown::default()), 0);
        let mut other = floor.clone();
        other.spawns.clear();
        other.items.truncate(1);
        other.traps.reverse();
        other.traps.truncate(2);
        other.rooms.iter_mut().for_each(|room| room.role = RoomRole::Combat.into());
        other.metrics = Some(v1::FloorMetrics { critical_path: 1, difficulty: 9, ..other.metrics.unwrap() });
        // The same floor without what lies behind secret doors: without those cells, rooms and connections.
        let (mut terrain, mut region) = (cells(&other.terrain), cells(&other.region));
        let secret: Vec<u32> =
            floor.rooms.iter().filter(|room| room.role() == RoomRole::Secret).map(|room| room.id).collect();
        let is_secret = |mark: u8| mark > 0 && secret.contains(&(u32::from(mark) - 1));
        let new_id = |id: u32| id - secret.iter().filter(|other| **other < id).count() as u32;
        for (cell, mark) in terrain.iter_mut().zip(&mut region) {
            if *cell == Terrain::SecretDoor as u8 || is_secret(*mark) {
                (*cell, *mark) = (Terrain::Wall as u8, 0);
            } else if *mark > 0 {
                *mark = new_id(u32::from(*mark) - 1) as u8 + 1;
            }
        }
        let width = other.terrain.as_ref().unwrap().width;
        let is_wall = |cell: u32| terrain[cell as usize] == Terrain::Wall as u8;
        for furniture in &mut other.furniture {
            let mut at = 0;
            let kept: Vec<u32> = furniture
                .cells
                .iter()
                .map(|step| {
                    at += step;
                    at
                })
                .filter(|cell| !is_wall(*cell))
                .collect();
            furniture.cells =
                kept.iter().scan(0, |before, cell| Some(cell - std::mem::replace(before, *cell))).collect();
        }
        other.furniture.retain(|furniture| !furniture.cells.is_empty());
        other.locks.retain(|lock| lock.at.is_some_and(|at| !is_wall(at.y * width + at.x)));
        other.rooms.retain(|room| !secret.contains(&room.id));
        other.rooms.iter_mut().for_each(|room| room.id = new_id(room.id));
        other.connections.retain(|connection| {
            !connection.secret && !secret.contains(&connection.from_room) && !secret.contains(&connection.to_room)
        });
        for connection in &mut other.connections {
            (connection.from_room, connection.to_room) = (new_id(connection.from_room), new_id(connection.to_room));
        }
        other.landmark = other.landmark.checked_sub(1).map_or(0, |room| new_id(room) + 1);
        set(&mut other.terrain, &terrain);
        set(&mut other.region, &region);
        changed += usize::from(!secret.is_empty());
        let spec = floor.spec.as_ref().unwrap();
        assert!(hash::encode_hashed(&view(&other, Shown::default()), 0) == seen, "{spec:?}");
    }
    assert!(changed > 50, "{changed} floors have secrets");
}

#[test]
fn a_view_of_a_view_is_the_same() {
    for floor in floors() {
        for shown in [Shown::default(), ALL] {
            let once = view(&floor, shown);
            assert_eq!(view(&once, shown), once);
        }
    }
}

#[test]
fn what_a_pack_shows_is_there_where_it_is_known() {
    for floor in floors() {
        let seen = view(&floor, ALL);
        assert!(seen.spawns.len() <= floor.spawns.len() && seen.items.len() <= floor.items.len());
        assert!(seen.items.iter().filter(|item| item.opens_lock > 0).count() >= seen.locks.len());
        for (room, whole) in seen.rooms.iter().zip(floor.rooms.iter().filter(|room| room.role() != RoomRole::Secret)) {
            assert_eq!((room.role, &room.name), (whole.role, &whole.name));
        }
        let most = seen.spawns.iter().map(|spawn| spawn.group).max().unwrap_or(0);
        for group in 1..=most {
            assert!(seen.spawns.iter().filter(|spawn| spawn.group == group).count() > 1, "group {group}");
        }
    }
}
