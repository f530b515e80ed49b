//! The definitions of a project: its layers, tilesets, entities and fields. Their uids stay the same, so that a project can be
//! read however its names were changed.

use floor_proto::floor::Floor;
use serde_json::{Value, json};

use super::REGION_OPACITY;
use crate::{
    ROOMS, cells_name, names,
    picture::{
        colour,
        tiles::{self, CELL_ROWS, COLUMNS, ROOM_ROWS, SIDE, Tile},
    },
};

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

/// The type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldType {
    Int,
    String,
    Bool,
    Point,
}

/// The kinds of entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entity {
    Entry,
    Exit,
    Room,
    Connection,
    Lock,
    Trap,
    Item,
    Spawn,
    Landing,
    Furniture,
}

/// How a kind of entity is drawn, and its fields.
pub(super) struct EntityKind {
    pub(super) name: &'static str,
    /// Without one, it is drawn as a rectangle.
    pub(super) tile: Option<Tile>,
    pub(super) colour: &'static str,
    pub(super) fields: &'static [(&'static str, FieldType)],
}

/// By the order of [`Entity`].
static ENTITIES: [EntityKind; 10] = {
    use FieldType::{Bool, Int, Point, String};
    const fn kind(
        name: &'static str,
        tile: Option<Tile>,
        colour: &'static str,
        fields: &'static [(&'static str, FieldType)],
    ) -> EntityKind {
        EntityKind { name, tile, colour, fields }
    }
    [
        kind("Entry", None, "#7BE07B", &[]),
        kind("Exit", None, "#6FB4FF", &[]),
        kind("Room", None, "#E6C88C", &ROOM_FIELDS),
        kind(
            "Connection",
            None,
            "#FFFFFF",
            &[("from_room", Int), ("to_room", Int), ("lock_id", Int), ("secret", Bool), ("to", Point)],
        ),
        kind("Lock", Some(Tile::Locked(0)), "#E84D8A", &[("id", Int)]),
        kind("Trap", Some(Tile::Trap), "#D06BE8", &[("archetype", String), ("level", Int)]),
        kind("Item", Some(Tile::Loot), "#FFD24A", &[("archetype", String), ("value", Int), ("opens_lock", Int)]),
        kind(
            "Spawn",
            Some(Tile::Monster),
            "#E54B3C",
            &[("archetype", String), ("level", Int), ("behaviour", String), ("group", Int)],
        ),
        kind("Landing", None, "#B9A6FF", &[]),
        kind("Furniture", None, "#C98F5A", &[("archetype", String)]),
    ]
};

impl Entity {
    const ALL: [Self; 10] = [
        Self::Entry,
        Self::Exit,
        Self::Room,
        Self::Connection,
        Self::Lock,
        Self::Trap,
        Self::Item,
        Self::Spawn,
        Self::Landing,
        Self::Furniture,
    ];

    pub(super) fn kind(self) -> &'static EntityKind {
        &ENTITIES[self as usize]
    }

    pub(super) const fn uid(self) -> u32 {
        uid::FIRST_ENTITY + self as u32
    }

    /// The uid of its first field. No entity has more than ten fields.
    pub(super) const fn first_field(self) -> u32 {
        uid::FIRST_FIELD + 10 * self as u32
    }
}

const ROOM_FIELDS: [(&str, FieldType); 6] = [
    ("id", FieldType::Int),
    ("role", FieldType::String),
    ("center", FieldType::Point),
    ("name", FieldType::String),
    ("name_id", FieldType::String),
    ("name_parts", FieldType::String),
];

/// The fields of the level. New ones go to the end, since their places are their uids.
pub(super) const LEVEL_FIELDS: [(&str, FieldType); 19] = [
    ("seed", FieldType::String),
    ("number", FieldType::Int),
    ("kind", FieldType::String),
    ("theme", FieldType::String),
    ("pack", FieldType::String),
    ("generator_version", FieldType::Int),
    ("content_hash", FieldType::String),
    ("critical_path", FieldType::Int),
    ("passable_cells", FieldType::Int),
    ("loops", FieldType::Int),
    ("difficulty", FieldType::Int),
    ("name", FieldType::String),
    ("name_id", FieldType::String),
    ("name_parts", FieldType::String),
    ("hook", FieldType::String),
    ("hook_id", FieldType::String),
    ("hook_parts", FieldType::String),
    ("landmark", FieldType::Int),
    ("view", FieldType::Int),
];

/// The kind of entity that a definition is, however it was renamed.
#[cfg(feature = "import")]
pub(crate) fn entity_name(uid: u64) -> Option<&'static str> {
    Entity::ALL.into_iter().find(|entity| u64::from(entity.uid()) == uid).map(|entity| entity.kind().name)
}

/// The field that a definition is, however it was renamed.
#[cfg(feature = "import")]
pub(crate) fn field_name(uid: u64) -> Option<&'static str> {
    let uid = u32::try_from(uid).ok()?;
    let of_entity = Entity::ALL.map(|entity| (entity.first_field(), entity.kind().fields));
    let mut all = of_entity.into_iter().chain([(uid::FIRST_LEVEL_FIELD, &LEVEL_FIELDS[..])]);
    all.find_map(|(first, fields)| Some(fields.get(uid.checked_sub(first)? as usize)?.0))
}

/// All definitions of the project.
pub(super) fn all(floor: &Floor) -> Value {
    json!({
        "layers": layer_definitions(floor),
        "entities": Entity::ALL.map(entity_definition),
        "tilesets": [tileset(uid::CELLS, &cells_name(floor), CELL_ROWS), tileset(uid::ROOMS, ROOMS, ROOM_ROWS)],
        "enums": [],
        "externalEnums": [],
        "levelFields": field_definitions(&LEVEL_FIELDS, uid::FIRST_LEVEL_FIELD),
    })
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

pub(super) fn rectangle(tileset: u32, (x, y): (u32, u32)) -> Value {
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

fn entity_definition(entity: Entity) -> Value {
    let EntityKind { name, tile, colour, fields } = entity.kind();
    let is_area = entity == Entity::Room;
    json!({
        "identifier": name,
        "uid": entity.uid(),
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
        "fieldDefs": field_definitions(fields, entity.first_field()),
    })
}

fn field_definitions(fields: &[(&str, FieldType)], first: u32) -> Vec<Value> {
    let definition = |(uid, (name, kind)): (u32, &(&str, FieldType))| {
        let show = if *kind == FieldType::Point { "PointStar" } else { "Hidden" };
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
