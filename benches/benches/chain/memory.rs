//! One to four layers in memory, with the operations that the Go multi-layer cache of `docs/benchmarks.md` publishes.

use std::{
    cell::LazyCell,
    hint::black_box,
    slice,
    time::{Duration, Instant},
};

use benches::{
    floors::Entries,
    pregenerated::{LAYERS, layers_in_memory},
    stores,
    timing::in_rounds,
};
use criterion::{BenchmarkId, Criterion};
use floor_cache::{Chain, LruConfig, Options, Tuning};
use tokio::runtime::Runtime;

use super::COUNT;

/// A chain of layers in memory, each with every floor.
struct Layers {
    count: usize,
    chain: Chain,
    runtime: Runtime,
    entries: Entries,
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
        Self { count, chain, runtime, entries }
    }

    fn put_all(&self) {
        self.entries.all().iter().for_each(|(key, value)| self.chain.put(*key, value));
    }

    /// Hits and misses of a layer so far.
    fn counts(&self, layer: usize) -> (u64, u64) {
        let report = &self.chain.report()[layer];
        (report.hits, report.misses)
    }
}

pub(crate) fn layers(criterion: &mut Criterion) {
    run(criterion, 1, &[("hit-in-first", hit), ("miss-in-all", miss), ("put", put)]);
    run(criterion, 2, &[("remove", remove), ("contains", contains), ("mixed-80-10-10", mixed)]);
}

/// Runs `cases` on chains of `least` to four layers.
fn run(criterion: &mut Criterion, least: usize, cases: &[(&str, Case)]) {
    let mut group = criterion.benchmark_group("chain/memory");
    for count in least..=LAYERS.len() {
        let layers = LazyCell::new(|| Layers::of(count));
        for (name, case) in cases {
            group.bench_function(BenchmarkId::new(*name, count), |bencher| {
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

/// Times removals in rounds. Each round first puts every floor, untimed.
fn remove(layers: &Layers, steps: u64) -> Duration {
    in_rounds(steps, COUNT.into(), |round| {
        layers.put_all();
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

fn contains(layers: &Layers, steps: u64) -> Duration {
    layers.put_all();
    let mut held = 0;
    let took = timed(steps, |step| {
        held += u64::from(black_box(layers.chain.contains_now(&layers.entries.at(step).0)));
    });
    assert_eq!(held, steps, "every key was there");
    took
}

/// Steps after which the operations of [`mixed`] repeat: one removal, eight gets, and the put of what was removed.
const CYCLE: u64 = 10;

/// Times 80 % gets, 10 % puts and 10 % removals. Gets use the first layer; puts and removals use every layer. With more
/// floors than steps of a cycle, every get and removal finds its floor, and every put stores a missing one.
fn mixed(layers: &Layers, steps: u64) -> Duration {
    let (chain, entries) = (&layers.chain, &layers.entries);
    layers.put_all();
    let before = layers.counts(0);
    let (mut gets, mut removed) = (0, None);
    let took = layers.runtime.block_on(async {
        let started = Instant::now();
        for step in 0..steps {
            let (key, _) = entries.at(step);
            match step % CYCLE {
                0 => {
                    chain.remove_many(slice::from_ref(key)).await;
                    removed = Some(step);
                }
                9 => {
                    let (key, value) = entries.at(step - 9);
                    chain.put(*key, value);
                    removed = None;
                }
                _ => {
                    gets += 1;
                    drop(black_box(chain.get_now(key)));
                }
            }
        }
        started.elapsed()
    });
    let after = layers.counts(0);
    assert_eq!((after.0 - before.0, after.1 - before.1), (gets, 0), "every get found its floor in the first layer");
    let is_gone = |step| !chain.contains_now(&entries.at(step).0);
    assert!(removed.is_none_or(is_gone), "what was removed last is gone until it is put back");
    took
}
