//! One to four layers in memory, with the operations that the Go multi-layer cache of `docs/benchmarks.md` publishes.

use std::{
    cell::LazyCell,
    hint::black_box,
    slice,
    time::{Duration, Instant},
};

use benches::{
    floors::{self, Entries},
    mixed::{self, Operation},
    pregenerated::{LAYERS, layers_in_memory},
    stores,
    timing::in_rounds,
};
use criterion::{BenchmarkId, Criterion};
use floor_cache::{Chain, LruConfig, Options, Tuning};
use tokio::runtime::Runtime;

use super::COUNT;

/// A chain of layers in memory.
pub(super) struct Layers {
    pub(super) chain: Chain,
    pub(super) runtime: Runtime,
    pub(super) entries: Entries,
}

impl Layers {
    pub(super) fn new(layers: &[LruConfig]) -> Self {
        let (runtime, entries) = (stores::runtime(), Entries::floors(COUNT));
        let chain = layers_in_memory(layers, &Tuning::default(), &entries, runtime.handle());
        Self { chain, runtime, entries }
    }

    /// `count` layers, each with every floor.
    fn of(count: usize) -> Self {
        let layers = Self::new(&vec![LruConfig::default(); count]);
        for (key, value) in layers.entries.all() {
            let served = layers.runtime.block_on(layers.chain.get(*key, Options::default())).expect("it was put");
            assert_eq!(served.value, *value, "the chain gives back what was put");
        }
        layers
    }

    /// Times `steps` calls of `work`.
    fn timed(&self, steps: u64, mut work: impl FnMut(&Chain, u64)) -> Duration {
        let started = Instant::now();
        for step in 0..steps {
            work(&self.chain, step);
        }
        started.elapsed()
    }

    /// Hits and misses of layer `layer` so far.
    fn counts(&self, layer: usize) -> (u64, u64) {
        let report = &self.chain.report()[layer];
        (report.hits, report.misses)
    }
}

pub(crate) fn layers(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("chain/memory");
    for count in 1..=LAYERS.len() {
        let layers = LazyCell::new(|| Layers::of(count));
        group.bench_function(BenchmarkId::new("hit-in-first", count), |bencher| {
            bencher.iter_custom(|steps| {
                let before = layers.counts(0).0;
                let took = layers.timed(steps, |chain, step| {
                    black_box(chain.get_now(&layers.entries.at(step).0));
                });
                assert_eq!(layers.counts(0).0 - before, steps, "every lookup hit the first layer");
                took
            });
        });
        let absent_keys = LazyCell::new(|| layers.entries.absent_keys());
        group.bench_function(BenchmarkId::new("miss-in-all", count), |bencher| {
            bencher.iter_custom(|steps| {
                let before = layers.counts(count - 1).1;
                let absent_keys = &*absent_keys;
                let took = layers.timed(steps, |chain, step| {
                    black_box(chain.get_now(&absent_keys[floors::index_at(step, absent_keys.len())]));
                });
                assert_eq!(layers.counts(count - 1).1 - before, steps, "every lookup missed the last layer too");
                took
            });
        });
    }
}

pub(crate) fn writes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("chain/memory");
    for count in 1..=LAYERS.len() {
        let layers = LazyCell::new(|| Layers::of(count));
        group.bench_function(BenchmarkId::new("put", count), |bencher| {
            bencher.iter_custom(|steps| {
                let took = layers.timed(steps, |chain, step| {
                    let (key, value) = layers.entries.at(step);
                    chain.put(*key, value);
                });
                assert!(layers.entries.all().iter().all(|(key, _)| layers.chain.contains_now(key)), "all are there");
                took
            });
        });
    }
    for count in 2..=LAYERS.len() {
        let layers = LazyCell::new(|| Layers::of(count));
        group.bench_function(BenchmarkId::new("remove", count), |bencher| {
            bencher.iter_custom(|steps| remove(&layers, steps));
        });
        group.bench_function(BenchmarkId::new("contains", count), |bencher| {
            bencher.iter_custom(|steps| {
                layers.entries.all().iter().for_each(|(key, value)| layers.chain.put(*key, value));
                let mut held = 0;
                let took = layers.timed(steps, |chain, step| {
                    held += u64::from(black_box(chain.contains_now(&layers.entries.at(step).0)));
                });
                assert_eq!(held, steps, "every key was there");
                took
            });
        });
        group.bench_function(BenchmarkId::new("mixed-80-10-10", count), |bencher| {
            bencher.iter_custom(|steps| mixed(&layers, steps));
        });
    }
}

/// Times removals in rounds. Each round first puts every floor, untimed.
fn remove(layers: &Layers, steps: u64) -> Duration {
    in_rounds(steps, COUNT.into(), |round| {
        layers.entries.all().iter().for_each(|(key, value)| layers.chain.put(*key, value));
        let took = layers.runtime.block_on(async {
            let started = Instant::now();
            for step in 0..round {
                layers.chain.remove_many(slice::from_ref(&layers.entries.at(step).0)).await;
            }
            started.elapsed()
        });
        let is_gone = |step| !layers.chain.contains_now(&layers.entries.at(step).0);
        assert!((0..round).all(is_gone), "what was removed is gone");
        took
    })
}

/// Times [`mixed::operation`]. Gets use the first layer; puts and removals use every layer.
fn mixed(layers: &Layers, steps: u64) -> Duration {
    let (chain, entries) = (&layers.chain, &layers.entries);
    entries.all().iter().for_each(|(key, value)| chain.put(*key, value));
    let before = layers.counts(0);
    let took = layers.runtime.block_on(async {
        let started = Instant::now();
        for step in 0..steps {
            match mixed::operation(step) {
                Operation::Remove(at) => chain.remove_many(slice::from_ref(&entries.at(at).0)).await,
                Operation::Put(at) => {
                    let (key, value) = entries.at(at);
                    chain.put(*key, value);
                }
                Operation::Get(at) => drop(black_box(chain.get_now(&entries.at(at).0))),
            }
        }
        started.elapsed()
    });
    let after = layers.counts(0);
    let (hits, misses) = (after.0 - before.0, after.1 - before.1);
    assert_eq!((hits, misses), (mixed::gets(steps), 0), "every get found its floor in the first layer");
    let removed = entries.at(mixed::last_removed(steps));
    assert_eq!(
        chain.contains_now(&removed.0),
        steps.is_multiple_of(10),
        "what was removed last is gone until it is put back"
    );
    took
}
