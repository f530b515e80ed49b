//! Compares hits and writes of our cache with other caches, on the same keys and bytes. `cargo bench -- peers`.
//!
//! Two of the benches are ours: `floor-cache` is the tier alone, called through its trait; `floor-cache-chain` is a hit
//! of the whole chain, which also counts it and returns the name of the tier.
#![allow(clippy::unwrap_used, reason = "a failed set-up shows its line")]
#![allow(missing_docs, reason = "criterion's macros write a function without documentation")]

mod caches;

use std::{
    cell::LazyCell,
    hint::black_box,
    thread,
    time::{Duration, Instant},
};

use benches::{floors::Entries, regret::Keys, timing::in_rounds};
use caches::{Dashmap, LruMutex, Moka, OurChain, OurLru, Peer, QuickCache, filled};
use criterion::{BenchmarkId, Criterion, criterion_group};

/// Floors in each cache.
const COUNT: u32 = 1024;

/// Threads, and the order in which they visit the floors.
const LOADS: [(u64, &str, Keys); 4] = [
    (1, "uniform", Keys::Uniform),
    (8, "uniform", Keys::Uniform),
    (8, "one-key", Keys::Scan),
    (8, "zipf-1.2", Keys::Zipf { tenths: 12 }),
];

/// Visits that are chosen before the clock runs. After them the visits repeat.
const VISITS: usize = 1 << 16;

fn hits(criterion: &mut Criterion) {
    let entries = LazyCell::new(|| Entries::floors(COUNT));
    for (threads, name, order) in LOADS {
        let group = &mut criterion.benchmark_group(format!("peers/hit-{name}-by-{threads}"));
        let floors = if name == "one-key" { 1 } else { COUNT };
        let visits: Vec<u32> = order.numbers(floors).map(|number| number - 1).take(VISITS).collect();
        peer::<OurChain>(group, &entries, threads, &visits);
        peer::<OurLru>(group, &entries, threads, &visits);
        peer::<LruMutex>(group, &entries, threads, &visits);
        peer::<Moka>(group, &entries, threads, &visits);
        peer::<QuickCache>(group, &entries, threads, &visits);
        peer::<Dashmap>(group, &entries, threads, &visits);
    }
}

type Group<'a> = criterion::BenchmarkGroup<'a, criterion::measurement::WallTime>;

fn peer<P: Peer>(group: &mut Group<'_>, entries: &Entries, threads: u64, visits: &[u32]) {
    let peer = LazyCell::new(|| filled::<P>(entries));
    group.bench_function(P::NAME, |bencher| {
        bencher.iter_custom(|steps| {
            let peer = &*peer;
            timed(threads, steps, |step| {
                let (key, _) = &entries.all()[visits[step as usize % VISITS] as usize];
                assert!(black_box(peer.get(key)).is_some(), "every lookup is a hit");
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
    write::<Dashmap>(group, &entries);
}

fn write<P: Peer>(group: &mut Group<'_>, entries: &Entries) {
    let peer = LazyCell::new(|| filled::<P>(entries));
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

criterion_group! {
    name = benches;
    // The first call of a bench sets up its store, which criterion counts as warm-up.
    config = Criterion::default().sample_size(50).nresamples(10_000).warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(1));
    targets = hits, writes
}
benches::bench_main!(benches);
