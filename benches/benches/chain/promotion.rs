//! The cost of a hit in the last tier with its promotion to the tiers above, which evict other floors.

use std::{
    cell::LazyCell,
    hint::black_box,
    time::{Duration, Instant},
};

use benches::{floors::Entries, pregenerated::LAYERS};
use criterion::{BenchmarkId, Criterion};
use floor_cache::{Bypass, Chain, ChainConfig, LruConfig, Options, TierKind};
use tokio::runtime::Runtime;

use super::{
    fixture::{Fixture, name},
    memory::Layers,
};

/// A tier above the last. It holds a dozen floors, so that a floor is evicted before it is visited again.
const SMALL: LruConfig = LruConfig { capacity: 64 << 10, ttl: None };

/// Hits in upper tiers that a short run may have: more than the floors of a small tier.
const WARM: u64 = 100;

pub(crate) fn promotion(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("chain/promotion");
    for depth in 2..=LAYERS.len() {
        // Only the last has every floor.
        let layers = LazyCell::new(|| Layers::new(&[&vec![SMALL; depth - 1][..], &[LruConfig::default()]].concat()));
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
