//! The rules, on floors drawn as text.

use std::sync::Arc;

use climb_rules::{Action, Hero, Level, Mood, Outcome, Sight, Ware};
use floor_client::{
    Behaviour, Floor, FloorKind, FloorSpec, RoomRole, Terrain,
    v1::{self, Item, Lock, Point, Room, Spawn, Trap},
};
use glam::IVec2;

const HALL: [&str; 7] = ["#########", "#<.....>#", "#.......#", "#.......#", "#.......#", "#.......#", "#########"];

/// A level whose terrain is drawn, with whatever `furnish` adds.
fn level(map: &[&str], furnish: impl FnOnce(&mut v1::Floor)) -> Level {
    let (width, height) = (map[0].len() as u32, map.len() as u32);
    let glyphs: Vec<char> = map.concat().chars().collect();
    let place = |glyph| {
        let index = glyphs.iter().position(|found| *found == glyph).unwrap() as u32;
        Some(Point { x: index % width, y: index / width })
    };
    let cells: Vec<u8> = glyphs.iter().map(|glyph| floor_proto::glyph::terrain(*glyph).unwrap() as u8).collect();
    let mut wire = v1::Floor {
        spec: Some(FloorSpec { seed: 1, number: 1, width, height, kind: FloorKind::Boss as i32, ..Default::default() }),
        terrain: Some(floor_proto::grid::encode(width, height, &cells)),
        region: Some(floor_proto::grid::encode(width, height, &vec![1; cells.len()])),
        entry: place('<'),
        exit: place('>'),
        rooms: vec![Room {
            min: at(0, 0),
            max: at(width - 1, height - 1),
            center: at(width / 2, height / 2),
            ..Default::default()
        }],
        ..Default::default()
    };
    furnish(&mut wire);
    Level::new(Arc::new(Floor::from_wire(wire, 0).unwrap()), Hero { health: 30, most_health: 30, ..Hero::default() })
}

fn at(x: u32, y: u32) -> Option<Point> {
    Some(Point { x, y })
}

fn spawn(x: u32, y: u32, archetype: &str, behaviour: Behaviour, group: u32) -> Spawn {
    Spawn { at: at(x, y), archetype: archetype.to_owned(), level: 1, behaviour: behaviour as i32, group }
}

fn wait(level: &mut Level, turns: u32) -> Vec<Outcome> {
    (0..turns).flat_map(|_| level.act(Action::Search)).collect()
}

#[test]
fn who_does_nothing_beside_a_monster_dies() {
    let mut level = level(&HALL, |floor| floor.spawns = vec![spawn(5, 3, "skeleton", Behaviour::Wanders, 0)]);
    let outcomes = wait(&mut level, 60);
    assert!(outcomes.contains(&Outcome::Died { by: "skeleton".to_owned() }), "{outcomes:?}");
    assert_eq!(level.hero.health, 0);
}

#[test]
fn who_strikes_back_wins_and_the_boss_no_longer_bars_the_stairs() {
    let mut level = level(&["#####", "#<>.#", "#####"], |floor| {
        floor.spawns = vec![spawn(3, 1, "lich", Behaviour::Guards, 0)];
    });
    level.hero.attack = 15;
    assert!(matches!(level.act(Action::Step(IVec2::X))[0], Outcome::Barred(_)));
    level.monsters[0].health = 1;
    level.monsters[0].at.x = 2;
    assert!(matches!(level.act(Action::Step(IVec2::X))[0], Outcome::Struck { falls: true, .. }));
    assert_eq!(level.act(Action::Step(IVec2::X)), [Outcome::ReachedExit]);
    assert_eq!(level.hero.slain, 1);
}

#[test]
fn a_group_wakes_together_and_its_last_third_flees() {
    let mut level = level(&HALL, |floor| {
        floor.spawns = (5..8).map(|x| spawn(x, 5, "rat", Behaviour::Sleeps, 1)).collect();
        floor.spawns.push(spawn(7, 3, "skeleton", Behaviour::Sleeps, 0));
    });
    level.player = glam::UVec2::new(4, 5);
    level.hero.attack = 99;
    level.act(Action::Step(IVec2::X));
    assert!(level.monsters[1..3].iter().all(|rat| matches!(rat.mood, Mood::Hunting(_))));
    assert_eq!(level.monsters[3].mood, Mood::Asleep);
    while level.monsters.iter().filter(|rat| rat.group == 1 && rat.is_alive()).count() > 1 {
        level.act(Action::Step(IVec2::X));
    }
    let last = level.monsters.iter().find(|rat| rat.group == 1 && rat.is_alive()).unwrap();
    assert_eq!(last.mood, Mood::Fleeing);
}

#[test]
fn a_guard_goes_back_to_its_post_and_a_patrol_walks() {
    let map = ["##################", "#<..............>#", "##################"];
    let mut level = level(&map, |floor| {
        floor.spawns = vec![spawn(14, 1, "skeleton", Behaviour::Guards, 0), spawn(12, 1, "rat", Behaviour::Patrols, 0)];
    });
    let post = level.monsters[0].home;
    level.monsters[0].at.x = 15;
    let mut visited = std::collections::HashSet::new();
    for _ in 0..12 {
        level.hero.health = 30;
        wait(&mut level, 1);
        visited.insert(level.monsters[1].at);
    }
    assert_eq!(level.monsters[0].at, post);
    assert!(visited.len() > 2, "{visited:?}");
}

#[test]
fn archers_hit_from_afar_but_not_through_walls() {
    let mut level = level(&HALL, |floor| floor.spawns = vec![spawn(4, 1, "bone_archer", Behaviour::Guards, 0)]);
    assert!(wait(&mut level, 3).iter().any(|outcome| matches!(outcome, Outcome::Hit { .. })));
    let mut behind = self::level(&["########", "#<>#...#", "########"], |floor| {
        floor.spawns = vec![spawn(4, 1, "bone_archer", Behaviour::Wanders, 0)];
    });
    assert!(!wait(&mut behind, 9).iter().any(|outcome| matches!(outcome, Outcome::Hit { .. })));
}

#[test]
fn traps_hurt_once_poison_and_hold() {
    let mut level = level(&HALL, |floor| {
        let trap = |x, archetype: &str| Trap { at: at(x, 1), archetype: archetype.to_owned(), level: 1 };
        floor.traps = vec![trap(2, "spikes"), trap(3, "gas"), trap(4, "net")];
    });
    assert!(level.traps.values().any(|trap| trap.is_seen) && level.traps.values().any(|trap| !trap.is_seen));
    assert_eq!(level.act(Action::Step(IVec2::X))[0], Outcome::Trapped { archetype: "spikes".to_owned(), damage: 4 });
    level.act(Action::Step(IVec2::X));
    assert_eq!((level.hero.health, level.poison), (25, 2));
    level.act(Action::Step(IVec2::X));
    assert_eq!((level.act(Action::Step(IVec2::X))[0].clone(), level.hero.health), (Outcome::Held, 23));
    assert!(level.traps.is_empty());
}

#[test]
fn a_door_needs_its_key() {
    let mut level = level(&["######", "#.<L>#", "######"], |floor| {
        floor.locks = vec![Lock { id: 1, at: at(3, 1) }];
        floor.items = vec![Item { at: at(1, 1), archetype: "key".to_owned(), opens_lock: 1, ..Default::default() }];
    });
    let mut act = |step| level.act(Action::Step(step)).remove(0);
    assert_eq!(act(IVec2::X), Outcome::NeedsKey(1));
    assert_eq!(act(IVec2::NEG_X), Outcome::Key(1));
    assert_eq!((act(IVec2::X), act(IVec2::X)), (Outcome::Walked, Outcome::Unlocked(1)));
    assert_eq!((act(IVec2::X), act(IVec2::X)), (Outcome::Walked, Outcome::ReachedExit));
}

#[test]
fn a_search_finds_a_secret_door_that_looked_like_a_wall() {
    let mut level = level(&["######", "#<S.>#", "######"], |_| {});
    let door = glam::UVec2::new(2, 1);
    assert_eq!((level.seen_terrain(door), level.act(Action::Step(IVec2::X))), (Terrain::Wall, vec![Outcome::Blocked]));
    assert_eq!(level.act(Action::Search), [Outcome::Searched { found: 1 }]);
    assert_eq!(level.act(Action::Step(IVec2::X)), [Outcome::OpenedDoor]);
    assert_eq!(level.act(Action::Step(IVec2::X)), [Outcome::Walked]);
    assert_eq!((level.player, level.sight(door)), (door, Sight::Visible));
}

#[test]
fn a_shrine_heals_once_and_a_merchant_sells_to_who_stands_beside() {
    let mut level = level(&HALL, |floor| {
        floor.rooms[0].role = RoomRole::Shrine as i32;
        floor.rooms.push(Room { id: 1, role: RoomRole::Shop as i32, center: at(5, 3), ..floor.rooms[0].clone() });
    });
    (level.hero.health, level.hero.gold) = (5, 50);
    assert_eq!(level.act(Action::Buy(Ware::Potion)), [Outcome::NoMerchant]);
    level.player = glam::UVec2::new(3, 3);
    assert_eq!(level.act(Action::Step(IVec2::X)), [Outcome::Prayed(25)]);
    assert_eq!(level.act(Action::Buy(Ware::Potion)), [Outcome::Bought(Ware::Potion)]);
    assert_eq!((level.hero.potions, level.hero.gold), (2, 10));
    assert_eq!(level.act(Action::Buy(Ware::Mail)), [Outcome::TooDear(75)]);
    assert!(level.shrines.is_empty());
}
