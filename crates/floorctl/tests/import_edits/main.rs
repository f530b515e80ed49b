//! 2,000 maps, each edited at random as people edit them in Tiled and LDtk: either the floor has everything, or the error
//! names what it has not. Tiled itself saves some of them.

#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

mod ldtk;
mod packed;
mod tiled;
mod xml;

use std::collections::BTreeMap;

use floor_client::{EncodedFloor, v1};
use floor_export::import::{self, ImportError, Imported};
use floor_gen::Kind;
use floor_proto::{grid, hash};
use serde_json::Value;

/// Edits a map, and the floor that is expected of it.
type Edit = fn(&mut Case, &mut fastrand::Rng);

/// A map that is being edited.
#[derive(Clone)]
struct Case {
    /// The floor that the map should be.
    floor: v1::Floor,
    map: Value,
    /// The files beside the map.
    files: BTreeMap<String, Vec<u8>>,
    /// What the error must say, if the map holds what no floor keeps.
    lost: Option<String>,
    /// Where pictures have their point (Tiled's alignment of objects).
    anchor: (f64, f64),
    next_id: u64,
}

/// Marks a thing of the expected floor that an edit has deleted.
const DELETED: &str = "deleted";

impl Case {
    fn read(&self, bytes: &[u8]) -> Result<Imported, ImportError> {
        let read = |path: &str| {
            let found = self.files.get(&path.replace("parts/../", ""));
            found.cloned().ok_or_else(|| format!("{path}: there is no such file"))
        };
        import::parse(bytes, &read)
    }

    fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    fn cell(&self, rng: &mut fastrand::Rng) -> v1::Point {
        let spec = self.floor.spec.as_ref().unwrap();
        v1::Point { x: rng.u32(0..spec.width), y: rng.u32(0..spec.height) }
    }

    /// The place of a thing in the expected floor.
    fn place(&mut self, class: &str, index: usize) -> &mut Option<v1::Point> {
        match class {
            "spawn" => &mut self.floor.spawns[index].at,
            "item" => &mut self.floor.items[index].at,
            "trap" => &mut self.floor.traps[index].at,
            other => panic!("no {other}"),
        }
    }

    fn delete(&mut self, class: &str, index: usize) {
        let archetype = match class {
            "spawn" => &mut self.floor.spawns[index].archetype,
            "item" => &mut self.floor.items[index].archetype,
            "trap" => &mut self.floor.traps[index].archetype,
            other => panic!("no {other}"),
        };
        DELETED.clone_into(archetype);
    }

    /// Makes a pillar of a cell of floor, and returns its index and what it was.
    fn paint(&mut self, rng: &mut fastrand::Rng) -> usize {
        let mut cells = grid::decode(self.floor.terrain.as_ref().unwrap()).unwrap();
        let floor = (0..cells.len()).filter(|index| cells[*index] == v1::Terrain::Floor as u8).collect::<Vec<_>>();
        let index = floor[rng.usize(..floor.len())];
        cells[index] = v1::Terrain::Pillar as u8;
        let spec = self.floor.spec.as_ref().unwrap();
        self.floor.terrain = Some(grid::encode(spec.width, spec.height, &cells));
        index
    }

    /// Reads the map, and compares it with what is expected. `log` says what was edited.
    fn check(&self, bytes: &[u8], log: &str) {
        let mut expected = self.floor.clone();
        expected.spawns.retain(|spawn| spawn.archetype != DELETED);
        expected.items.retain(|item| item.archetype != DELETED);
        expected.traps.retain(|trap| trap.archetype != DELETED);
        match (self.read(bytes), &self.lost) {
            (Ok(imported), None) => assert_eq!(sorted(imported.floor), sorted(expected), "{log}"),
            (Err(error), Some(lost)) => assert!(error.to_string().contains(lost), "{log}: no {lost:?} in: {error}"),
            (Ok(_), Some(lost)) => panic!("{log}: {lost} was lost without a word"),
            (Err(error), None) => panic!("{log}: {error}"),
        }
    }
}

/// The floor with its lists in an order of their own, since layers may be in any.
fn sorted(mut floor: v1::Floor) -> v1::Floor {
    floor.rooms.sort_by_key(|room| room.id);
    floor.connections.sort_by_key(|it| (it.from_room, it.to_room, it.lock_id));
    floor.locks.sort_by_key(|lock| lock.id);
    floor.spawns.sort_by_key(|it| format!("{it:?}"));
    floor.items.sort_by_key(|it| format!("{it:?}"));
    floor.traps.sort_by_key(|it| format!("{it:?}"));
    floor.furniture.sort_by_key(|it| it.archetype.clone());
    floor
}

/// A floor of each kind.
fn floors() -> Vec<EncodedFloor> {
    let floor = |(number, kind): (u32, Kind)| {
        let spec = floor_gen::FloorSpec::resolve(42, 3 + number, 40, 32, Some(kind)).unwrap();
        EncodedFloor::new(hash::encode_hashed(&floor_wire::message(&floor_gen::generate(&spec)), 0).into())
    };
    (0u32..).zip(Kind::ALL).map(floor).collect()
}

/// Applies one to five edits, and to every third map one that a floor cannot keep. Returns the names of all.
fn edited(case: &mut Case, rng: &mut fastrand::Rng, kept: &[(&str, Edit)], lost: &[(&str, Edit)]) -> Vec<String> {
    let mut log = Vec::new();
    let mut apply = |case: &mut Case, rng: &mut fastrand::Rng, edits: &[(&str, Edit)]| {
        let (name, edit) = edits[rng.usize(..edits.len())];
        edit(case, rng);
        log.push(name.to_owned());
    };
    for _ in 0..rng.usize(1..=5) {
        apply(case, rng, kept);
    }
    if rng.u8(..3) == 0 {
        apply(case, rng, lost);
        assert!(case.lost.is_some(), "{log:?}");
    }
    log
}

/// That all edits were tried.
fn assert_tried(tried: &BTreeMap<String, usize>, edits: &[(&str, Edit)]) {
    for (name, _) in edits {
        assert!(tried.get(*name).is_some_and(|count| *count > 5), "{name}: {tried:?}");
    }
}

#[test]
fn random_edits_of_tiled_lose_nothing_silently() {
    let exported = floors().iter().map(tiled::exported).collect::<Vec<_>>();
    let mut tried = BTreeMap::new();
    for seed in 0..1_300 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut case = tiled::case(&exported[seed as usize % exported.len()], &mut rng);
        let mut log = edited(&mut case, &mut rng, &tiled::KEPT, &tiled::LOST);
        let (bytes, saved) = tiled::saved(&mut case, &mut rng);
        log.extend(saved);
        case.check(&bytes, &format!("seed {seed}, {log:?}"));
        // Damage is refused or read, and nothing panics.
        let mut damaged = bytes;
        let at = rng.usize(..damaged.len());
        damaged[at] = b"9-x\"{<"[rng.usize(..6)];
        let _ = case.read(&damaged);
        log.into_iter().for_each(|name| *tried.entry(name).or_default() += 1);
    }
    assert_tried(&tried, &tiled::KEPT);
    assert_tried(&tried, &tiled::LOST);
}

#[test]
fn random_edits_of_ldtk_lose_nothing_silently() {
    let exported = floors().iter().map(ldtk::exported).collect::<Vec<_>>();
    let mut tried = BTreeMap::new();
    for seed in 0..700 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut case = exported[seed as usize % exported.len()].clone();
        let log = edited(&mut case, &mut rng, &ldtk::KEPT, &ldtk::LOST);
        case.check(case.map.to_string().as_bytes(), &format!("seed {seed}, {log:?}"));
        log.into_iter().for_each(|name| *tried.entry(name).or_default() += 1);
    }
    assert_tried(&tried, &ldtk::KEPT);
    assert_tried(&tried, &ldtk::LOST);
}

/// Tiled opens maps that were edited, saves them in each of its formats, and their floors come back.
///
/// Needs the program `tiled`. Without it the test says that it is skipped, or fails if `FLOORS_TEST_TILED=required`.
#[test]
fn what_tiled_saves_comes_back() {
    let directory = tempfile::tempdir().unwrap();
    let tiled_program = |arguments: &[&str]| {
        let mut command = std::process::Command::new("tiled");
        command.env("QT_QPA_PLATFORM", "offscreen").env("HOME", directory.path()).args(arguments).output()
    };
    if tiled_program(&["--quit"]).is_err() {
        assert!(std::env::var_os("FLOORS_TEST_TILED").is_none_or(|value| value != "required"), "there is no `tiled`");
        eprintln!("skipped: there is no `tiled`");
        return;
    }
    let exported = floors().iter().map(tiled::exported).collect::<Vec<_>>();
    for seed in 5_000..5_024 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut case = tiled::case(&exported[seed as usize % exported.len()], &mut rng);
        let log = (0..4).map(|_| tiled::KEPT[rng.usize(..tiled::KEPT.len())]).collect::<Vec<_>>();
        for (_, edit) in &log {
            edit(&mut case, &mut rng);
        }
        let (bytes, saved) = tiled::saved(&mut case, &mut rng);
        let names = log.iter().map(|(name, _)| *name).chain(saved.iter().map(String::as_str)).collect::<Vec<_>>();
        let folder = directory.path().join(seed.to_string());
        std::fs::create_dir_all(folder.join("parts")).unwrap();
        for (name, file) in &case.files {
            std::fs::write(folder.join(name), file).unwrap();
        }
        let map = folder.join(if bytes.starts_with(b"<") { "map.tmx" } else { "map.tmj" });
        std::fs::write(&map, &bytes).unwrap();
        for (format, file) in [("tmx", "saved.tmx"), ("json", "saved.tmj")] {
            let file = folder.join(file);
            let output =
                tiled_program(&["--export-map", format, map.to_str().unwrap(), file.to_str().unwrap()]).unwrap();
            let log = format!("seed {seed}, {names:?} as {format}: {}", String::from_utf8_lossy(&output.stderr));
            assert!(output.status.success(), "{log}");
            case.check(&std::fs::read(&file).unwrap(), &log);
        }
    }
}
