//! The chain as it is deployed: memory in front, stores on disk behind it.

use std::{
    cell::LazyCell,
    hint::black_box,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use benches::{floors::Entries, shelf::Shelf, stores};
use criterion::{BenchmarkId, Criterion, Throughput};
use floor_cache::{Bypass, Chain, ChainConfig, Key, LmdbConfig, Options, SledConfig, TierKind, assemble};
use prometheus::Registry;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::COUNT;

/// Keys in one call.
const BATCHES: [usize; 4] = [1, 10, 16, 64];

/// Chains by depth. Those with a Redis stand in the suite `tiers`, where it is timed by itself.
const CHAINS: [&[TierKind]; 3] =
    [&[TierKind::Lru], &[TierKind::Lru, TierKind::Lmdb], &[TierKind::Lru, TierKind::Lmdb, TierKind::Sled]];

/// How long the chain may take to write what is queued.
const FLUSH: Duration = Duration::from_secs(30);

/// A chain with everything it needs, warm: every floor stands in every tier.
struct Setting {
    chain: Chain,
    runtime: Runtime,
    entries: Entries,
    _data: TempDir,
}

impl Setting {
    fn open(tiers: &[TierKind], bypass: Bypass) -> Self {
        let (runtime, data, entries) =
            (stores::runtime(), tempfile::tempdir().expect("a directory"), Entries::floors(COUNT));
        let chain = runtime.block_on(async {
            let chain = assembled(tiers, bypass, data.path(), &entries, &runtime);
            let keys: Vec<Key> = entries.all().iter().map(|(key, _)| *key).collect();
            chain.get_many(&keys, Options::default()).await.expect("the shelf has them");
            assert!(chain.close(FLUSH).await, "every tier has taken what was queued");
            for (key, value) in entries.all() {
                let served = chain.get(*key, Options::default()).await.expect("a warm chain");
                assert_eq!(served.value, *value, "the chain gives back what the shelf had");
            }
            chain
        });
        Self { chain, runtime, entries, _data: data }
    }

    /// Times `work` over `steps`, in the runtime, and asserts that all of them were answered by `tier`.
    fn timed_hits(&self, steps: u64, tier: &'static str, work: impl AsyncFn(&Chain, u64) -> usize) -> Duration {
        let before = self.hits(tier);
        let (took, answered) = self.runtime.block_on(async {
            let mut answered = 0;
            let started = Instant::now();
            for step in 0..steps {
                answered += work(&self.chain, step).await as u64;
            }
            (started.elapsed(), answered)
        });
        assert_eq!(self.hits(tier) - before, answered, "every answer was a hit of {tier}");
        took
    }

    fn hits(&self, tier: &str) -> u64 {
        self.chain.report().iter().find(|report| report.name == tier).map_or(0, |report| report.hits)
    }
}

fn assembled(tiers: &[TierKind], bypass: Bypass, data: &Path, entries: &Entries, runtime: &Runtime) -> Chain {
    let config = ChainConfig {
        chain: tiers.to_vec(),
        bypass,
        value_version: floor_gen::GENERATOR_VERSION,
        lmdb: LmdbConfig { path: data.join("lmdb"), ..LmdbConfig::default() },
        sled: SledConfig { path: data.join("sled"), ..SledConfig::default() },
        ..ChainConfig::default()
    };
    assemble(&config, Arc::new(Shelf::new(entries)), &Registry::new(), runtime.handle()).expect("empty directories")
}

fn name(tiers: &[TierKind]) -> String {
    tiers.iter().map(|tier| tier.name()).collect::<Vec<_>>().join("+")
}

/// A hit in front costs the same however much stands behind.
pub(crate) fn front(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("chain/hit-in-front");
    for tiers in CHAINS {
        let setting = LazyCell::new(|| Setting::open(tiers, Bypass::Off));
        group.bench_function(BenchmarkId::new("get-now", name(tiers)), |bencher| {
            bencher.iter_custom(|steps| {
                let before = setting.hits("lru");
                let started = Instant::now();
                for step in 0..steps {
                    black_box(setting.chain.get_now(&setting.entries.at(step).0));
                }
                let took = started.elapsed();
                assert_eq!(setting.hits("lru") - before, steps, "every answer was a hit of lru");
                took
            });
        });
        group.bench_function(BenchmarkId::new("get", name(tiers)), |bencher| {
            bencher.iter_custom(|steps| {
                setting.timed_hits(steps, "lru", async |chain, step| {
                    let served = chain.get(setting.entries.at(step).0, Options::default()).await;
                    usize::from(black_box(served).is_ok())
                })
            });
        });
    }
}

/// A hit below memory, as a chain without memory in front sees it every time.
pub(crate) fn below(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("chain/hit-below");
    for tier in [TierKind::Lmdb, TierKind::Sled] {
        for (bypass, label) in [(Bypass::Off, "bypass-off"), (Bypass::Auto, "bypass-auto")] {
            let setting = LazyCell::new(|| Setting::open(&[tier], bypass));
            group.bench_function(BenchmarkId::new(tier.name(), label), |bencher| {
                bencher.iter_custom(|steps| {
                    setting.timed_hits(steps, tier.name(), async |chain, step| {
                        let served = chain.get(setting.entries.at(step).0, Options::default()).await;
                        usize::from(black_box(served).is_ok_and(|served| served.by == tier.name()))
                    })
                });
            });
        }
    }
}

/// A miss in every tier, answered by the shelf; the writes that follow go on behind the answer.
pub(crate) fn through(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("chain/miss");
    for tiers in [&[][..]].into_iter().chain(CHAINS) {
        let setting = LazyCell::new(|| Setting::open(tiers, Bypass::Off));
        let label = if tiers.is_empty() { "no-tier".to_owned() } else { name(tiers) };
        group.bench_function(label, |bencher| bencher.iter_custom(|steps| misses(&setting, steps)));
    }
}

/// In rounds: the floors of a round are removed from every tier, untimed, and asked for one by one.
fn misses(setting: &Setting, steps: u64) -> Duration {
    let mut took = Duration::ZERO;
    let mut left = steps;
    while left > 0 {
        let round = left.min(u64::from(COUNT));
        left -= round;
        took += setting.runtime.block_on(async {
            let keys: Vec<Key> = (0..round).map(|step| setting.entries.at(step).0).collect();
            setting.chain.remove_many(&keys).await;
            let mut made = 0;
            let started = Instant::now();
            for key in keys {
                let served = setting.chain.get(key, Options::default()).await.expect("the shelf has it");
                made += u64::from(served.by == "generated");
            }
            let took = started.elapsed();
            assert_eq!(made, round, "every floor came from the shelf");
            took
        });
    }
    took
}

pub(crate) fn many(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("chain/get-many");
    for tiers in [&[TierKind::Lru][..], &[TierKind::Lmdb]] {
        let setting = LazyCell::new(|| Setting::open(tiers, Bypass::Off));
        for batch in BATCHES {
            group.throughput(Throughput::Elements(batch as u64));
            let batches = LazyCell::new(|| {
                let keys: Vec<Key> = (0..u64::from(COUNT)).map(|step| setting.entries.at(step).0).collect();
                keys.chunks_exact(batch).map(<[Key]>::to_vec).collect::<Vec<_>>()
            });
            group.bench_function(BenchmarkId::new(name(tiers), batch), |bencher| {
                bencher.iter_custom(|steps| {
                    setting.timed_hits(steps, tiers[0].name(), async |chain, step| {
                        let keys = &batches[step as usize % batches.len()];
                        black_box(chain.get_many(keys, Options::default()).await).map_or(0, |served| served.len())
                    })
                });
            });
        }
    }
}

/// Asks every tier, whatever the first says.
pub(crate) fn contains(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("chain/contains");
    for tiers in CHAINS {
        let setting = LazyCell::new(|| Setting::open(tiers, Bypass::Off));
        group.bench_function(name(tiers), |bencher| {
            bencher.iter_custom(|steps| {
                setting.runtime.block_on(async {
                    let mut held = 0;
                    let started = Instant::now();
                    for step in 0..steps {
                        let places = black_box(setting.chain.contains(&setting.entries.at(step).0).await);
                        held += places.iter().filter(|(_, held)| *held).count() as u64;
                    }
                    let took = started.elapsed();
                    assert_eq!(held, steps * tiers.len() as u64, "every tier had every floor");
                    took
                })
            });
        });
    }
}
