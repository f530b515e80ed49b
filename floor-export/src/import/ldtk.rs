//! Reads projects of LDtk.

use floor_proto::v1::{Point, Terrain};
use serde_json::{Map as Values, Value};

use super::{Fields, ImportError, Map, Object, list, side, wrong};
use crate::picture::tiles::SIDE;

pub(super) fn read(document: &Value) -> Result<Map, ImportError> {
    let level = list(&document["levels"]).next().ok_or_else(|| wrong("the project has no level"))?;
    if level["layerInstances"].is_null() {
        return Err(wrong("the project keeps its levels in files of their own: switch off `Save levels separately`"));
    }
    let (width, height) = (side(level, "pxWid", SIDE)?, side(level, "pxHei", SIDE)?);
    let cells = |name: &str, empty: u8| {
        let values = list(&layer(level, name)?["intGridCsv"]).map(|value| value.as_u64()?.try_into().ok());
        let values: Option<Vec<u8>> =
            values.map(|value| value.map(|value| if value == 0 { empty } else { value })).collect();
        let values = values.filter(|values| values.len() == (width * height) as usize);
        values.ok_or_else(|| wrong(format!("the layer `{name}` does not have {} values up to 255", width * height)))
    };
    Ok(Map {
        width,
        height,
        terrain: cells("Terrain", Terrain::Wall as u8)?,
        region: cells("Region", 0)?,
        fields: Fields { of: "the map".to_owned(), values: values(level) },
        objects: list(&layer(level, "Entities")?["entityInstances"]).map(object).collect(),
    })
}

fn layer<'a>(level: &'a Value, name: &str) -> Result<&'a Value, ImportError> {
    let layer = list(&level["layerInstances"]).find(|layer| layer["__identifier"] == name);
    layer.ok_or_else(|| wrong(format!("the map has no layer `{name}`")))
}

/// The fields of an instance by name. A point has two: `center` is `center_x` and `center_y`.
fn values(of: &Value) -> Values<String, Value> {
    let mut values = Values::new();
    for field in list(&of["fieldInstances"]) {
        let (Some(name), value) = (field["__identifier"].as_str(), &field["__value"]) else { continue };
        values.insert(name.to_owned(), value.clone());
        for axis in ["x", "y"] {
            if let Some(at) = value.get(format!("c{axis}")) {
                values.insert(format!("{name}_{axis}"), at.clone());
            }
        }
    }
    values
}

fn object(entity: &Value) -> Object {
    let class = entity["__identifier"].as_str().unwrap_or_default().to_lowercase();
    let cell =
        |axis: usize| entity["px"][axis].as_u64().and_then(|at| u32::try_from(at).ok()).unwrap_or_default() / SIDE;
    let at = Point { x: cell(0), y: cell(1) };
    let of = format!("the {class} at ({}, {})", at.x, at.y);
    Object { class, at, fields: Fields { of, values: values(entity) } }
}
