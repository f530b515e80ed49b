//! Explains how a floor came about: an [`Observer`] is notified of each stage, and [`lock_graph`] lists the locks.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

use crate::floor::{Floor, Point, RoomRole};
use crate::graph::Components;
pub use crate::observer::Observer;

/// The floor's locks as text, one line each: the rooms that it separates, where its key lies, and the locks in front of
/// that key.
#[must_use]
pub fn lock_graph(floor: &Floor<'_>) -> String {
    let mut text = String::new();
    for lock in &floor.locks {
        let connections = floor.connections.iter().filter(|connection| connection.lock_id == lock.id);
        let key = floor.items.iter().find(|item| item.opens_lock == lock.id);
        let key_room = key.and_then(|key| room_at(floor, key.at));
        // Writing to a String cannot fail.
        let _ = write!(text, "lock {} at ({}, {})", lock.id, lock.at.x, lock.at.y);
        for connection in connections {
            let _ =
                write!(text, ", between {} and {}", name(floor, connection.from_room), name(floor, connection.to_room));
        }
        if let (Some(key), Some(room)) = (key, key_room) {
            let _ = write!(text, "; key at ({}, {}) in {}", key.at.x, key.at.y, name(floor, room));
            let behind = locks_before(floor, room);
            text.push_str(if behind.is_empty() { ", in the open" } else { ", behind lock" });
            for lock in behind {
                let _ = write!(text, " {lock}");
            }
        }
        text.push('\n');
    }
    text
}

/// The locks between the entry and a room.
fn locks_before(floor: &Floor<'_>, room: u8) -> Vec<u8> {
    let Some(entry) = room_at(floor, floor.entry) else { return Vec::new() };
    let needed = |lock: u8| {
        let mut without = Components::singletons(floor.rooms.len());
        for open in floor.connections.iter().filter(|connection| connection.lock_id != lock && !connection.secret) {
            without.join(open.from_room.into(), open.to_room.into());
        }
        !without.connected(entry.into(), room.into())
    };
    floor.locks.iter().map(|lock| lock.id).filter(|&lock| needed(lock)).collect()
}

fn room_at(floor: &Floor<'_>, at: Point) -> Option<u8> {
    let i = usize::from(at.y) * usize::from(floor.spec.width()) + usize::from(at.x);
    floor.region[i].checked_sub(1)
}

fn name(floor: &Floor<'_>, room: u8) -> String {
    let role = floor.rooms.get(usize::from(room)).map_or(RoomRole::Passage, |room| room.role);
    alloc::format!("room {room} ({role:?})")
}
