//! Batches through each tier: 1, 10, 16 and 64 keys in one call, compared with as many calls.

use std::{cell::LazyCell, hint::black_box, sync::Arc, time::Duration};

use benches::{
    floors::Entries,
    stores::{self, Store},
    timing::{answered, timed},
};
use criterion::{BenchmarkId, Criterion, Throughput};
use floor_cache::Key;

/// Keys in one call. The earlier report used 10.
const BATCHES: [usize; 4] = [1, 10, 16, 64];

/// Floors in the store.
const COUNT: u32 = 1024;

pub(crate) fn tiers(criterion: &mut Criterion) {
    let floors = LazyCell::new(|| Entries::floors(COUNT));
    for kind in stores::available() {
        let store = LazyCell::new(|| Store::filled(kind, &[&*floors]));
        let mut group = criterion.benchmark_group(format!("batching/{}", kind.name()));
        for batch in BATCHES {
            group.throughput(Throughput::Elements(batch as u64));
            let batches = LazyCell::new(|| batches(&floors, batch));
            for (name, each) in [("get-many", false), ("get-each", true)] {
                group.bench_function(BenchmarkId::new(name, batch), |bencher| {
                    bencher.iter_custom(|steps| get(&store, &batches, steps, each));
                });
            }
        }
    }
}

/// The keys of one call.
struct Batch {
    keys: Vec<Key>,
    /// The bytes of their values.
    bytes: u64,
}

/// The floors in visiting order, split into calls.
fn batches(floors: &Entries, batch: usize) -> Arc<[Batch]> {
    let visited: Vec<_> = (0..u64::from(COUNT)).map(|step| floors.at(step)).collect();
    let batches = visited.chunks_exact(batch).map(|entries| Batch {
        keys: entries.iter().map(|(key, _)| *key).collect(),
        bytes: entries.iter().map(|(_, value)| value.len() as u64).sum(),
    });
    batches.collect()
}

fn at(batches: &[Batch], step: u64) -> &Batch {
    &batches[step as usize % batches.len()]
}

fn bytes(batches: &[Batch], steps: u64) -> u64 {
    (0..steps).map(|step| at(batches, step).bytes).sum()
}

/// Times one call for each of `batches` in turn or, with `each`, a call for each of its keys.
fn get(store: &Store, batches: &Arc<[Batch]>, steps: u64, each: bool) -> Duration {
    let (took, found) = timed(&store.runtime, 1, steps, |steps| {
        let (tier, batches) = (Arc::clone(&store.tier), Arc::clone(batches));
        async move {
            let mut found = 0;
            for step in steps {
                let keys = &at(&batches, step).keys;
                if each {
                    for key in keys {
                        let value = black_box(answered(tier.get(key)).await.expect("the tier answers"));
                        found += value.map_or(0, |value| value.len() as u64);
                    }
                } else {
                    let values = black_box(answered(tier.get_many(keys)).await.expect("the tier answers"));
                    found += values.iter().flatten().map(|value| value.len() as u64).sum::<u64>();
                }
            }
            found
        }
    });
    assert_eq!(found[0].1, bytes(batches, steps), "every floor came");
    took
}
