//! An instance of a module: its memory and its functions.

use std::{
    fmt::Write as _,
    sync::{
        LazyLock, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
};

use floor_gen::FloorSpec;
use wasmtime::{Error, InstancePre, Memory, Store, Trap, TypedFunc, WasmParams};

use super::engine::{Limits, Running, deadline, engine};

/// The version of the functions.
const ABI: u32 = 1;
/// Set in an answer that is a text about an error.
const ERROR: u64 = 1 << 63;
/// The most bytes of a text that are shown.
const MAX_TEXT: usize = 500;

/// Seed, number, width, height, kind.
type OfFloor = (u64, u32, u32, u32, u32);

pub(super) struct Instance {
    store: Store<Limits>,
    memory: Memory,
    resolve: TypedFunc<OfFloor, u64>,
    generate: TypedFunc<OfFloor, u64>,
    panic: Option<TypedFunc<(), u64>>,
}

/// What a function of a module answers.
pub(super) enum Answer {
    Value(u64),
    /// A text about an error.
    Refused(String),
}

impl Instance {
    /// An instance that has read `files`, within `fuel`.
    pub(super) fn start(code: &InstancePre<Limits>, files: &[u8], fuel: u64) -> Result<Self, String> {
        let _running = Running::start();
        let mut store = Store::new(engine(), Limits::new());
        store.limiter(Limits::limiter);
        refuel(&mut store, fuel);
        let instance = code.instantiate(&mut store).map_err(|error| fault("its start", &error))?;
        let memory = instance.get_memory(&mut store, "memory").ok_or("it exports no memory with the name `memory`")?;
        let wrong = |error: Error| format!("{error:#}; docs/modules.md has the functions of a generator");
        let abi = instance.get_typed_func::<(), u32>(&mut store, "floor_abi").map_err(wrong)?;
        let input = instance.get_typed_func::<u32, u32>(&mut store, "floor_input").map_err(wrong)?;
        let load = instance.get_typed_func::<(), u64>(&mut store, "floor_load").map_err(wrong)?;
        let resolve = instance.get_typed_func(&mut store, "floor_resolve").map_err(wrong)?;
        let generate = instance.get_typed_func(&mut store, "floor_generate").map_err(wrong)?;
        let panic = instance.get_typed_func(&mut store, "floor_panic").ok();
        let mut instance = Self { store, memory, resolve, generate, panic };
        let version = instance.call("floor_abi", &abi, ())?;
        if version != ABI {
            return Err(format!("floor_abi answers {version}; this program runs generators of version {ABI}"));
        }
        let length = u32::try_from(files.len()).map_err(|_| "the pack has 4 GiB or more".to_owned())?;
        let start = instance.call("floor_input", &input, length)? as usize;
        let room =
            instance.memory.data_mut(&mut instance.store).get_mut(start..).and_then(|rest| rest.get_mut(..files.len()));
        room.ok_or_else(|| format!("floor_input answers {start}, and from there its memory has no {length} bytes"))?
            .copy_from_slice(files);
        let loaded = instance.call("floor_load", &load, ())?;
        if let Answer::Refused(text) = instance.answer(loaded)? {
            return Err(text);
        }
        // What a module prepares for its first request belongs to the start, whose fuel suffices.
        instance.resolve(0, 1, 0, 0, 0)?;
        Ok(instance)
    }

    /// Runs `run` within `fuel` and the deadline.
    pub(super) fn within<T>(
        &mut self,
        fuel: u64,
        run: impl FnOnce(&mut Self) -> Result<T, String>,
    ) -> Result<T, String> {
        let _running = Running::start();
        refuel(&mut self.store, fuel);
        run(self)
    }

    pub(super) fn resolve(
        &mut self,
        seed: u64,
        number: u32,
        width: u32,
        height: u32,
        kind: u32,
    ) -> Result<Answer, String> {
        let value = self.call("floor_resolve", &self.resolve.clone(), (seed, number, width, height, kind))?;
        self.answer(value)
    }

    pub(super) fn generate(&mut self, spec: &FloorSpec) -> Result<Answer, String> {
        let (width, height) = (spec.width().into(), spec.height().into());
        let floor = (spec.seed(), spec.number(), width, height, spec.kind() as u32);
        let value = self.call("floor_generate", &self.generate.clone(), floor)?;
        self.answer(value)
    }

    /// The bytes of an answer: its address in the upper 32 bits, its length in the lower ones.
    pub(super) fn read(&self, range: u64) -> Result<&[u8], String> {
        let (start, length) = ((range >> 32) as usize, range as u32 as usize);
        let memory = self.memory.data(&self.store);
        let bytes = memory.get(start..).and_then(|rest| rest.get(..length));
        bytes.ok_or_else(|| {
            format!("its answer of {length} bytes at {start} is outside its memory of {} bytes", memory.len())
        })
    }

    fn answer(&self, value: u64) -> Result<Answer, String> {
        if value & ERROR == 0 {
            return Ok(Answer::Value(value));
        }
        Ok(Answer::Refused(shortened(self.read(value & !ERROR)?)))
    }

    fn call<P: WasmParams, R: wasmtime::WasmResults>(
        &mut self,
        name: &str,
        function: &TypedFunc<P, R>,
        parameters: P,
    ) -> Result<R, String> {
        function.call(&mut self.store, parameters).map_err(|error| {
            let mut text = fault(name, &error);
            if let Some(panic) = self.panic_message(&error) {
                let _ = write!(text, ": {panic}");
            }
            text
        })
    }

    /// What the module says about a panic, after the trap that ended it.
    fn panic_message(&mut self, error: &Error) -> Option<String> {
        let panic =
            self.panic.clone().filter(|_| matches!(error.downcast_ref(), Some(Trap::UnreachableCodeReached)))?;
        let said = panic.call(&mut self.store, ()).ok()?;
        let text = shortened(self.read(said & !ERROR).ok()?);
        (!text.is_empty()).then_some(text)
    }
}

fn refuel(store: &mut Store<Limits>, fuel: u64) {
    store.set_fuel(fuel).expect("the engine counts fuel");
    store.set_epoch_deadline(deadline(fuel));
}

/// What ended a call, in the words of the runtime, without the stack of a module whose names were stripped.
fn fault(function: &str, error: &Error) -> String {
    let cause = match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => "it has used up its fuel".to_owned(),
        Some(Trap::Interrupt) => "it has run too long".to_owned(),
        Some(trap) => trap.to_string(),
        None => error.root_cause().to_string(),
    };
    format!("{function}: {cause}")
}

/// The beginning of a text of a module, without what a terminal would obey.
fn shortened(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_TEXT)]);
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The instances of a module that wait for a call. All pools of the process share one bound.
pub(super) struct Pool(u64);

/// Instances, each with the pool that it belongs to, those that waited longest first.
static WAITING: Mutex<Vec<(u64, Instance)>> = Mutex::new(Vec::new());

impl Pool {
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Relaxed))
    }

    pub(super) fn take(&self) -> Option<Instance> {
        let mut waiting = waiting();
        let place = waiting.iter().rposition(|(pool, _)| *pool == self.0)?;
        Some(waiting.remove(place).1)
    }

    /// Keeps an instance. If as many wait as two modules of this machine use at once, the oldest is dropped.
    pub(super) fn put(&self, instance: Instance) {
        // Asking the system takes as long as a third of a floor.
        static MOST: LazyLock<usize> = LazyLock::new(|| 2 * thread::available_parallelism().map_or(1, usize::from));
        let mut waiting = waiting();
        let dropped = (waiting.len() >= *MOST).then(|| waiting.remove(0));
        waiting.push((self.0, instance));
        drop(waiting);
        drop(dropped);
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        waiting().retain(|(pool, _)| *pool != self.0);
    }
}

fn waiting() -> MutexGuard<'static, Vec<(u64, Instance)>> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}
