//! The engine that all modules share.

use std::sync::OnceLock;

use rayon::ThreadPoolBuilder;
use wasmtime::{
    Config, Engine, InstancePre, Linker, Module, OperatorCost, ResourceLimiter, Result as WasmResult, StoreLimits,
    StoreLimitsBuilder,
};

use super::limits::{MAX_MEMORY, MAX_TABLE};

/// The most bytes of a stack.
const MAX_STACK: usize = 512 << 10;
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
        // A loop that does not turn costs the check at its head, for which there is no fuel otherwise.
        let mut cost = OperatorCost::new();
        cost.Loop = 1;
        let mut config = Config::new();
        config
            .consume_fuel(true)
            .operator_cost(cost)
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
