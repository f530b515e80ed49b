//! A floor as the structs of `floor_gen.h`, and what owns the memory to which they point.

use std::ffi::{CString, c_char};

use floor_gen::{FloorSpec, Generator, Metrics};
use floor_proto::{grid, v1, ways::Ground};

use crate::{
    error::{Code, Failure, c_string},
    pack::Pack,
};

/// Defines the structs of the header, with public fields in its order.
macro_rules! structs {
    ($($(#[$doc:meta])* $Name:ident { $($field:ident: $Type:ty,)+ })+) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy)]
            #[repr(C)]
            #[allow(missing_docs, reason = "the header says what they are")]
            pub struct $Name { $(pub $field: $Type,)+ }
        )+
    };
}

structs! {
    /// `floor_gen_point`.
    #[derive(Default)]
    Point { x: u32, y: u32, }
    /// `floor_gen_room`.
    Room { id: u32, role: u32, min: Point, max: Point, center: Point, }
    /// `floor_gen_connection`.
    Connection { from_room: u32, to_room: u32, lock_id: u32, secret: u32, }
    /// `floor_gen_spawn`.
    Spawn { at: Point, archetype: *const c_char, level: u32, behaviour: u32, group: u32, }
    /// `floor_gen_item`.
    Item { at: Point, archetype: *const c_char, value: u32, opens_lock: u32, }
    /// `floor_gen_lock`.
    Lock { id: u32, at: Point, }
    /// `floor_gen_trap`.
    Trap { at: Point, archetype: *const c_char, level: u32, }
    /// `floor_gen_floor`.
    View {
        seed: u64,
        number: u32,
        width: u32,
        height: u32,
        kind: u32,
        generator_version: u32,
        terrain: *const u8,
        region: *const u8,
        entry: Point,
        exit: Point,
        landing: Point,
        pack: *const c_char,
        pack_hash: u64,
        theme: *const c_char,
        rooms: *const Room,
        connections: *const Connection,
        spawns: *const Spawn,
        items: *const Item,
        locks: *const Lock,
        traps: *const Trap,
        room_count: u32,
        connection_count: u32,
        spawn_count: u32,
        item_count: u32,
        lock_count: u32,
        trap_count: u32,
        critical_path: u32,
        passable_cells: u32,
        loops: u32,
        difficulty: u32,
        view: u32,
    }
    /// `floor_gen_text`.
    Text { text: *const c_char, id: *const c_char, parts: *const *const c_char, part_count: u32, }
    /// `floor_gen_furniture`.
    Furniture { at: Point, archetype: *const c_char, }
    /// `floor_gen_names`.
    NamesView {
        name: Text,
        hook: Text,
        room_names: *const Text,
        furniture: *const Furniture,
        furniture_count: u32,
        landmark: u32,
    }
    /// `floor_gen_bytes`.
    Bytes { data: *const u8, length: usize, }
}

impl From<floor_gen::Point> for Point {
    fn from(at: floor_gen::Point) -> Self {
        Self { x: at.x.into(), y: at.y.into() }
    }
}

impl From<Option<v1::Point>> for Point {
    /// Every authored floor has its points.
    fn from(at: Option<v1::Point>) -> Self {
        at.map_or_else(Self::default, |v1::Point { x, y }| Self { x, y })
    }
}

impl From<Point> for v1::Point {
    fn from(Point { x, y }: Point) -> Self {
        Self { x, y }
    }
}

/// What a view points to.
#[derive(Debug)]
struct Parts {
    _names: Names,
    theme: *const c_char,
    terrain: Vec<u8>,
    region: Vec<u8>,
    entry: Point,
    exit: Point,
    landing: Point,
    rooms: Vec<Room>,
    connections: Vec<Connection>,
    spawns: Vec<Spawn>,
    items: Vec<Item>,
    locks: Vec<Lock>,
    traps: Vec<Trap>,
    metrics: Metrics,
    surface: Surface,
}

/// Reads the parts of a generated floor or of a message: both have the same names.
macro_rules! parts {
    ($floor:ident, $terrain:expr, $region:expr, $metrics:expr, $surface:expr) => {{
        let mut names = Names::default();
        let mut archetype = |name: &str| names.add(name);
        let rooms = $floor.rooms.iter().map(|room| Room {
            id: room.id.into(),
            role: room.role as u32,
            min: room.min.into(),
            max: room.max.into(),
            center: room.center.into(),
        });
        let connections = $floor.connections.iter().map(|connection| Connection {
            from_room: connection.from_room.into(),
            to_room: connection.to_room.into(),
            lock_id: connection.lock_id.into(),
            secret: connection.secret.into(),
        });
        Parts {
            terrain: $terrain,
            region: $region,
            entry: $floor.entry.into(),
            exit: $floor.exit.into(),
            landing: $floor.landing.into(),
            rooms: rooms.collect(),
            connections: connections.collect(),
            spawns: collect(&$floor.spawns, |spawn| Spawn {
                at: spawn.at.into(),
                archetype: archetype(&spawn.archetype),
                level: spawn.level.into(),
                behaviour: spawn.behaviour as u32,
                group: spawn.group.into(),
            }),
            items: collect(&$floor.items, |item| Item {
                at: item.at.into(),
                archetype: archetype(&item.archetype),
                value: item.value,
                opens_lock: item.opens_lock.into(),
            }),
            locks: collect(&$floor.locks, |lock| Lock { id: lock.id.into(), at: lock.at.into() }),
            traps: collect(&$floor.traps, |trap| Trap {
                at: trap.at.into(),
                archetype: archetype(&trap.archetype),
                level: trap.level.into(),
            }),
            metrics: $metrics,
            surface: $surface,
            theme: archetype(&$floor.theme),
            _names: names,
        }
    }};
}

fn collect<T, C>(list: &[T], convert: impl FnMut(&T) -> C) -> Vec<C> {
    list.iter().map(convert).collect()
}

impl From<floor_gen::Floor<'_>> for Parts {
    fn from(floor: floor_gen::Floor<'_>) -> Self {
        let terrain = floor.terrain.iter().map(|terrain| *terrain as u8).collect();
        let of_rooms = |room: &floor_gen::Room| {
            let named = floor.names.rooms.iter().find(|(id, _)| *id == room.id);
            named.map(|(_, text)| Words::from(text)).unwrap_or_default()
        };
        let surface = Surface::new(
            [(&floor.names.floor).into(), (&floor.names.hook).into()],
            floor.rooms.iter().map(of_rooms).collect(),
            floor.furniture.iter().map(|piece| (piece.at.into(), piece.archetype)),
            floor.landmark.map_or(0, |room| u32::from(room) + 1),
        );
        parts!(floor, terrain, floor.region, floor.metrics, surface)
    }
}

impl TryFrom<v1::Floor> for Parts {
    type Error = Failure;

    fn try_from(floor: v1::Floor) -> Result<Self, Failure> {
        let v1::FloorMetrics { critical_path, passable_cells, loops, difficulty } = floor.metrics.unwrap_or_default();
        let metrics = Metrics { critical_path, passable_cells, loops, difficulty };
        let width = floor.spec.as_ref().map_or(1, |spec| spec.width.max(1));
        let furniture = floor.furniture.iter().flat_map(|kind| {
            let cells = kind.cells.iter().scan(0u32, |cell, step| {
                *cell = cell.saturating_add(*step);
                Some(*cell)
            });
            cells.map(|cell| (Point { x: cell % width, y: cell / width }, kind.archetype.as_str()))
        });
        let surface = Surface::new(
            [Words::sent(&floor.name), Words::sent(&floor.hook)],
            floor.rooms.iter().map(|room| Words::sent(&room.name)).collect(),
            furniture,
            floor.landmark,
        );
        Ok(parts!(floor, cells(floor.terrain.as_ref())?, cells(floor.region.as_ref())?, metrics, surface))
    }
}

fn cells(encoded: Option<&v1::Grid>) -> Result<Vec<u8>, Failure> {
    let encoded = encoded.ok_or_else(|| Failure::new(Code::Internal, "an authored floor has no grid".to_owned()))?;
    grid::decode(encoded).map_err(|error| Failure::new(Code::Internal, format!("an authored floor: {error}")))
}

/// A text with its ids.
#[derive(Default)]
struct Words<'a> {
    text: &'a str,
    id: &'a str,
    parts: Vec<&'a str>,
}

impl<'a> From<&'a floor_gen::Text<'_>> for Words<'a> {
    fn from(of: &'a floor_gen::Text<'_>) -> Self {
        Self { text: &of.text, id: of.id, parts: of.parts.clone() }
    }
}

impl<'a> Words<'a> {
    /// The text of a message, or nothing where there is none.
    fn sent(of: &'a Option<v1::Text>) -> Self {
        let Some(of) = of else { return Self::default() };
        Self { text: &of.text, id: &of.id, parts: of.parts.iter().map(String::as_str).collect() }
    }
}

/// What a floor is called and furnished with, and the memory of it.
#[derive(Debug)]
struct Surface {
    _names: Names,
    _parts: Vec<Vec<*const c_char>>,
    _room_names: Vec<Text>,
    _furniture: Vec<Furniture>,
    view: NamesView,
}

impl Surface {
    fn new<'a>(
        of_floor: [Words<'a>; 2],
        of_rooms: Vec<Words<'a>>,
        furniture: impl Iterator<Item = (Point, &'a str)>,
        landmark: u32,
    ) -> Self {
        let (mut names, mut parts) = (Names::default(), Vec::new());
        let mut text = |words: Words<'_>| {
            let own: Vec<_> = words.parts.iter().map(|part| names.add(part)).collect();
            let text = Text {
                text: names.add(words.text),
                id: names.add(words.id),
                parts: own.as_ptr(),
                part_count: count(&own),
            };
            // Its own memory does not move with the list.
            parts.push(own);
            text
        };
        let [name, hook] = of_floor.map(&mut text);
        let room_names: Vec<_> = of_rooms.into_iter().map(text).collect();
        let furniture: Vec<_> = furniture.map(|(at, name)| Furniture { at, archetype: names.add(name) }).collect();
        let view = NamesView {
            name,
            hook,
            room_names: room_names.as_ptr(),
            furniture: furniture.as_ptr(),
            furniture_count: count(&furniture),
            landmark,
        };
        Self { _names: names, _parts: parts, _room_names: room_names, _furniture: furniture, view }
    }
}

/// The names of one floor, each once. Those of a floor are few.
#[derive(Debug, Default)]
struct Names(Vec<CString>);

impl Names {
    /// Its address stays the same.
    fn add(&mut self, name: &str) -> *const c_char {
        if let Some(known) = self.0.iter().find(|known| known.as_bytes() == name.as_bytes()) {
            return known.as_ptr();
        }
        self.0.push(c_string(name));
        self.0[self.0.len() - 1].as_ptr()
    }
}

/// A floor with the memory to which its view points. C gets the address of the view.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct OwnedFloor {
    view: View,
    parts: Parts,
    pack: CString,
}

impl OwnedFloor {
    /// The floor of `spec`, which belongs to `pack`.
    pub(crate) fn generate(pack: &Pack, generator: &mut Generator, spec: &FloorSpec) -> Result<Box<Self>, Failure> {
        let loaded = &pack.loaded;
        let is_message = loaded.is_authored(spec) || loaded.pack().generator().is_some();
        let parts = if is_message || spec.view() != floor_gen::View::Everything {
            loaded.message(generator, spec)?.try_into()?
        } else {
            generator.generate_of(loaded.pack(), spec).into()
        };
        let pack = c_string(loaded.reference());
        Ok(Box::new(Self { view: view(spec, &pack, &parts), parts, pack }))
    }
}

impl OwnedFloor {
    /// What ways lead over.
    pub(crate) fn with_ground<T>(&self, answer: impl FnOnce(Ground<'_>) -> T) -> T {
        let terrain = |number: &u8| v1::Terrain::try_from(i32::from(*number)).unwrap_or(v1::Terrain::Unspecified);
        let terrain: Vec<_> = self.parts.terrain.iter().map(terrain).collect();
        let lock = |lock: &Lock| v1::Lock { id: lock.id, at: Some(lock.at.into()) };
        let locks: Vec<_> = self.parts.locks.iter().map(lock).collect();
        answer(Ground { width: self.view.width, terrain: &terrain, locks: &locks, entry: self.view.entry.into() })
    }

    /// What it is called and furnished with.
    pub(crate) const fn names(&self) -> &NamesView {
        &self.parts.surface.view
    }
}

fn view(spec: &FloorSpec, pack: &CString, parts: &Parts) -> View {
    View {
        seed: spec.seed(),
        number: spec.number(),
        width: spec.width().into(),
        height: spec.height().into(),
        kind: spec.kind() as u32,
        generator_version: floor_gen::GENERATOR_VERSION,
        terrain: parts.terrain.as_ptr(),
        region: parts.region.as_ptr(),
        entry: parts.entry,
        exit: parts.exit,
        landing: parts.landing,
        pack: pack.as_ptr(),
        pack_hash: spec.pack().0,
        theme: parts.theme,
        rooms: parts.rooms.as_ptr(),
        connections: parts.connections.as_ptr(),
        spawns: parts.spawns.as_ptr(),
        items: parts.items.as_ptr(),
        locks: parts.locks.as_ptr(),
        traps: parts.traps.as_ptr(),
        room_count: count(&parts.rooms),
        connection_count: count(&parts.connections),
        spawn_count: count(&parts.spawns),
        item_count: count(&parts.items),
        lock_count: count(&parts.locks),
        trap_count: count(&parts.traps),
        critical_path: parts.metrics.critical_path,
        passable_cells: parts.metrics.passable_cells,
        loops: parts.metrics.loops,
        difficulty: parts.metrics.difficulty,
        view: spec.view() as u32,
    }
}

fn count<T>(list: &[T]) -> u32 {
    u32::try_from(list.len()).expect("a floor has at most 262,144 cells")
}

/// Bytes with their memory. C gets the address of the first field.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct OwnedBytes {
    view: Bytes,
    owner: bytes::Bytes,
}

impl OwnedBytes {
    pub(crate) fn new(owner: bytes::Bytes) -> Box<Self> {
        Box::new(Self { view: Bytes { data: owner.as_ptr(), length: owner.len() }, owner })
    }
}
