//! The functions of the module, and those of a pack. They release the GIL while they generate.

use std::{
    cell::RefCell,
    fmt::Display,
    num::NonZero,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use floor_gen::{FloorSpec, Generator, Kind};
use floor_pack::{LoadedPack, ModuleError};
use floor_proto::v1;
use pyo3::{exceptions::PyValueError, prelude::*};

use crate::floor::Floor;

/// Floors that a thread generates between two checks for Ctrl-C.
const FLOORS_BETWEEN_CHECKS: usize = 64;
/// More threads do not help: each needs a core.
const MAX_THREADS: usize = 256;

thread_local! {
    /// It reuses its memory from floor to floor.
    static GENERATOR: RefCell<Generator> = RefCell::default();
}

/// A kind by its name, such as "cavern", or its number.
#[derive(Debug, FromPyObject)]
pub enum KindArgument {
    Name(String),
    Number(u32),
}

/// Generates one floor. Without `kind`, the tower's schedule decides it. The same arguments give the same floor.
///
/// Raises ValueError for a number outside 1 to 1,000,000, a side outside 16 to 512, and an unknown kind.
#[pyfunction]
#[pyo3(signature = (seed, number, width=100, height=100, kind=None))]
pub fn generate(
    py: Python<'_>,
    seed: u64,
    number: u32,
    width: u32,
    height: u32,
    kind: Option<KindArgument>,
) -> PyResult<Floor> {
    one(py, LoadedPack::built_in(), seed, number, width, height, kind)
}

/// [`generate`] with `pack`.
pub fn one(
    py: Python<'_>,
    pack: &LoadedPack,
    seed: u64,
    number: u32,
    width: u32,
    height: u32,
    kind: Option<KindArgument>,
) -> PyResult<Floor> {
    let spec = resolve(pack, seed, number, width, height, read_kind(kind)?)?;
    let floor = py.detach(|| GENERATOR.with_borrow_mut(|generator| pack.message(generator, &spec)));
    Ok(floor.map_err(failed)?.into())
}

/// Generates the floors `numbers` of one tower, in that order, on `threads` threads; by default one for each core.
///
/// A floor of 100x100 takes about 25 KB of memory. Raises ValueError as `generate` does, before it generates any.
#[pyfunction]
#[pyo3(signature = (seed, numbers, width=100, height=100, kind=None, *, threads=None))]
pub fn generate_many(
    py: Python<'_>,
    seed: u64,
    numbers: &Bound<'_, PyAny>,
    width: u32,
    height: u32,
    kind: Option<KindArgument>,
    threads: Option<usize>,
) -> PyResult<Vec<Floor>> {
    many(py, LoadedPack::built_in(), seed, numbers, width, height, kind, threads)
}

/// [`generate_many`] with `pack`.
#[allow(clippy::too_many_arguments, reason = "they are those of the Python function")]
pub fn many(
    py: Python<'_>,
    pack: &LoadedPack,
    seed: u64,
    numbers: &Bound<'_, PyAny>,
    width: u32,
    height: u32,
    kind: Option<KindArgument>,
    threads: Option<usize>,
) -> PyResult<Vec<Floor>> {
    let kind = read_kind(kind)?;
    let cores = || thread::available_parallelism().map_or(1, NonZero::get);
    let threads = match threads {
        Some(0) => return Err(PyValueError::new_err("threads 0 is not in 1 ..= 256")),
        Some(threads) => threads.min(MAX_THREADS),
        None => cores().min(MAX_THREADS),
    };
    let specs = numbers
        .try_iter()?
        .map(|number| resolve(pack, seed, number?.extract()?, width, height, kind))
        .collect::<PyResult<Vec<_>>>()?;
    let mut floors = Vec::with_capacity(specs.len());
    for specs in specs.chunks(FLOORS_BETWEEN_CHECKS * threads) {
        py.check_signals()?;
        let made = py.detach(|| generate_all(pack, specs, threads)).map_err(failed)?;
        floors.extend(made.into_iter().map(Floor::from));
    }
    Ok(floors)
}

/// Generates `specs` on at most `threads` threads, of which this is one.
fn generate_all(pack: &LoadedPack, specs: &[FloorSpec], threads: usize) -> Result<Vec<v1::Floor>, ModuleError> {
    let next = AtomicUsize::new(0);
    let take = || {
        GENERATOR.with_borrow_mut(|generator| {
            let mut generated = Vec::with_capacity(specs.len() / threads + 1);
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(spec) = specs.get(index) else { return generated };
                generated.push((index, pack.message(generator, spec)));
            }
        })
    };
    let mut all = thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(specs.len())).map(|_| scope.spawn(take)).collect();
        let mut all = take();
        for other in others {
            all.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        all
    });
    all.sort_unstable_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, floor)| floor).collect()
}

fn failed(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn resolve(
    pack: &LoadedPack,
    seed: u64,
    number: u32,
    width: u32,
    height: u32,
    kind: Option<Kind>,
) -> PyResult<FloorSpec> {
    pack.resolve(seed, number, width, height, kind).map_err(failed)
}

fn read_kind(kind: Option<KindArgument>) -> PyResult<Option<Kind>> {
    let (found, given) = match kind {
        None | Some(KindArgument::Number(0)) => return Ok(None),
        Some(KindArgument::Name(name)) => (Kind::from_name(&name), name),
        Some(KindArgument::Number(number)) => (Kind::from_number(number), number.to_string()),
    };
    let names = || Kind::ALL.map(Kind::name).join(", ");
    found.map(Some).ok_or_else(|| PyValueError::new_err(format!("kind {given} is none of {}", names())))
}
