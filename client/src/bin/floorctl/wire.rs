//! Converts a generated floor to the message that a server with the same generator sends. floorctl does not build the
//! server, which has its own conversion; a test compares both by recorded content hashes.

use floor_client::v1;
use floor_gen::{Floor, FloorSpec, Point};
use floor_proto::{grid, hash};

/// The floor as a message with its content hash.
pub(crate) fn message(floor: &Floor) -> v1::Floor {
    let width = u32::from(floor.spec.width());
    let height = u32::from(floor.spec.height());
    let terrain: Vec<u8> = floor.terrain.iter().map(|terrain| *terrain as u8).collect();
    let mut message = v1::Floor {
        spec: Some(spec(&floor.spec)),
        generator_version: floor_gen::GENERATOR_VERSION,
        content_hash: 0,
        terrain: Some(grid::encode(width, height, &terrain)),
        region: Some(grid::encode(width, height, &floor.region)),
        entry: point(floor.entry),
        exit: point(floor.exit),
        rooms: floor.rooms.iter().map(room).collect(),
        connections: floor
            .connections
            .iter()
            .map(|c| v1::Connection {
                from_room: c.from_room.into(),
                to_room: c.to_room.into(),
                lock_id: c.lock_id.into(),
                secret: c.secret,
            })
            .collect(),
        spawns: floor
            .spawns
            .iter()
            .map(|s| v1::Spawn { at: point(s.at), archetype: s.archetype.into(), level: s.level.into() })
            .collect(),
        items: floor
            .items
            .iter()
            .map(|i| v1::Item {
                at: point(i.at),
                archetype: i.archetype.into(),
                value: i.value,
                opens_lock: i.opens_lock.into(),
            })
            .collect(),
        locks: floor.locks.iter().map(|l| v1::Lock { id: l.id.into(), at: point(l.at) }).collect(),
        metrics: Some(v1::FloorMetrics {
            critical_path: floor.metrics.critical_path,
            passable_cells: floor.metrics.passable_cells,
            loops: floor.metrics.loops,
            difficulty: floor.metrics.difficulty,
        }),
        traps: floor
            .traps
            .iter()
            .map(|t| v1::Trap { at: point(t.at), archetype: t.archetype.into(), level: t.level.into() })
            .collect(),
    };
    message.content_hash = hash::content_hash(&message);
    message
}

fn spec(spec: &FloorSpec) -> v1::FloorSpec {
    v1::FloorSpec {
        seed: spec.seed(),
        number: spec.number(),
        width: spec.width().into(),
        height: spec.height().into(),
        kind: spec.kind() as i32,
    }
}

fn room(room: &floor_gen::Room) -> v1::Room {
    v1::Room {
        id: room.id.into(),
        min: point(room.min),
        max: point(room.max),
        role: room.role as i32,
        center: point(room.center),
    }
}

#[allow(clippy::unnecessary_wraps, reason = "every message field that holds a point is an Option")]
fn point(at: Point) -> Option<v1::Point> {
    Some(v1::Point { x: at.x.into(), y: at.y.into() })
}

#[cfg(test)]
mod tests {
    use floor_gen::{Generator, Kind};
    use prost::Message as _;

    use super::*;

    /// The recorded hashes and sizes, one line per floor: `keep 64x64 tower 42 floor 7: 154a529dd718a17a 1888 B`.
    const RECORD: &str =
        include_str!("../../../../bevy-server/tests/snapshots/goldens__content_hashes_are_those_on_record.snap");

    #[test]
    fn content_hashes_match_those_of_the_server() {
        let mut generator = Generator::new();
        let mut floors = 0;
        for line in RECORD.lines().filter(|line| line.ends_with(" B")) {
            let words: Vec<&str> = line.split(' ').collect();
            let [kind, size, "tower", seed, "floor", number, hash, bytes, "B"] = words[..] else { panic!("{line}") };
            let kind = Kind::ALL.into_iter().find(|known| known.name() == kind);
            let (width, height) = size.split_once('x').unwrap();
            let cells = |text: &str| text.parse::<u32>().unwrap();
            let number = number.trim_end_matches(':').parse().unwrap();
            let spec = FloorSpec::resolve(seed.parse().unwrap(), number, cells(width), cells(height), kind);
            let message = message(&generator.generate(&spec.unwrap()));
            assert_eq!(
                (format!("{:016x}", message.content_hash), message.encoded_len().to_string()),
                (hash.into(), bytes.into()),
                "{line}"
            );
            floors += 1;
        }
        assert_eq!(floors, 72);
    }
}
