//! The cost of each tier: hit, miss, set, by one caller and by eight.
//! `cargo bench -- tiers`.
//!
//! Tiers are timed without the chain's timeout, breaker and metrics. With eight callers the time is the total divided
//! by the operations of all, so on two cores at best half of that of one caller.
#![allow(missing_docs, reason = "criterion's macros write a function without documentation")]

use std::{cell::LazyCell, hint::black_box, ops::Range, slice, sync::Arc, time::Duration};

use benches::{
    floors::Entries,
    stores::{self, Store},
    timing::{answered, timed},
};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group};
use floor_cache::{Key, Tier};

/// Length of the values: about that of a floor.
const LENGTH: usize = 4 << 10;

/// Values: more bytes than a core's cache holds, and quick to generate.
const COUNT: u32 = 512;

/// Concurrent tasks, each on its own thread.
const CALLERS: [u64; 2] = [1, 8];

/// What a step does with its entry: gets it, or puts it, although it is stored already, so that the store does not grow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Get,
    Put,
}

fn tiers(criterion: &mut Criterion) {
    let entries = LazyCell::new(|| Arc::new(Entries::of_length(LENGTH, COUNT)));
    // For keys that the store lacks, entries have empty values.
    let absent = LazyCell::new(|| Arc::new(entries.absent()));
    for kind in stores::available() {
        let store = LazyCell::new(|| Store::filled(kind, &[&**entries]));
        let mut group = criterion.benchmark_group(format!("tiers/{}", kind.name()));
        for tasks in CALLERS {
            group.throughput(Throughput::Bytes(LENGTH as u64));
            for (label, case) in [("hit", Case::Get), ("set", Case::Put)] {
                group.bench_function(BenchmarkId::new(format!("{label}-by-{tasks}"), "4KiB"), |bencher| {
                    bencher.iter_custom(|steps| run(case, &store, &entries, tasks, steps));
                });
            }
            group.throughput(Throughput::Elements(1));
            group.bench_function(format!("miss-by-{tasks}"), |bencher| {
                bencher.iter_custom(|steps| run(Case::Get, &store, &absent, tasks, steps));
            });
        }
    }
}

/// Times `case` on the entries of `steps`, split over `tasks`. Asserts that every get returned its value, and that the
/// values that were put are there.
fn run(case: Case, store: &Store, entries: &Arc<Entries>, tasks: u64, steps: u64) -> Duration {
    let work = |steps: Range<u64>| {
        let (tier, entries) = (Arc::clone(&store.tier), Arc::clone(entries));
        async move {
            let mut bytes = 0;
            for step in steps {
                let entry = entries.at(step);
                match case {
                    Case::Get => bytes += length_of(&*tier, &entry.0).await,
                    Case::Put => answered(tier.put_many(slice::from_ref(entry))).await.expect("the tier takes it"),
                }
            }
            bytes
        }
    };
    let (took, shares) = timed(&store.runtime, tasks, steps, work);
    for (steps, counted) in shares {
        let expected = if case == Case::Get { entries.bytes(steps) } else { 0 };
        assert_eq!(counted, expected, "every operation did what the case is named after");
    }
    if case == Case::Put {
        let held = async {
            let mut bytes = 0;
            for step in 0..u64::from(COUNT) {
                bytes += length_of(&*store.tier, &entries.at(step).0).await;
            }
            bytes
        };
        assert_eq!(store.runtime.block_on(held), entries.bytes(0..COUNT.into()), "every value is there");
    }
    took
}

/// The length of the value of `key`; 0 if there is none.
async fn length_of(tier: &dyn Tier, key: &Key) -> u64 {
    let value = black_box(answered(tier.get(key)).await.expect("the tier answers"));
    value.map_or(0, |value| value.len() as u64)
}

criterion_group! {
    name = benches;
    // The first call of a bench sets up its store, which criterion counts as warm-up.
    config = Criterion::default().sample_size(50).nresamples(10_000).warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(1));
    targets = tiers
}
benches::bench_main!(benches);
