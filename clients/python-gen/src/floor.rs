//! A floor as a Python object.

use numpy::{PyArray1, PyArray2, PyArrayMethods as _};
use pyo3::{exceptions::PyValueError, prelude::*, sync::PyOnceLock, types::PyBytes};

use floor_gen::Kind;
use floor_proto::{grid, hash, v1};

use crate::parts::{Connection, Furniture, Item, Lock, Metrics, Point, Room, Spawn, Text, Trap};

/// A floor. Arrays have `height` rows and `width` columns: cell (x, y) is `floor.terrain[y, x]`.
#[pyclass(frozen, module = "floor_gen")]
pub struct Floor {
    /// As the generator or the pack has it: its content hash is 0.
    message: v1::Floor,
    spec: v1::FloorSpec,
    terrain: PyOnceLock<Py<PyArray2<u8>>>,
    region: PyOnceLock<Py<PyArray2<u8>>>,
}

impl From<v1::Floor> for Floor {
    fn from(message: v1::Floor) -> Self {
        let spec = message.spec.clone().unwrap_or_default();
        Self { message, spec, terrain: PyOnceLock::new(), region: PyOnceLock::new() }
    }
}

#[pymethods]
impl Floor {
    /// The terrain of each cell: an array of uint8 that is the program's own, the same at each read.
    #[getter]
    fn terrain(&self, py: Python<'_>) -> PyResult<Py<PyArray2<u8>>> {
        Ok(self.terrain.get_or_try_init(py, || array(py, self.message.terrain.as_ref()))?.clone_ref(py))
    }

    /// Room id + 1 of each cell, 0 = no room: an array of uint8 that is the program's own, the same at each read.
    #[getter]
    fn region(&self, py: Python<'_>) -> PyResult<Py<PyArray2<u8>>> {
        Ok(self.region.get_or_try_init(py, || array(py, self.message.region.as_ref()))?.clone_ref(py))
    }

    /// The tower.
    #[getter]
    fn seed(&self) -> u64 {
        self.spec.seed
    }

    /// The number of the floor in its tower.
    #[getter]
    fn number(&self) -> u32 {
        self.spec.number
    }

    /// Cells from west to east.
    #[getter]
    fn width(&self) -> u32 {
        self.spec.width
    }

    /// Cells from north to south.
    #[getter]
    fn height(&self) -> u32 {
        self.spec.height
    }

    /// The name of the kind.
    #[getter]
    fn kind(&self) -> &'static str {
        kind_name(&self.spec)
    }

    /// The pack that has its content, as NAME@HASH; empty for the built-in pack.
    #[getter]
    fn pack(&self) -> &str {
        &self.spec.pack
    }

    /// The hash of that pack; 0 for the built-in one.
    #[getter]
    fn pack_hash(&self) -> u64 {
        self.message.pack_hash
    }

    /// The name of its theme.
    #[getter]
    fn theme(&self) -> &str {
        &self.message.theme
    }

    /// What it is called. Empty for authored floors without a name.
    #[getter]
    fn name(&self) -> &str {
        self.message.name.as_ref().map_or("", |name| &name.text)
    }

    /// Its name with the ids to say it in another language.
    #[getter]
    fn name_text(&self) -> Text {
        self.message.name.as_ref().into()
    }

    /// A sentence that makes one want to go there. Empty where the name is.
    #[getter]
    fn hook(&self) -> &str {
        self.message.hook.as_ref().map_or("", |hook| &hook.text)
    }

    /// Its hook with the ids to say it in another language.
    #[getter]
    fn hook_text(&self) -> Text {
        self.message.hook.as_ref().into()
    }

    /// The room that it is remembered by.
    #[getter]
    fn landmark(&self) -> Option<Room> {
        let id = self.message.landmark.checked_sub(1)?;
        self.message.rooms.iter().find(|room| room.id == id).map(Room::from)
    }

    /// What rooms are furnished with, type by type.
    #[getter]
    fn furniture(&self) -> Vec<Furniture> {
        let mut pieces = Vec::new();
        for kind in &self.message.furniture {
            let mut cell = 0;
            for step in &kind.cells {
                cell += step;
                let (x, y) = (cell % self.spec.width, cell / self.spec.width);
                pieces.push(Furniture { archetype: kind.archetype.clone(), x, y });
            }
        }
        pieces
    }

    /// The stairs up, where a player arrives.
    #[getter]
    fn entry(&self) -> Point {
        self.message.entry.into()
    }

    /// The stairs to the next floor.
    #[getter]
    fn exit(&self) -> Point {
        self.message.exit.into()
    }

    /// Who falls through a chasm of the floor above lands on the same cell if it is passable here, else on this one.
    #[getter]
    fn landing(&self) -> Point {
        self.message.landing.into()
    }

    /// The rooms; room `i` has id `i`.
    #[getter]
    fn rooms(&self) -> Vec<Room> {
        self.message.rooms.iter().map(Room::from).collect()
    }

    /// The connections between rooms.
    #[getter]
    fn connections(&self) -> Vec<Connection> {
        self.message.connections.iter().map(Connection::from).collect()
    }

    /// The monsters.
    #[getter]
    fn spawns(&self) -> Vec<Spawn> {
        self.message.spawns.iter().map(Spawn::from).collect()
    }

    /// Loot and keys.
    #[getter]
    fn items(&self) -> Vec<Item> {
        self.message.items.iter().map(Item::from).collect()
    }

    /// The locks; lock `i` has id `i + 1`.
    #[getter]
    fn locks(&self) -> Vec<Lock> {
        self.message.locks.iter().map(Lock::from).collect()
    }

    /// The traps.
    #[getter]
    fn traps(&self) -> Vec<Trap> {
        self.message.traps.iter().map(Trap::from).collect()
    }

    /// Measures of the floor as a whole.
    #[getter]
    fn metrics(&self) -> Metrics {
        self.message.metrics.as_ref().map_or_else(|| (&v1::FloorMetrics::default()).into(), Metrics::from)
    }

    /// The content hash: equal hashes mean equal floors. Computed at each read.
    #[getter]
    fn content_hash(&self, py: Python<'_>) -> u64 {
        py.detach(|| hash::content_hash(&self.message))
    }

    /// The message `floors.v1.Floor`, byte for byte as a server of this generator version sends it.
    fn encode<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &py.detach(|| hash::encode_hashed(&self.message, 0)))
    }

    fn __repr__(&self) -> String {
        let v1::FloorSpec { seed, number, width, height, .. } = self.spec;
        let kind = kind_name(&self.spec);
        let of_pack = if self.spec.pack.is_empty() { String::new() } else { format!(" of {}", self.spec.pack) };
        format!("<Floor {number} of tower {seed}{of_pack}, {kind}, {width}x{height}>")
    }
}

fn kind_name(spec: &v1::FloorSpec) -> &'static str {
    u32::try_from(spec.kind).ok().and_then(Kind::from_number).map_or("unknown", Kind::name)
}

fn array(py: Python<'_>, cells: Option<&v1::Grid>) -> PyResult<Py<PyArray2<u8>>> {
    let encoded = cells.ok_or_else(|| PyValueError::new_err("the floor has no such grid"))?;
    let cells = grid::decode(encoded).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let shape = [encoded.height as usize, encoded.width as usize];
    Ok(PyArray1::from_vec(py, cells).reshape(shape)?.unbind())
}
