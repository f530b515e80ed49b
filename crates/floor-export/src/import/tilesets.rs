//! The tilesets and templates of Tiled's maps, inside the map or in files of their own.

use std::{collections::BTreeMap, path::Path};

use serde_json::{Map as Values, Value};

use super::{Class, ReadFile, document, list};
use crate::{
    CELLS, ROOMS,
    picture::tiles::{self, CELL_ROWS, COLUMNS, ROOM_ROWS, Tile},
};

/// The bits of a tile's number that do not turn it.
const NUMBER: u32 = 0x0fff_ffff;
/// The properties of a tile that its objects have too.
const INHERITED: [&str; 6] = ["archetype", "level", "behaviour", "group", "value", "opens_lock"];

/// Reads the files that a map names.
#[derive(Clone, Copy)]
pub(super) struct Files<'a>(pub(super) ReadFile<'a>);

impl Files<'_> {
    /// The document of a file, JSON or XML.
    fn document(self, path: &str) -> Result<Value, String> {
        let bytes = self.0(path)?;
        document(&bytes).map_err(|error| error.to_string())
    }
}

/// Whose tiles a tileset has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Terrain and objects, as `export` writes them.
    Cells,
    /// Rooms, as `export` writes them.
    Rooms,
    /// The designer's.
    Other,
}

struct Tileset {
    first: u32,
    name: String,
    kind: Kind,
    /// How many tiles it has, if that is known.
    count: Option<u32>,
    tile_size: (f64, f64),
    /// Where in its picture an object of a tile has its point, in widths and heights from the upper left corner.
    anchor: (f64, f64),
    tiles: BTreeMap<u32, Value>,
    /// Why its file cannot be read.
    unread: Option<String>,
}

/// A tile that an object shows.
pub(super) struct Shown {
    pub(super) tile: Option<Tile>,
    pub(super) class: Option<Class>,
    pub(super) size: (f64, f64),
    pub(super) anchor: (f64, f64),
    /// The properties that its objects have too.
    pub(super) values: Values<String, Value>,
}

/// The tilesets of a map or of a template.
pub(super) struct Tilesets {
    sets: Vec<Tileset>,
    by_index: Vec<Option<Tile>>,
}

impl Tilesets {
    /// `entries` are the tilesets of the file at `path`.
    pub(super) fn read<'a>(entries: impl Iterator<Item = &'a Value>, path: &str, files: Files<'_>) -> Self {
        let mut sets = entries.map(|entry| Tileset::read(entry, path, files)).collect::<Vec<_>>();
        sets.sort_by_key(|set| set.first);
        Self { sets, by_index: tiles::by_index() }
    }

    /// The tileset of a tile, and its index in it. The error says what the tile is instead.
    fn find(&self, gid: u32) -> Result<(&Tileset, u32), String> {
        let gid = gid & NUMBER;
        let found = self.sets.iter().rev().find(|set| set.first <= gid).map(|set| (set, gid - set.first));
        found
            .filter(|(set, index)| set.count.is_none_or(|count| *index < count))
            .ok_or_else(|| format!("the tile {gid}, which is in no tileset of the map"))
    }

    fn own_tile(&self, index: u32) -> Option<Tile> {
        *self.by_index.get(index as usize)?
    }

    /// The number of the terrain that a tile stands for. The error says what the tile is instead.
    pub(super) fn terrain(&self, gid: u32) -> Result<u8, String> {
        let (set, index) = self.find(gid)?;
        let own = (set.kind == Kind::Cells).then(|| self.own_tile(index)).flatten();
        if let Some(terrain) = own.and_then(Tile::terrain) {
            return Ok(terrain as u8);
        }
        let stated = set.tiles.get(&index).and_then(|tile| values(tile).get("terrain")?.as_u64());
        let known = stated.and_then(|number| tiles::terrains().find(|terrain| *terrain as u64 == number));
        known.map(|terrain| terrain as u8).ok_or_else(|| match own.and_then(Class::of_tile) {
            Some(class) => {
                format!("{}, which is a {} and no terrain: place it as an object", set.tile(index), class.name())
            }
            None => format!("{}, which is no terrain", set.tile(index)),
        })
    }

    /// The mark of the room that a tile stands for. The error says what the tile is instead.
    pub(super) fn room(&self, gid: u32) -> Result<u8, String> {
        let (set, index) = self.find(gid)?;
        let mark = u8::try_from(index).ok().filter(|_| set.kind == Kind::Rooms);
        mark.ok_or_else(|| format!("{}, which is no room", set.tile(index)))
    }

    /// What an object shows. The error says why that is unknown.
    pub(super) fn shown(&self, gid: u32) -> Result<Shown, String> {
        let (set, index) = self.find(gid).map_err(|what| format!("shows {what}"))?;
        if let (Kind::Other, Some(why)) = (set.kind, &set.unread) {
            return Err(format!("shows {}, whose file cannot be read: {why}", set.tile(index)));
        }
        let described = set.tiles.get(&index);
        let tile = (set.kind == Kind::Cells).then(|| self.own_tile(index)).flatten();
        let class = tile.and_then(Class::of_tile).or_else(|| Class::named(class(described?)));
        let values = described.map(values).unwrap_or_default();
        let values = values.into_iter().filter(|(name, _)| INHERITED.contains(&name.to_lowercase().as_str())).collect();
        Ok(Shown { tile, class, size: set.tile_size, anchor: set.anchor, values })
    }
}

impl Tileset {
    fn read(entry: &Value, path: &str, files: Files<'_>) -> Self {
        let source = entry["source"].as_str();
        let (described, unread) = match source.map(|source| files.document(&beside(path, source))) {
            None => (entry.clone(), None),
            Some(Ok(described)) => (described, None),
            Some(Err(why)) => (Value::Null, Some(why)),
        };
        let file = source.and_then(|source| source.rsplit(['/', '\\']).next());
        let name = described["name"].as_str().or(file).unwrap_or_default().to_owned();
        let is_of = |kind: &str| [Some(name.as_str()), file].iter().flatten().any(|name| name.starts_with(kind));
        let kind = match () {
            () if is_of(CELLS) => Kind::Cells,
            () if is_of(ROOMS) => Kind::Rooms,
            () => Kind::Other,
        };
        let side = |key: &str| described[key].as_f64().unwrap_or(f64::from(tiles::SIDE));
        let number = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok());
        Self {
            first: number(&entry["firstgid"]).unwrap_or(1),
            kind,
            count: number(&described["tilecount"]).or(match kind {
                Kind::Cells => Some(COLUMNS * CELL_ROWS),
                Kind::Rooms => Some(COLUMNS * ROOM_ROWS),
                Kind::Other => None,
            }),
            tile_size: (side("tilewidth"), side("tileheight")),
            anchor: anchor(described["objectalignment"].as_str().unwrap_or_default()),
            tiles: list(&described["tiles"]).filter_map(|tile| Some((number(&tile["id"])?, tile.clone()))).collect(),
            unread,
            name,
        }
    }

    fn tile(&self, index: u32) -> String {
        format!("the tile {index} of the tileset `{}`", self.name)
    }
}

fn anchor(alignment: &str) -> (f64, f64) {
    match alignment {
        "topleft" => (0.0, 0.0),
        "top" => (0.5, 0.0),
        "topright" => (1.0, 0.0),
        "left" => (0.0, 0.5),
        "center" => (0.5, 0.5),
        "right" => (1.0, 0.5),
        "bottom" => (0.5, 1.0),
        "bottomright" => (1.0, 1.0),
        // On maps that are not isometric.
        _ => (0.0, 1.0),
    }
}

/// The path of a file that the file at `path` names.
fn beside(path: &str, named: &str) -> String {
    let folder = Path::new(path).parent().unwrap_or(Path::new(""));
    folder.join(named.replace('\\', "/")).to_string_lossy().into_owned()
}

/// The class of an object or a tile. Tiled 1.9 names it otherwise than older and newer ones.
pub(super) fn class(of: &Value) -> &str {
    ["type", "class"].iter().filter_map(|key| of[*key].as_str()).find(|class| !class.is_empty()).unwrap_or_default()
}

/// The properties of an element by name.
pub(super) fn values(of: &Value) -> Values<String, Value> {
    let property = |it: &Value| Some((it["name"].as_str()?.to_owned(), it["value"].clone()));
    list(&of["properties"]).filter_map(property).collect()
}

/// An object with what its template adds, and the tilesets of the template, if its tile is of one.
pub(super) fn instance(object: &Value, files: Files<'_>) -> Result<(Value, Option<Tilesets>), String> {
    let Some(path) = object["template"].as_str() else { return Ok((object.clone(), None)) };
    let path = path.replace('\\', "/");
    let template = files.document(&path).map_err(|why| format!("its template {path} cannot be read: {why}"))?;
    let Some(mut merged) = template["object"].as_object().cloned() else {
        return Err(format!("its template {path} has no object"));
    };
    let mut properties = values(&template["object"]);
    properties.extend(values(object));
    let is_template_tile = object["gid"].is_null() && merged.contains_key("gid");
    merged.extend(object.as_object().into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())));
    let properties = properties.into_iter().map(|(name, value)| serde_json::json!({"name": name, "value": value}));
    merged.insert("properties".to_owned(), properties.collect());
    let tilesets = is_template_tile.then(|| Tilesets::read([&template["tileset"]].into_iter(), &path, files));
    Ok((Value::Object(merged), tilesets))
}
