//! Tiled's JSON map format: <https://doc.mapeditor.org/en/stable/reference/json-map-format/>.

use floor_gen::pack::{Look, Paint};
use floor_proto::{
    floor::{Floor, is_passable},
    v1::{Point, Room, Terrain},
};
use serde_json::{Value, json};

use crate::{
    ExportError, ExportedFile, ROOMS, cells_name,
    names::{self, hash},
    picture::{
        colour,
        tiles::{self, CELL_ROWS, COLUMNS, ROOM_ROWS, SIDE, Tile},
    },
};

/// The version of the format. Tiled 1.8 and newer read it.
const VERSION: &str = "1.10";
const TILED_VERSION: &str = "1.10.2";

/// The first ids of the tilesets' tiles in a map.
const FIRST_CELL: u32 = 1;
const FIRST_ROOM: u32 = FIRST_CELL + COLUMNS * CELL_ROWS;

/// The map, and its two tilesets with their pictures, the first in the look of the floor's theme.
///
/// # Errors
/// If a picture cannot be written.
pub fn files(floor: &Floor, map: String, look: &Look) -> Result<Vec<ExportedFile>, ExportError> {
    let cells = cells_name(floor);
    Ok(vec![
        ExportedFile::json(map, &document(floor, look)),
        ExportedFile::json(format!("{cells}.tsj"), &cell_tileset(&cells)),
        ExportedFile { name: format!("{cells}.png"), bytes: tiles::cells_png(look)? },
        ExportedFile::json(format!("{ROOMS}.tsj"), &tileset(ROOMS, ROOM_ROWS, &[])),
        ExportedFile { name: format!("{ROOMS}.png"), bytes: tiles::rooms_png()? },
    ])
}

/// The map alone.
#[must_use]
pub fn document(floor: &Floor, look: &Look) -> Value {
    let layers = layers(floor);
    json!({
        "type": "map",
        "version": VERSION,
        "tiledversion": TILED_VERSION,
        "orientation": "orthogonal",
        "renderorder": "right-down",
        "infinite": false,
        "backgroundcolor": colour::hex(colour::paint(look, Paint::Rock)),
        "compressionlevel": -1,
        "width": floor.width(),
        "height": floor.height(),
        "tilewidth": SIDE,
        "tileheight": SIDE,
        "nextlayerid": layers.layers.len() + 1,
        "nextobjectid": layers.objects + 1,
        "tilesets": [
            {"firstgid": FIRST_CELL, "source": format!("{}.tsj", cells_name(floor))},
            {"firstgid": FIRST_ROOM, "source": format!("{ROOMS}.tsj")},
        ],
        "properties": properties(&map_properties(floor)),
        "layers": layers.layers,
    })
}

/// The grids, and what stands on them.
fn layers(floor: &Floor) -> Layers<'_> {
    let wire = floor.wire();
    let mut layers = Layers::new(floor);
    let cells = (0..floor.height()).flat_map(|y| (0..floor.width()).map(move |x| (x, y)));
    let tiles = cells.map(|(x, y)| Tile::of(floor, x, y).map_or(0, |tile| FIRST_CELL + tile.index()));
    layers.tiles("terrain", true, tiles);
    let region = floor.region().iter().map(|mark| if *mark == 0 { 0 } else { FIRST_ROOM + u32::from(*mark) });
    layers.tiles("region", false, region);
    layers.objects("rooms", wire.rooms.iter().map(room));
    let center = |id: u32| wire.rooms.iter().find(|room| room.id == id).and_then(|room| room.center);
    layers.objects(
        "connections",
        wire.connections.iter().map(|connection| {
            let (from, to) = (center(connection.from_room), center(connection.to_room));
            Object::line("connection", from, to, &format!("{} to {}", connection.from_room, connection.to_room))
                .with("from_room", int(connection.from_room))
                .with("to_room", int(connection.to_room))
                .with("lock_id", int(connection.lock_id))
                .with("secret", connection.secret.into())
        }),
    );
    layers.objects(
        "locks",
        wire.locks.iter().map(|lock| {
            Object::tile("lock", lock.at, Tile::Locked(lock.id), &format!("lock {}", lock.id)).with("id", int(lock.id))
        }),
    );
    layers.objects(
        "traps",
        wire.traps
            .iter()
            .map(|trap| Object::tile("trap", trap.at, Tile::Trap, &trap.archetype).with("level", int(trap.level))),
    );
    layers.objects(
        "items",
        wire.items.iter().map(|item| {
            let tile = if item.opens_lock == 0 { Tile::Loot } else { Tile::Key(item.opens_lock) };
            Object::tile("item", item.at, tile, &item.archetype)
                .with("value", int(item.value))
                .with("opens_lock", int(item.opens_lock))
        }),
    );
    layers.objects(
        "spawns",
        wire.spawns.iter().map(|spawn| {
            Object::tile("spawn", spawn.at, Tile::Monster, &spawn.archetype)
                .with("level", int(spawn.level))
                .with("behaviour", names::behaviour_of(spawn).into())
                .with("group", int(spawn.group))
        }),
    );
    let ends = [("entry", floor.entry()), ("exit", floor.exit()), ("landing", floor.landing())];
    layers.objects("stairs", ends.into_iter().map(|(name, at)| Object::cell(name, Some(at), name)));
    let furniture = floor.furniture();
    layers.objects("furniture", furniture.map(|piece| Object::cell("furniture", Some(piece.at), piece.archetype)));
    layers
}

/// What the floor states about itself. 64-bit numbers are text, since Tiled's integers have 32 bits.
fn map_properties(floor: &Floor) -> Vec<(&'static str, Value)> {
    let metrics = floor.wire().metrics.unwrap_or_default();
    let [name, hook] = [&floor.wire().name, &floor.wire().hook].map(|text| names::text(text.as_ref()));
    vec![
        ("name", name[0].as_str().into()),
        ("name_id", name[1].as_str().into()),
        ("name_parts", name[2].as_str().into()),
        ("hook", hook[0].as_str().into()),
        ("hook_id", hook[1].as_str().into()),
        ("hook_parts", hook[2].as_str().into()),
        ("landmark", int(floor.wire().landmark)),
        ("seed", floor.spec().seed.to_string().into()),
        ("number", int(floor.spec().number)),
        ("kind", names::kind_of(floor.spec()).into()),
        ("theme", floor.theme().into()),
        ("pack", floor.spec().pack.as_str().into()),
        ("view", int(floor.spec().view as u32)),
        ("generator_version", int(floor.wire().generator_version)),
        ("content_hash", hash(floor.content_hash()).into()),
        ("critical_path", int(metrics.critical_path)),
        ("passable_cells", int(metrics.passable_cells)),
        ("loops", int(metrics.loops)),
        ("difficulty", int(metrics.difficulty)),
    ]
}

fn room(room: &Room) -> Object {
    let (min, max) = (room.min.unwrap_or_default(), room.max.unwrap_or_default());
    let center = room.center.unwrap_or_default();
    let sides = (max.x.saturating_sub(min.x) + 1, max.y.saturating_sub(min.y) + 1);
    let label = match room.name() {
        "" => format!("room {}", names::room_number(room.id)),
        name => name.to_owned(),
    };
    let mut object = Object::area("room", min, sides, &label)
        .with("id", int(room.id))
        .with("role", names::role_of(room).into())
        .with("center_x", int(center.x))
        .with("center_y", int(center.y));
    if room.name.is_some() {
        let [_, id, parts] = names::text(room.name.as_ref());
        object = object.with("name_id", id.into()).with("name_parts", parts.into());
    }
    object
}

fn cell_tileset(name: &str) -> Value {
    let all = || tiles::terrains().map(Tile::Terrain).chain(tiles::others());
    let mut set = tileset(name, CELL_ROWS, &all().map(tile).collect::<Vec<_>>());
    let sides = all().filter_map(|tile| Some(json!({"tileid": tile.index(), "wangid": ground_around(tile)?})));
    set["wangsets"] = json!([{
        "name": "ground",
        "type": "mixed",
        "tile": Tile::Terrain(Terrain::Floor).index(),
        "colors": [{"color": "#ffd24a", "name": "ground", "probability": 1, "tile": Tile::Terrain(Terrain::Floor).index()}],
        "wangtiles": sides.collect::<Vec<_>>(),
    }]);
    set
}

/// A tile: its class is that of the objects which it stands for, or the name of its terrain. The brush for ground paints
/// floor: other ground stays as it is.
fn tile(tile: Tile) -> Value {
    let Some(terrain) = tile.terrain() else { return json!({"id": tile.index(), "type": class(tile)}) };
    let values = [("terrain", int(terrain as u32)), ("passable", is_passable(terrain).into())];
    let is_drawn = matches!(tile, Tile::Wall(_) | Tile::Terrain(Terrain::Floor));
    json!({
        "id": tile.index(),
        "type": names::terrain(terrain),
        "probability": if is_drawn { 1 } else { 0 },
        "properties": properties(&values),
    })
}

/// The class of the objects that a tile stands for.
const fn class(tile: Tile) -> &'static str {
    match tile {
        Tile::Monster => "spawn",
        Tile::Trap => "trap",
        _ => "item",
    }
}

/// Where a tile meets ground, as 1 for each side and corner: ground everywhere, walls where they end. `None` for objects,
/// and for the plain wall, which the others replace.
fn ground_around(tile: Tile) -> Option<Vec<u8>> {
    let around = match tile {
        Tile::Wall(bits) => bits,
        Tile::Terrain(Terrain::Wall) => return None,
        tile => tile.terrain().map(|_| u8::MAX)?,
    };
    Some((0..8).map(|bit| around >> bit & 1).collect())
}

fn tileset(name: &str, rows: u32, tiles: &[Value]) -> Value {
    json!({
        "type": "tileset",
        "version": VERSION,
        "tiledversion": TILED_VERSION,
        "name": name,
        "image": format!("{name}.png"),
        "imagewidth": COLUMNS * SIDE,
        "imageheight": rows * SIDE,
        "columns": COLUMNS,
        "tilecount": COLUMNS * rows,
        "tilewidth": SIDE,
        "tileheight": SIDE,
        "margin": 0,
        "spacing": 0,
        "tiles": tiles,
    })
}

/// The layers of a map, from the lowest to the highest.
struct Layers<'a> {
    floor: &'a Floor,
    layers: Vec<Value>,
    /// How many objects there are in all layers.
    objects: u32,
}

impl<'a> Layers<'a> {
    const fn new(floor: &'a Floor) -> Self {
        Self { floor, layers: Vec::new(), objects: 0 }
    }

    fn tiles(&mut self, name: &str, visible: bool, tiles: impl Iterator<Item = u32>) {
        self.layers.push(json!({
            "type": "tilelayer",
            "id": self.layers.len() + 1,
            "name": name,
            "visible": visible,
            "opacity": 1,
            "x": 0,
            "y": 0,
            "width": self.floor.width(),
            "height": self.floor.height(),
            "data": tiles.collect::<Vec<_>>(),
        }));
    }

    fn objects(&mut self, name: &str, objects: impl Iterator<Item = Object>) {
        let objects = objects.map(|object| {
            self.objects += 1;
            object.numbered(self.objects)
        });
        let objects = objects.collect::<Vec<_>>();
        self.layers.push(json!({
            "type": "objectgroup",
            "id": self.layers.len() + 1,
            "name": name,
            "visible": true,
            "opacity": 1,
            "x": 0,
            "y": 0,
            "draworder": "topdown",
            "objects": objects,
        }));
    }
}

/// An object of a map.
struct Object {
    fields: Value,
    properties: Vec<(&'static str, Value)>,
}

impl Object {
    /// A rectangle of `sides` cells.
    fn area(class: &str, at: Point, sides: (u32, u32), name: &str) -> Self {
        let fields = json!({
            "name": name,
            "type": class,
            "x": at.x * SIDE,
            "y": at.y * SIDE,
            "width": sides.0 * SIDE,
            "height": sides.1 * SIDE,
            "rotation": 0,
            "visible": true,
        });
        Self { fields, properties: Vec::new() }
    }

    fn cell(class: &str, at: Option<Point>, name: &str) -> Self {
        Self::area(class, at.unwrap_or_default(), (1, 1), name)
    }

    /// A cell with a picture. Tiled places pictures by their lower left corner.
    fn tile(class: &str, at: Option<Point>, tile: Tile, name: &str) -> Self {
        let Point { x, y } = at.unwrap_or_default();
        let mut object = Self::area(class, Point { x, y: y + 1 }, (1, 1), name);
        object.fields["gid"] = (FIRST_CELL + tile.index()).into();
        object
    }

    /// A line between the middles of two cells.
    fn line(class: &str, from: Option<Point>, to: Option<Point>, name: &str) -> Self {
        let middle = |at: Option<Point>| {
            let Point { x, y } = at.unwrap_or_default();
            (i64::from(x * SIDE + SIDE / 2), i64::from(y * SIDE + SIDE / 2))
        };
        let ((x, y), (to_x, to_y)) = (middle(from), middle(to));
        let mut object = Self::area(class, Point::default(), (0, 0), name);
        (object.fields["x"], object.fields["y"]) = (x.into(), y.into());
        object.fields["polyline"] = json!([{"x": 0, "y": 0}, {"x": to_x - x, "y": to_y - y}]);
        object
    }

    fn with(mut self, name: &'static str, value: Value) -> Self {
        self.properties.push((name, value));
        self
    }

    fn numbered(mut self, id: u32) -> Value {
        self.fields["id"] = id.into();
        if !self.properties.is_empty() {
            self.fields["properties"] = properties(&self.properties);
        }
        self.fields
    }
}

/// Tiled's integers have 32 bits and a sign; a greater number becomes text.
fn int(number: u32) -> Value {
    i32::try_from(number).map_or_else(|_| number.to_string().into(), Value::from)
}

fn properties(values: &[(&'static str, Value)]) -> Value {
    let property = |(name, value): &(&'static str, Value)| {
        let kind = match value {
            Value::Bool(_) => "bool",
            Value::Number(_) => "int",
            _ => "string",
        };
        json!({"name": name, "type": kind, "value": value})
    };
    values.iter().map(property).collect()
}
