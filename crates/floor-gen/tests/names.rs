//! Names and hooks: every floor has them, they differ, and they are true.

use std::collections::{BTreeMap, BTreeSet};

use floor_gen::pack::{Files, PackText};
use floor_gen::{Behaviour, Floor, FloorSpec, Generator, Kind, Pack, Point, RoomRole, Terrain, Text};

/// All texts of the built-in pack by their ids.
fn texts() -> BTreeMap<&'static str, PackText<'static>> {
    Pack::tower().texts().map(|text| (text.id, text)).collect()
}

/// Floors of every kind and size, and of every theme.
fn specs() -> impl Iterator<Item = FloorSpec> {
    const SIZES: [(u32, u32); 6] = [(16, 16), (33, 47), (64, 64), (100, 100), (200, 30), (220, 200)];
    Kind::ALL.into_iter().flat_map(|kind| {
        SIZES.into_iter().flat_map(move |(width, height)| {
            (0..12)
                .map(move |i| FloorSpec::resolve(u64::from(i), 1 + 8 * i, width, height, Some(kind)).expect("in range"))
        })
    })
}

/// The sentence with its parts, without regard to capitals.
fn substituted(text: &Text<'_>, texts: &BTreeMap<&str, PackText<'_>>) -> String {
    let mut parts = text.parts.iter();
    let mut whole = String::new();
    let mut rest = texts[text.id].text;
    while let Some((before, after)) = rest.split_once('{') {
        let (place, after) = after.split_once('}').expect("the pack was read");
        let part = texts[parts.next().expect("a part for each place")];
        let list = place.strip_suffix("'s").unwrap_or(place).to_lowercase();
        assert_eq!(part.list, list, "{text:?}");
        let possessive = match (place.ends_with("'s"), part.text.ends_with('s') && !part.text.ends_with("ss")) {
            (false, _) => "",
            (true, true) => "'",
            (true, false) => "'s",
        };
        whole = whole + before + part.text + possessive;
        rest = after;
    }
    assert!(parts.next().is_none(), "{text:?} has a part without a place");
    (whole + rest).to_lowercase()
}

#[test]
fn every_floor_has_a_name_and_a_hook_made_of_texts_of_the_pack() {
    let (texts, mut generator) = (texts(), Generator::new());
    for spec in specs() {
        let floor = generator.generate(&spec);
        let names = &floor.names;
        assert_eq!(texts[names.floor.id].list, "floor", "{spec:?}");
        assert_eq!(texts[names.hook.id].list, "hook", "{spec:?}");
        let of_rooms: BTreeSet<&str> = names.rooms.iter().map(|(_, text)| &*text.text).collect();
        assert_eq!(of_rooms.len(), names.rooms.len(), "{spec:?}: two rooms have one name: {:?}", names.rooms);
        let named = |id| names.rooms.iter().any(|(room, _)| *room == id);
        assert!(floor.landmark.is_none_or(named), "{spec:?}: the landmark has no name");
        let boss = floor.rooms.iter().find(|room| room.role == RoomRole::Boss);
        assert!(boss.is_none_or(|boss| named(boss.id)), "{spec:?}: the boss's arena has no name");
        for text in [&names.floor, &names.hook].into_iter().chain(names.rooms.iter().map(|(_, text)| text)) {
            assert!(!text.text.is_empty() && text.text.starts_with(char::is_uppercase), "{spec:?}: {text:?}");
            assert_eq!(text.text.to_lowercase(), substituted(text, &texts), "{spec:?}");
        }
    }
}

#[test]
fn floors_of_a_tower_have_different_names() {
    let mut generator = Generator::new();
    for seed in 0..3 {
        let specs = (1..=1_000).map(|number| FloorSpec::resolve(seed, number, 48, 48, None).expect("in range"));
        let names: BTreeSet<String> = specs.map(|spec| generator.generate(&spec).names.floor.text).collect();
        assert!(names.len() >= 900, "tower {seed} has {} names", names.len());
    }
}

/// Whether a stair is reached without a key.
fn is_open(floor: &Floor<'_>, goal: u8) -> bool {
    let at = |at: Point| floor.region[usize::from(at.y) * usize::from(floor.spec.width()) + usize::from(at.x)];
    let mut reached = BTreeSet::from([at(floor.entry)]);
    loop {
        let before = reached.len();
        for connection in floor.connections.iter().filter(|connection| connection.lock_id == 0) {
            let ends = [connection.from_room + 1, connection.to_room + 1];
            if ends.iter().any(|end| reached.contains(end)) {
                reached.extend(ends);
            }
        }
        if reached.len() == before {
            return reached.contains(&goal);
        }
    }
}

/// Whether a condition holds for the floor, or for the room: counted again from what a client gets.
fn holds(floor: &Floor<'_>, room: u8, condition: &str, word: &str) -> bool {
    let spec = floor.spec;
    let (width, height) = (spec.width(), spec.height());
    let mark = |at: Point| floor.region[usize::from(at.y) * usize::from(width) + usize::from(at.x)];
    let has = |role| floor.rooms.iter().any(|room| room.role == role);
    let lies = |terrain| floor.terrain.contains(&terrain);
    let inside =
        |terrain| floor.terrain.iter().zip(&floor.region).any(|(cell, mark)| *cell == terrain && *mark == room + 1);
    let acts = |behaviour| floor.spawns.iter().any(|spawn| spawn.behaviour == behaviour);
    let side = |at: Point, side: &str| match side {
        "north" => 3 * at.y < height,
        "south" => 3 * at.y >= 2 * height,
        "west" => 3 * at.x < width,
        _ => 3 * at.x >= 2 * width,
    };
    let landmark = floor.landmark.map(|id| floor.rooms[usize::from(id)].center).unwrap_or_default();
    let (ways, own) = (
        floor.connections.iter().filter(|way| way.from_room == room || way.to_room == room).count(),
        floor.rooms[usize::from(room)],
    );
    let straight = floor.entry.x.abs_diff(floor.exit.x) + floor.entry.y.abs_diff(floor.exit.y);
    match (condition, word) {
        ("theme", theme) => floor.theme == theme,
        ("kind", kind) => spec.kind().name() == kind,
        ("role", role) => format!("{:?}", own.role).to_lowercase() == role,
        ("has", name) => {
            let mut names = floor.spawns.iter().map(|spawn| spawn.archetype);
            names.any(|other| other == name)
        }
        // Which set a room got is not in a floor.
        ("set", _) => true,
        ("without", fact) => !holds(floor, room, "with", fact),
        (_, "locks") => !floor.locks.is_empty(),
        (_, "one_lock") => floor.locks.len() == 1,
        (_, "two_locks") => floor.locks.len() == 2,
        (_, "three_locks") => floor.locks.len() == 3,
        (_, "many_locks") => floor.locks.len() > 3,
        (_, "exit_locked") => !is_open(floor, mark(floor.exit)),
        (_, "boss") => has(RoomRole::Boss),
        (_, "vault") => has(RoomRole::Vault),
        (_, "secret") => has(RoomRole::Secret),
        (_, "shop") => has(RoomRole::Shop),
        (_, "shrine") => has(RoomRole::Shrine),
        (_, "treasure") => has(RoomRole::Treasure),
        (_, "water") => lies(Terrain::DeepWater),
        (_, "lava") => lies(Terrain::Lava),
        (_, "chasm") => lies(Terrain::Chasm),
        (_, "shallows") => lies(Terrain::ShallowWater),
        (_, "grass") => lies(Terrain::Grass),
        (_, "rubble") => lies(Terrain::Rubble),
        (_, "pillars") => lies(Terrain::Pillar),
        (_, "bridge") => lies(Terrain::Bridge),
        (_, "traps") => !floor.traps.is_empty(),
        (_, "sleepers") => acts(Behaviour::Sleeps),
        (_, "patrols") => acts(Behaviour::Patrols),
        (_, "guards") => acts(Behaviour::Guards),
        (_, "loops") => floor.metrics.loops > 0,
        (_, "stairs_near") => floor.metrics.critical_path > 2 * u32::from(straight),
        (_, "long_way") => floor.metrics.critical_path >= 2 * u32::from(width + height),
        (_, "small") => floor.terrain.len() <= 50 * 50,
        (_, "large") => floor.terrain.len() >= 200 * 200,
        (_, "first") => spec.number() == 1,
        (_, "in_water") => inside(Terrain::DeepWater),
        (_, "in_lava") => inside(Terrain::Lava),
        (_, "in_chasm") => inside(Terrain::Chasm),
        (_, "in_shallows") => inside(Terrain::ShallowWater),
        (_, "in_grass") => inside(Terrain::Grass),
        (_, "in_rubble") => inside(Terrain::Rubble),
        (_, "in_pillars") => inside(Terrain::Pillar),
        (_, "great") => {
            let area = |id: u8| floor.region.iter().filter(|mark| **mark == id + 1).count();
            let all: usize = floor.rooms.iter().map(|room| area(room.id)).sum();
            // A room of more than its share, with regard to doors and what is outside of all rooms.
            area(room) * floor.rooms.len() * 2 > 3 * all
        }
        (_, "dead_end") => ways == 1,
        (_, "crossing") => ways >= 4,
        (_, "behind_lock") => !is_open(floor, room + 1),
        (_, "boss_here") => own.role == RoomRole::Boss,
        (_, fact) => match fact.split_once('_') {
            Some(("exit", word)) => side(floor.exit, word),
            Some(("entry", word)) => side(floor.entry, word),
            Some(("landmark", word)) => side(landmark, word),
            _ => panic!("no test for the fact {fact}"),
        },
    }
}

#[test]
fn nothing_is_promised_that_is_not_there() {
    let (texts, mut generator) = (texts(), Generator::new());
    let mut seen = BTreeSet::new();
    for spec in specs() {
        let floor = generator.generate(&spec);
        let landmark = floor.landmark.unwrap_or_default();
        let of_floor = [(landmark, &floor.names.floor), (landmark, &floor.names.hook)];
        let all = of_floor.into_iter().chain(floor.names.rooms.iter().map(|(room, text)| (*room, text)));
        for (room, text) in all {
            for id in [text.id].iter().chain(&text.parts) {
                let when: Vec<&str> = texts[id].when.split('.').filter(|word| !word.is_empty()).collect();
                for pair in when.chunks(2) {
                    let holds = pair[1].split('|').any(|word| holds(&floor, room, pair[0], word));
                    assert!(holds, "{spec:?}: {:?} needs {}, in room {room}", text.text, texts[id].when);
                    seen.insert((pair[0], pair[1]));
                }
            }
        }
    }
    assert!(seen.len() > 60, "only {} conditions were seen", seen.len());
}

#[test]
fn names_take_little_of_a_message() {
    let mut generator = Generator::new();
    let mut sizes: Vec<usize> = (1..=200)
        .map(|number| {
            let names = generator.generate(&FloorSpec::resolve(3, number, 100, 100, None).expect("in range")).names;
            // A tag and a length for each text and list, as in a protobuf.
            let size = |text: &Text<'_>| {
                2 + 2 + text.text.len() + text.parts.iter().chain([&text.id]).map(|id| 2 + id.len()).sum::<usize>()
            };
            size(&names.floor) + size(&names.hook) + names.rooms.iter().map(|(_, text)| size(text)).sum::<usize>()
        })
        .collect();
    sizes.sort_unstable();
    println!("names take {} bytes in the median, {} at most", sizes[100], sizes[199]);
    assert!(sizes[100] <= 450, "{} bytes", sizes[100]);
}

/// The errors of a pack with these names.
fn errors(names: &str) -> String {
    let mut files = Files::new();
    files.insert("pack.toml", b"name = \"named\"\n").expect("a new name");
    files.insert("names.toml", names.as_bytes()).expect("a new name");
    Pack::read(files).map_or_else(|errors| errors.to_string(), |_| String::new())
}

#[test]
fn errors_name_the_place_and_what_would_be_right() {
    for (names, expected) in [
        ("[floor]\na = \"The {Plaice}\"\n", ["names.toml:2", "place"]),
        ("[hook]\na = \"One.\"\n[room]\na = \"Two\"\n", ["names.toml:4", "line 2"]),
        ("[floor.with.water]\na = \"The {Place\"\n", ["names.toml:2", "{LIST}"]),
        ("[floor.with.watr]\na = \"The Place\"\n", ["names.toml:1", "water"]),
        ("[floor.theme.crpt]\na = \"The Place\"\n", ["names.toml:1", "crypt"]),
        ("[place.set.grave_yard]\na = \"pond\"\n", ["names.toml:1", "graveyard"]),
        ("[floor.wiht.water]\na = \"The Place\"\n", ["names.toml:1", "with"]),
        ("[hook]\na = 3\n", ["names.toml:2", "a text"]),
        ("[plaice]\na = \"pond\"\n", ["names.toml:1", "place"]),
        ("tower_names = false\n[floor.with.water]\na = \"A\"\n", ["names.toml", "without conditions"]),
        ("tower_names = false\n[hook.with.water]\na = \"It has {number} ends.\"\n", ["names.toml:3", "`number`"]),
        ("[floor\n", ["names.toml:1", "]"]),
    ] {
        let found = errors(names);
        assert!(expected.iter().all(|part| found.contains(part)), "{names}\ngives {found}");
    }
}

#[test]
fn a_pack_adds_replaces_and_drops_names() {
    assert_eq!(errors("[adjective]\nfeathered = \"feathered\"\nsilent = \"\"\n"), "");
    let own = "tower_names = false\n[floor]\nf = \"The {A_kind} {Place}\"\n[hook]\nh = \"Go.\"\n[landmark]\nl = \"Here\"\n\
               [a_kind]\na = \"odd\"\n[place]\np = \"house\"\n";
    let mut files = Files::new();
    files.insert("pack.toml", b"name = \"own\"\n").unwrap();
    files.insert("names.toml", own.as_bytes()).unwrap();
    let pack = Pack::read(files).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(pack.texts().map(|text| text.id).collect::<Vec<_>>(), ["f", "h", "l", "a", "p"]);
    let spec = pack.resolve(1, 1, 48, 48, None).unwrap();
    let floor = Generator::new().generate_of(&pack, &spec);
    assert_eq!((&*floor.names.floor.text, &*floor.names.hook.text), ("The Odd House", "Go."));
}
