//! Reads maps of Tiled: <https://doc.mapeditor.org/en/stable/reference/json-map-format/>.
//!
//! How a layer or an object looks (visible, opacity, colours, parallax, the flips of a tile) is the editor's, and is not
//! read. Where it stands is: groups, offsets, rotations and the alignment of tilesets are applied.

use std::collections::BTreeMap;

use floor_proto::v1::Terrain;
use serde_json::Value;

use super::{
    Cells, Class, Fields, Frame, ImportError, Map, Object, ReadFile, Report,
    grid::{places, side},
    is_own, list,
    report::held,
    shape::{self, number},
    tile_data,
    tilesets::{Files, Shown, Tilesets, class, instance, values},
    wrong,
};
use crate::{counts::counted, picture::tiles::Tile};

pub(super) fn read(document: &Value, read: ReadFile<'_>, report: &mut Report) -> Result<Map, ImportError> {
    let orientation = document["orientation"].as_str().unwrap_or("orthogonal");
    if orientation != "orthogonal" {
        return Err(wrong(format!("the map is {orientation}; a floor is orthogonal")));
    }
    let (width, height) = (side(document, "width", 1)?, side(document, "height", 1)?);
    let cell = |key: &str| document[key].as_u64().and_then(|side| u32::try_from(side).ok()).filter(|side| *side > 0);
    let (Some(cell_width), Some(cell_height)) = (cell("tilewidth"), cell("tileheight")) else {
        return Err(wrong("the map has no size of its tiles"));
    };
    report.expect(held(&document["layers"], "objects"));
    let files = Files(read);
    let frame = Frame::new(width, height, (cell_width, cell_height));
    let tilesets = Tilesets::read(list(&document["tilesets"]), "", files);
    let mut reader = Reader {
        frame,
        files,
        tilesets,
        report,
        terrain: None,
        region: None,
        objects: Vec::new(),
        tile_layers: Vec::new(),
    };
    reader.layers(document, &Inside { names: Vec::new(), offset: (0.0, 0.0) });
    let (terrain, region) = (reader.terrain.take(), reader.region.take());
    let (Some(terrain), Some(region)) = (terrain, region) else { return Err(reader.missing_layers()) };
    let (terrain, region) = (terrain.into_values(), region.into_values());
    let objects = reader.objects;
    let fields = Fields::new("the map".to_owned(), values(document), report);
    Ok(Map { width, height, terrain, region, fields, objects })
}

/// The groups around a layer and the layer itself: their names, and by how many pixels all of them are moved.
struct Inside<'a> {
    names: Vec<&'a str>,
    offset: (f64, f64),
}

struct Reader<'a> {
    frame: Frame,
    files: Files<'a>,
    tilesets: Tilesets,
    report: &'a mut Report,
    terrain: Option<Cells>,
    region: Option<Cells>,
    /// The names of all layers of tiles, for errors.
    tile_layers: Vec<String>,
    objects: Vec<Object>,
}

impl Reader<'_> {
    /// An error about the layers that a map must have, unless they were there and wrong.
    fn missing_layers(self) -> ImportError {
        let is_there = |name: &str| self.tile_layers.iter().any(|layer| layer.trim().eq_ignore_ascii_case(name));
        let others = self.tile_layers.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
        let others = if others.is_empty() { "none".to_owned() } else { others.join(", ") };
        for name in ["terrain", "region"].into_iter().filter(|name| !is_there(name)) {
            self.report.problem(format!("the map has no layer `{name}`; its layers of tiles are {others}"));
        }
        self.report.failed()
    }

    /// The layers of a map or a group.
    fn layers(&mut self, of: &Value, around: &Inside<'_>) {
        for layer in list(&of["layers"]) {
            let name = layer["name"].as_str().unwrap_or_default();
            if is_own(name) {
                self.report.own(name, held(layer, "objects"));
                continue;
            }
            let (dx, dy) = match (number(layer, "offsetx"), number(layer, "offsety")) {
                (Ok(dx), Ok(dy)) => (dx, dy),
                (Err(why), _) | (_, Err(why)) => {
                    self.report.problem(format!("the layer `{name}`: {why}"));
                    continue;
                }
            };
            let names = around.names.iter().copied().chain([name]).collect();
            let inside = Inside { names, offset: (around.offset.0 + dx, around.offset.1 + dy) };
            Fields::new(format!("the layer `{name}`"), values(layer), self.report).report_left(self.report);
            match layer["type"].as_str().unwrap_or_default() {
                "group" => self.layers(layer, &inside),
                "objectgroup" => list(&layer["objects"]).for_each(|object| self.object(object, &inside)),
                "tilelayer" => self.tile_layer(layer, &inside),
                "imagelayer" if layer["image"].as_str().is_none_or(str::is_empty) => {}
                "imagelayer" => self.left(name, "is a picture"),
                other => self.left(name, &format!("has the type `{other}`")),
            }
        }
    }

    /// Reports a layer that no floor has.
    fn left(&mut self, name: &str, what: &str) {
        self.report.problem(format!(
            "the layer `{name}` {what}, which a floor does not keep: remove it, or begin its name with `_`, which makes it yours"
        ));
    }

    fn tile_layer(&mut self, layer: &Value, inside: &Inside<'_>) {
        let name = layer["name"].as_str().unwrap_or_default();
        self.tile_layers.push(name.to_owned());
        let tiles = match tile_data::tiles(layer) {
            Ok(tiles) => tiles,
            Err(why) => return self.report.problem(format!("the layer `{name}` {why}")),
        };
        let known = name.trim().to_lowercase();
        let is_second = match known.as_str() {
            "terrain" => self.terrain.is_some(),
            "region" => self.region.is_some(),
            _ if tiles.is_empty() => return,
            _ => {
                let count = counted(tiles.len() as u64, "tile");
                return self.left(name, &format!("has {count} and is neither `terrain` nor `region`"));
            }
        };
        if is_second {
            return self.report.problem(format!("the map has a second layer `{name}`; put its tiles into the first"));
        }
        let Some((dx, dy)) = self.frame.shift(inside.offset) else {
            let (x, y) = inside.offset;
            let what = format!("the layer `{name}` is moved by {x} and {y} pixels, and so stands between the cells");
            return self.report.problem(what);
        };
        let is_terrain = known == "terrain";
        let mut cells = Cells::new(self.frame, if is_terrain { Terrain::Wall as u8 } else { 0 });
        let mut faults = BTreeMap::<String, Vec<(i64, i64)>>::new();
        for ((x, y), gid) in tiles {
            let at = (x.saturating_add(dx), y.saturating_add(dy));
            let value = if is_terrain { self.tilesets.terrain(gid) } else { self.tilesets.room(gid) };
            let put = value.and_then(|value| {
                let outside = || format!("a tile outside of the map, which has {}", self.frame.size());
                cells.put(at, value).then_some(()).ok_or_else(outside)
            });
            if let Err(fault) = put {
                faults.entry(fault).or_default().push(at);
            }
        }
        let expected = if is_terrain { "a terrain of `floor-tiles`" } else { "a room of `room-tiles`" };
        for (fault, at) in faults {
            self.report.problem(format!("the layer `{name}` has {fault}, at {}; expected {expected}", places(&at)));
        }
        *if is_terrain { &mut self.terrain } else { &mut self.region } = Some(cells);
    }

    fn object(&mut self, object: &Value, inside: &Inside<'_>) {
        let id = object["id"].as_u64().map_or_else(|| "without an id".to_owned(), |id| id.to_string());
        let place = format!("object {id} of the layer `{}`", inside.names.join("/"));
        match self.read_object(object, inside, &place) {
            Ok(object) => self.objects.extend(object),
            Err(why) => self.report.problem(format!("{place}, {why}")),
        }
    }

    /// An object; none if it is the designer's own. One without a class is what its tile stands for, or what its layer
    /// holds.
    fn read_object(&mut self, object: &Value, inside: &Inside<'_>, place: &str) -> Result<Option<Object>, String> {
        let (object, of_template) = instance(object, self.files)?;
        let name = object["name"].as_str().unwrap_or_default().trim();
        if is_own(name) {
            self.report.own(name, 1);
            return Ok(None);
        }
        let shown = match &object["gid"] {
            Value::Null => None,
            gid => {
                let gid = gid.as_u64().and_then(|gid| u32::try_from(gid).ok());
                let gid = gid.ok_or_else(|| format!("its `gid` is {}", object["gid"]))?;
                Some(of_template.as_ref().unwrap_or(&self.tilesets).shown(gid)?)
            }
        };
        let (at, outline) = shape::read(&object, inside.offset, shown.as_ref(), self.frame)?;
        let class = self
            .class(&object, name, inside, shown.as_ref())
            .map_err(|why| format!("at ({}, {}): {why}", at.x, at.y))?;
        let of = format!("the {} at ({}, {}), {place}", class.name(), at.x, at.y);
        let mut all = shown.as_ref().map(|shown| shown.values.clone()).unwrap_or_default();
        all.extend(values(&object));
        let mut fields = Fields::new(of, all, self.report);
        self.name(name, class, &mut fields);
        let lock = match shown.and_then(|shown| shown.tile) {
            Some(Tile::Key(lock)) => Some(("opens_lock", lock)),
            Some(Tile::Locked(lock)) => Some(("id", lock)),
            _ => None,
        };
        if let Some((field, lock)) = lock.filter(|(field, lock)| *lock > 0 && !fields.has(field)) {
            fields.set(field, lock.into());
        }
        Ok(Some(Object { class, at, outline, fields }))
    }

    /// What an object is: its class says it, else its tile, else the innermost layer or group that holds one kind of thing.
    fn class(&self, object: &Value, name: &str, inside: &Inside<'_>, shown: Option<&Shown>) -> Result<Class, String> {
        let own = class(object).trim();
        let of_layer = || inside.names.iter().rev().find_map(|layer| class_of_layer(layer, name));
        let found =
            if own.is_empty() { shown.and_then(|shown| shown.class).or_else(of_layer) } else { Class::named(own) };
        found.ok_or_else(|| {
            let what = match own {
                "" => "neither a class nor its tile nor its layer says what it is".to_owned(),
                _ => format!("its class is `{own}`"),
            };
            format!("{what}; expected one of {}, or a name that begins with `_`, which makes it yours", Class::names())
        })
    }

    /// The name of an object is its archetype, or what a room is called. What has none keeps no name, and may have that
    /// which `export` wrote.
    fn name(&mut self, name: &str, class: Class, fields: &mut Fields) {
        let letters = || name.chars().filter(|letter| !letter.is_ascii_digit()).collect::<String>();
        let is_label = || [class.name(), "to"].contains(&letters().trim());
        if class == Class::Room && !name.is_empty() && !is_label() {
            fields.set("name", name.into());
        } else if !class.has_archetype() {
            if !name.is_empty() && !is_label() {
                let advice = "remove the name, or put it into a property `_name`, which is yours";
                self.report.problem(format!("{}: a floor does not keep its name `{name}`; {advice}", fields.of));
            }
        } else if !name.is_empty() {
            if fields.has("archetype") && fields.value("archetype").is_some_and(|other| other != name) {
                self.report.problem(format!("{}: its name `{name}` and its `archetype` differ", fields.of));
            }
            fields.set("archetype", name.into());
        }
    }
}

/// What stands in a layer of that name. The layer of stairs holds three classes, which their names tell.
fn class_of_layer(layer: &str, name: &str) -> Option<Class> {
    if layer.trim().eq_ignore_ascii_case("stairs") { Class::named(name) } else { Class::named(layer) }
}
