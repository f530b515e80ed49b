//! The engine that all modules share, and its clock.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread::{self, Thread},
    time::Duration,
};

use rayon::ThreadPoolBuilder;
use wasmtime::{
    Config, Engine, InstancePre, Linker, Module, ResourceLimiter, Result as WasmResult, StoreLimits, StoreLimitsBuilder,
};

use super::limits::{MAX_MEMORY, MAX_TABLE};

/// The most bytes of a stack.
const MAX_STACK: usize = 512 << 10;
/// How often the clock of the engine goes on while a module runs.
const TICK: Duration = Duration::from_millis(100);

/// Ticks after which a call with `fuel` ends: a second, and as long as its fuel lasts on a slow machine.
pub(super) const fn deadline(fuel: u64) -> u64 {
    10 + fuel / 100_000_000
}

/// What an instance may take.
pub(super) struct Limits(StoreLimits);

impl Limits {
    pub(super) fn new() -> Self {
        let limits = StoreLimitsBuilder::new().memory_size(MAX_MEMORY).table_elements(MAX_TABLE);
        Self(limits.instances(1).memories(1).tables(4).build())
    }

    pub(super) fn limiter(&mut self) -> &mut dyn ResourceLimiter {
        &mut self.0
    }
}

/// The engine of this process.
pub(super) fn engine() -> &'static Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    ENGINE.get_or_init(|| {
        let mut config = Config::new();
        config
            .consume_fuel(true)
            .epoch_interruption(true)
            .cranelift_nan_canonicalization(true)
            .wasm_relaxed_simd(false)
            .wasm_memory64(false)
            .wasm_multi_memory(false)
            .max_wasm_stack(MAX_STACK);
        Engine::new(&config).expect("the settings fit together")
    })
}

/// Compiles a module, and checks that it imports nothing.
pub(super) fn compile(wasm: &[u8]) -> Result<InstancePre<Limits>, String> {
    // Threads of its own: those that rayon shares do not go along into a process that is forked, as Python does it.
    let threads = ThreadPoolBuilder::new().build().map_err(|error| format!("no threads to compile it: {error}"))?;
    let module = threads.install(|| Module::new(engine(), wasm));
    let module = module.map_err(|error| format!("it is no module that runs here: {error:#}"))?;
    if let Some(import) = module.imports().next() {
        let (from, name) = (import.module(), import.name());
        return Err(format!("it imports {from}.{name}; a generator imports nothing"));
    }
    let pre: WasmResult<_> = Linker::new(engine()).instantiate_pre(&module);
    pre.map_err(|error| format!("{error:#}"))
}

/// Keeps the engine's clock going while it lives.
pub(super) struct Running;

/// Modules that run.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

impl Running {
    pub(super) fn start() -> Self {
        static CLOCK: OnceLock<Thread> = OnceLock::new();
        if RUNNING.fetch_add(1, SeqCst) == 0 {
            CLOCK
                .get_or_init(|| {
                    let clock = thread::Builder::new().name("module-clock".to_owned()).spawn(tick);
                    clock.expect("a thread starts").thread().clone()
                })
                .unpark();
        }
        Self
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, SeqCst);
    }
}

fn tick() {
    loop {
        if RUNNING.load(SeqCst) == 0 {
            thread::park();
        }
        thread::sleep(TICK);
        engine().increment_epoch();
    }
}
