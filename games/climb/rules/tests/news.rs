//! What the player reads, on floors drawn as text.

use std::sync::Arc;

use climb_rules::{Act, Direction, Hero, Level, Point, Ware};
use floor_client::{
    Behaviour, Floor, FloorKind, FloorSpec, RoomRole, Terrain,
    v1::{self, Item, Lock, Room, Spawn, Text, Trap},
};

const EAST: Act = Act::Step(Direction::East);
const WEST: Act = Act::Step(Direction::West);

/// A level whose terrain is drawn, with whatever `furnish` adds.
fn level(map: &[&str], hero: Hero, furnish: impl FnOnce(&mut v1::Floor)) -> Level {
    let (width, height) = (map[0].len() as u32, map.len() as u32);
    let glyphs: Vec<char> = map.concat().chars().collect();
    let place = |glyph| {
        let index = glyphs.iter().position(|found| *found == glyph).unwrap() as u32;
        at(index % width, index / width)
    };
    let cells: Vec<u8> = glyphs.iter().map(|glyph| floor_proto::glyph::terrain(*glyph).unwrap() as u8).collect();
    let mut wire = v1::Floor {
        spec: Some(FloorSpec { seed: 1, number: 1, width, height, kind: FloorKind::Boss as i32, ..Default::default() }),
        terrain: Some(floor_proto::grid::encode(width, height, &cells)),
        region: Some(floor_proto::grid::encode(width, height, &vec![1; cells.len()])),
        entry: place('<'),
        exit: place('>'),
        ..Default::default()
    };
    furnish(&mut wire);
    Level::new(Arc::new(Floor::from_wire(wire, 0).unwrap()), hero, None)
}

fn at(x: u32, y: u32) -> Option<v1::Point> {
    Some(v1::Point { x, y })
}

/// What the player reads about a turn.
fn act(level: &mut Level, act: Act) -> String {
    level.act(act);
    level.news.iter().map(|news| &*news.words).collect::<Vec<_>>().join(" ")
}

#[test]
fn who_arrives_reads_where_they_are() {
    let text = |text: &str| Some(Text { text: text.to_owned(), ..Default::default() });
    let arrive = |furnish: &dyn Fn(&mut v1::Floor)| level(&["####", "#<>#", "####"], Hero::default(), furnish);
    let named = arrive(&|floor| (floor.name, floor.hook) = (text("The Still Hall"), text("Nothing moves here.")));
    assert_eq!(named.news[0].words, "The Still Hall. Nothing moves here.");
    assert!(arrive(&|_| {}).news.is_empty());
}

#[test]
fn strikes_and_hits_have_names_and_places() {
    let mut level = level(&["#####", "#>.<#", "###.#", "#####"], Hero { attack: 99, ..Hero::default() }, |floor| {
        let spawn = |x, y, archetype: &str, level| Spawn {
            at: at(x, y),
            archetype: archetype.to_owned(),
            level,
            behaviour: Behaviour::Guards as i32,
            group: 0,
        };
        floor.spawns = vec![spawn(2, 1, "goblin_king", 1), spawn(3, 2, "bone_archer", 400)];
    });
    let words = act(&mut level, WEST);
    assert!(words.starts_with("The goblin king falls. You lose "), "{words}");
    assert!(words.ends_with(" health to the bone archer."), "{words}");
    assert_eq!((level.foe_name(), level.news[0].at), ("bone archer".to_owned(), Point::new(2, 1)));
    assert!(level.news[0].change <= -99 && level.news[1].change < -100, "{:?}", level.news);
    assert!(level.is_lost());
}

#[test]
fn a_boss_bars_the_stairs() {
    let mut level = level(&["#####", "#<>.#", "#####"], Hero::default(), |floor| {
        floor.spawns = vec![Spawn { at: at(3, 1), archetype: "lich".to_owned(), ..Default::default() }];
    });
    assert_eq!(act(&mut level, EAST), "The lich bars the stairs.");
}

#[test]
fn traps_say_what_they_are() {
    let mut level = level(&["########", "#<....>#", "########"], Hero::default(), |floor| {
        let trap = |x, archetype: &str| Trap { at: at(x, 1), archetype: archetype.to_owned(), level: 1 };
        floor.traps = vec![trap(2, "spikes"), trap(3, "net"), trap(4, "gas")];
    });
    assert_eq!(act(&mut level, EAST), "You lose 4 health to the spikes.");
    assert_eq!(act(&mut level, EAST), "A trap: net!");
    for _ in 0..3 {
        assert_eq!(act(&mut level, EAST), "The net holds you.");
    }
    assert_eq!(act(&mut level, EAST), "A trap: gas! You lose 1 health to the gas.");
}

#[test]
fn doors_and_keys_have_numbers() {
    let mut level = level(&["#######", "#.<L.>#", "##S####", "##.####", "#######"], Hero::default(), |floor| {
        floor.locks = vec![Lock { id: 1, at: at(3, 1) }];
        floor.items = vec![Item { at: at(1, 1), archetype: "key".to_owned(), opens_lock: 1, ..Default::default() }];
    });
    assert_eq!(act(&mut level, EAST), "Locked. Key 1 lies elsewhere on this floor.");
    assert_eq!(act(&mut level, Act::Step(Direction::South)), "");
    assert_eq!(level.seen_terrain(Point::new(2, 2)), Terrain::Wall);
    assert_eq!(act(&mut level, Act::Search), "You find a secret door!");
    assert_eq!(level.seen_terrain(Point::new(2, 2)), Terrain::SecretDoor);
    assert_eq!(act(&mut level, Act::Search), "You wait and search.");
    assert_eq!(act(&mut level, WEST), "You take key 1.");
    act(&mut level, EAST);
    assert_eq!(act(&mut level, EAST), "Key 1 fits.");
}

#[test]
fn what_heals_says_by_how_much_and_a_merchant_what_it_costs() {
    let hero = Hero { health: 5, most_health: 40, gold: 80, ..Hero::default() };
    let mut level = level(&["########", "#<....>#", "########"], hero, |floor| {
        let room = |id, role: RoomRole, x| {
            let (min, max, center) = (at(1, 1), at(5, 1), at(x, 1));
            Room { id, role: role as i32, min, max, center, ..Default::default() }
        };
        floor.rooms = vec![room(0, RoomRole::Shrine, 3), room(1, RoomRole::Shop, 5)];
        floor.items = vec![Item { at: at(2, 1), archetype: "bread".to_owned(), ..Default::default() }];
    });
    assert_eq!(act(&mut level, Act::Drink), "You drink a potion.");
    assert_eq!(level.news[0].change, 20);
    assert_eq!(act(&mut level, Act::Drink), "You have no potion.");
    assert_eq!(act(&mut level, EAST), "You take the bread.");
    assert_eq!(level.news[0].change, 6);
    assert_eq!(act(&mut level, Act::Buy(Ware::Potion)), "There is no merchant here.");
    assert_eq!(act(&mut level, EAST), "The shrine heals you.");
    assert_eq!(level.news[0].change, 9);
    act(&mut level, EAST);
    assert_eq!(act(&mut level, Act::Buy(Ware::Blade)), "You buy: Blade.");
    assert_eq!(act(&mut level, Act::Buy(Ware::Blade)), "That costs 100 gold.");
}
