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
            let batches = LazyCell::new(|| Arc::new(floors.batches(batch)));
            for (name, each) in [("get-many", false), ("get-each", true)] {
                group.bench_function(BenchmarkId::new(name, batch), |bencher| {
                    bencher.iter_custom(|steps| {
                        let (took, found) = get(&store, &batches, steps, each);
                        assert_eq!(found, steps * batch as u64, "every floor came");
                        took
                    });
                });
            }
        }
    }
}

/// Times one call for each of `batches` in turn or, with `each`, a call for each of its keys. Counts the values.
fn get(store: &Store, batches: &Arc<Vec<Vec<Key>>>, steps: u64, each: bool) -> (Duration, u64) {
    let (took, found) = timed(&store.runtime, 1, steps, |steps| {
        let (tier, batches) = (Arc::clone(&store.tier), Arc::clone(batches));
        async move {
            let mut found = 0;
            for step in steps {
                let keys = &batches[step as usize % batches.len()];
                if each {
                    for key in keys {
                        let value = black_box(answered(tier.get(key)).await.expect("the tier answers"));
                        found += u64::from(value.is_some());
                    }
                } else {
                    let values = black_box(answered(tier.get_many(keys)).await.expect("the tier answers"));
                    found += values.iter().flatten().count() as u64;
                }
            }
            found
        }
    });
    (took, found[0].1)
}
