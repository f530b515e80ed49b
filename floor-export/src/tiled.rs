//! Tiled's JSON map format: <https://doc.mapeditor.org/en/stable/reference/json-map-format/>.

use floor_proto::{
    floor::{Floor, is_passable},
    v1::{Point, Room, Terrain},
};
use serde_json::{Value, json};

use crate::{
    CELLS, ExportError, ExportedFile, ROOMS,
    names::{self, hash},
    picture::tiles::{self, CELL_ROWS, COLUMNS, ROOM_ROWS, SIDE, Tile},
};

/// The version of the format. Tiled 1.8 and newer read it.
const VERSION: &str = "1.10";
const TILED_VERSION: &str = "1.10.2";

/// The first ids of the tilesets' tiles in a map.
const FIRST_CELL: u32 = 1;
const FIRST_ROOM: u32 = FIRST_CELL + COLUMNS * CELL_ROWS;

/// The map, and its two tilesets with their pictures.
///
/// # Errors
/// If a picture cannot be written.
pub fn files(floor: &Floor, map: String) -> Result<Vec<ExportedFile>, ExportError> {
    Ok(vec![
        ExportedFile::json(map, &document(floor)),
        ExportedFile::json(format!("{CELLS}.tsj"), &cell_tileset()),
        ExportedFile { name: format!("{CELLS}.png"), bytes: tiles::cells_png()? },
        ExportedFile::json(format!("{ROOMS}.tsj"), &tileset(ROOMS, ROOM_ROWS, &[])),
        ExportedFile { name: format!("{ROOMS}.png"), bytes: tiles::rooms_png()? },
    ])
}

fn document(floor: &Floor) -> Value {
    let wire = floor.wire();
    let mut layers = Layers::new(floor);
    layers.tiles("terrain", true, floor.terrain().iter().map(|terrain| FIRST_CELL + cell_tile(*terrain)));
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
            Object::tile("lock", lock.at, Tile::Terrain(Terrain::LockedDoor), &format!("lock {}", lock.id))
                .with("id", int(lock.id))
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
            let tile = if item.opens_lock == 0 { Tile::Loot } else { Tile::Key };
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
    json!({
        "type": "map",
        "version": VERSION,
        "tiledversion": TILED_VERSION,
        "orientation": "orthogonal",
        "renderorder": "right-down",
        "infinite": false,
        "compressionlevel": -1,
        "width": floor.width(),
        "height": floor.height(),
        "tilewidth": SIDE,
        "tileheight": SIDE,
        "nextlayerid": layers.layers.len() + 1,
        "nextobjectid": layers.objects + 1,
        "tilesets": [
            {"firstgid": FIRST_CELL, "source": format!("{CELLS}.tsj")},
            {"firstgid": FIRST_ROOM, "source": format!("{ROOMS}.tsj")},
        ],
        "properties": properties(&map_properties(floor)),
        "layers": layers.layers,
    })
}

/// What the floor states about itself. 64-bit numbers are text, since Tiled's integers have 32 bits.
fn map_properties(floor: &Floor) -> Vec<(&'static str, Value)> {
    let metrics = floor.wire().metrics.unwrap_or_default();
    vec![
        ("seed", floor.spec().seed.to_string().into()),
        ("number", int(floor.spec().number)),
        ("kind", names::kind_of(floor.spec()).into()),
        ("theme", floor.theme().into()),
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
    Object::area("room", min, sides, &format!("room {}", room.id))
        .with("id", int(room.id))
        .with("role", names::role_of(room).into())
        .with("center_x", int(center.x))
        .with("center_y", int(center.y))
}

fn cell_tileset() -> Value {
    let terrain = tiles::terrains().map(|terrain| {
        let properties = [("terrain", int(terrain as u32)), ("passable", is_passable(terrain).into())];
        tile(Tile::Terrain(terrain), &names::terrain(terrain), &properties)
    });
    let objects = tiles::OBJECTS.into_iter().map(|object| tile(object, &format!("{object:?}").to_lowercase(), &[]));
    tileset(CELLS, CELL_ROWS, &terrain.chain(objects).collect::<Vec<_>>())
}

fn tile(tile: Tile, class: &str, values: &[(&'static str, Value)]) -> Value {
    json!({"id": tile.index(), "type": class, "properties": properties(values)})
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

/// Tiled's integers have 32 bits and a sign.
fn int(number: u32) -> Value {
    i32::try_from(number).unwrap_or(i32::MAX).into()
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

/// The tile of a terrain. One that this program does not know has none, and shows as nothing.
const fn cell_tile(terrain: Terrain) -> u32 {
    Tile::Terrain(terrain).index()
}
