//! The cost of each tier: hit, miss, set, round trip, remove, contains, by one caller and by eight; and the cost of
//! generating a floor instead. `cargo bench -- tiers`.
//!
//! Tiers are timed without the chain's timeout, breaker and metrics. With eight callers the time is the total divided
//! by the operations of all, so on two cores at best half of that of one caller.
#![allow(missing_docs, reason = "criterion's macros write a function without documentation")]

use std::{cell::LazyCell, hint::black_box, slice, sync::Arc, time::Duration};

use benches::{
    floors::{self, Entries, SIDE},
    mixed::{self, Operation},
    stores::{Backend, Store},
    timing::{answered, in_rounds, timed, timed_concurrently},
};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use floor_cache::{Key, Tier};
use floor_gen::{Generator, Kind};

/// Lengths of values, with their names.
const LENGTHS: [(usize, &str); 3] = [(1 << 10, "1KiB"), (4 << 10, "4KiB"), (16 << 10, "16KiB")];

/// Values of each length: more bytes than a core's cache holds, and quick to generate.
const COUNT: u32 = 512;

/// The index of the length that is nearest to an ordinary floor's.
const ORDINARY: usize = 1;

/// Concurrent tasks, each on its own thread.
const CALLERS: [u64; 2] = [1, 8];

fn tiers(criterion: &mut Criterion) {
    let entries = LazyCell::new(|| LENGTHS.map(|(length, _)| Arc::new(Entries::of_length(length, COUNT))));
    for backend in Backend::available() {
        let store = LazyCell::new(|| Store::filled(backend, &entries.each_ref().map(|entries| &**entries)));
        let mut group = criterion.benchmark_group(format!("tiers/{}", backend.name()));
        for (size, (length, name)) in LENGTHS.into_iter().enumerate() {
            group.throughput(Throughput::Bytes(length as u64));
            for tasks in CALLERS {
                group.bench_function(BenchmarkId::new(format!("hit-by-{tasks}"), name), |bencher| {
                    bencher.iter_custom(|steps| hit(&store, &entries[size], tasks, steps));
                });
                group.bench_function(BenchmarkId::new(format!("set-by-{tasks}"), name), |bencher| {
                    bencher.iter_custom(|steps| set(&store, &entries[size], tasks, steps));
                });
                group.bench_function(BenchmarkId::new(format!("round-trip-by-{tasks}"), name), |bencher| {
                    bencher.iter_custom(|steps| round_trip(&store, &entries[size], tasks, steps));
                });
            }
        }
        group.throughput(Throughput::Elements(1));
        for tasks in CALLERS {
            group.bench_function(format!("miss-by-{tasks}"), |bencher| {
                bencher.iter_custom(|steps| miss(&store, &entries[ORDINARY], tasks, steps));
            });
            group.bench_function(format!("contains-by-{tasks}"), |bencher| {
                bencher.iter_custom(|steps| contains(&store, &entries[ORDINARY], tasks, steps));
            });
            group.bench_function(format!("remove-by-{tasks}"), |bencher| {
                bencher.iter_custom(|steps| remove(&store, &entries[ORDINARY], tasks, steps));
            });
        }
        group.bench_function("mixed-80-10-10", |bencher| {
            bencher.iter_custom(|steps| mixed(&store, &entries[ORDINARY], steps));
        });
        if backend.is_redis() {
            let bare = LazyCell::new(|| bare_redis::Connection::open(&store, &entries[ORDINARY]));
            group.bench_function(BenchmarkId::new("bare-get", LENGTHS[ORDINARY].1), |bencher| {
                bencher.iter_custom(|steps| bare.get(&store, &entries[ORDINARY], steps));
            });
        }
    }
}

/// Generating a floor, for comparison with a hit.
fn generation(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tiers/no-tier");
    let runtime = LazyCell::new(benches::stores::runtime);
    let specs = LazyCell::new(|| Arc::new(floors::specs(Kind::Standard, SIDE, COUNT)));
    for tasks in CALLERS {
        group.bench_function(format!("make-by-{tasks}"), |bencher| {
            bencher.iter_custom(|steps| {
                let (took, shares) = timed_concurrently(&runtime, tasks, steps, |steps| {
                    let specs = Arc::clone(&specs);
                    async move {
                        let mut generator = Generator::new();
                        for step in steps {
                            let spec = &specs[floors::index_at(step, specs.len())];
                            black_box(floor_wire::framed(&generator.generate(spec)));
                        }
                        generator.fallbacks()
                    }
                });
                let fallbacks: u64 = shares.iter().map(|(_, fallbacks)| fallbacks).sum();
                assert_eq!(fallbacks, 0, "no fallback floor was generated");
                took
            });
        });
    }
}

fn hit(store: &Store, entries: &Arc<Entries>, tasks: u64, steps: u64) -> Duration {
    let (took, shares) = timed_concurrently(&store.runtime, tasks, steps, |steps| {
        let (tier, entries) = (Arc::clone(&store.tier), Arc::clone(entries));
        async move { get_all(&*tier, steps.map(|step| &entries.at(step).0)).await.1 }
    });
    for (steps, bytes) in shares {
        assert_eq!(bytes, entries.bytes(steps), "every lookup was a hit");
    }
    took
}

fn miss(store: &Store, entries: &Entries, tasks: u64, steps: u64) -> Duration {
    let absent_keys: Arc<[Key]> = entries.absent_keys().into();
    let (took, shares) = timed_concurrently(&store.runtime, tasks, steps, |steps| {
        let (tier, keys) = (Arc::clone(&store.tier), Arc::clone(&absent_keys));
        async move { get_all(&*tier, steps.map(|step| &keys[floors::index_at(step, keys.len())])).await.0 }
    });
    assert!(shares.iter().all(|(_, hits)| *hits == 0), "every lookup was a miss");
    took
}

/// The number of `keys` that are found, and the bytes of their values.
async fn get_all<'k>(tier: &dyn Tier, keys: impl Iterator<Item = &'k Key>) -> (u64, u64) {
    let (mut hits, mut bytes) = (0, 0);
    for key in keys {
        if let Some(value) = black_box(answered(tier.get(key)).await.expect("the tier answers")) {
            hits += 1;
            bytes += value.len() as u64;
        }
    }
    (hits, bytes)
}

/// Puts values that are already stored, so that the store does not grow while it is timed.
fn set(store: &Store, entries: &Arc<Entries>, tasks: u64, steps: u64) -> Duration {
    let (took, _) = timed_concurrently(&store.runtime, tasks, steps, |steps| {
        let (tier, work) = (Arc::clone(&store.tier), Arc::clone(entries));
        async move {
            for step in steps {
                answered(tier.put_many(slice::from_ref(work.at(step)))).await.expect("the tier takes it");
            }
            0
        }
    });
    assert_held(store, entries);
    took
}

/// Puts a value and gets it.
fn round_trip(store: &Store, entries: &Arc<Entries>, tasks: u64, steps: u64) -> Duration {
    let (took, shares) = timed_concurrently(&store.runtime, tasks, steps, |steps| {
        let (tier, work) = (Arc::clone(&store.tier), Arc::clone(entries));
        async move {
            let mut bytes = 0;
            for step in steps {
                let entry = work.at(step);
                answered(tier.put_many(slice::from_ref(entry))).await.expect("the tier takes it");
                let value = answered(tier.get(&entry.0)).await.expect("the tier answers");
                bytes += black_box(value).map_or(0, |value| value.len() as u64);
            }
            bytes
        }
    });
    for (steps, bytes) in shares {
        assert_eq!(bytes, entries.bytes(steps), "every value came back");
    }
    took
}

fn contains(store: &Store, entries: &Arc<Entries>, tasks: u64, steps: u64) -> Duration {
    let (took, shares) = timed_concurrently(&store.runtime, tasks, steps, |steps| {
        let (tier, entries) = (Arc::clone(&store.tier), Arc::clone(entries));
        async move {
            let mut held = 0;
            for step in steps {
                held += u64::from(answered(tier.contains(&entries.at(step).0)).await.expect("the tier answers"));
            }
            held
        }
    });
    assert!(shares.iter().all(|(steps, held)| *held == steps.end - steps.start), "every key was there");
    took
}

/// Removes values one by one. Each round first puts all of them, untimed.
fn remove(store: &Store, entries: &Arc<Entries>, tasks: u64, steps: u64) -> Duration {
    let took = in_rounds(steps, entries.all().len() as u64, |round| {
        put_all(store, entries);
        let (took, _) = timed_concurrently(&store.runtime, tasks, round, |steps| {
            let (tier, work) = (Arc::clone(&store.tier), Arc::clone(entries));
            async move {
                for step in steps {
                    answered(tier.remove_many(slice::from_ref(&work.at(step).0))).await.expect("the tier takes it");
                }
                0
            }
        });
        let gone = store.runtime.block_on(get_all(&*store.tier, (0..round).map(|step| &entries.at(step).0)));
        assert_eq!(gone.0, 0, "what was removed is gone");
        took
    });
    put_all(store, entries);
    took
}

/// See [`mixed::operation`].
fn mixed(store: &Store, entries: &Arc<Entries>, steps: u64) -> Duration {
    put_all(store, entries);
    let (tier, work) = (Arc::clone(&store.tier), Arc::clone(entries));
    let (took, hits) = timed(&store.runtime, steps, |steps| async move {
        let mut hits = 0;
        for step in steps {
            match mixed::operation(step) {
                Operation::Get(at) => {
                    let value = black_box(answered(tier.get(&work.at(at).0)).await.expect("the tier answers"));
                    hits += u64::from(value.is_some());
                }
                Operation::Put(at) => {
                    answered(tier.put_many(slice::from_ref(work.at(at)))).await.expect("the tier takes it");
                }
                Operation::Remove(at) => {
                    answered(tier.remove_many(slice::from_ref(&work.at(at).0))).await.expect("the tier takes it");
                }
            }
        }
        hits
    });
    assert_eq!(hits, mixed::gets(steps), "every get found its value");
    put_all(store, entries);
    took
}

fn put_all(store: &Store, entries: &Entries) {
    store.runtime.block_on(answered(store.tier.put_many(entries.all()))).expect("the tier takes them");
}

fn assert_held(store: &Store, entries: &Entries) {
    let found = store.runtime.block_on(get_all(&*store.tier, entries.all().iter().map(|(key, _)| key)));
    assert_eq!(found.0, entries.all().len() as u64, "every value is there");
}

/// The Redis library without our tier, for comparison with a hit of the tier.
mod bare_redis {
    use benches::{floors::Entries, stores::Store, timing::timed};
    use redis::aio::MultiplexedConnection;

    use super::{Arc, Backend, Duration};

    pub(crate) struct Connection(MultiplexedConnection);

    impl Connection {
        /// Connects to the server of `store` and stores `entries` there without envelopes.
        pub(crate) fn open(store: &Store, entries: &Entries) -> Self {
            let server = store.server.as_ref().expect("a Redis store has a server");
            let url = if store.backend == Backend::RedisUnix { server.unix_url() } else { server.tcp_url() };
            let connection = store.runtime.block_on(async {
                let client = redis::Client::open(url).expect("a good URL");
                let mut connection = client.get_multiplexed_async_connection().await.expect("the server answers");
                for (key, value) in entries.all() {
                    let set = redis::cmd("SET").arg(key.as_bytes()).arg(&value[..]).exec_async(&mut connection).await;
                    set.expect("the server takes it");
                }
                connection
            });
            Self(connection)
        }

        pub(crate) fn get(&self, store: &Store, entries: &Arc<Entries>, steps: u64) -> Duration {
            let (mut connection, work) = (self.0.clone(), Arc::clone(entries));
            let (took, bytes) = timed(&store.runtime, steps, |steps| async move {
                let mut bytes = 0;
                for step in steps {
                    let get = redis::cmd("GET").arg(work.at(step).0.as_bytes()).query_async(&mut connection).await;
                    let value: Vec<u8> = get.expect("the server answers");
                    bytes += value.len() as u64;
                }
                bytes
            });
            assert_eq!(bytes, entries.bytes(0..steps), "every GET was a hit");
            took
        }
    }
}

criterion_group! {
    name = benches;
    // About 130 benches: with a second each the suite takes five minutes.
    // The first call of a bench sets up its store, which criterion counts as warm-up.
    config = Criterion::default()
        .sample_size(50)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(1));
    targets = tiers, generation
}
criterion_main!(benches);
