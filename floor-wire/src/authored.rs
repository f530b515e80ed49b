//! Reads the authored floors in the files of a pack. [`LoadedPack`](crate::LoadedPack) serves them.

use std::collections::BTreeMap;

use floor_gen::{
    FloorSpec,
    pack::{Files, PackError},
};
use floor_proto::{floor_json, v1};

use crate::{ByPlace, rules};

/// The folder of authored floors in a pack.
const FOLDER: &str = "floors/";

/// The authored floors, or everything that is wrong with them. Their specs are of the built-in pack.
pub(crate) fn read(files: &Files) -> Result<ByPlace<(FloorSpec, v1::Floor)>, Vec<PackError>> {
    let (mut floors, mut errors) = (BTreeMap::new(), Vec::new());
    for (path, content) in files.iter() {
        let Some(name) = path.strip_prefix(FOLDER).filter(|name| !name.ends_with(".md")) else { continue };
        let Some((number, seed)) = place(name) else {
            let message = "an authored floor is NUMBER.json, or SEED-NUMBER.json for one tower, in decimal digits, \
                           such as floors/10.json or floors/42-10.json";
            errors.push(PackError::new(path, 0, 0, message.to_owned()));
            continue;
        };
        match read_floor(content, seed.unwrap_or(0), number) {
            Ok(floor) => _ = floors.insert((number, seed), floor),
            Err(wrong) => errors
                .extend(wrong.into_iter().map(|(line, column, message)| PackError::new(path, line, column, message))),
        }
    }
    if errors.is_empty() { Ok(floors) } else { Err(errors) }
}

/// The number, and the seed if it is named, of the file `NUMBER.json` or `SEED-NUMBER.json`.
fn place(name: &str) -> Option<(u32, Option<u64>)> {
    let stem = name.strip_suffix(".json")?;
    let (seed, number) = match stem.split_once('-') {
        Some((seed, number)) => (Some(canonical(seed)?), number),
        None => (None, stem),
    };
    let number = u32::try_from(canonical(number)?).ok()?;
    (FloorSpec::MIN_NUMBER..=FloorSpec::MAX_NUMBER).contains(&number).then_some((number, seed))
}

/// A number as it is printed, so that a floor has one name only.
fn canonical(text: &str) -> Option<u64> {
    text.parse::<u64>().ok().filter(|number| number.to_string() == text)
}

/// A line, a column and what is wrong there.
type Wrong = (usize, usize, String);

/// The floor in a file. Its seed and its number are those of the file's name.
fn read_floor(json: &[u8], seed: u64, number: u32) -> Result<(FloorSpec, v1::Floor), Vec<Wrong>> {
    let mut message = floor_json::parse(json).map_err(|error| {
        let (line, column) = error.position().unwrap_or_default();
        vec![(line, column, error.to_string())]
    })?;
    if let Some(spec) = &mut message.spec {
        (spec.seed, spec.number) = (seed, number);
        spec.pack.clear();
    }
    let broken = rules::broken_by(&message);
    if !broken.is_empty() {
        let wrong = |broken: rules::BrokenRule| {
            let at = broken.cells.first().map(|(x, y)| format!(" at ({x}, {y})")).unwrap_or_default();
            (0, 0, format!("{}{at}: {}", broken.rule, broken.message))
        };
        return Err(broken.into_iter().map(wrong).collect());
    }
    let spec = rules::spec(message.spec.as_ref().expect("the rules need it")).map_err(|wrong| vec![(0, 0, wrong)])?;
    rules::set_defaults(&mut message);
    let message = v1::Floor {
        spec: None,
        generator_version: floor_gen::GENERATOR_VERSION,
        content_hash: 0,
        pack_hash: 0,
        // A file may have a grid in another encoding than the one that the content hash needs.
        terrain: message.terrain.as_ref().map(reencoded),
        region: message.region.as_ref().map(reencoded),
        ..message
    };
    Ok((spec, message))
}

fn reencoded(grid: &v1::Grid) -> v1::Grid {
    let cells = floor_proto::grid::decode(grid).expect("the rules decoded it");
    floor_proto::grid::encode(grid.width, grid.height, &cells)
}
