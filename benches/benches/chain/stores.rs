//! Chains as they are deployed: memory first, then a store on disk.

use std::{
    cell::LazyCell,
    hint::black_box,
    time::{Duration, Instant},
};

use benches::{floors::Entries, pregenerated::filled_chain, stores, timing::in_rounds};
use criterion::{BenchmarkId, Criterion, Throughput};
use floor_cache::{Bypass, Chain, ChainConfig, Key, LmdbConfig, Options, TierKind};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::COUNT;

/// Keys in one call of `get_many`.
const BATCHES: [usize; 4] = [1, 10, 16, 64];

/// A chain with the resources that it uses; every tier has every floor.
struct Fixture {
    chain: Chain,
    runtime: Runtime,
    entries: Entries,
    _data: TempDir,
}

impl Fixture {
    /// A chain of `tiers`, of memory and LMDB, with new files. Every tier is asked.
    fn open(tiers: &[TierKind]) -> Self {
        let (runtime, data, entries) =
            (stores::runtime(), tempfile::tempdir().expect("a directory"), Entries::floors(COUNT));
        let config = ChainConfig {
            chain: tiers.to_vec(),
            bypass: Bypass::Off,
            value_version: floor_gen::GENERATOR_VERSION,
            lmdb: LmdbConfig { path: data.path().join("lmdb"), ..LmdbConfig::default() },
            ..ChainConfig::default()
        };
        let chain = filled_chain(&config, &entries, &runtime);
        Self { chain, runtime, entries, _data: data }
    }

    /// Times `steps` calls of `work`. Asserts that each returns `each` floors and that all are hits of the first tier.
    fn timed_hits(&self, steps: u64, each: usize, work: impl AsyncFn(&Chain, u64) -> usize) -> Duration {
        let hits = || self.chain.report()[0].hits;
        let before = hits();
        let (took, answered) = self.runtime.block_on(async {
            let mut answered = 0;
            let started = Instant::now();
            for step in 0..steps {
                answered += work(&self.chain, step).await as u64;
            }
            (started.elapsed(), answered)
        });
        assert_eq!(answered, steps * each as u64, "every call was answered, with every floor");
        assert_eq!(hits() - before, answered, "every answer was a hit of the first tier");
        took
    }
}

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
