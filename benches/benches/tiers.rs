//! The cost of each tier: hit, miss, set, round trip, by one caller and by eight.
//! `cargo bench -- tiers`.
//!
//! Tiers are timed without the chain's timeout, breaker and metrics. With eight callers the time is the total divided
//! by the operations of all, so on two cores at best half of that of one caller.
#![allow(missing_docs, reason = "criterion's macros write a function without documentation")]

use std::{cell::LazyCell, hint::black_box, ops::Range, slice, sync::Arc, time::Duration};

use benches::{
    floors::Entries,
    stores::{Backend, Store},
    suite::Suite,
    timing::{answered, timed},
};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use floor_cache::{Key, Tier};
use redis::aio::MultiplexedConnection;

/// Lengths of values, with their names.
const LENGTHS: [(usize, &str); 3] = [(1 << 10, "1KiB"), (4 << 10, "4KiB"), (16 << 10, "16KiB")];

/// Values of each length: more bytes than a core's cache holds, and quick to generate.
const COUNT: u32 = 512;

/// The index of the length that is nearest to an ordinary floor's.
const ORDINARY: usize = 1;

/// Concurrent tasks, each on its own thread.
const CALLERS: [u64; 2] = [1, 8];

/// What a step does with its entry: puts it, although it is stored already, so that the store does not grow; gets it.
#[derive(Clone, Copy)]
struct Case {
    puts: bool,
    gets: bool,
}

/// The cases whose cost depends on the length of the value.
const BY_LENGTH: [(&str, Case); 3] = [
    ("hit", Case { puts: false, gets: true }),
    ("set", Case { puts: true, gets: false }),
    ("round-trip", Case { puts: true, gets: true }),
];

fn tiers(criterion: &mut Criterion) {
    let entries = LazyCell::new(|| LENGTHS.map(|(length, _)| Arc::new(Entries::of_length(length, COUNT))));
    for backend in Backend::available() {
        let store = LazyCell::new(|| Store::filled(backend, &entries.each_ref().map(|entries| &**entries)));
        let mut group = criterion.benchmark_group(format!("tiers/{}", backend.name()));
        for (size, (length, name)) in LENGTHS.into_iter().enumerate() {
            group.throughput(Throughput::Bytes(length as u64));
            for tasks in CALLERS {
                for (label, case) in BY_LENGTH {
                    group.bench_function(BenchmarkId::new(format!("{label}-by-{tasks}"), name), |bencher| {
                        bencher.iter_custom(|steps| run(case, &store, &entries[size], tasks, steps));
                    });
                }
            }
        }
        group.throughput(Throughput::Elements(1));
        for tasks in CALLERS {
            group.bench_function(format!("miss-by-{tasks}"), |bencher| {
                // For keys that the store lacks, entries have empty values.
                let (case, absent) = (BY_LENGTH[0].1, Arc::new(entries[ORDINARY].absent()));
                bencher.iter_custom(|steps| run(case, &store, &absent, tasks, steps));
            });
        }
        if backend == Backend::Redis {
            let connection = LazyCell::new(|| bare_connection(&store, &entries[ORDINARY]));
            group.bench_function(BenchmarkId::new("bare-get", LENGTHS[ORDINARY].1), |bencher| {
                bencher.iter_custom(|steps| bare_get(&store, &connection, &entries[ORDINARY], steps));
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
                if case.puts {
                    answered(tier.put_many(slice::from_ref(entry))).await.expect("the tier takes it");
                }
                if case.gets {
                    bytes += length_of(&*tier, &entry.0).await;
                }
            }
            bytes
        }
    };
    let (took, shares) = timed(&store.runtime, tasks, steps, work);
    for (steps, counted) in shares {
        let expected = if case.gets { entries.bytes(steps) } else { 0 };
        assert_eq!(counted, expected, "every operation did what the case is named after");
    }
    if case.puts {
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

/// A connection of the Redis library without our tier, to the server of `store`. The server holds the entries.
fn bare_connection(store: &Store, entries: &Entries) -> MultiplexedConnection {
    let server = store.server.as_ref().expect("a Redis backend has a server");
    store.runtime.block_on(async {
        let client = redis::Client::open(server.tcp_url()).expect("a good URL");
        let mut connection = client.get_multiplexed_async_connection().await.expect("the server answers");
        for (key, value) in entries.all() {
            let set = redis::cmd("SET").arg(key.as_bytes()).arg(&value[..]).exec_async(&mut connection).await;
            set.expect("the server takes it");
        }
        connection
    })
}

fn bare_get(store: &Store, connection: &MultiplexedConnection, entries: &Arc<Entries>, steps: u64) -> Duration {
    let (took, bytes) = timed(&store.runtime, 1, steps, |steps| {
        let (mut connection, entries) = (connection.clone(), Arc::clone(entries));
        async move {
            let mut bytes = 0;
            for step in steps {
                let get = redis::cmd("GET").arg(entries.at(step).0.as_bytes()).query_async(&mut connection).await;
                let value: Vec<u8> = get.expect("the server answers");
                bytes += value.len() as u64;
            }
            bytes
        }
    });
    assert_eq!(bytes[0].1, entries.bytes(0..steps), "every GET was a hit");
    took
}

criterion_group! {
    name = benches;
    // The first call of a bench sets up its store, which criterion counts as warm-up.
    config = {
        let suite = Suite::start("tiers");
        Criterion::default().sample_size(50).warm_up_time(suite.warm_up()).measurement_time(suite.measured())
    };
    targets = tiers
}
criterion_main!(benches);
