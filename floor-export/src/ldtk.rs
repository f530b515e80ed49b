//! A project of LDtk 1.5: <https://ldtk.io/json/>. Its one level has four layers: entities, tiles for the picture, and
//! integers for the terrain and the room of each cell.

use floor_gen::pack::{Look, Paint};
use floor_proto::{
    floor::Floor,
    v1::{Point, Room},
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

const VERSION: &str = "1.5.3";
/// The layer of rooms is above the picture and must not hide it.
const REGION_OPACITY: f64 = 0.3;

/// The unique ids of the project's definitions. Entities and fields follow the last.
pub(crate) mod uid {
    pub(crate) const CELLS: u32 = 1;
    pub(crate) const ROOMS: u32 = 2;
    pub(crate) const ENTITIES: u32 = 3;
    pub(crate) const TILES: u32 = 4;
    pub(crate) const REGION: u32 = 5;
    pub(crate) const TERRAIN: u32 = 6;
    pub(crate) const LEVEL: u32 = 7;
    pub(crate) const FIRST_ENTITY: u32 = 100;
    pub(crate) const FIRST_LEVEL_FIELD: u32 = 200;
    pub(crate) const FIRST_FIELD: u32 = 300;
    pub(crate) const NEXT: u32 = 1000;
}

/// The project, and the pictures of its two tilesets, the first in the look of the floor's theme.
///
/// # Errors
/// If a picture cannot be written.
pub fn files(floor: &Floor, map: String, look: &Look) -> Result<Vec<ExportedFile>, ExportError> {
    Ok(vec![
        ExportedFile::json(map, &document(floor, look)),
        ExportedFile { name: format!("{}.png", cells_name(floor)), bytes: tiles::cells_png(look)? },
        ExportedFile { name: format!("{ROOMS}.png"), bytes: tiles::rooms_png()? },
    ])
}

/// The type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Int,
    String,
    Bool,
    Point,
}

/// A kind of entity.
struct EntityKind {
    name: &'static str,
    /// Without one, it is drawn as a rectangle.
    tile: Option<Tile>,
    colour: &'static str,
    fields: &'static [(&'static str, Kind)],
}

const ENTRY: usize = 0;
const EXIT: usize = 1;
const ROOM: usize = 2;
const CONNECTION: usize = 3;
const LOCK: usize = 4;
const TRAP: usize = 5;
const ITEM: usize = 6;
const SPAWN: usize = 7;
const LANDING: usize = 8;

/// The kinds of entity, by the indices above.
static ENTITIES: [EntityKind; 9] = [
    EntityKind { name: "Entry", tile: None, colour: "#7BE07B", fields: &[] },
    EntityKind { name: "Exit", tile: None, colour: "#6FB4FF", fields: &[] },
    EntityKind {
        name: "Room",
        tile: None,
        colour: "#E6C88C",
        fields: &[("id", Kind::Int), ("role", Kind::String), ("center", Kind::Point)],
    },
    EntityKind {
        name: "Connection",
        tile: None,
        colour: "#FFFFFF",
        fields: &[
            ("from_room", Kind::Int),
            ("to_room", Kind::Int),
            ("lock_id", Kind::Int),
            ("secret", Kind::Bool),
            ("to", Kind::Point),
        ],
    },
    EntityKind { name: "Lock", tile: Some(Tile::Locked(0)), colour: "#E84D8A", fields: &[("id", Kind::Int)] },
    EntityKind {
        name: "Trap",
        tile: Some(Tile::Trap),
        colour: "#D06BE8",
        fields: &[("archetype", Kind::String), ("level", Kind::Int)],
    },
    EntityKind {
        name: "Item",
        tile: Some(Tile::Loot),
        colour: "#FFD24A",
        fields: &[("archetype", Kind::String), ("value", Kind::Int), ("opens_lock", Kind::Int)],
    },
    EntityKind {
        name: "Spawn",
        tile: Some(Tile::Monster),
        colour: "#E54B3C",
        fields: &[("archetype", Kind::String), ("level", Kind::Int), ("behaviour", Kind::String), ("group", Kind::Int)],
    },
    EntityKind { name: "Landing", tile: None, colour: "#B9A6FF", fields: &[] },
];

/// The fields of the level.
const LEVEL_FIELDS: [(&str, Kind); 11] = [
    ("seed", Kind::String),
    ("number", Kind::Int),
    ("kind", Kind::String),
    ("theme", Kind::String),
    ("pack", Kind::String),
    ("generator_version", Kind::Int),
    ("content_hash", Kind::String),
    ("critical_path", Kind::Int),
    ("passable_cells", Kind::Int),
    ("loops", Kind::Int),
    ("difficulty", Kind::Int),
];

/// The kind of entity that a definition is, however it was renamed.
#[cfg(feature = "import")]
pub(crate) fn entity_name(uid: u64) -> Option<&'static str> {
    let index = uid.checked_sub(uid::FIRST_ENTITY.into())?;
    Some(ENTITIES.get(usize::try_from(index).ok()?)?.name)
}

/// The field that a definition is, however it was renamed.
#[cfg(feature = "import")]
pub(crate) fn field_name(uid: u64) -> Option<&'static str> {
    let uid = u32::try_from(uid).ok()?;
    let of_entity = ENTITIES.iter().enumerate().map(|(index, kind)| (first_field(index), kind.fields));
    let mut all = of_entity.chain([(uid::FIRST_LEVEL_FIELD, &LEVEL_FIELDS[..])]);
    all.find_map(|(first, fields)| Some(fields.get(uid.checked_sub(first)? as usize)?.0))
}

/// The project alone.
#[must_use]
pub fn document(floor: &Floor, look: &Look) -> Value {
    let mut ids = Ids { hash: floor.content_hash(), next: 0 };
    let rock = colour::hex(colour::paint(look, Paint::Rock)).to_uppercase();
    json!({
        "__header__": {
            "fileType": "LDtk Project JSON",
            "app": "LDtk",
            "doc": "https://ldtk.io/json",
            "schema": "https://ldtk.io/files/JSON_SCHEMA.json",
            "appAuthor": "Sebastien 'deepnight' Benard",
            "appVersion": VERSION,
            "url": "https://ldtk.io",
        },
        "iid": ids.next(),
        "jsonVersion": VERSION,
        "appBuildId": 473_703,
        "nextUid": uid::NEXT,
        "identifierStyle": "Free",
        "toc": [],
        "worldLayout": "Free",
        "worldGridWidth": 256,
        "worldGridHeight": 256,
        "defaultLevelWidth": floor.width() * SIDE,
        "defaultLevelHeight": floor.height() * SIDE,
        "defaultPivotX": 0,
        "defaultPivotY": 0,
        "defaultGridSize": SIDE,
        "defaultEntityWidth": SIDE,
        "defaultEntityHeight": SIDE,
        "bgColor": rock,
        "defaultLevelBgColor": rock,
        "minifyJson": true,
        "externalLevels": false,
        "exportTiled": false,
        "simplifiedExport": false,
        "imageExportMode": "None",
        "exportLevelBg": true,
        "pngFilePattern": null,
        "backupOnSave": false,
        "backupLimit": 10,
        "backupRelPath": null,
        "levelNamePattern": "Level_%idx",
        "tutorialDesc": null,
        "customCommands": [],
        "flags": [],
        "defs": {
            "layers": layer_definitions(floor),
            "entities": (0..ENTITIES.len()).map(entity_definition).collect::<Vec<_>>(),
            "tilesets": [tileset(uid::CELLS, &cells_name(floor), CELL_ROWS), tileset(uid::ROOMS, ROOMS, ROOM_ROWS)],
            "enums": [],
            "externalEnums": [],
            "levelFields": field_definitions(&LEVEL_FIELDS, uid::FIRST_LEVEL_FIELD),
        },
        "levels": [level(floor, &rock, &mut ids)],
        "worlds": [],
        "dummyWorldIid": ids.next(),
    })
}

/// The ids of instances, which follow from the floor, so that one floor always gives the same file.
struct Ids {
    hash: u64,
    next: u32,
}

impl Ids {
    fn next(&mut self) -> String {
        self.next += 1;
        let Self { hash, next } = *self;
        format!("{:08x}-{:04x}-{:04x}-8000-{next:012x}", hash >> 32, hash >> 16 & 0xffff, hash & 0xffff)
    }
}

fn layer_definitions(floor: &Floor) -> Value {
    let terrain = tiles::terrains().map(|terrain| {
        let colour = colour::of(terrain);
        int_value(terrain as u32, &names::terrain(terrain), colour, uid::CELLS, Tile::Terrain(terrain).corner())
    });
    let rooms = floor.rooms().iter().map(|room| {
        let number = names::room_number(room.id);
        let tile = number % (COLUMNS * ROOM_ROWS);
        let corner = (tile % COLUMNS * SIDE, tile / COLUMNS * SIDE);
        int_value(number, &format!("room {number}"), colour::room(room.id as usize), uid::ROOMS, corner)
    });
    json!([
        layer_definition(uid::ENTITIES, "Entities", "Entities", 1.0, None, Vec::new()),
        layer_definition(uid::REGION, "Region", "IntGrid", REGION_OPACITY, Some(uid::ROOMS), rooms.collect()),
        layer_definition(uid::TILES, "Tiles", "Tiles", 1.0, Some(uid::CELLS), Vec::new()),
        layer_definition(uid::TERRAIN, "Terrain", "IntGrid", 1.0, Some(uid::CELLS), terrain.collect()),
    ])
}

fn int_value(value: u32, name: &str, colour: anstyle::RgbColor, tileset: u32, corner: (u32, u32)) -> Value {
    let anstyle::RgbColor(red, green, blue) = colour;
    json!({
        "value": value,
        "identifier": name.replace(' ', "_"),
        "color": format!("#{red:02X}{green:02X}{blue:02X}"),
        "tile": rectangle(tileset, corner),
        "groupUid": 0,
    })
}

fn rectangle(tileset: u32, (x, y): (u32, u32)) -> Value {
    json!({"tilesetUid": tileset, "x": x, "y": y, "w": SIDE, "h": SIDE})
}

fn layer_definition(uid: u32, name: &str, kind: &str, opacity: f64, tileset: Option<u32>, values: Vec<Value>) -> Value {
    json!({
        "__type": kind,
        "identifier": name,
        "type": kind,
        "uid": uid,
        "doc": null,
        "uiColor": null,
        "gridSize": SIDE,
        "guideGridWid": 0,
        "guideGridHei": 0,
        "displayOpacity": opacity,
        "inactiveOpacity": 1,
        "hideInList": false,
        "hideFieldsWhenInactive": true,
        "canSelectWhenInactive": true,
        "renderInWorldView": true,
        "pxOffsetX": 0,
        "pxOffsetY": 0,
        "parallaxFactorX": 0,
        "parallaxFactorY": 0,
        "parallaxScaling": true,
        "requiredTags": [],
        "excludedTags": [],
        "autoTilesKilledByOtherLayerUid": null,
        "uiFilterTags": [],
        "useAsyncRender": false,
        "intGridValues": values,
        "intGridValuesGroups": [],
        "autoRuleGroups": [],
        "autoSourceLayerDefUid": null,
        "tilesetDefUid": tileset,
        "tilePivotX": 0,
        "tilePivotY": 0,
        "biomeFieldUid": null,
    })
}

fn tileset(uid: u32, name: &str, rows: u32) -> Value {
    json!({
        "__cWid": COLUMNS,
        "__cHei": rows,
        "identifier": name.replace('-', "_"),
        "uid": uid,
        "relPath": format!("{name}.png"),
        "embedAtlas": null,
        "pxWid": COLUMNS * SIDE,
        "pxHei": rows * SIDE,
        "tileGridSize": SIDE,
        "spacing": 0,
        "padding": 0,
        "tags": [],
        "tagsSourceEnumUid": null,
        "enumTags": [],
        "customData": [],
        "savedSelections": [],
        "cachedPixelData": null,
    })
}

const fn entity_uid(index: usize) -> u32 {
    uid::FIRST_ENTITY + index as u32
}

/// The uid of an entity's first field. No entity has more than ten fields.
const fn first_field(index: usize) -> u32 {
    uid::FIRST_FIELD + 10 * index as u32
}

fn entity_definition(index: usize) -> Value {
    let EntityKind { name, tile, colour, fields } = &ENTITIES[index];
    let is_area = index == ROOM;
    json!({
        "identifier": name,
        "uid": entity_uid(index),
        "tags": [],
        "exportToToc": false,
        "allowOutOfBounds": false,
        "doc": null,
        "width": SIDE,
        "height": SIDE,
        "resizableX": is_area,
        "resizableY": is_area,
        "minWidth": null,
        "maxWidth": null,
        "minHeight": null,
        "maxHeight": null,
        "keepAspectRatio": false,
        "tileOpacity": 1,
        "fillOpacity": if is_area { 0.08 } else { 0.5 },
        "lineOpacity": 1,
        "hollow": is_area,
        "color": colour,
        "renderMode": if tile.is_some() { "Tile" } else { "Rectangle" },
        "showName": is_area,
        "tilesetId": tile.map(|_| uid::CELLS),
        "tileRenderMode": "FitInside",
        "tileRect": tile.map(|tile| rectangle(uid::CELLS, tile.corner())),
        "uiTileRect": null,
        "nineSliceBorders": [],
        "maxCount": 0,
        "limitScope": "PerLevel",
        "limitBehavior": "MoveLastOne",
        "pivotX": 0,
        "pivotY": 0,
        "fieldDefs": field_definitions(fields, first_field(index)),
    })
}

fn field_definitions(fields: &[(&str, Kind)], first: u32) -> Vec<Value> {
    let definition = |(uid, (name, kind)): (u32, &(&str, Kind))| {
        let show = if *kind == Kind::Point { "PointStar" } else { "Hidden" };
        json!({
            "identifier": name,
            "doc": null,
            "__type": format!("{kind:?}"),
            "uid": uid,
            "type": format!("F_{kind:?}"),
            "isArray": false,
            "canBeNull": false,
            "arrayMinLength": null,
            "arrayMaxLength": null,
            "editorDisplayMode": show,
            "editorDisplayScale": 1,
            "editorDisplayPos": "Above",
            "editorLinkStyle": "StraightArrow",
            "editorDisplayColor": null,
            "editorAlwaysShow": false,
            "editorShowInWorld": true,
            "editorCutLongValues": true,
            "editorTextSuffix": null,
            "editorTextPrefix": null,
            "useForSmartColor": false,
            "exportToToc": false,
            "searchable": false,
            "min": null,
            "max": null,
            "regex": null,
            "acceptFileTypes": null,
            "defaultOverride": null,
            "textLanguageMode": null,
            "symmetricalRef": false,
            "autoChainRef": true,
            "allowOutOfLevelRef": true,
            "allowedRefs": "OnlySame",
            "allowedRefsEntityUid": null,
            "allowedRefTags": [],
            "tilesetUid": null,
        })
    };
    (first..).zip(fields).map(definition).collect()
}

fn level(floor: &Floor, rock: &str, ids: &mut Ids) -> Value {
    let metrics = floor.wire().metrics.unwrap_or_default();
    let fields: [Value; LEVEL_FIELDS.len()] = [
        floor.spec().seed.to_string().into(),
        floor.spec().number.into(),
        names::kind_of(floor.spec()).into(),
        floor.theme().into(),
        floor.spec().pack.as_str().into(),
        floor.wire().generator_version.into(),
        hash(floor.content_hash()).into(),
        metrics.critical_path.into(),
        metrics.passable_cells.into(),
        metrics.loops.into(),
        metrics.difficulty.into(),
    ];
    let region = floor.region().iter().map(|mark| u32::from(*mark)).collect();
    let terrain = floor.terrain().iter().map(|terrain| *terrain as u32).collect();
    let name = cells_name(floor);
    let (cells, rooms) = (Some((uid::CELLS, name.as_str())), Some((uid::ROOMS, ROOMS)));
    let layers = [
        LayerInstance { entities: entities(floor, ids), ..LayerInstance::new(uid::ENTITIES, "Entities", "Entities") },
        LayerInstance {
            tileset: rooms,
            values: region,
            opacity: REGION_OPACITY,
            ..LayerInstance::new(uid::REGION, "Region", "IntGrid")
        },
        LayerInstance {
            tileset: cells,
            tiles: tile_instances(floor),
            ..LayerInstance::new(uid::TILES, "Tiles", "Tiles")
        },
        LayerInstance { tileset: cells, values: terrain, ..LayerInstance::new(uid::TERRAIN, "Terrain", "IntGrid") },
    ];
    json!({
        "identifier": format!("Floor_{}", floor.spec().number),
        "iid": ids.next(),
        "uid": uid::LEVEL,
        "worldX": 0,
        "worldY": 0,
        "worldDepth": 0,
        "pxWid": floor.width() * SIDE,
        "pxHei": floor.height() * SIDE,
        "__bgColor": rock,
        "bgColor": null,
        "useAutoIdentifier": false,
        "bgRelPath": null,
        "bgPos": null,
        "bgPivotX": 0.5,
        "bgPivotY": 0.5,
        "__smartColor": "#5C5B60",
        "__bgPos": null,
        "externalRelPath": null,
        "fieldInstances": field_instances(&LEVEL_FIELDS, uid::FIRST_LEVEL_FIELD, &fields),
        "__neighbours": [],
        "layerInstances": layers.map(|layer| layer.value(floor, ids)),
    })
}

/// What distinguishes a layer of the level.
struct LayerInstance<'a> {
    uid: u32,
    name: &'static str,
    kind: &'static str,
    opacity: f64,
    tileset: Option<(u32, &'a str)>,
    values: Vec<u32>,
    tiles: Vec<Value>,
    entities: Vec<Value>,
}

impl LayerInstance<'_> {
    const fn new(uid: u32, name: &'static str, kind: &'static str) -> Self {
        Self {
            uid,
            name,
            kind,
            opacity: 1.0,
            tileset: None,
            values: Vec::new(),
            tiles: Vec::new(),
            entities: Vec::new(),
        }
    }

    fn value(self, floor: &Floor, ids: &mut Ids) -> Value {
        json!({
            "__identifier": self.name,
            "__type": self.kind,
            "__cWid": floor.width(),
            "__cHei": floor.height(),
            "__gridSize": SIDE,
            "__opacity": self.opacity,
            "__pxTotalOffsetX": 0,
            "__pxTotalOffsetY": 0,
            "__tilesetDefUid": self.tileset.map(|(uid, _)| uid),
            "__tilesetRelPath": self.tileset.map(|(_, name)| format!("{name}.png")),
            "iid": ids.next(),
            "levelId": uid::LEVEL,
            "layerDefUid": self.uid,
            "pxOffsetX": 0,
            "pxOffsetY": 0,
            "visible": true,
            "optionalRules": [],
            "intGridCsv": self.values,
            "autoLayerTiles": [],
            "seed": 0,
            "overrideTilesetUid": null,
            "gridTiles": self.tiles,
            "entityInstances": self.entities,
        })
    }
}

fn tile_instances(floor: &Floor) -> Vec<Value> {
    let instance = |index: u32| {
        let (x, y) = (index % floor.width(), index / floor.width());
        let tile = Tile::of(floor, x, y)?;
        let (source_x, source_y) = tile.corner();
        Some(json!({
            "px": [x * SIDE, y * SIDE],
            "src": [source_x, source_y],
            "f": 0,
            "t": tile.index(),
            "d": [index],
            "a": 1,
        }))
    };
    (0..floor.width() * floor.height()).filter_map(instance).collect()
}

fn entities(floor: &Floor, ids: &mut Ids) -> Vec<Value> {
    let wire = floor.wire();
    let mut entities = vec![entity(ENTRY, Some(floor.entry()), &[], ids), entity(EXIT, Some(floor.exit()), &[], ids)];
    entities.extend(wire.rooms.iter().map(|room| room_entity(room, ids)));
    let center = |id: u32| wire.rooms.iter().find(|room| room.id == id).and_then(|room| room.center);
    entities.extend(wire.connections.iter().map(|connection| {
        let fields: [Value; 5] = [
            connection.from_room.into(),
            connection.to_room.into(),
            connection.lock_id.into(),
            connection.secret.into(),
            point(center(connection.to_room)),
        ];
        entity(CONNECTION, center(connection.from_room), &fields, ids)
    }));
    entities.extend(wire.locks.iter().map(|lock| {
        let mut entity = entity(LOCK, lock.at, &[lock.id.into()], ids);
        entity["__tile"] = rectangle(uid::CELLS, Tile::Locked(lock.id).corner());
        entity
    }));
    entities.extend(
        wire.traps.iter().map(|trap| entity(TRAP, trap.at, &[trap.archetype.as_str().into(), trap.level.into()], ids)),
    );
    entities.extend(wire.items.iter().map(|item| {
        let fields: [Value; 3] = [item.archetype.as_str().into(), item.value.into(), item.opens_lock.into()];
        let mut entity = entity(ITEM, item.at, &fields, ids);
        if item.opens_lock != 0 {
            entity["__tile"] = rectangle(uid::CELLS, Tile::Key(item.opens_lock).corner());
        }
        entity
    }));
    entities.extend(wire.spawns.iter().map(|spawn| {
        let behaviour = names::behaviour_of(spawn);
        let fields: [Value; 4] =
            [spawn.archetype.as_str().into(), spawn.level.into(), behaviour.into(), spawn.group.into()];
        entity(SPAWN, spawn.at, &fields, ids)
    }));
    entities.push(entity(LANDING, Some(floor.landing()), &[], ids));
    entities
}

fn room_entity(room: &Room, ids: &mut Ids) -> Value {
    let (min, max) = (room.min.unwrap_or_default(), room.max.unwrap_or_default());
    let fields: [Value; 3] = [room.id.into(), names::role_of(room).into(), point(room.center)];
    let mut entity = entity(ROOM, Some(min), &fields, ids);
    entity["width"] = ((max.x.saturating_sub(min.x) + 1) * SIDE).into();
    entity["height"] = ((max.y.saturating_sub(min.y) + 1) * SIDE).into();
    entity
}

fn point(at: Option<Point>) -> Value {
    let Point { x, y } = at.unwrap_or_default();
    json!({"cx": x, "cy": y})
}

fn entity(index: usize, at: Option<Point>, values: &[Value], ids: &mut Ids) -> Value {
    let EntityKind { name, tile, colour, fields } = &ENTITIES[index];
    let Point { x, y } = at.unwrap_or_default();
    json!({
        "__identifier": name,
        "__grid": [x, y],
        "__pivot": [0, 0],
        "__tags": [],
        "__tile": tile.map(|tile| rectangle(uid::CELLS, tile.corner())),
        "__smartColor": colour,
        "iid": ids.next(),
        "width": SIDE,
        "height": SIDE,
        "defUid": entity_uid(index),
        "px": [x * SIDE, y * SIDE],
        "fieldInstances": field_instances(fields, first_field(index), values),
        "__worldX": x * SIDE,
        "__worldY": y * SIDE,
    })
}

fn field_instances(fields: &[(&str, Kind)], first: u32, values: &[Value]) -> Vec<Value> {
    let instance = |((uid, (name, kind)), value): ((u32, &(&str, Kind)), &Value)| {
        let stored = match kind {
            Kind::Int => json!({"id": "V_Int", "params": [value]}),
            Kind::String => json!({"id": "V_String", "params": [value]}),
            Kind::Bool => json!({"id": "V_Bool", "params": [value]}),
            Kind::Point => json!({"id": "V_String", "params": [format!("{},{}", value["cx"], value["cy"])]}),
        };
        json!({
            "__identifier": name,
            "__type": format!("{kind:?}"),
            "__value": value,
            "__tile": null,
            "defUid": uid,
            "realEditorValues": [stored],
        })
    };
    (first..).zip(fields).zip(values).map(instance).collect()
}
