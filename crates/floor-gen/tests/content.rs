//! The contents of floors: what docs/generator.md states, checked on floors of every kind.

use std::collections::BTreeSet;

use floor_gen::explain::{Observer, lock_graph};
use floor_gen::pack::Files;
use floor_gen::{Floor, FloorSpec, Generator, Kind, Pack, Point, RoomRole, Terrain};

fn spec(seed: u64, number: u32, side: u32, kind: Kind) -> FloorSpec {
    FloorSpec::resolve(seed, number, side, side, Some(kind)).expect("in range")
}

/// Floors of every kind and of two sizes.
fn floors() -> impl Iterator<Item = Floor<'static>> {
    let mut generator = Generator::new();
    Kind::ALL.into_iter().flat_map(|kind| (0..60).map(move |seed| (kind, seed))).map(move |(kind, seed)| {
        let side = if seed % 3 == 0 { 40 } else { 100 };
        generator.generate(&spec(seed, 1 + seed as u32 * 3, side, kind))
    })
}

fn room_of<'f>(floor: &'f Floor<'_>, at: Point) -> Option<&'f floor_gen::Room> {
    let cell = usize::from(at.y) * usize::from(floor.spec.width()) + usize::from(at.x);
    floor.rooms.get(usize::from(floor.region[cell].checked_sub(1)?))
}

/// The built-in pack without vaults beside those of events, and without windows: what they hold is as drawn.
fn bare() -> Pack {
    let mut files = Files::new();
    let text = "name = \"bare\"\n[vaults]\nchance = 0\n[windows]\nchance = 0\n";
    files.insert("pack.toml", text.as_bytes()).expect("a good name");
    Pack::read(files).expect("a good pack")
}

/// The same floor of another pack.
fn of_pack(pack: &Pack, spec: &FloorSpec) -> FloorSpec {
    let (width, height) = (spec.width().into(), spec.height().into());
    pack.resolve(spec.seed(), spec.number(), width, height, Some(spec.kind())).expect("in range as the other")
}

#[test]
fn traps_keep_away_from_doors_and_stairs() {
    let mut traps = 0;
    let (pack, mut generator) = (bare(), Generator::new());
    for spec in floors().map(|floor| floor.spec).filter(|spec| spec.kind() != Kind::Event) {
        let floor = generator.generate_of(&pack, &of_pack(&pack, &spec));
        let (width, height) = (floor.spec.width(), floor.spec.height());
        for trap in &floor.traps {
            traps += 1;
            let near = |at: u16, most: u16| at.saturating_sub(2)..=(at + 2).min(most - 1);
            for (x, y) in near(trap.at.y, height).flat_map(|y| near(trap.at.x, width).map(move |x| (x, y))) {
                let cell = floor.terrain[usize::from(y) * usize::from(width) + usize::from(x)];
                let guarded = matches!(
                    cell,
                    Terrain::Door | Terrain::LockedDoor | Terrain::SecretDoor | Terrain::StairsUp | Terrain::StairsDown
                );
                assert!(!guarded, "{:?}: {cell:?} near the trap at {:?}", floor.spec, trap.at);
            }
        }
    }
    assert!(traps > 500, "{traps}");
}

#[test]
fn no_monster_stands_in_a_shop_or_a_shrine_or_near_the_stairs_of_an_entry_room() {
    for floor in floors() {
        let is_quiet = |at: Point| match room_of(&floor, at).map(|room| room.role) {
            Some(RoomRole::Shop | RoomRole::Shrine) => true,
            Some(RoomRole::Entry) => at.x.abs_diff(floor.entry.x) + at.y.abs_diff(floor.entry.y) < 20,
            _ => false,
        };
        let disturbing: Vec<_> = floor.spawns.iter().filter(|spawn| is_quiet(spawn.at)).collect();
        assert!(disturbing.is_empty(), "{:?}: {disturbing:?}", floor.spec);
    }
}

#[test]
fn a_secret_room_has_loot_and_a_hint() {
    let mut secrets = 0;
    for floor in floors() {
        let hints = floor.items.iter().filter(|item| item.archetype == "torn_map").count();
        for room in floor.rooms.iter().filter(|room| room.role == RoomRole::Secret) {
            secrets += 1;
            let inside = |at| room_of(&floor, at).is_some_and(|there| there.id == room.id);
            assert!(floor.items.iter().any(|item| inside(item.at)), "{:?}: room {} is bare", floor.spec, room.id);
            assert!(hints > 0, "{:?}: no hint", floor.spec);
        }
    }
    assert!(secrets > 200, "{secrets}");
}

#[test]
fn a_boss_floor_has_secret_rooms_before_the_boss() {
    let mut generator = Generator::new();
    let mut hidden = 0;
    for seed in 0..100 {
        let floor = generator.generate(&spec(seed, 30, 100, Kind::Boss));
        let secrets = floor.connections.iter().filter(|connection| connection.secret).count();
        hidden += usize::from(secrets > 0);
        // No secret room lies behind the gate.
        let boss = floor.rooms.iter().find(|room| room.role == RoomRole::Boss).map(|room| room.id);
        let beside = |connection: &&floor_gen::Connection| {
            Some(connection.from_room) == boss || Some(connection.to_room) == boss
        };
        assert!(!floor.connections.iter().filter(beside).any(|connection| connection.secret), "{:?}", floor.spec);
    }
    assert!(hidden >= 90, "{hidden} of 100");
}

/// The rooms beside each connected area of impassable ground.
fn lakes(floor: &Floor<'_>) -> Vec<std::collections::BTreeSet<u8>> {
    let width = usize::from(floor.spec.width());
    let deep = |at: usize| matches!(floor.terrain[at], Terrain::DeepWater | Terrain::Lava | Terrain::Chasm);
    let mut seen = vec![false; floor.terrain.len()];
    let mut lakes = Vec::new();
    for start in 0..floor.terrain.len() {
        if !deep(start) || seen[start] {
            continue;
        }
        let mut rooms = std::collections::BTreeSet::new();
        let mut open = vec![start];
        seen[start] = true;
        while let Some(at) = open.pop() {
            for there in [at - width, at + 1, at + width, at - 1] {
                if !deep(there) && floor.region[there] > 0 {
                    rooms.insert(floor.region[there]);
                }
                if deep(there) && !std::mem::replace(&mut seen[there], true) {
                    open.push(there);
                }
            }
        }
        lakes.push(rooms);
    }
    lakes
}

#[test]
fn lakes_spread_over_rooms_of_the_kinds_that_have_lakes() {
    let (pack, mut generator) = (bare(), Generator::new());
    let mut broad = |kind: Kind| {
        let specs = (0..70).map(|seed| of_pack(&pack, &spec(seed, 1 + seed as u32, 100, kind)));
        let floors = specs.map(|spec| generator.generate_of(&pack, &spec));
        floors.filter(|floor| lakes(floor).iter().any(|rooms| rooms.len() > 1)).count()
    };
    assert!(broad(Kind::Cavern) >= 35 && broad(Kind::Standard) >= 10 && broad(Kind::Cyclic) >= 15);
    assert_eq!([Kind::Maze, Kind::Story].map(&mut broad), [0; 2]);
}

#[test]
fn a_bridge_leads_over_something_deep() {
    let mut bridges = 0;
    for floor in floors().filter(|floor| floor.spec.kind() != Kind::Event) {
        let (width, height) = (usize::from(floor.spec.width()), usize::from(floor.spec.height()));
        for at in (0..floor.terrain.len()).filter(|&at| floor.terrain[at] == Terrain::Bridge) {
            bridges += 1;
            let near = |at: usize, most: usize| at.saturating_sub(2)..=(at + 2).min(most - 1);
            let over = near(at / width, height).any(|y| {
                near(at % width, width).any(|x| {
                    let cell = floor.terrain[y * width + x];
                    matches!(cell, Terrain::DeepWater | Terrain::Lava | Terrain::Chasm)
                })
            });
            assert!(over, "{:?}: the bridge at ({}, {})", floor.spec, at % width, at / width);
        }
    }
    assert!(bridges > 500, "{bridges}");
}

#[test]
fn rooms_are_furnished_and_leave_space_to_walk() {
    let (mut rooms, mut furnished) = (0, 0);
    for floor in floors().filter(|floor| floor.spec.kind() != Kind::Event) {
        let mut pieces = vec![0; floor.rooms.len()];
        for piece in &floor.furniture {
            pieces[usize::from(room_of(&floor, piece.at).expect("in a room").id)] += 1;
        }
        let blocked = floor.furniture.iter().filter(|piece| {
            floor.terrain[usize::from(piece.at.y) * usize::from(floor.spec.width()) + usize::from(piece.at.x)]
                == Terrain::Pillar
        });
        let walkable = floor.metrics.passable_cells as usize;
        assert!(blocked.count() * 6 < walkable, "{:?}: what blocks takes more than a sixth", floor.spec);
        rooms += pieces.len();
        furnished += pieces.iter().filter(|&&count| count > 0).count();
    }
    assert!(furnished * 10 > rooms * 8, "{furnished} of {rooms}");
}

/// A set that fits no room, or is drawn for none, is a mistake.
#[test]
fn every_piece_of_furniture_of_the_pack_is_on_a_floor() {
    let mut generator = Generator::new();
    let text = std::str::from_utf8(Pack::tower().files().get("pack.toml").expect("a pack")).expect("a text");
    let lines = text.lines().filter_map(|line| line.strip_prefix("pieces = [")?.strip_suffix(']'));
    let mut missing: BTreeSet<&str> =
        lines.flat_map(|line| line.split(", ").map(|name| name.trim_matches('"'))).collect();
    assert!(missing.len() > 100, "{missing:?}");
    for i in 0..1_200 {
        let kind = Kind::ALL[i as usize % Kind::ALL.len()];
        let floor = generator.generate(&spec(i, 1 + i as u32 * 7 % 70, if i % 4 == 0 { 64 } else { 100 }, kind));
        floor.furniture.iter().for_each(|piece| _ = missing.remove(piece.archetype));
    }
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn a_floor_has_a_landmark_and_a_boss_floor_the_arena() {
    let mut large = 0;
    for floor in floors() {
        let landmark = floor.landmark.map(|room| &floor.rooms[usize::from(room)]);
        let landmark = landmark.unwrap_or_else(|| panic!("{:?} has none", floor.spec));
        if floor.spec.kind() == Kind::Boss {
            assert_eq!(landmark.role, RoomRole::Boss, "{:?}", floor.spec);
        }
        let cells = |room: u8| floor.region.iter().filter(|&&mark| mark == room + 1).count();
        let larger = floor.rooms.iter().filter(|room| cells(room.id) > cells(landmark.id)).count();
        large += usize::from(larger * 5 <= floor.rooms.len());
    }
    assert!(large > 480, "of 540 landmarks, {large} are among the largest fifth of their floor");
}

#[test]
fn large_floors_nest_their_locks() {
    let mut generator = Generator::new();
    for seed in 0..40 {
        let floor = generator.generate(&spec(seed, 40, 256, Kind::Standard));
        assert!(floor.locks.len() >= 4, "{:?}: {} locks", floor.spec, floor.locks.len());
        // Each key of the path lies behind the lock before.
        let graph = lock_graph(&floor);
        assert!(graph.contains("behind lock 1 2 3"), "{:?}\n{graph}", floor.spec);
    }
}

#[test]
fn riskier_loot_is_worth_more() {
    let (mut vaults, mut plain) = ((0u64, 0u64), (0u64, 0u64));
    for floor in floors() {
        for item in floor.items.iter().filter(|item| item.value > 0) {
            let sum = match room_of(&floor, item.at).map(|room| room.role) {
                Some(RoomRole::Vault) => &mut vaults,
                Some(RoomRole::Combat) => &mut plain,
                _ => continue,
            };
            *sum = (sum.0 + u64::from(item.value), sum.1 + 1);
        }
    }
    assert!(vaults.0 / vaults.1 > 2 * (plain.0 / plain.1), "{vaults:?} {plain:?}");
}

#[test]
fn floors_grow_harder_and_themes_change() {
    let mut generator = Generator::new();
    let mut mean = |number: u32| {
        let floors = (0..50).map(|seed| generator.generate(&spec(seed, number, 100, Kind::Standard)));
        floors.map(|floor| u64::from(floor.metrics.difficulty)).sum::<u64>() / 50
    };
    let means = [2, 12, 52, 202, 2_002].map(&mut mean);
    assert!(means.windows(2).all(|two| 10 * two[1] > 13 * two[0]), "{means:?}");
    let tower = Pack::tower();
    let themes: Vec<usize> = (0..8).map(|band| tower.theme_of(band * 10 + 1)).collect();
    assert_eq!(themes[..7], [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(themes[7], themes[0]);
}

#[test]
fn the_difficulty_of_scheduled_floors_grows_and_none_is_harmless() {
    let mut generator = Generator::new();
    let mut sum_of_ten = |first: u32| {
        let numbers = (0..20).flat_map(|seed| (first..first + 10).map(move |number| (seed, number)));
        let floors = numbers.map(|(seed, number)| {
            let floor = generator.generate(&FloorSpec::resolve(seed, number, 100, 100, None).unwrap());
            assert!(floor.metrics.difficulty >= 1_000, "{:?}", floor.spec);
            u64::from(floor.metrics.difficulty)
        });
        floors.sum::<u64>()
    };
    let sums: Vec<u64> = (0..6).map(|ten| sum_of_ten(10 * ten + 1)).collect();
    // Themes with more caves have fewer monsters on the way, so two tens are compared.
    assert!(sums.windows(3).all(|three| three[2] > three[0]), "{sums:?}");
}

#[test]
fn a_story_has_acts_with_a_key_and_a_gate_each() {
    let mut generator = Generator::new();
    let (mut stories, mut gates) = (BTreeSet::new(), 0);
    for seed in 0..100 {
        let floor = generator.generate(&spec(seed, 25, 100, Kind::Story));
        let roles: Vec<RoomRole> = floor.rooms.iter().map(|room| room.role).collect();
        let exit = roles.iter().position(|&role| role == RoomRole::Exit).unwrap();
        assert_eq!((roles[0], roles[exit - 1]), (RoomRole::Entry, RoomRole::Boss), "{:?}", floor.spec);
        // Vaults have locks too, but lie beside the walk.
        let inner = floor.connections.iter().filter(|connection| usize::from(connection.to_room) <= exit);
        let locks = inner.filter(|connection| connection.lock_id > 0).count();
        assert!(locks > 0, "{:?}", floor.spec);
        gates += locks;
        stories.insert(roles[..=exit].iter().map(|&role| role as u8).collect::<Vec<_>>());
    }
    assert!(stories.len() >= 80 && gates >= 250, "{} different stories, {gates} gates", stories.len());
}

/// The share of a floor's walkable cells that lie outside rooms, in hundredths.
fn corridor_share(floor: &Floor<'_>) -> usize {
    let walkable = || (0..floor.terrain.len()).filter(|&at| floor.terrain[at].passable());
    100 * walkable().filter(|&at| floor.region[at] == 0).count() / walkable().count()
}

/// The court of an event: the first room after the parts of the vault, one of which opens on it.
fn court<'f>(floor: &'f Floor<'_>) -> Option<&'f floor_gen::Room> {
    let court = floor.rooms.iter().find(|room| room.role == RoomRole::Passage)?;
    neighbours(floor, court.id).any(|room| room.id < court.id).then_some(court)
}

/// The rooms that a connection joins to that room.
fn neighbours<'f>(floor: &'f Floor<'_>, room: u8) -> impl Iterator<Item = &'f floor_gen::Room> {
    floor.connections.iter().filter_map(move |connection| match (connection.from_room, connection.to_room) {
        (from, to) if from == room => floor.rooms.get(usize::from(to)),
        (from, to) if to == room => floor.rooms.get(usize::from(from)),
        _ => None,
    })
}

/// Whether a floor has what docs/generator.md says of its kind.
fn has_what_its_kind_has(floor: &Floor<'_>) -> bool {
    let has = |role| floor.rooms.iter().any(|room| room.role == role);
    let doors = floor.terrain.iter().filter(|&&cell| cell == Terrain::Door).count();
    let (corridors, loops) = (corridor_share(floor), floor.metrics.loops);
    match floor.spec.kind() {
        Kind::Standard => corridors > 0 && loops > 0,
        Kind::Keep => doors > 8 && loops > 0,
        Kind::Halls => corridors > 0 && loops > 0,
        Kind::Cavern => corridors == 0 && doors <= 4,
        Kind::Cyclic => loops > 0,
        Kind::Maze => corridors > 30,
        Kind::Boss => has(RoomRole::Boss),
        Kind::Event => court(floor).is_some(),
        Kind::Story => [RoomRole::Key, RoomRole::Boss].into_iter().all(has) && loops > 0,
    }
}

#[test]
fn every_floor_has_what_its_kind_has() {
    let mut generator = Generator::new();
    for kind in Kind::ALL {
        let floors = (0..60).map(|seed| generator.generate(&spec(seed, 25, 100, kind)));
        let without: Vec<FloorSpec> = floors.filter(|floor| !has_what_its_kind_has(floor)).map(|it| it.spec).collect();
        assert!(without.len() <= 1, "{without:?}");
    }
}

#[test]
fn an_observed_floor_is_the_same_floor() {
    #[derive(Default)]
    struct Stages(std::cell::RefCell<Vec<&'static str>>);
    impl Observer for Stages {
        fn attempt(&self, _: u32) {
            self.0.borrow_mut().clear();
        }

        fn stage(&self, name: &'static str) {
            self.0.borrow_mut().push(name);
        }
    }
    let mut generator = Generator::new();
    for kind in Kind::ALL {
        let (spec, stages) = (spec(5, 17, 100, kind), Stages::default());
        assert_eq!(generator.generate_observed(&spec, &stages), generator.generate(&spec));
        let seen = stages.0.into_inner();
        assert!(seen.len() >= 8 && seen.contains(&"monsters"), "{kind}: {seen:?}");
        // Two stages of the same name would draw the same numbers.
        let mut names = seen.clone();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), seen.len(), "{kind}: {seen:?}");
    }
}

#[test]
fn doors_stand_in_walls_and_corridors_have_two_ends() {
    let mut doors = 0;
    for floor in floors() {
        let width = usize::from(floor.spec.width());
        let is_door = |cell| matches!(cell, Terrain::Door | Terrain::LockedDoor | Terrain::SecretDoor);
        let walkable = |at: usize| floor.terrain[at].passable() || is_door(floor.terrain[at]);
        for at in (0..floor.terrain.len()).filter(|&at| walkable(at) && floor.region[at] == 0) {
            let place = (at % width, at / width);
            // A walkable cell is not on the border, so its neighbours are inside.
            let beside = [at - width, at + 1, at + width, at - 1].map(walkable);
            if is_door(floor.terrain[at]) {
                doors += 1;
                let [north, east, south, west] = beside;
                assert!(north == south && east == west && north != east, "{:?}: the door at {place:?}", floor.spec);
            } else if floor.spec.kind() != Kind::Maze {
                let open_neighbours = beside.into_iter().filter(|&open| open).count();
                assert!(open_neighbours >= 2, "{:?}: the corridor ends at {place:?}", floor.spec);
            }
        }
    }
    assert!(doors > 5_000, "{doors}");
}

#[test]
fn an_event_stands_in_a_court_with_avenues() {
    let mut generator = Generator::new();
    let mut counts = [0; 10];
    for (seed, side) in (0..100).flat_map(|seed| [(seed, 64), (seed, 100), (seed, 200)]) {
        let floor = generator.generate(&spec(seed, 1 + seed as u32, side, Kind::Event));
        let court = court(&floor).unwrap_or_else(|| panic!("{:?}: no court", floor.spec));
        let avenues = neighbours(&floor, court.id).filter(|room| room.id > court.id && room.role == RoomRole::Passage);
        counts[avenues.count()] += 1;
        // The stairs lie outside the vault and the court.
        for stairs in [floor.entry, floor.exit] {
            assert!(room_of(&floor, stairs).is_some_and(|room| room.id > court.id), "{:?}", floor.spec);
        }
    }
    // Where there is no space, an avenue is left out.
    assert!(counts[0] + counts[1] <= 3 && counts[2..=5].iter().all(|&count| count >= 30), "{counts:?}");
}
