//! A project of LDtk 1.5: <https://ldtk.io/json/>. Its one level has four layers: entities, tiles for the picture, and
//! integers for the terrain and the room of each cell.

mod definitions;
mod level;

use floor_gen::pack::{Look, Paint};
use floor_proto::floor::Floor;
use serde_json::{Value, json};

#[cfg(feature = "import")]
pub(crate) use definitions::{entity_name, field_name, uid};

use crate::{
    ExportError, ExportedFile, ROOMS, cells_name,
    picture::{
        colour,
        tiles::{self, SIDE},
    },
};
use level::Ids;

const VERSION: &str = "1.5.3";
/// The layer of rooms is above the picture and must not hide it.
const REGION_OPACITY: f64 = 0.3;

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

/// The project alone.
#[must_use]
pub fn document(floor: &Floor, look: &Look) -> Value {
    let mut ids = Ids::new(floor);
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
        "nextUid": definitions::uid::NEXT,
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
        "defs": definitions::all(floor),
        "levels": [level::value(floor, &rock, &mut ids)],
        "worlds": [],
        "dummyWorldIid": ids.next(),
    })
}
