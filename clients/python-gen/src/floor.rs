//! A generated floor as a Python object.

use numpy::{PyArray1, PyArray2, PyArrayMethods as _};
use pyo3::{prelude::*, sync::PyOnceLock, types::PyBytes};

use floor_proto::hash;

use crate::parts::{Connection, Item, Lock, Metrics, Point, Room, Spawn, Trap};

/// A generated floor. Arrays have `height` rows and `width` columns: cell (x, y) is `floor.terrain[y, x]`.
#[pyclass(frozen, module = "floor_gen")]
pub struct Floor {
    floor: floor_gen::Floor<'static>,
    terrain: PyOnceLock<Py<PyArray2<u8>>>,
    region: PyOnceLock<Py<PyArray2<u8>>>,
}

impl From<floor_gen::Floor<'static>> for Floor {
    fn from(floor: floor_gen::Floor<'static>) -> Self {
        Self { floor, terrain: PyOnceLock::new(), region: PyOnceLock::new() }
    }
}

impl Floor {
    fn array(&self, py: Python<'_>, cells: Vec<u8>) -> PyResult<Py<PyArray2<u8>>> {
        let shape = [usize::from(self.floor.spec.height()), usize::from(self.floor.spec.width())];
        Ok(PyArray1::from_vec(py, cells).reshape(shape)?.unbind())
    }
}

#[pymethods]
impl Floor {
    /// The terrain of each cell: an array of uint8 that is the program's own, the same at each read.
    #[getter]
    fn terrain(&self, py: Python<'_>) -> PyResult<Py<PyArray2<u8>>> {
        let cells = || self.floor.terrain.iter().map(|terrain| *terrain as u8).collect();
        Ok(self.terrain.get_or_try_init(py, || self.array(py, cells()))?.clone_ref(py))
    }

    /// Room id + 1 of each cell, 0 = no room: an array of uint8 that is the program's own, the same at each read.
    #[getter]
    fn region(&self, py: Python<'_>) -> PyResult<Py<PyArray2<u8>>> {
        Ok(self.region.get_or_try_init(py, || self.array(py, self.floor.region.clone()))?.clone_ref(py))
    }

    /// The tower.
    #[getter]
    fn seed(&self) -> u64 {
        self.floor.spec.seed()
    }

    /// The number of the floor in its tower.
    #[getter]
    fn number(&self) -> u32 {
        self.floor.spec.number()
    }

    /// Cells from west to east.
    #[getter]
    fn width(&self) -> u16 {
        self.floor.spec.width()
    }

    /// Cells from north to south.
    #[getter]
    fn height(&self) -> u16 {
        self.floor.spec.height()
    }

    /// The name of the kind.
    #[getter]
    fn kind(&self) -> &'static str {
        self.floor.spec.kind().name()
    }

    /// The stairs up, where a player arrives.
    #[getter]
    fn entry(&self) -> Point {
        self.floor.entry.into()
    }

    /// The stairs to the next floor.
    #[getter]
    fn exit(&self) -> Point {
        self.floor.exit.into()
    }

    /// The rooms; room `i` has id `i`.
    #[getter]
    fn rooms(&self) -> Vec<Room> {
        self.floor.rooms.iter().map(Room::from).collect()
    }

    /// The connections between rooms.
    #[getter]
    fn connections(&self) -> Vec<Connection> {
        self.floor.connections.iter().map(Connection::from).collect()
    }

    /// The monsters.
    #[getter]
    fn spawns(&self) -> Vec<Spawn> {
        self.floor.spawns.iter().map(Spawn::from).collect()
    }

    /// Loot and keys.
    #[getter]
    fn items(&self) -> Vec<Item> {
        self.floor.items.iter().map(Item::from).collect()
    }

    /// The locks; lock `i` has id `i + 1`.
    #[getter]
    fn locks(&self) -> Vec<Lock> {
        self.floor.locks.iter().map(Lock::from).collect()
    }

    /// The traps.
    #[getter]
    fn traps(&self) -> Vec<Trap> {
        self.floor.traps.iter().map(Trap::from).collect()
    }

    /// Measures of the floor as a whole.
    #[getter]
    fn metrics(&self) -> Metrics {
        (&self.floor.metrics).into()
    }

    /// The content hash: equal hashes mean equal floors. Computed at each read.
    #[getter]
    fn content_hash(&self, py: Python<'_>) -> u64 {
        py.detach(|| hash::content_hash(&floor_wire::message(&self.floor)))
    }

    /// The message `floors.v1.Floor`, byte for byte as a server of this generator version sends it.
    fn encode<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let framed = py.detach(|| floor_wire::framed(&self.floor));
        PyBytes::new(py, &floor_wire::unframed(&framed))
    }

    fn __repr__(&self) -> String {
        let spec = &self.floor.spec;
        let (number, seed, width, height) = (spec.number(), spec.seed(), spec.width(), spec.height());
        format!("<Floor {number} of tower {seed}, {}, {width}x{height}>", spec.kind())
    }
}
