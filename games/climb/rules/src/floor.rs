//! What the rules need of a floor of the client.

use floor_client::{
    Floor, FloorKind, RoomRole,
    v1::{self, Room},
};
use floor_rules::{Item, Lock, Point, Spawn, Trap};

/// Its lists keep their order, so the numbers of the rules are places in those of the client.
pub(crate) fn of_rules(floor: &Floor) -> floor_rules::Floor<'_> {
    let rooms = |role| {
        let of_role = |room: &&Room| room.role() == role;
        floor.rooms().iter().filter(of_role).map(|room| point(room.center)).collect()
    };
    floor_rules::Floor {
        width: floor.width() as u16,
        height: floor.height() as u16,
        terrain: floor.terrain().iter().map(|terrain| *terrain as u8).collect(),
        region: floor.region().to_vec(),
        entry: point(Some(floor.entry())),
        exit: point(Some(floor.exit())),
        is_of_boss: floor.kind() == FloorKind::Boss,
        shrines: rooms(RoomRole::Shrine),
        shops: rooms(RoomRole::Shop),
        spawns: floor.spawns().iter().map(spawn).collect(),
        items: floor.items().iter().map(item).collect(),
        locks: floor.locks().iter().map(|lock| Lock { id: lock.id, at: point(lock.at) }).collect(),
        traps: floor.traps().iter().map(trap).collect(),
    }
}

fn spawn(spawn: &v1::Spawn) -> Spawn<'_> {
    Spawn {
        at: point(spawn.at),
        archetype: &spawn.archetype,
        level: spawn.level,
        behaviour: spawn.behaviour() as u8,
        group: spawn.group,
    }
}

fn item(item: &v1::Item) -> Item<'_> {
    Item { at: point(item.at), archetype: &item.archetype, value: item.value, opens_lock: item.opens_lock }
}

fn trap(trap: &v1::Trap) -> Trap<'_> {
    Trap { at: point(trap.at), archetype: &trap.archetype, level: trap.level }
}

/// The client has checked that the point is there and on the floor, whose sides are at most 512.
fn point(at: Option<v1::Point>) -> Point {
    at.map_or(Point::default(), |at| Point::new(at.x as u16, at.y as u16))
}
