//! Runs the generators that packs bring along, as WebAssembly in wasmtime.
//!
//! A module gets no imports: no clock, no files, no randomness. NaNs are canonical, and there are neither threads nor relaxed
//! SIMD, so a floor depends on the module, the pack's files and the spec alone. Each call has fuel, which ends it after the
//! same work on every machine, and a deadline, for instructions whose work fuel does not count. Instances are kept for the
//! next call, those that failed are not.

mod engine;
mod instance;

use std::{fmt, time::Duration};

use failsafe::{CircuitBreaker as _, Config, StateMachine, backoff, failure_policy};
use floor_gen::{FloorSpec, Kind, PackHash, pack::Files};
use wasmtime::InstancePre;

use crate::ModuleError;
use engine::Limits;
use instance::{Answer, Instance, Pool};

/// So many failures in a row close a module for `PAUSE`.
const MOST_FAILURES: u32 = 20;
const PAUSE: Duration = Duration::from_secs(10);

/// Fuel to create an instance and read the pack: about 0.3 s.
const LOAD_FUEL: u64 = 1_000_000_000;
/// Fuel to resolve a request: less than a millisecond, because requests wait for it in the thread that received them.
const RESOLVE_FUEL: u64 = 1_000_000;
/// Fuel for a floor: so much and for each cell so much. `tower` takes 400 to 1,200 a cell.
const FLOOR_FUEL: u64 = 50_000_000;
const CELL_FUEL: u64 = 100_000;

/// The generator of a pack, compiled.
pub(crate) struct Module {
    code: InstancePre<Limits>,
    /// The canonical form of the pack's files without the generator.
    files: Vec<u8>,
    pool: Pool,
    /// Of resolving and of generating: requests that are resolved say nothing of floors that fail.
    breakers: [Breaker; 2],
}

type Breaker = StateMachine<failure_policy::ConsecutiveFailures<backoff::Constant>, ()>;

fn breaker() -> Breaker {
    let policy = failure_policy::consecutive_failures(MOST_FAILURES, backoff::constant(PAUSE));
    Config::new().failure_policy(policy).build()
}

impl Module {
    /// Compiles `wasm`, and lets an instance read `files`, the others of the pack.
    pub(crate) fn load(wasm: &[u8], files: &Files) -> Result<Self, String> {
        let code = engine::compile(wasm)?;
        let module = Self { code, files: files.to_bytes(), pool: Pool::new(), breakers: [breaker(), breaker()] };
        let instance = module.start()?;
        module.pool.put(instance);
        Ok(module)
    }

    /// What a request leaves open, resolved: its width, height and kind. A side or a kind of 0 is left open.
    pub(crate) fn resolve(
        &self,
        pack: &str,
        hash: PackHash,
        (seed, number, width, height): (u64, u32, u32, u32),
        kind: Option<Kind>,
    ) -> Result<FloorSpec, ModuleError> {
        let kind = kind.map_or(0, |kind| kind as u32);
        self.call(pack, &self.breakers[0], RESOLVE_FUEL, |instance| {
            let answer = instance.resolve(seed, number, width, height, kind)?;
            let resolved = match answer {
                Answer::Value(value) => value,
                Answer::Refused(text) => return Ok(Err(text)),
            };
            let (width, height) = (resolved as u32 & 0xffff, (resolved >> 16) as u32 & 0xffff);
            let kind = Kind::from_number((resolved >> 32) as u32).filter(|_| width > 0 && height > 0);
            let spec = kind.and_then(|kind| FloorSpec::of_pack(hash, seed, number, width, height, kind).ok());
            spec.map(Ok).ok_or_else(|| format!("floor_resolve answers {resolved:#x}, which is no size and kind"))
        })
    }

    /// Generates the floor of `spec`, and makes `accept` of it.
    pub(crate) fn generate<T>(
        &self,
        pack: &str,
        spec: &FloorSpec,
        accept: impl Fn(&[u8]) -> Result<T, String>,
    ) -> Result<T, ModuleError> {
        let fuel = FLOOR_FUEL + CELL_FUEL * spec.cells() as u64;
        self.call(pack, &self.breakers[1], fuel, |instance| match instance.generate(spec)? {
            Answer::Value(range) => instance.read(range).and_then(&accept).map(Ok),
            Answer::Refused(text) => Ok(Err(text)),
        })
    }

    /// Runs `run` on an instance with `fuel`. Its inner error is a text of the module, the outer one a fault.
    fn call<T>(
        &self,
        pack: &str,
        breaker: &Breaker,
        fuel: u64,
        run: impl FnOnce(&mut Instance) -> Result<Result<T, String>, String>,
    ) -> Result<T, ModuleError> {
        let called = breaker.call(|| {
            let mut instance = self.pool.take().map_or_else(|| self.start(), Ok)?;
            let answer = instance.within(fuel, run)?;
            self.pool.put(instance);
            Ok(answer)
        });
        let pack = || pack.to_owned();
        match called {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(text)) => Err(ModuleError::Refused { pack: pack(), text }),
            Err(failsafe::Error::Inner(fault)) => Err(ModuleError::Fault { pack: pack(), fault }),
            Err(failsafe::Error::Rejected) => Err(ModuleError::Closed { pack: pack() }),
        }
    }

    /// A new instance that has read the pack.
    fn start(&self) -> Result<Instance, String> {
        Instance::start(&self.code, &self.files, LOAD_FUEL)
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module").field("files", &self.files.len()).finish_non_exhaustive()
    }
}
