//! Compares hits and writes of our cache with other caches, on the same keys and bytes. `cargo bench -- peers`.
//!
//! Two of the benches are ours: `floor-cache` is the tier alone, called through its trait; `floor-cache-chain` is a hit
//! of the whole chain, which also counts it and returns the name of the tier.
#![allow(clippy::unwrap_used, reason = "a failed set-up shows its line")]
#![allow(missing_docs, reason = "criterion's macros write a function without documentation")]

mod async_peer;
mod async_peers;
mod foyer_peers;
mod lru_mutex;
mod multi_tier_cache;

use std::{
    cell::LazyCell,
    hint::black_box,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use benches::{
    floors::Entries,
    peers::{self, Dashmap, Moka, OurChain, Peer, QuickCache},
    timing::in_rounds,
};
use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use floor_cache::{Key, LruConfig, Tier, tier::Answer, tiers::LruTier};
use foyer_peers::Foyer;
use lru_mutex::LruMutex;

/// Floors in each cache.
const COUNT: u32 = 1024;

fn hits(criterion: &mut Criterion) {
    let entries = LazyCell::new(|| Entries::floors(COUNT));
    for threads in [1, 2, 8] {
        let group = &mut criterion.benchmark_group(format!("peers/hit-by-{threads}"));
        peer::<OurChain>(group, &entries, threads);
        peer::<OurLru>(group, &entries, threads);
        peer::<LruMutex>(group, &entries, threads);
        peer::<Moka>(group, &entries, threads);
        peer::<QuickCache>(group, &entries, threads);
        peer::<Foyer>(group, &entries, threads);
        peer::<Dashmap>(group, &entries, threads);
    }
}

type Group<'a> = criterion::BenchmarkGroup<'a, criterion::measurement::WallTime>;

fn peer<P: Peer>(group: &mut Group<'_>, entries: &Entries, threads: u64) {
    let peer = LazyCell::new(|| peers::filled::<P>(entries));
    group.bench_function(P::NAME, |bencher| {
        bencher.iter_custom(|steps| {
            let peer = &*peer;
            timed(threads, steps, |step| {
                assert!(black_box(peer.get(&entries.at(step).0)).is_some(), "every lookup is a hit");
            })
        });
    });
}

/// Puts and removes entries that are already stored, so that the caches do not grow while they are timed.
fn writes(criterion: &mut Criterion) {
    let entries = LazyCell::new(|| Entries::floors(COUNT));
    let group = &mut criterion.benchmark_group("peers/write");
    write::<OurLru>(group, &entries);
    write::<LruMutex>(group, &entries);
    write::<Moka>(group, &entries);
    write::<QuickCache>(group, &entries);
    write::<Foyer>(group, &entries);
    write::<Dashmap>(group, &entries);
}

fn write<P: Peer>(group: &mut Group<'_>, entries: &Entries) {
    let peer = LazyCell::new(|| peers::filled::<P>(entries));
    group.bench_function(BenchmarkId::new("put", P::NAME), |bencher| {
        bencher.iter_custom(|steps| {
            let peer = &*peer;
            let took = timed(1, steps, |step| {
                let (key, value) = entries.at(step);
                peer.put(*key, value.clone());
            });
            let (key, value) = entries.at(steps - 1);
            assert_eq!(peer.get(key).as_ref(), Some(value), "what was put is there");
            took
        });
    });
    group.bench_function(BenchmarkId::new("remove", P::NAME), |bencher| {
        bencher.iter_custom(|steps| {
            let peer = &*peer;
            in_rounds(steps, COUNT.into(), |round| {
                entries.all().iter().for_each(|(key, value)| peer.put(*key, value.clone()));
                let took = timed(1, round, |step| peer.remove(&entries.at(step).0));
                assert!((0..round).all(|step| peer.get(&entries.at(step).0).is_none()), "what was removed is gone");
                took
            })
        });
    });
}

/// Times `work` with `steps` split evenly over `threads`, rounded up. The time is scaled to `steps`.
fn timed(threads: u64, steps: u64, work: impl Fn(u64) + Sync) -> Duration {
    let share = steps.div_ceil(threads);
    if threads == 1 {
        let started = Instant::now();
        (0..steps).for_each(&work);
        return started.elapsed();
    }
    let work = &work;
    let started = Instant::now();
    thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || (thread * share..(thread + 1) * share).for_each(work));
        }
    });
    started.elapsed().mul_f64(steps as f64 / (share * threads) as f64)
}

/// Our tier, called through its trait.
struct OurLru(Arc<dyn Tier>);

impl Peer for OurLru {
    const NAME: &'static str = "floor-cache";

    fn new(_: &Entries) -> Self {
        Self(Arc::new(LruTier::new(&LruConfig { capacity: peers::CAPACITY, ttl: None })))
    }

    fn get(&self, key: &Key) -> Option<Bytes> {
        match self.0.get(key) {
            Answer::Now(answer) => answer.unwrap(),
            Answer::Later(_) => unreachable!("memory answers at once"),
        }
    }

    fn put(&self, key: Key, value: Bytes) {
        drop(self.0.put_many(&[(key, value)]));
    }

    fn remove(&self, key: &Key) {
        drop(self.0.remove_many(std::slice::from_ref(key)));
    }
}

criterion_group! {
    name = benches;
    // The first call of a bench sets up its store, which criterion counts as warm-up.
    config = benches::suite!("peers", 50 samples);
    targets = hits, writes, async_peers::async_peers
}
criterion_main!(benches);
