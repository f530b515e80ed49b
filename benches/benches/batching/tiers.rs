//! Batches through each tier: 1, 10, 16 and 64 keys in one call, compared with as many calls.

use std::{cell::LazyCell, hint::black_box, ops::Range, sync::Arc, time::Duration};

use benches::{
    floors::Entries,
    stores::{Backend, Store},
    timing::{answered, timed},
};
use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput};
use floor_cache::Key;

/// Keys in one call. The earlier report used 10.
const BATCHES: [usize; 4] = [1, 10, 16, 64];

/// Floors in the store.
const COUNT: u32 = 1024;

pub(crate) fn tiers(criterion: &mut Criterion) {
    let floors = LazyCell::new(|| Arc::new(Entries::floors(COUNT)));
    for backend in Backend::available() {
        let store = LazyCell::new(|| Store::filled(backend, &[&**floors]));
        let mut group = criterion.benchmark_group(format!("batching/{}", backend.name()));
        for batch in BATCHES {
            group.throughput(Throughput::Elements(batch as u64));
            let batches = LazyCell::new(|| Batches::of(&floors, batch));
            group.bench_function(BenchmarkId::new("get-many", batch), |bencher| {
                bencher.iter_custom(|steps| batches.get_many(&store, steps));
            });
            group.bench_function(BenchmarkId::new("get-each", batch), |bencher| {
                bencher.iter_custom(|steps| batches.get_each(&store, steps));
            });
            group.bench_function(BenchmarkId::new("put-many", batch), |bencher| {
                bencher.iter_custom(|steps| batches.put_many(&store, steps));
            });
        }
    }
}

/// The floors in visiting order, split into calls.
struct Batches(Arc<[Batch]>);

/// The keys and entries of one call.
struct Batch {
    keys: Vec<Key>,
    entries: Vec<(Key, Bytes)>,
    bytes: u64,
}

impl Batches {
    fn of(floors: &Entries, batch: usize) -> Self {
        let visited: Vec<(Key, Bytes)> = (0..u64::from(COUNT)).map(|step| floors.at(step).clone()).collect();
        let batch_of = |entries: &[(Key, Bytes)]| Batch {
            keys: entries.iter().map(|(key, _)| *key).collect(),
            entries: entries.to_vec(),
            bytes: entries.iter().map(|(_, value)| value.len() as u64).sum(),
        };
        Self(visited.chunks_exact(batch).map(batch_of).collect())
    }

    fn at(batches: &[Batch], step: u64) -> &Batch {
        &batches[step as usize % batches.len()]
    }

    fn get_many(&self, store: &Store, steps: u64) -> Duration {
        let (tier, batches) = (Arc::clone(&store.tier), Arc::clone(&self.0));
        let (took, bytes) = timed(&store.runtime, steps, |steps| async move {
            let mut bytes = 0;
            for step in steps {
                let keys = &Self::at(&batches, step).keys;
                let values = black_box(answered(tier.get_many(keys)).await.expect("the tier answers"));
                bytes += values.iter().flatten().map(|value| value.len() as u64).sum::<u64>();
            }
            bytes
        });
        assert_eq!(bytes, self.bytes(0..steps), "every floor came");
        took
    }

    fn get_each(&self, store: &Store, steps: u64) -> Duration {
        let (tier, batches) = (Arc::clone(&store.tier), Arc::clone(&self.0));
        let (took, bytes) = timed(&store.runtime, steps, |steps| async move {
            let mut bytes = 0;
            for step in steps {
                for key in &Self::at(&batches, step).keys {
                    let value = black_box(answered(tier.get(key)).await.expect("the tier answers"));
                    bytes += value.map_or(0, |value| value.len() as u64);
                }
            }
            bytes
        });
        assert_eq!(bytes, self.bytes(0..steps), "every floor came");
        took
    }

    fn put_many(&self, store: &Store, steps: u64) -> Duration {
        let (tier, batches) = (Arc::clone(&store.tier), Arc::clone(&self.0));
        timed(&store.runtime, steps, |steps| async move {
            for step in steps {
                answered(tier.put_many(&Self::at(&batches, step).entries)).await.expect("the tier takes them");
            }
            0
        })
        .0
    }

    fn bytes(&self, steps: Range<u64>) -> u64 {
        steps.map(|step| Self::at(&self.0, step).bytes).sum()
    }
}
