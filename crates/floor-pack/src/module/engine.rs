//! The engine that all modules share.

use std::sync::{Arc, Mutex, OnceLock, Weak};

use rayon::ThreadPoolBuilder;
use wasmtime::{
    Config, Engine, InstancePre, Linker, Module, OperatorCost, ResourceLimiter, Result as WasmResult, StoreLimits,
    StoreLimitsBuilder,
};

use super::{
    limits::{MAX_MEMORY, MAX_TABLE},
    lock,
};

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

/// A compiled module, ready for instances.
pub(super) type Compiled = InstancePre<Limits>;

/// Modules in use, with their bytes.
static IN_USE: Mutex<Vec<(Vec<u8>, Weak<Compiled>)>> = Mutex::new(Vec::new());

/// Compiles a module, unless it is in use: packs that one version of floorctl has frozen, and versions of a pack whose texts
/// were edited, have one.
pub(super) fn compile(wasm: &[u8]) -> Result<Arc<Compiled>, String> {
    if let Some((_, code)) = lock(&IN_USE).iter().find(|(bytes, _)| bytes == wasm)
        && let Some(code) = code.upgrade()
    {
        return Ok(code);
    }
    let code = Arc::new(compile_new(wasm)?);
    let mut in_use = lock(&IN_USE);
    in_use.retain(|(_, code)| code.strong_count() > 0);
    in_use.push((wasm.to_vec(), Arc::downgrade(&code)));
    Ok(code)
}

/// What to do if compiled code may not be executed.
const FORBIDDEN: &str = "; the system executes no memory that the process has written, which compiled code is: leave \
                         MemoryDenyWriteExecute out of the systemd unit";

/// Compiles a module, and checks that it imports nothing.
fn compile_new(wasm: &[u8]) -> Result<Compiled, String> {
    // Threads of its own: those that rayon shares do not go along into a process that is forked, as Python does it.
    let threads = ThreadPoolBuilder::new().build().map_err(|error| format!("no threads to compile it: {error}"))?;
    let module = threads.install(|| Module::new(engine(), wasm));
    let module = module.map_err(|error| {
        let what = format!("it is no module that runs here: {error:#}");
        let is_forbidden = what.contains("make memory executable");
        if is_forbidden { what + FORBIDDEN } else { what }
    })?;
    if let Some(import) = module.imports().next() {
        let (from, name) = (import.module(), import.name());
        return Err(format!("it imports {from}.{name}; a generator imports nothing"));
    }
    let pre: WasmResult<_> = Linker::new(engine()).instantiate_pre(&module);
    pre.map_err(|error| format!("{error:#}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_that_is_in_use_is_compiled_once() {
        let wasm = |text: &str| wat::parse_str(format!("(module (memory 1) (data \"{text}\"))")).unwrap();
        let one = compile(&wasm("one")).unwrap();
        assert!(Arc::ptr_eq(&one, &compile(&wasm("one")).unwrap()));
        assert!(!Arc::ptr_eq(&one, &compile(&wasm("other")).unwrap()));
        drop(one);
        compile(&wasm("third")).unwrap();
        assert!(!lock(&IN_USE).iter().any(|(bytes, _)| *bytes == wasm("one")));
    }
}
