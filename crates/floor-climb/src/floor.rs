//! What the rules need of a floor of the wire.

use floor_proto::{
    grid::{self, GridError},
    v1::{self, FloorKind, RoomRole},
};
use floor_rules::{Floor, Item, Lock, Point, Spawn, Trap};

/// The floor for [`floor_rules::Level::new`], which checks it. Its lists keep their order, so the numbers of the rules are
/// places in those of the message.
///
/// # Errors
/// [`GridError`] if a grid of the message is none.
pub fn rules_floor(floor: &v1::Floor) -> Result<Floor<'_>, GridError> {
    let cells = |grid: &Option<v1::Grid>| grid.as_ref().map(grid::decode).transpose().map(Option::unwrap_or_default);
    let rooms = |role| {
        let of_role = |room: &&v1::Room| room.role() == role;
        floor.rooms.iter().filter(of_role).map(|room| point(room.center)).collect()
    };
    let side = |side: fn(&v1::Grid) -> u32| floor.terrain.as_ref().map_or(0, |grid| short(side(grid)));
    Ok(Floor {
        width: side(|grid| grid.width),
        height: side(|grid| grid.height),
        terrain: cells(&floor.terrain)?,
        region: cells(&floor.region)?,
        entry: point(floor.entry),
        exit: point(floor.exit),
        is_of_boss: floor.spec.as_ref().is_some_and(|spec| spec.kind() == FloorKind::Boss),
        shrines: rooms(RoomRole::Shrine),
        shops: rooms(RoomRole::Shop),
        spawns: floor.spawns.iter().map(spawn).collect(),
        items: floor.items.iter().map(item).collect(),
        locks: floor.locks.iter().map(|lock| Lock { id: lock.id, at: point(lock.at) }).collect(),
        traps: floor.traps.iter().map(trap).collect(),
    })
}

/// The seed of rolls in `ClimbFloor.rolls`; `None` if it does not have 16 bytes.
#[must_use]
pub fn rolls(bytes: &[u8]) -> Option<u128> {
    bytes.try_into().ok().map(u128::from_le_bytes)
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

/// One that is missing is on no floor.
fn point(at: Option<v1::Point>) -> Point {
    at.map_or(Point::new(u16::MAX, u16::MAX), |at| Point::new(short(at.x), short(at.y)))
}

/// A side or a coordinate beyond 65,535 is on no floor either.
fn short(number: u32) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}
