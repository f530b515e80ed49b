//! An instance of a module in wasmtime.

use std::borrow::Cow;

use wasmtime::{Error, InstancePre, Memory, Store, Trap, TypedFunc, WasmParams, WasmResults};

use super::{
    LOAD_FUEL,
    engine::{Limits, Running, deadline, engine},
    guest::{Call, Code, Guest},
};
use crate::Request;

/// Seed, number, width, height, kind.
type OfFloor = (u64, u32, u32, u32, u32);

struct WasmtimeGuest {
    store: Store<Limits>,
    memory: Memory,
    functions: Functions,
}

struct Functions {
    abi: TypedFunc<(), u32>,
    input: TypedFunc<u32, u32>,
    load: TypedFunc<(), u64>,
    resolve: TypedFunc<OfFloor, u64>,
    generate: TypedFunc<OfFloor, u64>,
    panic: Option<TypedFunc<(), u64>>,
}

impl Code for InstancePre<Limits> {
    /// With fuel to read its pack.
    fn instantiate(&self) -> Result<Box<dyn Guest>, String> {
        let _running = Running::start();
        let mut store = Store::new(engine(), Limits::new());
        store.limiter(Limits::limiter);
        refuel(&mut store, LOAD_FUEL);
        let instance = Self::instantiate(self, &mut store).map_err(|error| format!("its start: {}", fault(&error)))?;
        let memory = instance.get_memory(&mut store, "memory").ok_or("it exports no memory with the name `memory`")?;
        let wrong = |error: Error| format!("{error:#}; docs/modules.md has the functions of a generator");
        let functions = Functions {
            abi: instance.get_typed_func(&mut store, "floor_abi").map_err(wrong)?,
            input: instance.get_typed_func(&mut store, "floor_input").map_err(wrong)?,
            load: instance.get_typed_func(&mut store, "floor_load").map_err(wrong)?,
            resolve: instance.get_typed_func(&mut store, "floor_resolve").map_err(wrong)?,
            generate: instance.get_typed_func(&mut store, "floor_generate").map_err(wrong)?,
            panic: instance.get_typed_func(&mut store, "floor_panic").ok(),
        };
        Ok(Box::new(WasmtimeGuest { store, memory, functions }))
    }
}

impl Guest for WasmtimeGuest {
    fn call(&mut self, call: Call) -> Result<u64, String> {
        let _running = Running::start();
        let (store, functions) = (&mut self.store, &self.functions);
        let of_floor = |Request { seed, number, width, height, kind }| (seed, number, width, height, kind);
        match call {
            Call::Abi => run(store, &functions.abi, ()).map(u64::from),
            Call::Input(length) => run(store, &functions.input, length).map(u64::from),
            Call::Load => run(store, &functions.load, ()),
            Call::Resolve(request) => run(store, &functions.resolve, of_floor(request)),
            Call::Generate(request) => run(store, &functions.generate, of_floor(request)),
            Call::Panic => run(store, functions.panic.as_ref().ok_or("it exports none")?, ()),
        }
    }

    fn read(&self, start: usize, length: usize) -> Option<Cow<'_, [u8]>> {
        self.memory.data(&self.store).get(start..)?.get(..length).map(Cow::Borrowed)
    }

    fn write(&mut self, start: usize, bytes: &[u8]) -> Option<()> {
        self.memory.data_mut(&mut self.store).get_mut(start..)?.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(())
    }

    fn refuel(&mut self, fuel: u64) {
        refuel(&mut self.store, fuel);
    }
}

fn run<P: WasmParams, R: WasmResults>(
    store: &mut Store<Limits>,
    function: &TypedFunc<P, R>,
    parameters: P,
) -> Result<R, String> {
    function.call(store, parameters).map_err(|error| fault(&error))
}

fn refuel(store: &mut Store<Limits>, fuel: u64) {
    store.set_fuel(fuel).expect("the engine counts fuel");
    store.set_epoch_deadline(deadline(fuel));
}

/// What ended a call, in the words of the runtime, without the stack of a module whose names were stripped.
fn fault(error: &Error) -> String {
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => "it has used up its fuel".to_owned(),
        Some(Trap::Interrupt) => "it has run too long".to_owned(),
        Some(trap) => trap.to_string(),
        None => error.root_cause().to_string(),
    }
}
