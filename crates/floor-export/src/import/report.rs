//! What an import read and what it left, compared with what the file holds.

use floor_proto::v1;
use serde_json::Value;

use super::{ImportError, Imported, list};
use crate::counts::{counted, thousands};

/// How much of a map became a floor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    /// Cells of terrain.
    pub cells: usize,
    /// Objects or entities that are things of the floor.
    pub objects: usize,
    /// Objects that are the designer's own.
    pub own_objects: usize,
    /// The designer's own layers, objects and properties, by their names.
    pub own: Vec<String>,
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let objects = counted((self.objects + self.own_objects) as u64, "object");
        write!(f, "read {} cells and {} of {objects}", thousands(self.cells as u64), thousands(self.objects as u64))?;
        if !self.own.is_empty() {
            let names = self.own.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
            write!(f, "; left yours: {}", names.join(", "))?;
        }
        Ok(())
    }
}

/// Collects what is wrong, derived, or left.
#[derive(Default)]
pub(super) struct Report {
    problems: Vec<String>,
    notes: Vec<String>,
    /// Objects of the file, counted apart from the readers.
    held: usize,
    own_objects: usize,
    own: Vec<String>,
}

impl Report {
    /// A report about a document that holds that many objects.
    pub(super) fn expect(&mut self, held: usize) {
        self.held = held;
    }

    pub(super) fn problem(&mut self, what: impl Into<String>) {
        self.problems.push(what.into());
    }

    pub(super) fn note(&mut self, what: impl Into<String>) {
        self.notes.push(what.into());
    }

    /// Something of the designer's own, with that many objects.
    pub(super) fn own(&mut self, name: &str, objects: usize) {
        self.own_objects += objects;
        if !self.own.iter().any(|known| known == name) {
            self.own.push(name.to_owned());
        }
    }

    /// The value, or its default and a problem.
    pub(super) fn take<T: Default>(&mut self, result: Result<T, ImportError>) -> T {
        result.unwrap_or_else(|error| {
            match error {
                ImportError::Wrong(problems) => self.problems.extend(problems),
                other => self.problems.push(other.to_string()),
            }
            T::default()
        })
    }

    /// The error about all problems.
    pub(super) fn failed(&mut self) -> ImportError {
        ImportError::Wrong(std::mem::take(&mut self.problems))
    }

    /// The floor, if it has everything that the file holds.
    pub(super) fn finish(mut self, floor: v1::Floor) -> Result<Imported, ImportError> {
        if !self.problems.is_empty() {
            return Err(self.failed());
        }
        let objects = things(&floor);
        if objects + self.own_objects != self.held {
            let (held, own) = (counted(self.held as u64, "object"), self.own_objects);
            let what = format!(
                "the map holds {held}, of which {objects} were read and {own} are yours: this program lost the rest, please report it with the map"
            );
            return Err(ImportError::Wrong(vec![what]));
        }
        let cells = floor.terrain.as_ref().map_or(0, |grid| grid.width as usize * grid.height as usize);
        let tally = Tally { cells, objects, own_objects: self.own_objects, own: self.own };
        Ok(Imported { floor, tally, notes: self.notes })
    }
}

/// How many objects of an editor a floor is.
fn things(floor: &v1::Floor) -> usize {
    let ends = [floor.entry, floor.exit, floor.landing].iter().flatten().count();
    let lists = [
        floor.rooms.len(),
        floor.connections.len(),
        floor.locks.len(),
        floor.traps.len(),
        floor.items.len(),
        floor.spawns.len(),
    ];
    let furniture = floor.furniture.iter().map(|kind| kind.cells.len()).sum::<usize>();
    ends + lists.iter().sum::<usize>() + furniture
}

/// How many objects stand in a layer or a document, at whatever depth: the members of all lists of that name.
pub(super) fn held(of: &Value, key: &str) -> usize {
    match of {
        Value::Array(members) => members.iter().map(|member| held(member, key)).sum(),
        // The shapes of tiles are no objects of the map.
        Value::Object(members) => members
            .iter()
            .filter(|(name, _)| *name != "tilesets" && *name != "defs")
            .map(|(name, value)| if name == key { list(value).count() } else { held(value, key) })
            .sum(),
        _ => 0,
    }
}
