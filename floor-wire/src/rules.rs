//! Checks a floor that was saved, edited or authored against every rule, with the generator's validator.

use std::fmt;

use floor_gen::{
    Connection, Floor, FloorSpec, Item, Kind, Lock, Metrics, Point, Room, Spawn, Trap,
    validate::{Violation, validate},
};
use floor_proto::{
    grid,
    v1::{self, Behaviour, Grid, RoomRole, Terrain},
};

/// The rule of what the message cannot say at all: sizes, ids and positions beyond the protocol's limits.
const LIMITS: &str = "limits";

/// The behaviour of a monster whose floor does not say it.
const DEFAULT_BEHAVIOUR: Behaviour = Behaviour::Guards;

/// A rule that a floor breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenRule {
    /// Its name.
    pub rule: &'static str,
    /// What is wrong.
    pub message: String,
    /// Where.
    pub cells: Vec<(u16, u16)>,
    /// The metric that is wrong, and its correct value.
    metric: Option<(&'static str, u32)>,
}

/// Every rule that `message` breaks, once for each place.
#[must_use]
pub fn broken_by(message: &v1::Floor) -> Vec<BrokenRule> {
    let floor = match generator_floor(message) {
        Ok(floor) => floor,
        Err(message) => return vec![BrokenRule { rule: LIMITS, message, cells: Vec::new(), metric: None }],
    };
    let violations = validate(&floor).err().unwrap_or_default();
    violations.iter().map(|violation| BrokenRule::of(violation, &floor)).collect()
}

/// Puts the correct metrics into `message`, for the rules that its metrics break.
pub fn correct_metrics(message: &mut v1::Floor, broken: &[BrokenRule]) {
    let metrics = message.metrics.get_or_insert_default();
    for (name, counted) in broken.iter().filter_map(|broken| broken.metric) {
        match name {
            "critical_path" => metrics.critical_path = counted,
            "passable_cells" => metrics.passable_cells = counted,
            "loops" => metrics.loops = counted,
            _ => {}
        }
    }
}

/// Sets what a floor may leave out: the behaviours of its monsters, and where who falls lands.
pub fn set_defaults(message: &mut v1::Floor) {
    for spawn in message.spawns.iter_mut().filter(|spawn| spawn.behaviour() == Behaviour::Unspecified) {
        spawn.set_behaviour(DEFAULT_BEHAVIOUR);
    }
    message.landing = message.landing.or(message.entry);
}

impl fmt::Display for BrokenRule {
    /// The rule, the first cell, and what is wrong.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.rule)?;
        if let Some((x, y)) = self.cells.first() {
            write!(f, " at ({x}, {y})")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl BrokenRule {
    fn of(violation: &Violation, floor: &Floor<'_>) -> Self {
        let metric = match *violation {
            Violation::Metric { name, counted, .. } => Some((name, counted)),
            _ => None,
        };
        let cells = violation.cells(floor).into_iter().map(|Point { x, y }| (x, y)).collect();
        Self { rule: violation.rule(), message: violation.to_string(), cells, metric }
    }

    /// Whether recounting the metrics mends it.
    #[must_use]
    pub const fn is_metric(&self) -> bool {
        self.metric.is_some()
    }
}

/// The floor in the generator's types. The error says what they cannot hold.
///
/// Names of archetypes are left out, since no rule is about them.
fn generator_floor(message: &v1::Floor) -> Result<Floor<'static>, String> {
    let spec = spec(message.spec.as_ref().ok_or("the floor has no spec")?)?;
    let terrain = cells("terrain", &spec, message.terrain.as_ref())?.into_iter().map(terrain);
    let metrics = message.metrics.as_ref().ok_or("the floor has no metrics")?;
    let rooms = message.rooms.iter().map(|room| {
        Ok(Room {
            id: id("a room", room.id)?,
            min: point("the min of a room", room.min)?,
            max: point("the max of a room", room.max)?,
            role: role(room.role)?,
            center: point("the center of a room", room.center)?,
        })
    });
    let connections = message.connections.iter().map(|connection| {
        Ok(Connection {
            from_room: id("a room of a connection", connection.from_room)?,
            to_room: id("a room of a connection", connection.to_room)?,
            lock_id: id("the lock of a connection", connection.lock_id)?,
            secret: connection.secret,
        })
    });
    let spawns = message.spawns.iter().map(|spawn| {
        let at = point("a spawn", spawn.at)?;
        let of_this = |wrong| format!("the spawn at ({}, {}): {wrong}", at.x, at.y);
        Ok(Spawn {
            at,
            archetype: "",
            level: level(spawn.level)?,
            behaviour: behaviour(spawn.behaviour).map_err(of_this)?,
            group: group(spawn.group).map_err(of_this)?,
        })
    });
    let items = message.items.iter().map(|item| {
        let opens_lock = id("the lock of a key", item.opens_lock)?;
        Ok(Item { at: point("an item", item.at)?, archetype: "", value: item.value, opens_lock })
    });
    let locks = message.locks.iter().map(|lock| Ok(Lock { id: id("a lock", lock.id)?, at: point("a lock", lock.at)? }));
    let traps = message
        .traps
        .iter()
        .map(|trap| Ok(Trap { at: point("a trap", trap.at)?, archetype: "", level: level(trap.level)? }));
    for (what, count) in [("rooms", message.rooms.len()), ("locks", message.locks.len())] {
        if count > usize::from(u8::MAX) {
            return Err(format!("a floor has at most 255 {what}, not {count}"));
        }
    }
    for (what, count) in [
        ("connections", message.connections.len()),
        ("spawns", message.spawns.len()),
        ("items", message.items.len()),
        ("traps", message.traps.len()),
    ] {
        if count > spec.cells() {
            return Err(format!("the floor has {count} {what}, more than its {} cells", spec.cells()));
        }
    }
    Ok(Floor {
        spec,
        // No rule asks for the theme.
        theme: "",
        terrain: terrain.collect::<Result<_, _>>()?,
        region: cells("region", &spec, message.region.as_ref())?,
        entry: point("the entry", message.entry)?,
        exit: point("the exit", message.exit)?,
        landing: point("the landing", message.landing.or(message.entry))?,
        rooms: rooms.collect::<Result<_, String>>()?,
        connections: connections.collect::<Result<_, String>>()?,
        spawns: spawns.collect::<Result<_, String>>()?,
        items: items.collect::<Result<_, String>>()?,
        locks: locks.collect::<Result<_, String>>()?,
        traps: traps.collect::<Result<_, String>>()?,
        metrics: Metrics {
            critical_path: metrics.critical_path,
            passable_cells: metrics.passable_cells,
            loops: metrics.loops,
            difficulty: metrics.difficulty,
        },
    })
}

pub(crate) fn spec(spec: &v1::FloorSpec) -> Result<FloorSpec, String> {
    let kind = u32::try_from(spec.kind).ok().and_then(Kind::from_number);
    let kind = kind.ok_or_else(|| format!("kind {} is unknown to this program", spec.kind))?;
    if spec.width == 0 || spec.height == 0 {
        return Err(format!("the floor is {}x{} cells", spec.width, spec.height));
    }
    FloorSpec::resolve(spec.seed, spec.number, spec.width, spec.height, Some(kind)).map_err(|error| error.to_string())
}

fn cells(name: &str, spec: &FloorSpec, encoded: Option<&Grid>) -> Result<Vec<u8>, String> {
    let encoded = encoded.ok_or_else(|| format!("the floor has no {name} grid"))?;
    let (width, height) = (u32::from(spec.width()), u32::from(spec.height()));
    if (encoded.width, encoded.height) != (width, height) {
        let (w, h) = (encoded.width, encoded.height);
        return Err(format!("the {name} grid is {w}x{h} cells, and the floor {width}x{height}"));
    }
    grid::decode(encoded).map_err(|error| format!("the {name} grid: {error}"))
}

fn terrain(value: u8) -> Result<floor_gen::Terrain, String> {
    use floor_gen::Terrain as Known;
    Ok(match Terrain::try_from(i32::from(value)) {
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
        Ok(Terrain::Unspecified) | Err(_) => return Err(format!("terrain {value} is unknown to this program")),
    })
}

fn role(value: i32) -> Result<floor_gen::RoomRole, String> {
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
        Ok(RoomRole::Unspecified) | Err(_) => return Err(format!("room role {value} is unknown to this program")),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A generated floor of each kind.
    fn floors() -> impl Iterator<Item = v1::Floor> {
        Kind::ALL.into_iter().map(|kind| {
            let spec = FloorSpec::resolve(42, 7, 64, 64, Some(kind)).unwrap();
            crate::message(&floor_gen::generate(&spec))
        })
    }

    #[test]
    fn a_generated_floor_breaks_no_rule() {
        for floor in floors() {
            assert_eq!(broken_by(&floor), []);
        }
    }

    #[test]
    fn a_broken_rule_names_its_cells() {
        for mut floor in floors() {
            let mut cells = grid::decode(floor.terrain.as_ref().unwrap()).unwrap();
            cells[3 * 64] = Terrain::Floor as u8;
            floor.terrain = Some(grid::encode(64, 64, &cells));
            let broken = broken_by(&floor);
            assert_eq!((broken[0].rule, &broken[0].cells[..]), ("open border", &[(0, 3)][..]));
            assert!(broken[1..].iter().all(BrokenRule::is_metric), "{broken:?}");
        }
    }

    #[test]
    fn corrected_metrics_break_no_rule() {
        for good in floors() {
            let mut floor = good.clone();
            let metrics = floor.metrics.as_mut().unwrap();
            (metrics.loops, metrics.critical_path, metrics.passable_cells) = (99, 0, 1);
            let broken = broken_by(&floor);
            assert_eq!(broken.len(), 3, "{broken:?}");
            correct_metrics(&mut floor, &broken);
            assert_eq!(floor, good);
        }
    }

    #[test]
    fn what_the_rules_cannot_be_asked_about_breaks_the_limits() {
        let good = floors().next().unwrap();
        let broken = |edit: &dyn Fn(&mut v1::Floor)| {
            let mut floor = good.clone();
            edit(&mut floor);
            let broken = broken_by(&floor);
            assert_eq!((broken.len(), broken[0].rule), (1, LIMITS));
            broken[0].message.clone()
        };
        for (message, expected) in [
            (broken(&|floor| floor.spec = None), "no spec"),
            (broken(&|floor| floor.spec.as_mut().unwrap().kind = 77), "kind 77 is unknown"),
            (broken(&|floor| floor.spec.as_mut().unwrap().number = 0), "floor number 0"),
            (broken(&|floor| floor.spec.as_mut().unwrap().width = 80), "64x64 cells, and the floor 80x64"),
            (broken(&|floor| floor.rooms[0].id = 300), "the id 300"),
            (broken(&|floor| floor.rooms[0].role = 0), "room role 0"),
            (broken(&|floor| floor.entry = None), "the entry has no position"),
            (broken(&|floor| floor.spawns[0].behaviour = 5), "behaviour 5 is unknown to this program; they are 1 to 4"),
            (broken(&|floor| floor.spawns[0].group = 256), "group 256 is more than 255"),
            (broken(&|floor| floor.landing.as_mut().unwrap().y = 65_536), "the landing is at ("),
            (broken(&|floor| floor.exit.as_mut().unwrap().x = 70_000), "(70000, "),
            (broken(&|floor| floor.rooms = vec![floor.rooms[0]; 256]), "at most 255 rooms, not 256"),
        ] {
            assert!(message.contains(expected), "{message}");
        }
    }
}
