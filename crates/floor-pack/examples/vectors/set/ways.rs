//! Ways over floors: what every client answers alike.

use floor_proto::{floor::Floor, hash, v1::Point};
use serde::Serialize;

use super::{digest, floors};

/// The floors of which there are ways: without locks and with several, built and grown.
const FLOORS: [&str; 6] = ["keep", "cavern", "boss", "default", "tower_zero", "players_default"];

#[derive(Serialize)]
pub(super) struct WayVector {
    /// The name of the floor.
    floor: String,
    /// The ids of the locks whose keys the walker has.
    keys: Vec<u32>,
    from: [u32; 2],
    /// XXH3-64 of a byte for each cell, row by row: 1 if the walker with `keys` gets there from `from`.
    reachable_xxh3: String,
    to: [u32; 2],
    /// The cells of the way, both ends among them; none if there is no way.
    path: Option<Vec<[u32; 2]>>,
    /// Those of a party of six.
    starts: Vec<[u32; 2]>,
}

pub(super) fn all() -> Vec<WayVector> {
    FLOORS.into_iter().flat_map(of_floor).collect()
}

fn of_floor(name: &str) -> Vec<WayVector> {
    let encoded = floors::encoded_by_name(name);
    let message = hash::verify_encoded(&encoded).expect("a generated floor has its hash");
    let floor = Floor::from_wire(message, encoded.len()).expect("a generated floor is valid");
    let all: Vec<u32> = floor.locks().iter().map(|lock| lock.id).collect();
    let door = floor.locks().last().and_then(|lock| lock.at);
    let last = floor.rooms().last().and_then(|room| room.center).expect("a generated floor has rooms");
    let corner = Point { x: 0, y: 0 };
    let mut ways = vec![
        (all.clone(), floor.entry(), floor.exit()),
        (Vec::new(), floor.exit(), floor.entry()),
        (all.clone(), last, floor.landing()),
        (all.clone(), floor.entry(), corner),
        (Vec::new(), floor.entry(), floor.entry()),
    ];
    if let Some(door) = door {
        // To a door, from one that is locked again, and through none.
        ways.extend([(all.clone(), floor.entry(), door), (Vec::new(), door, floor.entry())]);
        ways.push((all[..1].to_vec(), floor.entry(), door));
    }
    ways.into_iter().map(|(keys, from, to)| way(name, &floor, keys, from, to)).collect()
}

fn way(name: &str, floor: &Floor, keys: Vec<u32>, from: Point, to: Point) -> WayVector {
    let reachable: Vec<u8> = floor.reachable(from, &keys).into_iter().map(u8::from).collect();
    let cells = |cells: Vec<Point>| cells.into_iter().map(cell).collect();
    WayVector {
        floor: name.to_owned(),
        reachable_xxh3: digest(&reachable),
        path: floor.path(from, to, &keys).map(cells),
        starts: cells(floor.starts(6)),
        keys,
        from: cell(from),
        to: cell(to),
    }
}

fn cell(Point { x, y }: Point) -> [u32; 2] {
    [x, y]
}
