//! The counted cases. Each is a fixed number of operations that make the same calls in every run: without
//! which depend on the clock.

use std::hint::black_box;

use benches::{
    floors::{self, Entries},
    input::{INPUTS, InputCase},
    pregenerated::layers_in_memory,
    stores::Store,
    timing::answered,
};
use floor_cache::{LruConfig, Options, TierKind, Tuning};
use floor_gen::Generator;
use futures_util::FutureExt;
use tokio::runtime::{Builder, Runtime};

use super::server;

/// Floors of each case.
const COUNT: u32 = 64;

/// Keys in one call of the case `batch`.
const BATCH: usize = 16;

/// Values of the case `batch` and their length. Each process hashes keys with other seeds; over many keys the cost of
/// collisions hardly differs.
const VALUES: u32 = 1024;
const LENGTH: usize = 4096;

/// A case: its name, the number of its operations, and what sets it up.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) operations: u64,
    kind: Kind,
}

enum Kind {
    /// What sets up the operation.
    Operation(fn() -> Operation),
    Input(&'static InputCase),
}

/// Does operation `step`, and panics when the result is not the expected one.
pub(crate) type Operation = Box<dyn FnMut(u64)>;

impl Case {
    /// Sets the case up, for `operations`, and does some operations that are not counted.
    pub(crate) fn operation(&self, operations: u64) -> Operation {
        let warm_up = self.operations.min(COUNT.into());
        let mut operation = match self.kind {
            Kind::Operation(set_up) => set_up(),
            Kind::Input(input) => server::operation(input, warm_up + operations),
        };
        (0..warm_up).for_each(&mut operation);
        operation
    }

    /// The input of which the case counts the cost, if it does.
    pub(crate) const fn input(&self) -> Option<&'static InputCase> {
        match self.kind {
            Kind::Operation(_) => None,
            Kind::Input(input) => Some(input),
        }
    }
}

/// All cases.
pub(crate) fn all() -> Vec<Case> {
    let operations =
        OPERATIONS.map(|(name, operations, set_up)| Case { name, operations, kind: Kind::Operation(set_up) });
    let inputs =
        INPUTS.iter().map(|input| Case { name: input.name, operations: input.operations, kind: Kind::Input(input) });
    operations.into_iter().chain(inputs).collect()
}

const OPERATIONS: [(&str, u64, fn() -> Operation); 5] = [
    ("hit: the chain's memory", 20_000, hit),
    ("miss in memory: LMDB answers", 4000, miss),
    ("batch: 16 floors from memory", 2000, batch),
    ("encode: a floor to its frame", 250, encode),
    ("generate: a STANDARD floor", 150, generate),
];

fn tuning() -> Tuning {
    Tuning::default()
}

/// A runtime that runs nothing: the background tasks of the chain take no lock while operations are counted.
fn idle_runtime() -> Runtime {
    Builder::new_current_thread().build().expect("a runtime without threads")
}

fn hit() -> Operation {
    let (runtime, entries) = (idle_runtime(), Entries::floors(COUNT));
    let chain = layers_in_memory(&[LruConfig::default()], &tuning(), &entries, runtime.handle());
    Box::new(move |step| {
        let _alive = &runtime;
        let served = chain.get(entries.at(step).0, Options::default()).now_or_never();
        assert!(served.is_some_and(|served| served.is_ok_and(|served| served.by == "first")), "a hit in memory");
    })
}

/// The tier alone. The chain reads the clock of the process's CPU time before it asks a tier, by a call into the vDSO,
/// which valgrind removes.
fn miss() -> Operation {
    let entries = Entries::floors(COUNT);
    let store = Store::filled(TierKind::Lmdb, &[&entries]);
    Box::new(move |step| {
        let found = answered(store.tier.get(&entries.at(step).0)).now_or_never();
        assert!(found.is_some_and(|found| found.is_ok_and(|found| found.is_some())), "a hit in LMDB");
    })
}

fn batch() -> Operation {
    let (runtime, entries) = (idle_runtime(), Entries::of_length(LENGTH, VALUES));
    let chain = layers_in_memory(&[LruConfig::default()], &tuning(), &entries, runtime.handle());
    let batches = entries.batches(BATCH);
    Box::new(move |step| {
        let _alive = &runtime;
        let keys = &batches[step as usize % batches.len()];
        let served = chain.get_many(keys, Options::default()).now_or_never();
        assert!(served.is_some_and(|served| served.is_ok_and(|served| served.len() == BATCH)), "hits in memory");
    })
}

fn encode() -> Operation {
    let made = floors::standard(COUNT);
    Box::new(move |step| assert!(black_box(floor_wire::framed(&made[step as usize % made.len()])).len() > 100))
}

fn generate() -> Operation {
    let specs = floors::specs(floor_gen::Kind::Standard, floors::SIDE, COUNT);
    let mut generator = Generator::new();
    Box::new(move |step| drop(black_box(generator.generate(&specs[step as usize % specs.len()]))))
}
