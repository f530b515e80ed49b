//! Chains as they are deployed: memory first, then stores on disk, then Redis.

use std::{
    cell::LazyCell,
    hint::black_box,
    time::{Duration, Instant},
};

use benches::timing::in_rounds;
use criterion::{BenchmarkId, Criterion};
use floor_cache::{Bypass, Key, Options, TierKind};

use super::{
    COUNT,
    fixture::{Fixture, chains, name},
};

/// A hit in the first tier, whose cost does not depend on the other tiers.
pub(crate) fn front(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("chain/hit-in-front");
    for tiers in chains() {
        let fixture = LazyCell::new(|| Fixture::open(tiers, Bypass::Off));
        group.bench_function(BenchmarkId::new("get-now", name(tiers)), |bencher| {
            bencher.iter_custom(|steps| {
                let before = fixture.hits("lru");
                let started = Instant::now();
                for step in 0..steps {
                    black_box(fixture.chain.get_now(&fixture.entries.at(step).0));
                }
                let took = started.elapsed();
                assert_eq!(fixture.hits("lru") - before, steps, "every answer was a hit of lru");
                took
            });
        });
        group.bench_function(BenchmarkId::new("get", name(tiers)), |bencher| {
            bencher.iter_custom(|steps| {
                fixture.timed_hits(steps, "lru", 1, async |chain, step| {
                    let served = chain.get(fixture.entries.at(step).0, Options::default()).await;
                    usize::from(black_box(served).is_ok())
                })
            });
        });
    }
}

/// A hit in a tier on disk, in a chain without memory.
pub(crate) fn below(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("chain/hit-below");
    for tier in [TierKind::Lmdb, TierKind::Sled] {
        for (bypass, label) in [(Bypass::Off, "bypass-off"), (Bypass::Auto, "bypass-auto")] {
            let fixture = LazyCell::new(|| Fixture::open(&[tier], bypass));
            group.bench_function(BenchmarkId::new(tier.name(), label), |bencher| {
                bencher.iter_custom(|steps| {
                    fixture.timed_hits(steps, tier.name(), 1, async |chain, step| {
                        let served = chain.get(fixture.entries.at(step).0, Options::default()).await;
                        usize::from(black_box(served).is_ok_and(|served| served.by == tier.name()))
                    })
                });
            });
        }
    }
}

/// A miss in every tier, answered by the source. The chain writes the value after the answer.
pub(crate) fn through(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("chain/miss");
    for tiers in [&[][..]].into_iter().chain(chains()) {
        let fixture = LazyCell::new(|| Fixture::open(tiers, Bypass::Off));
        let label = if tiers.is_empty() { "no-tier".to_owned() } else { name(tiers) };
        group.bench_function(label, |bencher| bencher.iter_custom(|steps| misses(&fixture, steps)));
    }
}

/// Times misses in rounds. Each round first removes its floors from every tier, untimed.
fn misses(fixture: &Fixture, steps: u64) -> Duration {
    in_rounds(steps, COUNT.into(), |round| {
        fixture.runtime.block_on(async {
            let keys: Vec<Key> = (0..round).map(|step| fixture.entries.at(step).0).collect();
            fixture.chain.remove_many(&keys).await;
            let mut made = 0;
            let started = Instant::now();
            for key in keys {
                let served = fixture.chain.get(key, Options::default()).await.expect("it was generated beforehand");
                made += u64::from(served.by == "generated");
            }
            let took = started.elapsed();
            assert_eq!(made, round, "every floor came from the source");
            took
        })
    })
}
