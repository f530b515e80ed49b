//! Each rule, on floors drawn as text.
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

mod support;

use floor_rules::{
    Act::{self, Buy, Drink, Search, Step},
    Behaviour,
    Direction::{East, North, South, West},
    Door, Event, Floor, FloorError, Harm, Hero, Item, Level, Lock, Mood, Point, Refusal, Spawn, Trap, Ware,
};
use support::shown;

const HALL: [&str; 7] = ["#########", "#<.....>#", "#.......#", "#.......#", "#.......#", "#.......#", "#########"];

const SLEEPS: u8 = 1;
const GUARDS: u8 = 2;
const PATROLS: u8 = 3;
const WANDERS: u8 = 4;

/// A floor whose terrain is drawn. The stairs are where they are drawn.
fn floor(map: &[&str]) -> Floor<'static> {
    let width = map[0].len() as u16;
    let glyphs: Vec<u8> = map.concat().bytes().collect();
    let place = |glyph| {
        let index = glyphs.iter().position(|found| *found == glyph).unwrap() as u16;
        Point::new(index % width, index / width)
    };
    let terrain = |glyph: &u8| b"##.+LS<>~".iter().rposition(|known| known == glyph).unwrap() as u8;
    Floor {
        width,
        height: map.len() as u16,
        terrain: glyphs.iter().map(terrain).map(|number| if number == 8 { 9 } else { number }).collect(),
        region: vec![1; glyphs.len()],
        entry: place(b'<'),
        exit: place(b'>'),
        ..Floor::default()
    }
}

fn hero() -> Hero {
    Hero { health: 30, most_health: 30, ..Hero::default() }
}

/// The floor that is drawn, with whatever `furnish` adds.
fn level(map: &[&str], hero: Hero, furnish: impl FnOnce(&mut Floor<'static>)) -> Level {
    let mut floor = floor(map);
    furnish(&mut floor);
    Level::new(&floor, hero, 7).unwrap()
}

fn at(x: u16, y: u16) -> Point {
    Point::new(x, y)
}

fn spawn(x: u16, y: u16, archetype: &'static str, behaviour: u8, group: u32) -> Spawn<'static> {
    Spawn { at: at(x, y), archetype, level: 1, behaviour, group }
}

fn item(x: u16, y: u16, archetype: &'static str) -> Item<'static> {
    Item { at: at(x, y), archetype, value: 20, opens_lock: 0 }
}

fn act(level: &mut Level, act: Act) -> Vec<Event> {
    level.act(act).unwrap().to_vec()
}

/// Why an act is impossible. It changes nothing.
fn refuse(level: &mut Level, act: Act) -> Refusal {
    let before = shown(level);
    let why = level.act(act).unwrap_err();
    assert_eq!((shown(level), level.events()), (before, &[][..]));
    why
}

/// The health that the hero loses in so many turns.
fn lost(level: &mut Level, turns: u32) -> u32 {
    let before = level.hero().health;
    for _ in 0..turns {
        level.act(Search).unwrap();
    }
    before - level.hero().health
}

#[test]
fn who_does_nothing_beside_a_monster_dies_and_does_no_more() {
    let mut level = level(&HALL, hero(), |floor| floor.spawns = vec![spawn(5, 3, "skeleton", WANDERS, 0)]);
    while !level.is_lost() {
        assert!(level.acts() < 60);
        act(&mut level, Search);
    }
    assert_eq!((level.hero().health, level.foe()), (0, Some(Harm::Monster(0))));
    assert_eq!((refuse(&mut level, Search), level.next_hero()), (Refusal::Over, None));
}

#[test]
fn a_boss_bars_the_stairs_until_it_falls() {
    let map = ["####", "#>.#", "#<.#", "####"];
    let boss = |floor: &mut Floor<'static>| floor.spawns = vec![spawn(2, 2, "lich", GUARDS, 0)];
    let strong = Hero { attack: 99, ..hero() };
    let mut level = level(&map, strong.clone(), |floor| {
        boss(floor);
        floor.is_of_boss = true;
    });
    assert_eq!(refuse(&mut level, Step(North)), Refusal::Barred { monster: 0 });
    let struck = act(&mut level, Step(East));
    assert!(matches!(struck[..], [Event::Struck { monster: 0, is_fatal: true, .. }]), "{struck:?}");
    assert_eq!((level.at(), level.monster_at(at(2, 2))), (at(1, 2), None));
    act(&mut level, Step(North));
    assert!(level.is_left());
    assert_eq!((level.hero().slain, level.hero().turns), (1, 2));
    // On other floors it bars nothing.
    let mut level = self::level(&map, strong, boss);
    act(&mut level, Step(North));
    assert!(level.is_left());
}

#[test]
fn who_leaves_rests_on_the_stairs_and_acts_no_more() {
    let mut level = level(&["####", "#<>#", "####"], Hero { health: 10, ..hero() }, |_| {});
    assert_eq!(level.next_hero(), None);
    assert_eq!(act(&mut level, Step(East)), []);
    assert_eq!(level.next_hero(), Some(Hero { health: 17, turns: 1, ..hero() }));
    assert_eq!(refuse(&mut level, Step(West)), Refusal::Over);
}

#[test]
fn armour_leaves_a_scratch() {
    let armoured = Hero { armour: 99, ..hero() };
    let mut level = level(&HALL, armoured, |floor| floor.spawns = vec![spawn(2, 1, "ghoul", GUARDS, 0)]);
    // A brute hits every second turn.
    assert_eq!(lost(&mut level, 5), 3);
}

#[test]
fn a_sleeper_takes_twice_the_damage_and_wakes() {
    let mut level = level(&HALL, Hero { attack: 10, ..hero() }, |floor| {
        floor.spawns = vec![Spawn { level: 50, ..spawn(2, 1, "ghoul", SLEEPS, 0) }];
    });
    for asleep in [true, false] {
        let Event::Struck { damage, is_fatal: false, .. } = act(&mut level, Step(East))[0] else { panic!("no strike") };
        assert!(if asleep { [20, 22].contains(&damage) } else { [10, 11].contains(&damage) }, "{damage}");
        assert!(level.monsters()[0].is_hunting());
    }
}

#[test]
fn one_in_three_turns_nearby_wakes_a_sleeper() {
    let mut floor = floor(&HALL);
    floor.spawns = vec![spawn(3, 1, "rat", SLEEPS, 0), spawn(4, 1, "rat", SLEEPS, 0)];
    let mut woken = [0; 2];
    for seed in 0..300 {
        let mut level = Level::new(&floor, hero(), seed).unwrap();
        act(&mut level, Search);
        woken.iter_mut().zip(level.monsters()).for_each(|(woken, rat)| *woken += u32::from(rat.is_hunting()));
    }
    assert!((80..120).contains(&woken[0]) && woken[1] == 0, "{woken:?}");
}

#[test]
fn who_is_alone_does_not_flee() {
    let mut level = level(&HALL, Hero { attack: 1, ..hero() }, |floor| {
        floor.spawns = vec![spawn(2, 1, "skeleton", GUARDS, 0), spawn(7, 5, "rat", SLEEPS, 0)];
    });
    act(&mut level, Step(East));
    assert!(level.monsters()[0].is_hunting());
    assert_eq!(level.monsters()[1].mood, Mood::Asleep);
}

#[test]
fn a_group_wakes_together_and_its_last_third_flees() {
    let map = ["#########", "#......>#", "#.......#", "#.......#", "#.......#", "#...<...#", "#########"];
    let mut level = level(&map, Hero { attack: 99, ..hero() }, |floor| {
        floor.spawns = (5..8).map(|x| spawn(x, 5, "rat", SLEEPS, 1)).collect();
        floor.spawns.push(spawn(7, 2, "skeleton", SLEEPS, 0));
    });
    act(&mut level, Step(East));
    assert!(level.monsters()[1..3].iter().all(|rat| rat.is_hunting()));
    assert_eq!(level.monsters()[3].mood, Mood::Asleep);
    let rats = |level: &Level| level.monsters()[..3].iter().filter(|rat| rat.is_alive()).count();
    while rats(&level) > 1 {
        // Turns to the rat that bites.
        let beside = [North, West, East, South].into_iter().find(|to| {
            let to = level.at().step(*to).and_then(|at| level.monster_at(at));
            to.is_some_and(|monster| monster < 3)
        });
        act(&mut level, beside.map_or(Search, Step));
    }
    let last = level.monsters()[..3].iter().find(|rat| rat.is_alive()).unwrap();
    assert_eq!(last.mood, Mood::Fleeing);
    assert!(last.at.distance(level.at()) >= 1);
    let before = last.at.distance(level.at());
    act(&mut level, Search);
    let last = level.monsters()[..3].iter().find(|rat| rat.is_alive()).unwrap();
    assert!(last.at.distance(level.at()) > before);
}

#[test]
fn a_guard_goes_no_farther_than_its_leash_and_back_to_its_post() {
    let map = ["##################", "#<..............>#", "##################"];
    let hardy = Hero { health: 999, most_health: 999, ..hero() };
    let mut level = level(&map, hardy, |floor| floor.spawns = vec![spawn(12, 1, "skeleton", GUARDS, 0)]);
    for _ in 0..3 {
        act(&mut level, Step(East));
        assert_eq!((level.monsters()[0].mood, level.monsters()[0].at), (Mood::Calm, at(12, 1)));
    }
    // 7 steps from the post.
    act(&mut level, Step(East));
    assert!(level.monsters()[0].is_hunting());
    act(&mut level, Search);
    assert_eq!(level.monsters()[0].at, at(10, 1));
    act(&mut level, Step(West));
    assert_eq!(level.monsters()[0].mood, Mood::Calm);
    lost(&mut level, 6);
    assert_eq!((level.monsters()[0].mood, level.monsters()[0].at), (Mood::Calm, at(12, 1)));
}

#[test]
fn a_patrol_walks_far_a_wanderer_stays_in_its_room_and_a_sleeper_where_it_is() {
    let map = ["####################", "#<>#...............#", "####...............#", "####################"];
    let mut level = level(&map, hero(), |floor| {
        // The room of the wanderer ends at column 8.
        floor.region.iter_mut().enumerate().for_each(|(index, room)| *room = if index % 20 < 9 { 1 } else { 2 });
        let spawns = [spawn(10, 1, "rat", PATROLS, 0), spawn(6, 1, "rat", WANDERS, 0), spawn(18, 1, "rat", SLEEPS, 0)];
        floor.spawns = spawns.to_vec();
    });
    let mut visited = [const { Vec::new() }; 3];
    for _ in 0..300 {
        act(&mut level, Search);
        for (visited, monster) in visited.iter_mut().zip(level.monsters()) {
            visited.push(monster.at.x);
        }
    }
    let reach = |visited: &[u16]| (*visited.iter().min().unwrap(), *visited.iter().max().unwrap());
    let [(west, east), wanderer, sleeper] = visited.map(|visited| reach(&visited));
    assert!(west < 7 && east > 14, "{west} {east}");
    assert_eq!((wanderer, sleeper), ((4, 8), (18, 18)));
    assert_eq!(level.monsters()[1].behaviour, Behaviour::Wanders);
}

#[test]
fn a_calm_monster_far_from_the_hero_stays_where_it_is() {
    let (wall, hall) = ("#".repeat(40), format!("#<>{}#", ".".repeat(36)));
    let mut level = level(&[&wall, &hall, &wall], hero(), |floor| {
        floor.spawns = [31, 32].map(|x| spawn(x, 1, "rat", PATROLS, 0)).to_vec();
    });
    let mut has_moved = false;
    for _ in 0..60 {
        act(&mut level, Search);
        has_moved |= level.monsters()[0].at != at(31, 1);
        assert_eq!(level.monsters()[1].at, at(32, 1));
    }
    assert!(has_moved);
}

#[test]
fn archers_hit_from_afar_but_not_through_walls() {
    let archer = |x| spawn(x, 1, "bone_archer", WANDERS, 0);
    let mut in_sight = level(&HALL, hero(), |floor| floor.spawns = vec![archer(4)]);
    assert_ne!(lost(&mut in_sight, 3), 0);
    let mut behind = level(&["########", "#<>#...#", "########"], hero(), |floor| floor.spawns = vec![archer(4)]);
    assert_eq!(lost(&mut behind, 9), 0);
}

#[test]
fn who_hunts_opens_doors_and_forgets_who_is_out_of_sight() {
    let map = ["##########", "#>..<+...#", "##########"];
    let mut level = level(&map, hero(), |floor| floor.spawns = vec![spawn(7, 1, "rat", GUARDS, 0)]);
    // Nobody sees through a closed door.
    assert_eq!((lost(&mut level, 5), level.monsters()[0].mood), (0, Mood::Calm));
    assert!(!level.visible().contains(at(6, 1)) && level.door(at(5, 1)) == Some(Door::Closed));
    act(&mut level, Step(East));
    assert!(level.visible().contains(at(8, 1)) && level.door(at(5, 1)) == Some(Door::Open));
    assert!(level.monsters()[0].is_hunting());
    assert_eq!((refuse(&mut level, Step(North)), level.acts()), (Refusal::Blocked, 6));
}

#[test]
fn traps_hurt_once_poison_and_hold() {
    let mut level = level(&HALL, hero(), |floor| {
        let trap = |x, archetype| Trap { at: at(x, 1), archetype, level: 1 };
        floor.traps = vec![trap(2, "spikes"), trap(3, "gas"), trap(4, "net")];
    });
    let seen = |level: &Level| level.traps().map(|(index, _)| index).collect::<Vec<_>>();
    assert_eq!(seen(&level), [0, 1]);
    assert_eq!(act(&mut level, Step(East)), [Event::Hurt { by: Harm::Trap(0), damage: 4 }]);
    assert_eq!(seen(&level), [1, 2]);
    let gas = Event::Hurt { by: Harm::Gas, damage: 1 };
    assert_eq!(act(&mut level, Step(East)), [Event::Sprung { trap: 1 }, gas]);
    assert_eq!((level.hero().health, level.poison()), (25, 2));
    assert_eq!(act(&mut level, Step(East)), [Event::Sprung { trap: 2 }, gas]);
    assert_eq!(act(&mut level, Step(East)), [Event::Held, gas]);
    assert_eq!((level.hero().health, level.poison(), level.held()), (23, 0, 2));
    assert_eq!(seen(&level), [0; 0]);
    act(&mut level, Step(East));
    act(&mut level, Step(East));
    assert_eq!(level.at(), at(4, 1));
    act(&mut level, Step(West));
    assert_eq!((level.at(), level.hero().health), (at(3, 1), 23));
}

#[test]
fn a_door_needs_its_key() {
    let mut level = level(&["######", "#.<L>#", "######"], hero(), |floor| {
        floor.locks = vec![Lock { id: 3, at: at(3, 1) }];
        floor.items = vec![Item { opens_lock: 3, ..item(1, 1, "key") }];
    });
    assert_eq!(refuse(&mut level, Step(East)), Refusal::Locked { lock: 3 });
    assert_eq!(act(&mut level, Step(West)), [Event::Took { item: 0, healed: 0 }]);
    assert_eq!((level.keys().collect::<Vec<_>>(), level.items().count()), (vec![3], 0));
    act(&mut level, Step(East));
    assert_eq!(act(&mut level, Step(East)), [Event::Unlocked { lock: 3 }]);
    assert_eq!(level.door(at(3, 1)), Some(Door::Open));
    act(&mut level, Step(East));
    assert!(level.is_left());
}

#[test]
fn a_search_finds_a_secret_door_that_looked_like_a_wall() {
    let mut level = level(&["######", "#<S.>#", "######"], hero(), |_| {});
    assert_eq!((refuse(&mut level, Step(East)), level.acts()), (Refusal::Blocked, 0));
    assert_eq!(act(&mut level, Search), [Event::Searched { is_found: true }]);
    assert_eq!(level.doors(), [(at(2, 1), Door::Closed)]);
    assert_eq!(act(&mut level, Search), [Event::Searched { is_found: false }]);
    act(&mut level, Step(East));
    assert_eq!(level.at(), at(2, 1));
}

#[test]
fn a_shrine_heals_once_and_a_merchant_sells_to_who_stands_beside() {
    let mut level = level(&HALL, Hero { health: 5, gold: 150, ..hero() }, |floor| {
        (floor.shrines, floor.shops) = (vec![at(2, 1)], vec![at(4, 1)]);
    });
    assert_eq!(refuse(&mut level, Buy(Ware::Potion)), Refusal::NoMerchant);
    assert_eq!(act(&mut level, Step(East)), [Event::Blessed { healed: 25 }]);
    assert_eq!((level.hero().health, level.shrines().count()), (30, 0));
    act(&mut level, Step(East));
    assert_eq!(act(&mut level, Buy(Ware::Blade)), [Event::Bought(Ware::Blade)]);
    assert_eq!(refuse(&mut level, Buy(Ware::Blade)), Refusal::TooDear { price: 100 });
    act(&mut level, Buy(Ware::Mail));
    let Hero { attack, armour, gold, turns, .. } = *level.hero();
    assert_eq!((attack, armour, gold, turns), (4, 1, 0, 4));
}

#[test]
fn a_potion_heals_half_and_no_more_than_all() {
    let mut level = level(&HALL, Hero { health: 10, potions: 2, ..hero() }, |_| {});
    assert_eq!(act(&mut level, Drink), [Event::Drank { healed: 15 }]);
    assert_eq!(act(&mut level, Drink), [Event::Drank { healed: 5 }]);
    assert_eq!((refuse(&mut level, Drink), level.hero().health), (Refusal::NoPotion, 30));
}

#[test]
fn each_item_does_what_it_is_for() {
    let map = ["##########", "#<......>#", "##########", "#..#S#...#", "##########"];
    let names = ["bread", "elixir", "blade", "potion", "scroll", "torn_map"];
    let mut level = level(&map, Hero { health: 10, ..hero() }, |floor| {
        floor.items = (2..).zip(names).map(|(x, name)| item(x, 1, name)).collect();
    });
    assert_eq!(act(&mut level, Step(East)), [Event::Took { item: 0, healed: 6 }]);
    assert_eq!(act(&mut level, Step(East)), [Event::Took { item: 1, healed: 17 }]);
    act(&mut level, Step(East));
    act(&mut level, Step(East));
    let expected = Hero { health: 33, most_health: 33, attack: 4, potions: 2, turns: 4, ..hero() };
    assert_eq!(level.hero(), &expected);
    assert!(!level.known().contains(at(7, 3)));
    act(&mut level, Step(East));
    assert!(level.known().contains(at(7, 3)) && !level.known().contains(at(4, 3)));
    assert_eq!(level.door(at(4, 3)), Some(Door::Secret));
    act(&mut level, Step(East));
    assert_eq!((level.door(at(4, 3)), level.hero().gold), (Some(Door::Closed), 40));
}

#[test]
fn one_sees_over_water_but_does_not_walk_on_it() {
    let mut level = level(&["#######", "#<~~.>#", "#######"], hero(), |_| {});
    assert!(level.visible().contains(at(5, 1)));
    assert_eq!(refuse(&mut level, Step(East)), Refusal::Blocked);
}

#[test]
fn a_floor_on_which_nobody_can_play_is_refused() {
    let refused = |map: &[&str], change: fn(&mut Floor<'static>)| {
        let mut floor = floor(map);
        change(&mut floor);
        Level::new(&floor, hero(), 1).unwrap_err()
    };
    let rat = |x, y| spawn(x, y, "rat", SLEEPS, 0);
    assert_eq!(refused(&HALL, |floor| floor.width = 0), FloorError::Size);
    assert_eq!(refused(&HALL, |floor| floor.region = vec![]), FloorError::Size);
    assert_eq!(refused(&HALL, |floor| floor.exit = at(9, 1)), FloorError::Outside("exit", at(9, 1)));
    assert_eq!(refused(&["####", "#<>+", "####"], |_| {}), FloorError::Border(at(3, 1)));
    assert_eq!(refused(&HALL, |floor| floor.entry = at(0, 0)), FloorError::Blocked("entry", at(0, 0)));
    let in_wall = refused(&["#####", "#<#>#", "#####"], |floor| floor.spawns = vec![spawn(2, 1, "rat", SLEEPS, 0)]);
    assert_eq!(in_wall, FloorError::Blocked("monster", at(2, 1)));
    let mut crowded = floor(&HALL);
    crowded.spawns = vec![rat(2, 1), rat(2, 1)];
    assert_eq!(Level::new(&crowded, hero(), 1).unwrap_err(), FloorError::Crowded(at(2, 1)));
    crowded.spawns = vec![rat(1, 1)];
    assert_eq!(Level::new(&crowded, hero(), 1).unwrap_err(), FloorError::Crowded(at(1, 1)));
    let unlocked = refused(&HALL, |floor| floor.locks = vec![Lock { id: 1, at: at(2, 2) }]);
    assert_eq!(unlocked.to_string(), "the lock at (2, 2) is not the only one of a locked door");
    let twice = refused(&["#####", "#<L>#", "#####"], |floor| floor.locks = vec![Lock { id: 1, at: at(2, 1) }; 2]);
    assert_eq!(twice, FloorError::Lock(at(2, 1)));
}
