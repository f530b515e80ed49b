//! Chains as they are deployed: memory first, then a store on disk.

use std::{cell::LazyCell, hint::black_box, time::Instant};

use benches::timing::in_rounds;
use criterion::{BenchmarkId, Criterion, Throughput};
use floor_cache::{Key, Options, TierKind};

use super::{COUNT, fixture::Fixture};

/// Keys in one call of `get_many`.
const BATCHES: [usize; 4] = [1, 10, 16, 64];

/// Hits in a chain of memory alone, awaited: one key in a call, and many.
pub(crate) fn hits(criterion: &mut Criterion) {
    let fixture = LazyCell::new(|| Fixture::open(&[TierKind::Lru]));
    let mut group = criterion.benchmark_group("chain/hit-in-front");
    group.bench_function(BenchmarkId::new("get", "lru"), |bencher| {
        bencher.iter_custom(|steps| {
            fixture.timed_hits(steps, 1, async |chain, step| {
                let served = chain.get(fixture.entries.at(step).0, Options::default()).await;
                usize::from(black_box(served).is_ok())
            })
        });
    });
    group.finish();
    let mut group = criterion.benchmark_group("chain/get-many");
    for batch in BATCHES {
        group.throughput(Throughput::Elements(batch as u64));
        let batches = LazyCell::new(|| fixture.entries.batches(batch));
        group.bench_function(BenchmarkId::new("lru", batch), |bencher| {
            bencher.iter_custom(|steps| {
                let batches = &*batches;
                fixture.timed_hits(steps, batch, async |chain, step| {
                    let keys = &batches[step as usize % batches.len()];
                    black_box(chain.get_many(keys, Options::default()).await).map_or(0, |served| served.len())
                })
            });
        });
    }
}

/// A miss in every tier, answered by the source. The chain writes the value after the answer.
pub(crate) fn through(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("chain/miss");
    let chains: [(&str, &[TierKind]); 3] =
        [("no-tier", &[]), ("lru", &[TierKind::Lru]), ("lru+lmdb", &[TierKind::Lru, TierKind::Lmdb])];
    for (label, tiers) in chains {
        let fixture = LazyCell::new(|| Fixture::open(tiers));
        group.bench_function(label, |bencher| {
            // Each round first removes its floors from every tier, untimed.
            bencher.iter_custom(|steps| {
                in_rounds(steps, COUNT.into(), |round| {
                    fixture.runtime.block_on(async {
                        let keys: Vec<Key> = (0..round).map(|step| fixture.entries.at(step).0).collect();
                        fixture.chain.remove_many(&keys).await;
                        let mut generated = 0;
                        let started = Instant::now();
                        for key in keys {
                            let served = fixture.chain.get(key, Options::default()).await.expect("it is in the source");
                            generated += u64::from(served.by == "generated");
                        }
                        let took = started.elapsed();
                        assert_eq!(generated, round, "every floor came from the source");
                        took
                    })
                })
            });
        });
    }
}
