//! Enum values of the wire as people write them: `FLOOR_KIND_STANDARD` is `standard`, `TERRAIN_LOCKED_DOOR` is
//! `locked door`.

use floor_client::{
    FloorKind, FloorSpec, RoomRole, Terrain,
    v1::{GridEncoding, Room},
};

pub(crate) fn kind(kind: FloorKind) -> String {
    plain(kind.as_str_name(), "FLOOR_KIND_")
}

/// The kind of a resolved spec; a kind newer than this program by its number.
pub(crate) fn kind_of(spec: &FloorSpec) -> String {
    FloorKind::try_from(spec.kind).map_or_else(|_| format!("kind {}", spec.kind), kind)
}

pub(crate) fn role_of(room: &Room) -> String {
    RoomRole::try_from(room.role).map_or_else(|_| format!("role {}", room.role), role)
}

pub(crate) fn role(role: RoomRole) -> String {
    plain(role.as_str_name(), "ROOM_ROLE_")
}

pub(crate) fn terrain(terrain: Terrain) -> String {
    plain(terrain.as_str_name(), "TERRAIN_")
}

pub(crate) fn encoding(encoding: GridEncoding) -> String {
    plain(encoding.as_str_name(), "GRID_ENCODING_")
}

fn plain(name: &str, prefix: &str) -> String {
    name.strip_prefix(prefix).unwrap_or(name).to_lowercase().replace('_', " ")
}
