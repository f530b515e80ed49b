//! Reads projects of LDtk: <https://ldtk.io/json/>.
//!
//! What was renamed, or written in other letters, is known by the uid of its definition.

use floor_proto::v1::Terrain;
use serde_json::Value;

use super::{
    Cells, Class, Fields, Frame, ImportError, Map, Object, Outline, ReadFile, Report,
    grid::{places, side},
    is_own, list,
    report::held,
    wrong,
};
use crate::{
    counts::counted,
    ldtk::{self, uid},
    picture::tiles::{self, COLUMNS, SIDE},
};

pub(super) fn read(document: Value, read: ReadFile<'_>, report: &mut Report) -> Result<Map, ImportError> {
    let mut document = document;
    read_external_levels(&mut document, read)?;
    let mut levels = Vec::new();
    for level in list(&document["levels"]).chain(list(&document["worlds"]).flat_map(|world| list(&world["levels"]))) {
        match level["identifier"].as_str().filter(|name| is_own(name)) {
            Some(name) => report.own(name, held(level, "entityInstances")),
            None => levels.push(level),
        }
    }
    let level = match levels[..] {
        [level] => level,
        [] => return Err(wrong("the project has no level")),
        _ => {
            let names = levels.iter().map(|level| format!("`{}`", level["identifier"].as_str().unwrap_or_default()));
            let names = names.collect::<Vec<_>>().join(", ");
            let advice = "remove the others, or begin their names with `_`, which makes them yours";
            return Err(wrong(format!(
                "the project has {} levels, and a floor is one: {names}; {advice}",
                levels.len()
            )));
        }
    };
    report.expect(held(&document, "entityInstances"));
    let (width, height) = (side(level, "pxWid", SIDE)?, side(level, "pxHei", SIDE)?);
    let frame = Frame::new(width, height, (SIDE, SIDE));
    let fields = Fields::new("the map".to_owned(), values(level), report);
    let mut reader = Reader { frame, report, terrain: None, region: None, objects: Vec::new() };
    for layer in list(&level["layerInstances"]) {
        reader.layer(layer);
    }
    let Reader { terrain, region, objects, .. } = reader;
    for (name, is_there) in [("Terrain", terrain.is_some()), ("Region", region.is_some())] {
        if !is_there {
            report.problem(format!("the map has no layer `{name}`"));
        }
    }
    let (Some(terrain), Some(region)) = (terrain, region) else { return Err(report.failed()) };
    let (terrain, region) = (terrain.into_values(), region.into_values());
    for layer in list(&level["layerInstances"]).filter(|layer| is(layer, "Tiles", uid::TILES)) {
        compare_picture(layer, &terrain, frame, report);
    }
    Ok(Map { width, height, terrain, region, fields, objects })
}

/// Reads the levels that LDtk saved in files of their own.
fn read_external_levels(document: &mut Value, read: ReadFile<'_>) -> Result<(), ImportError> {
    let (levels, worlds) = (document["levels"].take(), document["worlds"].take());
    let load = |levels: Value| -> Result<Value, ImportError> {
        let load = |level: &Value| match level["externalRelPath"].as_str() {
            Some(path) if level["layerInstances"].is_null() => {
                let bytes = read(path).map_err(|why| wrong(format!("the level in {path} cannot be read: {why}")))?;
                Ok(serde_json::from_slice(&bytes)?)
            }
            _ => Ok(level.clone()),
        };
        list(&levels).map(load).collect()
    };
    document["levels"] = load(levels)?;
    let worlds = list(&worlds).map(|world| {
        let mut world = world.clone();
        world["levels"] = load(world["levels"].take())?;
        Ok(world)
    });
    document["worlds"] = worlds.collect::<Result<_, ImportError>>()?;
    Ok(())
}

/// Whether an instance is of a definition: by its name, in whatever letters, or by its uid.
fn is(layer: &Value, name: &str, uid: u32) -> bool {
    let named = layer["__identifier"].as_str().unwrap_or_default();
    named.eq_ignore_ascii_case(name) || layer["layerDefUid"] == uid
}

struct Reader<'a> {
    frame: Frame,
    report: &'a mut Report,
    terrain: Option<Cells>,
    region: Option<Cells>,
    objects: Vec<Object>,
}

impl Reader<'_> {
    fn layer(&mut self, layer: &Value) {
        let name = layer["__identifier"].as_str().unwrap_or_default();
        if is_own(name) {
            return self.report.own(name, held(layer, "entityInstances"));
        }
        let offset = |axis: &str| layer[format!("__pxTotalOffset{axis}")].as_f64().unwrap_or_default();
        let offset = (offset("X"), offset("Y"));
        for entity in list(&layer["entityInstances"]) {
            let iid = entity["iid"].as_str().unwrap_or_default();
            let place =
                format!("`{}` {iid} of the layer `{name}`", entity["__identifier"].as_str().unwrap_or_default());
            match self.object(entity, offset, &place) {
                Ok(object) => self.objects.extend(object),
                Err(why) => {
                    let [x, y] = [0, 1].map(|axis| &entity["__grid"][axis]);
                    self.report.problem(format!("{place}, at ({x}, {y}): {why}"));
                }
            }
        }
        if is(layer, "Terrain", uid::TERRAIN) {
            let is_terrain = |value: u64| tiles::terrains().any(|terrain| terrain as u64 == value);
            let cells = self.cells(layer, name, offset, Terrain::Wall as u8, &is_terrain, "a terrain, 1 to 15");
            if self.terrain.is_some() {
                self.report.problem(format!("the map has a second layer of terrain, `{name}`"));
            }
            self.terrain = cells;
        } else if is(layer, "Region", uid::REGION) {
            let cells = self.cells(layer, name, offset, 0, &|value| value <= 255, "the id of a room + 1, at most 255");
            if self.region.is_some() {
                self.report.problem(format!("the map has a second layer of regions, `{name}`"));
            }
            self.region = cells;
        } else if !is(layer, "Tiles", uid::TILES) {
            let values = list(&layer["intGridCsv"]).filter(|value| **value != 0).count();
            let count = values + list(&layer["gridTiles"]).count();
            if count > 0 {
                let advice = "remove it, or begin its name with `_`, which makes it yours";
                let count = counted(count as u64, "cell");
                self.report.problem(format!("the layer `{name}` has {count} that a floor does not keep: {advice}"));
            }
        }
    }

    /// The values of a layer. 0 is an empty cell.
    fn cells(
        &mut self,
        layer: &Value,
        name: &str,
        offset: (f64, f64),
        empty: u8,
        is_known: &dyn Fn(u64) -> bool,
        expected: &str,
    ) -> Option<Cells> {
        let mut cells = Cells::new(self.frame, empty);
        let values = list(&layer["intGridCsv"]).collect::<Vec<_>>();
        let (width, count) = (layer["__cWid"].as_u64().unwrap_or_default(), values.len());
        let shift = self.frame.shift(offset);
        let (true, true, Some((dx, dy))) = (layer["__gridSize"] == SIDE, width > 0, shift) else {
            let what = "does not stand on the cells of the floor";
            let sides = format!("its grid is {}, its offset {} and {} pixels", layer["__gridSize"], offset.0, offset.1);
            self.report.problem(format!("the layer `{name}` {what}: {sides}; a cell has {SIDE}"));
            return Some(cells);
        };
        if count != (self.frame.width * self.frame.height) as usize {
            self.report.problem(format!("the layer `{name}` has {count} cells; the level has {}", self.frame.size()));
        }
        let mut faults = std::collections::BTreeMap::<String, Vec<(i64, i64)>>::new();
        for (index, value) in (0..).zip(values).filter(|(_, value)| **value != 0) {
            let at = (dx.saturating_add_unsigned(index % width), dy.saturating_add_unsigned(index / width));
            let known = value.as_u64().filter(|value| is_known(*value)).and_then(|value| u8::try_from(value).ok());
            let fault = match known {
                Some(value) if cells.put(at, value) => continue,
                Some(_) => format!("a value outside of the level, which has {}", self.frame.size()),
                None => format!("the value {value}"),
            };
            faults.entry(fault).or_default().push(at);
        }
        for (fault, at) in faults {
            self.report.problem(format!("the layer `{name}` has {fault}, at {}; expected {expected}", places(&at)));
        }
        Some(cells)
    }

    /// A thing; none if it is the designer's own.
    fn object(&mut self, entity: &Value, offset: (f64, f64), place: &str) -> Result<Option<Object>, String> {
        let name = entity["__identifier"].as_str().unwrap_or_default();
        if is_own(name) {
            self.report.own(name, 1);
            return Ok(None);
        }
        let of_uid = || Class::named(ldtk::entity_name(entity["defUid"].as_u64()?)?);
        let class = Class::named(name).or_else(of_uid);
        let class = class.ok_or_else(|| {
            format!("a floor has no such thing; expected one of {}, or a name that begins with `_`", Class::names())
        })?;
        let number = |value: &Value, what: &str| value.as_f64().ok_or_else(|| format!("its {what} is {value}"));
        // The pivot stands at its place of the cell, however large the entity is.
        let along = |axis: usize, side: &str, offset: f64| {
            let pivot = entity["__pivot"][axis].as_f64().unwrap_or_default();
            let (at, length) = (number(&entity["px"][axis], "place")? + offset, number(&entity[side], side)?);
            Ok::<_, String>((at + (0.5 - pivot) * f64::from(SIDE), at - pivot * length, length))
        };
        let ((x, left, width), (y, top, height)) = (along(0, "width", offset.0)?, along(1, "height", offset.1)?);
        let cell = self.frame.cell((x, y));
        let outside = || format!("it stands outside of the level, which has {}", self.frame.size());
        let at = self.frame.inside(cell).ok_or_else(outside)?;
        let mut all = values(entity);
        let outline = match class {
            Class::Connection => {
                let to = ["to_x", "to_y"].map(|name| {
                    let at = all.iter().position(|(known, _)| known == name)?;
                    all.remove(at).1.as_i64()
                });
                let to = if let [Some(x), Some(y)] = to { self.frame.inside((x, y)) } else { None };
                Outline::Line([Some(at), to])
            }
            _ => Outline::Area(self.frame.area((left, top), (width, height))),
        };
        let fields = Fields::new(format!("the {} at ({}, {}), {place}", class.name(), at.x, at.y), all, self.report);
        Ok(Some(Object { class, at, outline, fields }))
    }
}

/// The fields of an instance by the names that `export` gave them. A point has two: `center` is `center_x` and
/// `center_y`. One that nobody set is none.
fn values(of: &Value) -> Vec<(String, Value)> {
    let mut values = Vec::new();
    for field in list(&of["fieldInstances"]) {
        let Some(name) = field["__identifier"].as_str() else { continue };
        let value = &field["__value"];
        let is_unset = field["realEditorValues"].as_array().is_some_and(|set| set.iter().all(Value::is_null));
        let is_blank = *value == 0 || *value == "" || *value == false;
        if value.is_null() || is_unset && is_blank {
            continue;
        }
        let name = field["defUid"].as_u64().and_then(ldtk::field_name).unwrap_or(name);
        if value["cx"].is_null() {
            values.push((name.to_owned(), value.clone()));
        } else {
            values.extend(["x", "y"].map(|axis| (format!("{name}_{axis}"), value[format!("c{axis}")].clone())));
        }
    }
    values
}

/// Notes where the picture shows another terrain than the cells say.
fn compare_picture(layer: &Value, terrain: &[u8], frame: Frame, report: &mut Report) {
    let by_index = tiles::by_index();
    let mut shown = vec![Terrain::Wall as u8; terrain.len()];
    let tiles = list(&layer["gridTiles"]).collect::<Vec<_>>();
    for tile in &tiles {
        let pixels = |at: &Value| Some((at[0].as_f64()?, at[1].as_f64()?));
        let (Some(at), Some(source)) = (pixels(&tile["px"]), pixels(&tile["src"])) else { continue };
        let (column, row) = frame.cell(source);
        let first = row.checked_mul(COLUMNS.into());
        let index = first.and_then(|first| usize::try_from(first.checked_add(column)?).ok());
        let is = index.and_then(|index| by_index.get(index).copied().flatten()?.terrain());
        if let (Some(at), Some(is)) = (frame.inside(frame.cell(at)), is) {
            shown[(at.y * frame.width + at.x) as usize] = is as u8;
        }
    }
    let differs = (0..).zip(shown.iter().zip(terrain)).filter(|(_, (shown, is))| shown != is);
    let differs = differs.map(|(index, _)| (index % i64::from(frame.width), index / i64::from(frame.width)));
    let differs = differs.collect::<Vec<_>>();
    if !differs.is_empty() && !tiles.is_empty() {
        report.note(format!(
            "the layer `Tiles` shows another terrain than `Terrain` has, at {}: `Terrain` counts",
            places(&differs)
        ));
    }
}
