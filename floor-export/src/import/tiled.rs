//! Reads maps of Tiled.

use floor_proto::v1::{Point, Terrain};
use serde_json::{Map as Values, Value};

use super::{Fields, ImportError, Map, Object, list, side, wrong};
use crate::{
    CELLS, ROOMS,
    picture::tiles::{self, SIDE, Tile},
};

/// The bits of a tile's number that do not turn it.
const NUMBER: u64 = 0x0fff_ffff;

pub(super) fn read(document: &Value) -> Result<Map, ImportError> {
    if document["infinite"] == true {
        return Err(wrong("the map is infinite: switch that off in its properties (Map > Map Properties)"));
    }
    let tilesets = Tilesets::of(document)?;
    let (width, height) = (side(document, "width", 1)?, side(document, "height", 1)?);
    let tiles = tiles::by_index();
    let tile = |index: u64| *tiles.get(usize::try_from(index).ok()?)?;
    let terrain = |index: u64| Some(tile(index)?.terrain()? as u8);
    let cells = |name: &str, tileset: &str, empty: u8, read: &dyn Fn(u64) -> Option<u8>| {
        let data = layer(document, name, (width * height) as usize)?;
        let cell = |(index, gid): (u32, &Value)| match gid.as_u64().map(|gid| gid & NUMBER) {
            Some(0) => Ok(empty),
            gid => tilesets.local(gid, tileset).and_then(read).ok_or_else(|| {
                let (x, y) = (index % width, index / width);
                wrong(format!(
                    "the layer `{name}` has the tile {gid:?} at ({x}, {y}); expected one of `{tileset}` there"
                ))
            }),
        };
        (0..).zip(data).map(cell).collect::<Result<Vec<_>, _>>()
    };
    Ok(Map {
        width,
        height,
        terrain: cells("terrain", CELLS, Terrain::Wall as u8, &terrain)?,
        region: cells("region", ROOMS, 0, &|index| u8::try_from(index).ok())?,
        fields: Fields { of: "the map".to_owned(), values: properties(document) },
        objects: list(&document["layers"])
            .flat_map(|layer| list(&layer["objects"]))
            .map(|it| object(it, |gid| tile(tilesets.local(gid, CELLS)?)))
            .collect(),
    })
}

/// The numbers of a layer.
fn layer<'a>(document: &'a Value, name: &str, cells: usize) -> Result<&'a [Value], ImportError> {
    let layer = list(&document["layers"]).find(|layer| layer["name"] == name);
    let layer = layer.ok_or_else(|| wrong(format!("the map has no layer `{name}`")))?;
    match layer["data"].as_array() {
        Some(data) if data.len() == cells => Ok(data),
        Some(data) => Err(wrong(format!("the layer `{name}` has {} cells, and the map {cells}", data.len()))),
        None => {
            let format = "set the Tile Layer Format to CSV in the properties of the map";
            Err(wrong(format!("the layer `{name}` holds no list of numbers: {format}")))
        }
    }
}

/// The tilesets of a map: the first number of each, and its name.
struct Tilesets(Vec<(u64, String)>);

impl Tilesets {
    fn of(document: &Value) -> Result<Self, ImportError> {
        let name = |tileset: &Value| {
            let named = tileset["name"].as_str().or_else(|| tileset["source"].as_str())?;
            Some((tileset["firstgid"].as_u64()?, named.rsplit(['/', '\\']).next()?.to_owned()))
        };
        let sets: Option<Vec<_>> = list(&document["tilesets"]).map(name).collect();
        let mut sets = sets.ok_or_else(|| wrong("a tileset of the map has no name or no first number"))?;
        sets.sort();
        Ok(Self(sets))
    }

    /// The index of a tile in the tileset that its name begins with. `None` if it is of another.
    fn local(&self, gid: Option<u64>, tileset: &str) -> Option<u64> {
        let gid = gid?;
        let (first, name) = self.0.iter().rev().find(|(first, _)| *first <= gid)?;
        name.starts_with(tileset).then_some(gid - first)
    }
}

fn properties(of: &Value) -> Values<String, Value> {
    let property = |it: &Value| Some((it["name"].as_str()?.to_owned(), it["value"].clone()));
    list(&of["properties"]).filter_map(property).collect()
}

/// An object. One without a class, placed by its tile, is what the tile stands for.
fn object(object: &Value, tile: impl Fn(Option<u64>) -> Option<Tile>) -> Object {
    let gid = object["gid"].as_u64().map(|gid| gid & NUMBER);
    let tile = tile(gid);
    let number = |key: &str| object[key].as_f64().unwrap_or_default();
    // A picture hangs above its point.
    let middle_y =
        if gid.is_some() { number("y") - number("height") / 2.0 } else { number("y") + number("height") / 2.0 };
    let cell = |pixels: f64| (pixels / f64::from(SIDE)).floor().max(0.0) as u32;
    let at = Point { x: cell(number("x") + number("width") / 2.0), y: cell(middle_y) };
    let own = ["type", "class"].iter().filter_map(|key| object[*key].as_str()).find(|class| !class.is_empty());
    let class = own.map_or_else(|| tile.map_or_else(String::new, |tile| class(tile).to_owned()), str::to_owned);
    let mut values = properties(object);
    values.insert("archetype".to_owned(), object["name"].as_str().unwrap_or_default().into());
    if let (Some(Tile::Key(lock)), false) = (tile, values.contains_key("opens_lock")) {
        values.insert("opens_lock".to_owned(), lock.into());
    }
    let of = format!("the {class} at ({}, {})", at.x, at.y);
    Object { class, at, fields: Fields { of, values } }
}

const fn class(tile: Tile) -> &'static str {
    match tile {
        Tile::Monster => "spawn",
        Tile::Key(_) | Tile::Loot => "item",
        Tile::Trap => "trap",
        _ => "lock",
    }
}
