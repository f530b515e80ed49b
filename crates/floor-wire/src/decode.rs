//! Reads a message as a floor in the generator's types, to check or to complete what was saved, edited or authored.

use floor_gen::{Connection, Floor, FloorSpec, Furniture, Item, Kind, Lock, Metrics, Names, Point, Room, Spawn, Trap};
use floor_proto::{
    grid,
    v1::{self, Behaviour, Grid, RoomRole, Terrain},
};

/// What a message says that the types of the generator cannot hold: unknown values, or sizes, ids and positions beyond the
/// protocol's limits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DecodeError(String);

impl From<String> for DecodeError {
    fn from(what: String) -> Self {
        Self(what)
    }
}

impl From<&str> for DecodeError {
    fn from(what: &str) -> Self {
        Self(what.to_owned())
    }
}

/// The behaviour of a monster whose floor does not say it.
const DEFAULT_BEHAVIOUR: Behaviour = Behaviour::Guards;

/// Sets what a floor may leave out: the behaviours of its monsters, and where who falls lands.
pub fn set_defaults(message: &mut v1::Floor) {
    for spawn in message.spawns.iter_mut().filter(|spawn| spawn.behaviour() == Behaviour::Unspecified) {
        spawn.set_behaviour(DEFAULT_BEHAVIOUR);
    }
    message.landing = message.landing.or(message.entry);
}

/// The floor of a message, with defaults for what it leaves out. All names are left out: no rule is about them.
///
/// # Errors
/// The first thing that the generator's types cannot hold.
pub fn floor(message: &v1::Floor) -> Result<Floor<'static>, DecodeError> {
    let spec = spec(message.spec.as_ref().ok_or("the floor has no spec")?)?;
    let terrain = cells("terrain", &spec, message.terrain.as_ref())?;
    let metrics = message.metrics.as_ref().ok_or("the floor has no metrics")?;
    check_counts(message, &spec)?;
    Ok(Floor {
        spec,
        theme: "",
        terrain: all(&terrain, terrain_of)?,
        region: cells("region", &spec, message.region.as_ref())?,
        entry: point("the entry", message.entry)?,
        exit: point("the exit", message.exit)?,
        landing: point("the landing", message.landing.or(message.entry))?,
        rooms: all(&message.rooms, room)?,
        connections: all(&message.connections, connection)?,
        spawns: all(&message.spawns, spawn)?,
        items: all(&message.items, item)?,
        locks: all(&message.locks, lock)?,
        traps: all(&message.traps, trap)?,
        furniture: furniture(message, &spec)?,
        landmark: match message.landmark {
            0 => None,
            room => Some(id("the landmark", room - 1)?),
        },
        names: Names::default(),
        metrics: Metrics {
            critical_path: metrics.critical_path,
            passable_cells: metrics.passable_cells,
            loops: metrics.loops,
            difficulty: metrics.difficulty,
        },
    })
}

/// A resolved spec. Its pack is the built-in one.
///
/// # Errors
/// Its kind is unknown, or a side or the number is out of range.
pub fn spec(spec: &v1::FloorSpec) -> Result<FloorSpec, DecodeError> {
    let kind = u32::try_from(spec.kind).ok().and_then(Kind::from_number);
    let kind = kind.ok_or_else(|| format!("kind {} is unknown to this program", spec.kind))?;
    if spec.width == 0 || spec.height == 0 {
        return Err(format!("the floor is {}x{} cells", spec.width, spec.height).into());
    }
    FloorSpec::resolve(spec.seed, spec.number, spec.width, spec.height, Some(kind))
        .map_err(|error| error.to_string().into())
}

/// The cells of the grid with this name, of a floor of `spec`.
///
/// # Errors
/// It is missing, has another size than the floor, or is malformed.
pub fn cells(name: &str, spec: &FloorSpec, encoded: Option<&Grid>) -> Result<Vec<u8>, DecodeError> {
    let encoded = encoded.ok_or_else(|| format!("the floor has no {name} grid"))?;
    let (width, height) = (u32::from(spec.width()), u32::from(spec.height()));
    if (encoded.width, encoded.height) != (width, height) {
        let (w, h) = (encoded.width, encoded.height);
        return Err(format!("the {name} grid is {w}x{h} cells, and the floor {width}x{height}").into());
    }
    grid::decode(encoded).map_err(|error| format!("the {name} grid: {error}").into())
}

fn all<T, U>(list: &[T], of: impl Fn(&T) -> Result<U, DecodeError>) -> Result<Vec<U>, DecodeError> {
    list.iter().map(of).collect()
}

fn check_counts(message: &v1::Floor, spec: &FloorSpec) -> Result<(), DecodeError> {
    for (what, count) in [("rooms", message.rooms.len()), ("locks", message.locks.len())] {
        if count > usize::from(u8::MAX) {
            return Err(format!("a floor has at most 255 {what}, not {count}").into());
        }
    }
    for (what, count) in [
        ("connections", message.connections.len()),
        ("spawns", message.spawns.len()),
        ("items", message.items.len()),
        ("traps", message.traps.len()),
    ] {
        if count > spec.cells() {
            return Err(format!("the floor has {count} {what}, more than its {} cells", spec.cells()).into());
        }
    }
    Ok(())
}

fn room(room: &v1::Room) -> Result<Room, DecodeError> {
    Ok(Room {
        id: id("a room", room.id)?,
        min: point("the min of a room", room.min)?,
        max: point("the max of a room", room.max)?,
        role: role(room.role)?,
        center: point("the center of a room", room.center)?,
    })
}

/// Every piece on its cell.
fn furniture(message: &v1::Floor, spec: &FloorSpec) -> Result<Vec<Furniture>, DecodeError> {
    let width = u32::from(spec.width());
    let mut pieces = Vec::new();
    for entry in &message.furniture {
        let mut cell = 0u32;
        for (i, &step) in entry.cells.iter().enumerate() {
            cell = cell.saturating_add(step);
            let name = &entry.archetype;
            if cell as usize >= spec.cells() {
                return Err(format!("furniture {name:?} has cell {cell}; the floor has {} cells", spec.cells()).into());
            }
            if i > 0 && step == 0 {
                return Err(format!("furniture {name:?} has cell {cell} twice").into());
            }
            pieces.push(Furniture { archetype: "", at: Point { x: (cell % width) as u16, y: (cell / width) as u16 } });
        }
        if pieces.len() > spec.cells() {
            return Err(format!("the floor has more furniture than its {} cells", spec.cells()).into());
        }
    }
    Ok(pieces)
}

fn connection(connection: &v1::Connection) -> Result<Connection, DecodeError> {
    Ok(Connection {
        from_room: id("a room of a connection", connection.from_room)?,
        to_room: id("a room of a connection", connection.to_room)?,
        lock_id: id("the lock of a connection", connection.lock_id)?,
        secret: connection.secret,
    })
}

fn spawn(spawn: &v1::Spawn) -> Result<Spawn, DecodeError> {
    let at = point("a spawn", spawn.at)?;
    let of_this = |wrong| format!("the spawn at ({}, {}): {wrong}", at.x, at.y);
    Ok(Spawn {
        at,
        archetype: "",
        level: level(spawn.level)?,
        behaviour: behaviour(spawn.behaviour).map_err(of_this)?,
        group: group(spawn.group).map_err(of_this)?,
    })
}

fn item(item: &v1::Item) -> Result<Item, DecodeError> {
    let opens_lock = id("the lock of a key", item.opens_lock)?;
    Ok(Item { at: point("an item", item.at)?, archetype: "", value: item.value, opens_lock })
}

fn lock(lock: &v1::Lock) -> Result<Lock, DecodeError> {
    Ok(Lock { id: id("a lock", lock.id)?, at: point("a lock", lock.at)? })
}

fn trap(trap: &v1::Trap) -> Result<Trap, DecodeError> {
    Ok(Trap { at: point("a trap", trap.at)?, archetype: "", level: level(trap.level)? })
}

fn terrain_of(value: &u8) -> Result<floor_gen::Terrain, DecodeError> {
    use floor_gen::Terrain as Known;
    Ok(match Terrain::try_from(i32::from(*value)) {
        Ok(Terrain::Wall) => Known::Wall,
        Ok(Terrain::Floor) => Known::Floor,
        Ok(Terrain::Door) => Known::Door,
        Ok(Terrain::LockedDoor) => Known::LockedDoor,
        Ok(Terrain::SecretDoor) => Known::SecretDoor,
        Ok(Terrain::StairsUp) => Known::StairsUp,
        Ok(Terrain::StairsDown) => Known::StairsDown,
        Ok(Terrain::ShallowWater) => Known::ShallowWater,
        Ok(Terrain::DeepWater) => Known::DeepWater,
        Ok(Terrain::Lava) => Known::Lava,
        Ok(Terrain::Chasm) => Known::Chasm,
        Ok(Terrain::Bridge) => Known::Bridge,
        Ok(Terrain::Grass) => Known::Grass,
        Ok(Terrain::Rubble) => Known::Rubble,
        Ok(Terrain::Pillar) => Known::Pillar,
        Ok(Terrain::Unspecified) | Err(_) => return Err(format!("terrain {value} is unknown to this program").into()),
    })
}

fn role(value: i32) -> Result<floor_gen::RoomRole, DecodeError> {
    use floor_gen::RoomRole as Known;
    Ok(match RoomRole::try_from(value) {
        Ok(RoomRole::Entry) => Known::Entry,
        Ok(RoomRole::Exit) => Known::Exit,
        Ok(RoomRole::Combat) => Known::Combat,
        Ok(RoomRole::Treasure) => Known::Treasure,
        Ok(RoomRole::Key) => Known::Key,
        Ok(RoomRole::Shrine) => Known::Shrine,
        Ok(RoomRole::Shop) => Known::Shop,
        Ok(RoomRole::Boss) => Known::Boss,
        Ok(RoomRole::Vault) => Known::Vault,
        Ok(RoomRole::Secret) => Known::Secret,
        Ok(RoomRole::Passage) => Known::Passage,
        Ok(RoomRole::Unspecified) | Err(_) => {
            return Err(format!("room role {value} is unknown to this program").into());
        }
    })
}

fn point(what: &str, at: Option<v1::Point>) -> Result<Point, String> {
    let v1::Point { x, y } = at.ok_or_else(|| format!("{what} has no position"))?;
    match (u16::try_from(x), u16::try_from(y)) {
        (Ok(x), Ok(y)) => Ok(Point { x, y }),
        _ => Err(format!("{what} is at ({x}, {y}), far outside the floor")),
    }
}

fn id(what: &str, id: u32) -> Result<u8, String> {
    u8::try_from(id).map_err(|_| format!("{what} has the id {id}; ids are at most 255"))
}

/// [`DEFAULT_BEHAVIOUR`] if a spawn has none.
fn behaviour(value: i32) -> Result<floor_gen::Behaviour, String> {
    let value = if value == 0 { DEFAULT_BEHAVIOUR.into() } else { value };
    let known = u32::try_from(value).ok().and_then(floor_gen::Behaviour::from_number);
    known.ok_or_else(|| format!("behaviour {value} is unknown to this program; they are 1 to 4"))
}

fn group(group: u32) -> Result<u8, String> {
    u8::try_from(group).map_err(|_| format!("group {group} is more than 255; 0 is a monster without a group"))
}

fn level(level: u32) -> Result<u16, String> {
    u16::try_from(level).map_err(|_| format!("level {level} is more than 65535"))
}
