//! The cost of a hit in the last tier with its promotion to the tiers above, which evict other floors.

use std::{
    cell::LazyCell,
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};

use benches::{floors::Entries, pregenerated::PregeneratedSource, stores};
use criterion::{BenchmarkId, Criterion};
use floor_cache::{Bypass, Chain, ChainBuilder, ChainConfig, LruConfig, Options, TierKind, Tuning};
use prometheus::Registry;
use tokio::runtime::Runtime;

use super::{
    COUNT,
    fixture::{Fixture, name},
    memory::LAYERS,
};

/// A tier above the last. It holds a dozen floors, so that a floor is evicted before it is visited again.
const SMALL: LruConfig = LruConfig { capacity: 64 << 10, ttl: None };

/// Hits in upper tiers that a short run may have: more than the floors of a small tier.
const WARM: u64 = 100;

pub(crate) fn promotion(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("chain/promotion");
    for depth in 2..=LAYERS.len() {
        let layers = LazyCell::new(|| Layers::of(depth));
        group.bench_function(BenchmarkId::new("memory", depth), |bencher| {
            bencher.iter_custom(|steps| {
                promoted(&layers.chain, &layers.entries, &layers.runtime, LAYERS[depth - 1], steps)
            });
        });
    }
    for last in [TierKind::Lmdb, TierKind::Sled] {
        let tiers = [TierKind::Lru, last];
        let fixture = LazyCell::new(|| {
            let config =
                ChainConfig { chain: tiers.to_vec(), lru: SMALL, bypass: Bypass::Off, ..ChainConfig::default() };
            Fixture::with_config(config)
        });
        group.bench_function(name(&tiers), |bencher| {
            bencher
                .iter_custom(|steps| promoted(&fixture.chain, &fixture.entries, &fixture.runtime, last.name(), steps));
        });
    }
}

/// Times one `get` per step. Asserts that nearly all are hits of the tier `last`.
fn promoted(chain: &Chain, entries: &Entries, runtime: &Runtime, last: &str, steps: u64) -> Duration {
    runtime.block_on(async {
        let mut hits = 0;
        let started = Instant::now();
        for step in 0..steps {
            let served = black_box(chain.get(entries.at(step).0, Options::default()).await);
            hits += u64::from(served.is_ok_and(|served| served.by == last));
        }
        let took = started.elapsed();
        // A full tier admits new entries at its cold end and keeps the old ones, which are hits in upper tiers.
        assert!(hits + WARM >= steps * 9 / 10, "{hits} of {steps} were hits of {last}");
        let again = chain.get_now(&entries.at(steps - 1).0).map(|served| served.by);
        assert!(again.is_some_and(|by| by != last), "the floor was promoted");
        took
    })
}

/// Layers in memory; only the last has every floor.
struct Layers {
    chain: Chain,
    entries: Entries,
    runtime: Runtime,
}

impl Layers {
    fn of(depth: usize) -> Self {
        let (runtime, entries, registry) = (stores::runtime(), Entries::floors(COUNT), Registry::new());
        let (config, tuning) = (ChainConfig::default(), Tuning::default());
        let mut builder = ChainBuilder::new(&config, &tuning, &registry, runtime.handle()).expect("a good name");
        for (layer, name) in LAYERS.into_iter().take(depth).enumerate() {
            let room = if layer + 1 == depth { LruConfig::default() } else { SMALL };
            builder = builder.memory(name, &room).expect("a layer in memory");
        }
        let chain = builder.build(Arc::new(PregeneratedSource::new(&entries))).expect("a registry of its own");
        entries.all().iter().for_each(|(key, value)| chain.put(*key, value));
        Self { chain, entries, runtime }
    }
}
