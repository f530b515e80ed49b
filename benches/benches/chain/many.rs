//! Many keys at a time: 1, 10, 16 and 64. Gets and removals are one call each. The chain takes puts one by one and
//! writes them together, which is timed without and with waiting for the write.

use std::{
    cell::LazyCell,
    hint::black_box,
    time::{Duration, Instant},
};

use benches::timing::in_rounds;
use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput};
use floor_cache::{Bypass, Key, Options, TierKind};

use super::{
    COUNT,
    fixture::{Fixture, chains, name},
};

/// Keys in one call.
const BATCHES: [usize; 4] = [1, 10, 16, 64];

/// Puts between two flushes: fewer than the capacity of a tier's queue, so that none is dropped.
const UNFLUSHED: u64 = 4096;

/// The floors in visiting order, split into calls.
fn batches(fixture: &Fixture, batch: usize) -> Vec<Vec<(Key, Bytes)>> {
    let visited: Vec<(Key, Bytes)> = (0..u64::from(COUNT)).map(|step| fixture.entries.at(step).clone()).collect();
    visited.chunks_exact(batch).map(<[_]>::to_vec).collect()
}

/// The keys of [`batches`].
fn keys(fixture: &Fixture, batch: usize) -> Vec<Vec<Key>> {
    batches(fixture, batch).iter().map(|batch| batch.iter().map(|(key, _)| *key).collect()).collect()
}

fn at<T>(batches: &[T], step: u64) -> &T {
    &batches[step as usize % batches.len()]
}

pub(crate) fn get(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("chain/get-many");
    for tiers in [&[TierKind::Lru][..], &[TierKind::Lmdb], &[TierKind::Sled]] {
        let fixture = LazyCell::new(|| Fixture::open(tiers, Bypass::Off));
        for batch in BATCHES {
            group.throughput(Throughput::Elements(batch as u64));
            let batches = LazyCell::new(|| keys(&fixture, batch));
            group.bench_function(BenchmarkId::new(name(tiers), batch), |bencher| {
                bencher.iter_custom(|steps| {
                    fixture.timed_hits(steps, tiers[0].name(), batch, async |chain, step| {
                        let keys = at(&batches, step);
                        black_box(chain.get_many(keys, Options::default()).await).map_or(0, |served| served.len())
                    })
                });
            });
        }
    }
}

pub(crate) fn put(criterion: &mut Criterion) {
    for tiers in chains() {
        let fixture = LazyCell::new(|| Fixture::open(tiers, Bypass::Off));
        for batch in BATCHES {
            let batches = LazyCell::new(|| batches(&fixture, batch));
            let mut group = criterion.benchmark_group("chain/put-many-behind");
            group.throughput(Throughput::Elements(batch as u64));
            group.bench_function(BenchmarkId::new(name(tiers), batch), |bencher| {
                bencher.iter_custom(|steps| put_behind(&fixture, &batches, steps));
            });
            group.finish();
            let mut group = criterion.benchmark_group("chain/put-many-through");
            group.throughput(Throughput::Elements(batch as u64));
            group.bench_function(BenchmarkId::new(name(tiers), batch), |bencher| {
                bencher.iter_custom(|steps| put_through(&fixture, &batches, steps));
            });
        }
    }
}

/// Times puts without waiting: memory is written, the rest is queued. The queue is flushed, untimed, before it is full.
fn put_behind(fixture: &Fixture, batches: &[Vec<(Key, Bytes)>], steps: u64) -> Duration {
    let in_a_round = UNFLUSHED / batches[0].len() as u64;
    fixture.runtime.block_on(async {
        let (mut took, mut step) = (Duration::ZERO, 0);
        while step < steps {
            let until = steps.min(step + in_a_round);
            let started = Instant::now();
            for step in step..until {
                at(batches, step).iter().for_each(|(key, value)| fixture.chain.put(*key, value));
            }
            took += started.elapsed();
            step = until;
            fixture.flush().await;
        }
        assert_everywhere(fixture, &at(batches, steps - 1)[..]).await;
        took
    })
}

/// Times puts and waits until every tier has written them.
fn put_through(fixture: &Fixture, batches: &[Vec<(Key, Bytes)>], steps: u64) -> Duration {
    fixture.runtime.block_on(async {
        let started = Instant::now();
        for step in 0..steps {
            at(batches, step).iter().for_each(|(key, value)| fixture.chain.put(*key, value));
            fixture.flush().await;
        }
        let took = started.elapsed();
        assert_everywhere(fixture, &at(batches, steps - 1)[..]).await;
        took
    })
}

async fn assert_everywhere(fixture: &Fixture, batch: &[(Key, Bytes)]) {
    for (key, _) in batch {
        let places = fixture.chain.contains(key).await;
        assert!(places.iter().all(|(_, held)| *held), "every tier has what was put: {places:?}");
    }
}

/// Times removals in rounds. Each round first puts every floor, untimed.
pub(crate) fn remove(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("chain/remove-many");
    for tiers in chains() {
        let fixture = LazyCell::new(|| Fixture::open(tiers, Bypass::Off));
        for batch in BATCHES {
            group.throughput(Throughput::Elements(batch as u64));
            let batches = LazyCell::new(|| keys(&fixture, batch));
            group.bench_function(BenchmarkId::new(name(tiers), batch), |bencher| {
                bencher.iter_custom(|steps| remove_rounds(&fixture, &batches, steps));
            });
        }
    }
}

fn remove_rounds(fixture: &Fixture, batches: &[Vec<Key>], steps: u64) -> Duration {
    in_rounds(steps, batches.len() as u64, |round| {
        let removed = &batches[..round as usize];
        fixture.runtime.block_on(async {
            fixture.entries.all().iter().for_each(|(key, value)| fixture.chain.put(*key, value));
            fixture.flush().await;
            let started = Instant::now();
            for keys in removed {
                fixture.chain.remove_many(keys).await;
            }
            let took = started.elapsed();
            for key in removed.iter().flatten() {
                let places = fixture.chain.contains(key).await;
                assert!(places.iter().all(|(_, held)| !*held), "what was removed is gone: {places:?}");
            }
            took
        })
    })
}
