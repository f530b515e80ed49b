//! An instance of a module in wasmtime.

use std::{
    borrow::Cow,
    pin::pin,
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use wasmtime::{Error, Memory, Store, Trap, TypedFunc, WasmParams, WasmResults};

use super::{
    LOAD_FUEL,
    engine::{Compiled, Limits, engine},
    guest::{Call, Code, Guest},
};
use crate::Request;

/// Fuel after which a call looks at the clock: about 0.1 ms of arithmetic.
const INTERVAL: u64 = 300_000;

/// How long a call with `fuel` may take: more than three times as long as arithmetic takes for it.
fn time_limit(fuel: u64) -> Duration {
    Duration::from_millis(100) + Duration::from_nanos(fuel)
}

/// Seed, number, width, height, kind.
type OfFloor = (u64, u32, u32, u32, u32);

struct WasmtimeGuest {
    store: Store<Limits>,
    deadline: Instant,
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

impl Code for Compiled {
    /// With fuel to read its pack.
    fn instantiate(&self) -> Result<Box<dyn Guest>, String> {
        let mut store = Store::new(engine(), Limits::new());
        store.limiter(Limits::limiter);
        store.fuel_async_yield_interval(Some(INTERVAL)).expect("the engine counts fuel");
        let deadline = refuel(&mut store, LOAD_FUEL);
        let instance =
            until(deadline, self.instantiate_async(&mut store)).map_err(|fault| format!("its start: {fault}"))?;
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
        Ok(Box::new(WasmtimeGuest { store, deadline, memory, functions }))
    }
}

impl Guest for WasmtimeGuest {
    fn call(&mut self, call: Call) -> Result<u64, String> {
        let (store, deadline, functions) = (&mut self.store, self.deadline, &self.functions);
        let of_floor = |Request { seed, number, width, height, kind }| (seed, number, width, height, kind);
        match call {
            Call::Abi => run(store, deadline, &functions.abi, ()).map(u64::from),
            Call::Input(length) => run(store, deadline, &functions.input, length).map(u64::from),
            Call::Load => run(store, deadline, &functions.load, ()),
            Call::Resolve(request) => run(store, deadline, &functions.resolve, of_floor(request)),
            Call::Generate(request) => run(store, deadline, &functions.generate, of_floor(request)),
            Call::Panic => run(store, deadline, functions.panic.as_ref().ok_or("it exports none")?, ()),
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
        self.deadline = refuel(&mut self.store, fuel);
    }
}

fn run<P: WasmParams + Sync, R: WasmResults + Sync>(
    store: &mut Store<Limits>,
    deadline: Instant,
    function: &TypedFunc<P, R>,
    parameters: P,
) -> Result<R, String> {
    until(deadline, function.call_async(store, parameters))
}

/// Runs `call`, which pauses after each interval of fuel, until it ends or its time does.
fn until<R>(deadline: Instant, call: impl Future<Output = wasmtime::Result<R>>) -> Result<R, String> {
    let (mut call, mut context) = (pin!(call), Context::from_waker(Waker::noop()));
    loop {
        if Instant::now() >= deadline {
            return Err("it has run too long".to_owned());
        }
        if let Poll::Ready(answer) = call.as_mut().poll(&mut context) {
            return answer.map_err(|error| fault(&error));
        }
    }
}

/// Gives a store `fuel`, and says when its time ends.
fn refuel(store: &mut Store<Limits>, fuel: u64) -> Instant {
    store.set_fuel(fuel).expect("the engine counts fuel");
    Instant::now() + time_limit(fuel)
}

/// What ended a call, in the words of the runtime, without the stack of a module whose names were stripped.
fn fault(error: &Error) -> String {
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => "it has used up its fuel".to_owned(),
        Some(trap) => trap.to_string(),
        None => error.root_cause().to_string(),
    }
}
