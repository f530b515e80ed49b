//! Readable names of the enum values in the .proto: `standard` for `FLOOR_KIND_STANDARD`, `locked door` for
//! `TERRAIN_LOCKED_DOOR`.

use floor_proto::v1::{Behaviour, FloorKind, FloorSpec, Point, Room, RoomRole, Spawn, Terrain, Text};

/// `standard` for `FLOOR_KIND_STANDARD`.
#[must_use]
pub fn kind(kind: FloorKind) -> String {
    plain(kind.as_str_name(), "FLOOR_KIND_")
}

/// The name of the kind of a resolved spec; the number if this program does not know the kind.
#[must_use]
pub fn kind_of(spec: &FloorSpec) -> String {
    FloorKind::try_from(spec.kind).map_or_else(|_| format!("kind {}", spec.kind), kind)
}

/// The name of the role of a room; the number if this program does not know the role.
#[must_use]
pub fn role_of(room: &Room) -> String {
    RoomRole::try_from(room.role).map_or_else(|_| format!("role {}", room.role), role)
}

/// The number that people read for a room: pictures, keys and texts count from 1, as regions do. Ids count from 0.
#[must_use]
pub const fn room_number(id: u32) -> u32 {
    id + 1
}

/// The name of the behaviour of a monster, `sleeps` for `BEHAVIOUR_SLEEPS`; the number if this program does not know the
/// behaviour.
#[must_use]
pub fn behaviour_of(spawn: &Spawn) -> String {
    Behaviour::try_from(spawn.behaviour).map_or_else(|_| format!("behaviour {}", spawn.behaviour), behaviour)
}

/// `sleeps` for `BEHAVIOUR_SLEEPS`.
#[must_use]
pub fn behaviour(behaviour: Behaviour) -> String {
    plain(behaviour.as_str_name(), "BEHAVIOUR_")
}

/// `treasure` for `ROOM_ROLE_TREASURE`.
#[must_use]
pub fn role(role: RoomRole) -> String {
    plain(role.as_str_name(), "ROOM_ROLE_")
}

/// `locked door` for `TERRAIN_LOCKED_DOOR`.
#[must_use]
pub fn terrain(terrain: Terrain) -> String {
    plain(terrain.as_str_name(), "TERRAIN_")
}

/// `(3, 4)`. The points of a checked floor are never missing.
#[must_use]
pub fn position(at: Option<Point>) -> String {
    let Point { x, y } = at.unwrap_or_default();
    format!("({x}, {y})")
}

/// A content hash in text: 16 hexadecimal digits.
#[must_use]
pub fn hash(content_hash: u64) -> String {
    format!("{content_hash:016x}")
}

/// `bone archer` for `bone_archer`.
#[must_use]
pub fn archetype(name: &str) -> String {
    name.replace('_', " ")
}

/// A text, its id, and its parts with commas between them; empty if there is none.
pub(crate) fn text(of: Option<&Text>) -> [String; 3] {
    of.map_or_else(Default::default, |text| [text.text.clone(), text.id.clone(), text.parts.join(",")])
}

fn plain(name: &str, prefix: &str) -> String {
    name.strip_prefix(prefix).unwrap_or(name).to_lowercase().replace('_', " ")
}
