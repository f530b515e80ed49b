//! The rules, on floors drawn as text.

use std::sync::Arc;

use climb_rules::{Action, Hero, Level, Mood, Ware};
use floor_client::{
    Behaviour, Floor, FloorKind, FloorSpec, RoomRole, Terrain,
    v1::{self, Item, Lock, Point, Room, Spawn, Trap},
};
use glam::{IVec2, UVec2};

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

/// What the player reads about a turn.
fn act(level: &mut Level, action: Action) -> String {
    level.act(action);
    level.news.iter().map(|news| &*news.words).collect::<Vec<_>>().join(" ")
}

fn step(level: &mut Level, step: IVec2) -> String {
    act(level, Action::Step(step))
}

/// The health that the player loses in so many turns.
fn lost(level: &mut Level, turns: u32) -> u32 {
    let before = level.hero.health;
    (0..turns).for_each(|_| level.act(Action::Search));
    before - level.hero.health
}

#[test]
fn who_does_nothing_beside_a_monster_dies() {
    let mut level = level(&HALL, |floor| floor.spawns = vec![spawn(5, 3, "skeleton", Behaviour::Wanders, 0)]);
    assert_eq!(lost(&mut level, 60), 30);
    assert!(level.is_lost());
    assert_eq!(level.foe, "skeleton");
}

#[test]
fn who_strikes_back_wins_and_the_boss_no_longer_bars_the_stairs() {
    let mut level = level(&["#####", "#<>.#", "#####"], |floor| {
        floor.spawns = vec![spawn(3, 1, "lich", Behaviour::Guards, 0)];
    });
    level.hero.attack = 15;
    assert_eq!(step(&mut level, IVec2::X), "The lich bars the stairs.");
    level.monsters[0].health = 1;
    level.monsters[0].at.x = 2;
    assert_eq!(step(&mut level, IVec2::X), "The lich falls.");
    assert!(!level.is_left());
    step(&mut level, IVec2::X);
    assert!(level.is_left());
    assert_eq!(level.hero.slain, 1);
}

#[test]
fn who_arrives_reads_where_they_are() {
    let text = |text: &str| Some(floor_client::v1::Text { text: text.to_owned(), ..Default::default() });
    let named = level(&HALL, |floor| (floor.name, floor.hook) = (text("The Still Hall"), text("Nothing moves here.")));
    assert_eq!(named.news[0].words, "The Still Hall. Nothing moves here.");
    assert!(level(&HALL, |_| {}).news.is_empty());
}

#[test]
fn armour_leaves_a_scratch() {
    let mut level = level(&HALL, |floor| floor.spawns = vec![spawn(2, 1, "ghoul", Behaviour::Guards, 0)]);
    level.hero.armour = 99;
    assert_eq!(lost(&mut level, 5), 3);
}

#[test]
fn a_group_wakes_together_and_its_last_third_flees() {
    let mut level = level(&HALL, |floor| {
        floor.spawns = (5..8).map(|x| spawn(x, 5, "rat", Behaviour::Sleeps, 1)).collect();
        floor.spawns.push(spawn(7, 3, "skeleton", Behaviour::Sleeps, 0));
    });
    level.player = UVec2::new(4, 5);
    level.hero.attack = 99;
    step(&mut level, IVec2::X);
    assert!(level.monsters[1..3].iter().all(|rat| matches!(rat.mood, Mood::Hunting(_))));
    assert_eq!(level.monsters[3].mood, Mood::Asleep);
    while level.monsters.iter().filter(|rat| rat.group == 1 && rat.is_alive()).count() > 1 {
        step(&mut level, IVec2::X);
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
        level.act(Action::Search);
        visited.insert(level.monsters[1].at);
    }
    assert_eq!(level.monsters[0].at, post);
    assert!(visited.len() > 2, "{visited:?}");
}

#[test]
fn archers_hit_from_afar_but_not_through_walls() {
    let archer = |x| spawn(x, 1, "bone_archer", Behaviour::Wanders, 0);
    let mut in_sight = level(&HALL, |floor| floor.spawns = vec![archer(4)]);
    assert_ne!(lost(&mut in_sight, 3), 0);
    let mut behind = level(&["########", "#<>#...#", "########"], |floor| floor.spawns = vec![archer(4)]);
    assert_eq!(lost(&mut behind, 9), 0);
}

#[test]
fn traps_hurt_once_poison_and_hold() {
    let mut level = level(&HALL, |floor| {
        let trap = |x, archetype: &str| Trap { at: at(x, 1), archetype: archetype.to_owned(), level: 1 };
        floor.traps = vec![trap(2, "spikes"), trap(3, "gas"), trap(4, "net")];
    });
    assert_eq!((level.seen_traps.len(), level.traps.len()), (2, 3));
    assert_eq!(step(&mut level, IVec2::X), "You lose 4 health to the spikes.");
    step(&mut level, IVec2::X);
    assert_eq!((level.hero.health, level.poison), (25, 2));
    step(&mut level, IVec2::X);
    assert_eq!(step(&mut level, IVec2::X), "The net holds you. You lose 1 health to the gas.");
    assert_eq!(level.hero.health, 23);
    assert!(level.traps.is_empty());
}

#[test]
fn a_door_needs_its_key() {
    let mut level = level(&["######", "#.<L>#", "######"], |floor| {
        floor.locks = vec![Lock { id: 1, at: at(3, 1) }];
        floor.items = vec![Item { at: at(1, 1), archetype: "key".to_owned(), opens_lock: 1, ..Default::default() }];
    });
    assert_eq!(step(&mut level, IVec2::X), "Locked. Key 1 lies elsewhere on this floor.");
    assert_eq!(step(&mut level, IVec2::NEG_X), "You take key 1.");
    step(&mut level, IVec2::X);
    assert_eq!(step(&mut level, IVec2::X), "Key 1 fits.");
    step(&mut level, IVec2::X);
    assert!(level.is_left());
}

#[test]
fn a_search_finds_a_secret_door_that_looked_like_a_wall() {
    let mut level = level(&["######", "#<S.>#", "######"], |_| {});
    let (door, entry) = (UVec2::new(2, 1), level.player);
    step(&mut level, IVec2::X);
    assert_eq!((level.seen_terrain(door), level.player), (Terrain::Wall, entry));
    assert_eq!(act(&mut level, Action::Search), "You find a secret door!");
    step(&mut level, IVec2::X);
    assert_eq!(level.player, door);
}

#[test]
fn a_shrine_heals_once_and_a_merchant_sells_to_who_stands_beside() {
    let mut level = level(&HALL, |floor| {
        floor.rooms[0].role = RoomRole::Shrine as i32;
        floor.rooms.push(Room { id: 1, role: RoomRole::Shop as i32, center: at(5, 3), ..floor.rooms[0].clone() });
    });
    (level.hero.health, level.hero.gold) = (5, 150);
    assert_eq!(act(&mut level, Action::Buy(Ware::Potion)), "There is no merchant here.");
    level.player = UVec2::new(3, 3);
    assert_eq!(step(&mut level, IVec2::X), "The shrine heals you.");
    assert_eq!((level.hero.health, level.news[0].change), (30, 25));
    assert!(level.shrines.is_empty());
    assert_eq!(act(&mut level, Action::Buy(Ware::Blade)), "You buy: Blade.");
    assert_eq!((level.hero.attack, level.hero.gold), (4, 75));
    assert_eq!(act(&mut level, Action::Buy(Ware::Blade)), "That costs 100 gold.");
    assert_eq!((level.hero.attack, level.hero.gold), (4, 75));
}

#[test]
fn a_potion_heals_half_and_no_more_than_all() {
    let mut level = level(&HALL, |_| {});
    level.hero.health = 10;
    assert_eq!(act(&mut level, Action::Drink), "You drink a potion.");
    assert_eq!((level.hero.health, level.news[0].change), (25, 15));
    assert_eq!(act(&mut level, Action::Drink), "You have no potion.");
    level.hero.heal(99);
    assert_eq!(level.hero.health, 30);
}
