//! Runs the generators that packs bring along, as WebAssembly: in wasmtime, or in an engine of the caller's.
//!
//! A module gets no imports: no clock, no files, no randomness. In wasmtime NaNs are canonical, and there are neither threads
//! nor relaxed SIMD, so a floor depends on the module, the pack's files and the spec alone. There each call has fuel, which
//! ends it after the same work on every machine, and a time limit, because some work takes many times as long for its fuel
//! as other work. Instances are kept for the next call, those that failed are not.

mod breaker;
#[cfg(feature = "modules")]
mod engine;
mod guest;
mod limits;
mod pool;
#[cfg(feature = "modules")]
mod wasmtime_guest;

pub use guest::{Call, Code, Compile, Guest};

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use floor_gen::{FloorSpec, PackHash, pack::Files};

use crate::{ModuleError, Request};
use breaker::Breaker;
use guest::{Answer, Instance};
use pool::Pool;

/// Fuel to create an instance and read the pack: about 0.3 s.
#[cfg(feature = "modules")]
const LOAD_FUEL: u64 = 1_000_000_000;
/// Fuel to resolve a request: about a millisecond of arithmetic.
const RESOLVE_FUEL: u64 = 1_000_000;
/// What resolving takes before it was measured: long, so that the first call is not made where it must be short.
const UNKNOWN_NANOSECONDS: u64 = 1_000_000;
/// Fuel for a floor: so much and for each cell so much. `tower` takes 200 to 1,400 a cell.
const FLOOR_FUEL: u64 = 50_000_000;
const CELL_FUEL: u64 = 100_000;

/// The generator of a pack, compiled.
pub(crate) struct Module {
    code: Arc<dyn Code>,
    /// The canonical form of the pack's files without the generator.
    files: Vec<u8>,
    /// Resolves requests, one at a time: every request waits for that, for a fraction of a microsecond, and a new instance
    /// takes milliseconds.
    resolver: Mutex<Option<Instance>>,
    /// How long resolving takes, in nanoseconds: the longest of the last calls, less a 64th for each call since.
    resolving: AtomicU64,
    /// Generates floors.
    pool: Pool,
    /// Of resolving and of generating: requests that are resolved say nothing of floors that fail.
    breakers: [Breaker; 2],
}

impl Module {
    /// Compiles `wasm` in wasmtime, and lets an instance read `files`, the others of the pack.
    #[cfg(feature = "modules")]
    pub(crate) fn load(wasm: &[u8], files: &Files) -> Result<Self, String> {
        Self::start(engine::compile(wasm)?, files)
    }

    /// The same in the engine of `compile`.
    pub(crate) fn load_in(compile: Compile, wasm: &[u8], files: &Files) -> Result<Self, String> {
        Self::start(compile(&limits::limited(wasm))?.into(), files)
    }

    fn start(code: Arc<dyn Code>, files: &Files) -> Result<Self, String> {
        let files = files.to_bytes();
        let resolver = Instance::start(&*code, &files)?;
        let breakers = [Breaker::new(), Breaker::new()];
        let (resolver, resolving) = (Mutex::new(Some(resolver)), AtomicU64::new(UNKNOWN_NANOSECONDS));
        Ok(Self { code, files, resolver, resolving, pool: Pool::new(), breakers })
    }

    /// What a request leaves open, resolved: its width, height and kind.
    pub(crate) fn resolve(&self, pack: &str, hash: PackHash, request: Request) -> Result<FloorSpec, ModuleError> {
        self.call(pack, &self.breakers[0], || {
            let run = |instance: &mut Instance| instance.resolve(hash, request);
            let mut resolver = lock(&self.resolver);
            if let Some(instance) = resolver.take() {
                let (answer, instance) = self.timed(|| self.run(Some(instance), RESOLVE_FUEL, run))?;
                *resolver = Some(instance);
                return Ok(answer);
            }
            // After a failure. Others need not wait for a new one.
            drop(resolver);
            let (answer, instance) = self.timed(|| self.run(None, RESOLVE_FUEL, run))?;
            *lock(&self.resolver) = Some(instance);
            Ok(answer)
        })
    }

    /// About how long [`resolve`](Self::resolve) takes.
    pub(crate) fn resolving_time(&self) -> Duration {
        Duration::from_nanos(self.resolving.load(Relaxed))
    }

    /// Runs `resolve`, and notes how long that takes.
    fn timed<T>(&self, resolve: impl FnOnce() -> T) -> T {
        let stopwatch = Stopwatch::start();
        let result = resolve();
        let before = self.resolving.load(Relaxed);
        // A call at the same time may be forgotten; the next one counts.
        self.resolving.store(stopwatch.nanoseconds().max(before - before.div_ceil(64)), Relaxed);
        result
    }

    /// Generates the floor of `spec`, and makes `accept` of it.
    pub(crate) fn generate<T>(
        &self,
        pack: &str,
        spec: &FloorSpec,
        accept: impl FnOnce(&[u8]) -> Result<T, String>,
    ) -> Result<T, ModuleError> {
        let fuel = FLOOR_FUEL + CELL_FUEL * spec.cells() as u64;
        self.call(pack, &self.breakers[1], || {
            let (answer, instance) = self.run(self.pool.take(), fuel, |instance| instance.generate(spec, accept))?;
            self.pool.put(instance);
            Ok(answer)
        })
    }

    /// Runs `run` with `fuel` on `instance`, or a new one. It comes back if it has not failed.
    fn run<T>(
        &self,
        instance: Option<Instance>,
        fuel: u64,
        run: impl FnOnce(&mut Instance) -> Result<T, String>,
    ) -> Result<(T, Instance), String> {
        let mut instance = instance.map_or_else(|| Instance::start(&*self.code, &self.files), Ok)?;
        instance.refuel(fuel);
        let answer = run(&mut instance)?;
        Ok((answer, instance))
    }

    /// Calls the module, unless its breaker is open.
    fn call<T>(
        &self,
        pack: &str,
        breaker: &Breaker,
        run: impl FnOnce() -> Result<Answer<T>, String>,
    ) -> Result<T, ModuleError> {
        breaker.call(pack, run)?.map_err(|text| ModuleError::Refused { pack: pack.to_owned(), text })
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module").field("files", &self.files.len()).finish_non_exhaustive()
    }
}

/// A clock, which engines of callers may not have.
struct Stopwatch(#[cfg(feature = "modules")] std::time::Instant);

impl Stopwatch {
    fn start() -> Self {
        Self(
            #[cfg(feature = "modules")]
            std::time::Instant::now(),
        )
    }

    #[allow(clippy::unused_self, reason = "the other one needs it")]
    fn nanoseconds(&self) -> u64 {
        #[cfg(feature = "modules")]
        return u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX);
        #[cfg(not(feature = "modules"))]
        return 0;
    }
}

fn lock<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}
