//! Reads the authored floors in the files of a pack. [`LoadedPack`](crate::LoadedPack) serves them.

use std::collections::BTreeMap;

use floor_gen::{
    FloorSpec,
    pack::{Checks, Files, PackError},
};
use floor_proto::{floor_json, v1};
use floor_wire::decode;

use crate::{AUTHORED, ByPlace, accept, rules};

/// The authored floors, or everything that is wrong with them. Their specs are of the built-in pack. `checks` are those of a
/// pack with a generator of its own: its authored floors are checked and completed as those of the generator are.
pub(crate) fn read(files: &Files, checks: Option<Checks>) -> Result<ByPlace<(FloorSpec, v1::Floor)>, Vec<PackError>> {
    let (mut floors, mut errors) = (BTreeMap::new(), Vec::new());
    for (path, content) in files.iter() {
        let Some(name) = path.strip_prefix(AUTHORED).filter(|name| !name.ends_with(".md")) else { continue };
        let Some((number, seed)) = place(name) else {
            let message = "an authored floor is NUMBER.json, or SEED-NUMBER.json for one tower, in decimal digits, \
                           such as floors/10.json or floors/42-10.json";
            errors.push(PackError::new(path, 0, 0, message.to_owned()));
            continue;
        };
        match read_floor(content, seed.unwrap_or(0), number, checks) {
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
fn read_floor(
    json: &[u8],
    seed: u64,
    number: u32,
    checks: Option<Checks>,
) -> Result<(FloorSpec, v1::Floor), Vec<Wrong>> {
    let mut message = floor_json::parse(json).map_err(|error| {
        let (line, column) = error.position().unwrap_or_default();
        vec![(line, column, error.to_string())]
    })?;
    if let Some(spec) = &mut message.spec {
        (spec.seed, spec.number) = (seed, number);
        spec.pack.clear();
    }
    if checks.is_none() {
        check_every_rule(&message)?;
        decode::set_defaults(&mut message);
        message.generator_version = floor_gen::GENERATOR_VERSION;
    }
    let of_whole = |wrong: String| vec![(0, 0, wrong)];
    let resolved = message.spec.take().ok_or_else(|| of_whole("the floor has no spec".to_owned()))?;
    let spec = decode::spec(&resolved).map_err(|error| of_whole(error.to_string()))?;
    if let Some(checks) = checks {
        message = accept::accept_message(message, &spec, resolved, checks).map_err(of_whole)?;
    }
    let message = v1::Floor {
        spec: None,
        content_hash: 0,
        pack_hash: 0,
        // A file may have a grid in another encoding than the one that the content hash needs.
        terrain: message.terrain.as_ref().map(reencoded),
        region: message.region.as_ref().map(reencoded),
        ..message
    };
    Ok((spec, message))
}

fn check_every_rule(message: &v1::Floor) -> Result<(), Vec<Wrong>> {
    let broken = rules::broken_by(message);
    if broken.is_empty() {
        return Ok(());
    }
    Err(broken.iter().map(|broken| (0, 0, broken.to_string())).collect())
}

fn reencoded(grid: &v1::Grid) -> v1::Grid {
    let cells = floor_proto::grid::decode(grid).expect("the rules decoded it");
    floor_proto::grid::encode(grid.width, grid.height, &cells)
}
