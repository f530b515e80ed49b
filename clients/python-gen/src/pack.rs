//! A content pack as a Python object, and what is wrong in the files of one.

use std::sync::Arc;

use floor_gen::{Theme, pack::PackErrors};
use floor_pack::LoadedPack;
use pyo3::{create_exception, exceptions::PyValueError, prelude::*};

use crate::{
    floor::Floor,
    generate::{self, KindArgument},
};

create_exception!(
    floor_gen,
    InvalidPackError,
    PyValueError,
    "The bytes are no pack, or its files have errors: `faults` lists all of them."
);

/// An error in a file of a pack. A line or a column of 0 stands for the whole file, an empty file for the whole pack.
#[pyclass(frozen, eq, get_all, module = "floor_gen")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackFault {
    /// The path of the file in the pack.
    file: String,
    /// The line, from 1.
    line: usize,
    /// The column of the line in characters, from 1.
    column: usize,
    /// What is wrong, and what would be right.
    message: String,
}

#[pymethods]
impl PackFault {
    fn __repr__(&self) -> String {
        format!("<PackFault {}:{}:{}: {}>", self.file, self.line, self.column, self.message)
    }
}

/// A content pack: the bytes of a `.floorpack` file, or of the field `file` in the answer of `GetPack`.
///
/// Raises InvalidPackError, a ValueError, with each error of its files.
#[pyclass(frozen, module = "floor_gen")]
pub struct Pack {
    loaded: Arc<LoadedPack>,
}

#[pymethods]
impl Pack {
    #[new]
    fn new(py: Python<'_>, file: &[u8]) -> PyResult<Self> {
        let loaded = py.detach(|| LoadedPack::from_bytes(file));
        match loaded {
            Ok(loaded) => Ok(Self { loaded: Arc::new(loaded) }),
            Err(errors) => Err(invalid(py, &errors)?),
        }
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        self.loaded.pack().name()
    }

    /// The hash that names its version; 0 for the built-in pack.
    #[getter]
    fn hash(&self) -> u64 {
        self.loaded.pack().hash().0
    }

    /// What its floors have in `pack`: NAME@HASH, or nothing for the built-in pack.
    #[getter]
    fn reference(&self) -> &str {
        self.loaded.reference()
    }

    /// What its author says about it.
    #[getter]
    fn description(&self) -> &str {
        self.loaded.pack().description()
    }

    /// The names of its themes.
    #[getter]
    fn themes(&self) -> Vec<&str> {
        self.loaded.pack().themes().iter().map(Theme::name).collect()
    }

    /// The number of its authored floors.
    #[getter]
    fn floors_authored(&self) -> usize {
        self.loaded.authored_count()
    }

    /// Returns one floor of the pack: the authored one if there is one that fits the arguments, else a generated one. A
    /// side of 0 and no kind are as the pack says.
    ///
    /// Raises ValueError as the function `generate` does.
    #[pyo3(signature = (seed, number, width=0, height=0, kind=None))]
    fn generate(
        &self,
        py: Python<'_>,
        seed: u64,
        number: u32,
        width: u32,
        height: u32,
        kind: Option<KindArgument>,
    ) -> PyResult<Floor> {
        generate::one(py, &self.loaded, seed, number, width, height, kind)
    }

    /// Returns the floors `numbers` of one tower, as the function `generate_many` does.
    #[pyo3(signature = (seed, numbers, width=0, height=0, kind=None, *, threads=None))]
    fn generate_many(
        &self,
        py: Python<'_>,
        seed: u64,
        numbers: &Bound<'_, PyAny>,
        width: u32,
        height: u32,
        kind: Option<KindArgument>,
        threads: Option<usize>,
    ) -> PyResult<Vec<Floor>> {
        generate::many(py, &self.loaded, seed, numbers, width, height, kind, threads)
    }

    fn __repr__(&self) -> String {
        let (pack, authored) = (self.loaded.pack(), self.loaded.authored_count());
        format!("<Pack {}@{}, {authored} authored floors>", pack.name(), pack.hash())
    }
}

/// The exception with the list of errors, whose text has a line for each.
fn invalid(py: Python<'_>, errors: &PackErrors) -> PyResult<PyErr> {
    let faults = errors.list().iter().map(|error| PackFault {
        file: error.file.clone(),
        line: error.line,
        column: error.column,
        message: error.message(),
    });
    let exception = InvalidPackError::new_err(errors.to_string());
    exception.value(py).setattr("faults", faults.collect::<Vec<_>>())?;
    Ok(exception)
}
