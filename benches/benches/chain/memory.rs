//! One to four layers in memory: a hit in the first, a miss in all, a put into all.

use std::{
    cell::LazyCell,
    hint::black_box,
    time::{Duration, Instant},
};

use benches::{
    floors::Entries,
    pregenerated::{LAYERS, layers_in_memory},
    stores,
};
use criterion::{BenchmarkId, Criterion};
use floor_cache::{Chain, LruConfig, Options, Tuning};
use tokio::runtime::Runtime;

use super::COUNT;

/// A chain of layers in memory, each with every floor.
struct Layers {
    count: usize,
    chain: Chain,
    entries: Entries,
    _runtime: Runtime,
}

/// Times an operation on layers, by the number of operations.
type Case = fn(&Layers, u64) -> Duration;

impl Layers {
    fn of(count: usize) -> Self {
        let (runtime, entries) = (stores::runtime(), Entries::floors(COUNT));
        let chain =
            layers_in_memory(&vec![LruConfig::default(); count], &Tuning::default(), &entries, runtime.handle());
        for (key, value) in entries.all() {
            let served = runtime.block_on(chain.get(*key, Options::default())).expect("it was put");
            assert_eq!(served.value, *value, "the chain gives back what was put");
        }
        Self { count, chain, entries, _runtime: runtime }
    }

    /// Hits and misses of a layer so far.
    fn counts(&self, layer: usize) -> (u64, u64) {
        let report = &self.chain.report()[layer];
        (report.hits, report.misses)
    }
}

pub(crate) fn layers(criterion: &mut Criterion) {
    let cases: [(&str, Case); 3] = [("hit-in-first", hit), ("miss-in-all", miss), ("put", put)];
    let mut group = criterion.benchmark_group("chain/memory");
    for count in 1..=LAYERS.len() {
        let layers = LazyCell::new(|| Layers::of(count));
        for (name, case) in cases {
            group.bench_function(BenchmarkId::new(name, count), |bencher| {
                bencher.iter_custom(|steps| case(&layers, steps));
            });
        }
    }
}

/// Times `steps` calls of `work`.
fn timed(steps: u64, work: impl FnMut(u64)) -> Duration {
    let started = Instant::now();
    (0..steps).for_each(work);
    started.elapsed()
}

fn hit(layers: &Layers, steps: u64) -> Duration {
    let before = layers.counts(0).0;
    let took = timed(steps, |step| drop(black_box(layers.chain.get_now(&layers.entries.at(step).0))));
    assert_eq!(layers.counts(0).0 - before, steps, "every lookup hit the first layer");
    took
}

fn miss(layers: &Layers, steps: u64) -> Duration {
    let (absent, last) = (layers.entries.absent(), layers.count - 1);
    let before = layers.counts(last).1;
    let took = timed(steps, |step| drop(black_box(layers.chain.get_now(&absent.at(step).0))));
    assert_eq!(layers.counts(last).1 - before, steps, "every lookup missed the last layer too");
    took
}

fn put(layers: &Layers, steps: u64) -> Duration {
    let took = timed(steps, |step| {
        let (key, value) = layers.entries.at(step);
        layers.chain.put(*key, value);
    });
    assert!(layers.entries.all().iter().all(|(key, _)| layers.chain.contains_now(key)), "all are there");
    took
}
