//! A hand-made floor with every kind of content, for tests of output and pictures.

#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]
#![allow(dead_code, reason = "the tests of this crate and of floorctl, which includes this file, use different parts")]

use floor_proto::{
    floor::Floor,
    v1::{
        self, Behaviour, Connection, FloorKind, FloorMetrics, FloorSpec, Furniture, Item, Lock, Point, Room, RoomRole,
        Spawn, Terrain, Text, Trap,
    },
};
use floor_proto::{grid, hash};

use crate::picture::glyph;

const MAP: [&str; 16] = [
    "##############################",
    "#<....##########......########",
    "#.....+,,,,,,,,+......###....#",
    "#..O..##########.\"\"\"..###....#",
    "#.....#        #.\"\"\"..L....O.#",
    "###+###        #......###....#",
    "  #.#          ####+#####....#",
    "  #.#             #.#   #..>.#",
    "###.##############+.#   ######",
    "#.......~~}}}~~....##         ",
    "#.......~~===~~....S..#       ",
    "#......{{{}}}::....#..#       ",
    "#......{{{...::....####       ",
    "####################          ",
    "                              ",
    "                              ",
];

const fn at(x: u32, y: u32) -> Option<Point> {
    Some(Point { x, y })
}

fn room(id: u32, role: RoomRole, min: (u32, u32), max: (u32, u32)) -> Room {
    let center = at(min.0 + 1, min.1 + 1);
    Room { id, min: at(min.0, min.1), max: at(max.0, max.1), role: role.into(), center, name: None }
}

#[allow(clippy::unnecessary_wraps, reason = "as in a message")]
fn text(text: &str, id: &str, parts: &[&str]) -> Option<Text> {
    Some(Text { text: text.to_owned(), id: id.to_owned(), parts: parts.iter().map(|&part| part.to_owned()).collect() })
}

fn terrain() -> Vec<u8> {
    let all = (1..16).map(|number| Terrain::try_from(number).unwrap());
    let named = all.map(|terrain| (glyph::of(terrain), terrain as u8)).collect::<std::collections::BTreeMap<_, _>>();
    MAP.iter().flat_map(|row| row.chars()).map(|glyph| named.get(&glyph).copied().unwrap_or(1)).collect()
}

fn region(rooms: &[Room], (width, height): (u32, u32)) -> Vec<u8> {
    let mut region = vec![0; (width * height) as usize];
    for room in rooms {
        let (min, max) = (room.min.unwrap(), room.max.unwrap());
        for y in min.y..=max.y {
            for x in min.x..=max.x {
                region[(y * width + x) as usize] = room.id as u8 + 1;
            }
        }
    }
    region
}

/// The message with its hash.
pub(crate) fn message() -> v1::Floor {
    let (width, height) = (30, 16);
    let rooms = vec![
        room(0, RoomRole::Entry, (1, 1), (5, 4)),
        room(1, RoomRole::Shrine, (16, 1), (21, 5)),
        room(2, RoomRole::Exit, (25, 2), (28, 7)),
        room(3, RoomRole::Key, (1, 9), (18, 12)),
        room(4, RoomRole::Secret, (20, 10), (21, 11)),
    ];
    let mut rooms = rooms;
    rooms[3].name = text("The Flooded Chapel", "room.chapel", &["state.flooded"]);
    let region = region(&rooms, (width, height));
    let connection = |from_room, to_room, lock_id, secret| Connection { from_room, to_room, lock_id, secret };
    let spawn = |at, archetype: &str, level, behaviour: Behaviour, group| Spawn {
        at,
        archetype: archetype.to_owned(),
        level,
        behaviour: behaviour.into(),
        group,
    };
    let item = |at, archetype: &str, value, opens_lock| Item { at, archetype: archetype.to_owned(), value, opens_lock };
    let mut floor = v1::Floor {
        spec: Some(FloorSpec {
            seed: u64::MAX,
            number: 7,
            width,
            height,
            kind: FloorKind::Standard.into(),
            ..FloorSpec::default()
        }),
        generator_version: 1,
        theme: "crypt".to_owned(),
        pack_hash: 0,
        landing: at(3, 2),
        name: text("The Crypt of Two Keys", "floor.crypt", &["count.two", "thing.key"]),
        hook: text("One key is in the water, and the other was never made.", "hook.keys", &[]),
        landmark: 4,
        furniture: vec![
            Furniture { archetype: "grave".to_owned(), cells: vec![76, 62, 2] },
            Furniture { archetype: "stone_table".to_owned(), cells: vec![93] },
            Furniture { archetype: "toll_gong".to_owned(), cells: vec![147] },
        ],
        content_hash: 0,
        terrain: Some(grid::encode(width, height, &terrain())),
        region: Some(grid::encode(width, height, &region)),
        entry: at(1, 1),
        exit: at(27, 7),
        rooms,
        connections: vec![
            connection(0, 1, 0, false),
            connection(0, 3, 0, false),
            connection(1, 2, 1, false),
            connection(1, 3, 0, false),
            connection(3, 4, 0, true),
        ],
        spawns: vec![
            spawn(at(17, 2), "goblin", 3, Behaviour::Guards, 1),
            spawn(at(20, 3), "ghoul", 4, Behaviour::Sleeps, 0),
            spawn(at(16, 10), "goblin", 5, Behaviour::Patrols, 1),
            spawn(at(26, 4), "ogre", 6, Behaviour::Wanders, 0),
        ],
        items: vec![item(at(2, 11), "key", 0, 1), item(at(21, 11), "gem", 120, 0), item(at(4, 4), "bread", 5, 0)],
        locks: vec![Lock { id: 1, at: at(22, 4) }],
        metrics: Some(FloorMetrics { critical_path: 48, passable_cells: 169, loops: 1, difficulty: 4250 }),
        traps: vec![Trap { at: at(9, 2), archetype: "darts".to_owned(), level: 2 }],
    };
    floor.content_hash = hash::content_hash(&floor);
    floor
}

/// The floor, decoded and checked.
pub(crate) fn floor() -> Floor {
    decoded(message())
}

/// The same floor with a wall in place of a door, a moved monster and one more item.
pub(crate) fn altered() -> Floor {
    let mut floor = message();
    let mut cells = grid::decode(floor.terrain.as_ref().unwrap()).unwrap();
    for (x, y, terrain) in [(6, 2, Terrain::Wall), (21, 2, Terrain::Rubble)] {
        cells[y * 30 + x] = terrain as u8;
    }
    floor.terrain = Some(grid::encode(30, 16, &cells));
    floor.connections.remove(0);
    floor.spawns[0].at = at(18, 4);
    floor.items.push(Item { at: at(3, 3), archetype: "gold".to_owned(), value: 7, opens_lock: 0 });
    floor.content_hash = hash::content_hash(&floor);
    decoded(floor)
}

/// A floor of that size with one empty room.
pub(crate) fn plain(width: u32, height: u32) -> Floor {
    let mut cells = vec![Terrain::Wall as u8; (width * height) as usize];
    for (x, y) in (1..height - 1).flat_map(|y| (1..width - 1).map(move |x| (x, y))) {
        cells[(y * width + x) as usize] = Terrain::Floor as u8;
    }
    let region = cells.iter().map(|cell| u8::from(*cell == Terrain::Floor as u8)).collect::<Vec<_>>();
    let mut floor = v1::Floor {
        spec: Some(FloorSpec {
            seed: 0,
            number: 7,
            width,
            height,
            kind: FloorKind::Standard.into(),
            ..FloorSpec::default()
        }),
        generator_version: 1,
        terrain: Some(grid::encode(width, height, &cells)),
        region: Some(grid::encode(width, height, &region)),
        entry: at(1, 1),
        exit: at(width - 2, height - 2),
        rooms: vec![room(0, RoomRole::Entry, (1, 1), (width - 2, height - 2))],
        ..v1::Floor::default()
    };
    floor.content_hash = hash::content_hash(&floor);
    decoded(floor)
}

/// A floor of a message with its hash.
pub(crate) fn decoded(message: v1::Floor) -> Floor {
    let encoded_len = prost::Message::encoded_len(&message);
    Floor::from_wire(message, encoded_len).unwrap()
}
