//! Hits in the chain, one at a time.

use std::{
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::ensure;
use benches::{
    floors::Entries,
    pregenerated::PregeneratedSource,
    stores::{self, Backend, Store},
    timing::{answered, format_nanos, median},
};
use floor_cache::{Chain, ChainConfig, Key, Options, TierKind, assemble};
use prometheus::Registry;

use crate::Figure;

const COUNT: u32 = 1024;

/// Runs; the result is their median.
const RUNS: usize = 101;

/// Lookups of a run.
const LOOKUPS: u64 = 20_000;

/// How long the chain may take to write its queue.
const FLUSH: Duration = Duration::from_secs(30);

pub(crate) fn measure() -> anyhow::Result<Vec<Figure>> {
    let runtime = stores::runtime();
    let entries = Entries::floors(COUNT);
    let config = ChainConfig { chain: vec![TierKind::Lru], ..ChainConfig::default() };
    let chain = assemble(&config, Arc::new(PregeneratedSource::new(&entries)), &Registry::new(), runtime.handle())?;
    let keys: Vec<Key> = entries.all().iter().map(|(key, _)| *key).collect();
    runtime.block_on(chain.get_many(&keys, Options::default()))?;
    ensure!(runtime.block_on(chain.close(FLUSH)), "the chain did not write its queue within {FLUSH:?}");

    let now = nanos_a_step(|step| chain.get_now(&entries.at(step).0).is_some());
    let get = runtime.block_on(async {
        let mut runs = Vec::with_capacity(RUNS);
        for _ in 0..RUNS {
            let started = Instant::now();
            for step in 0..LOOKUPS {
                let served = black_box(chain.get(entries.at(step).0, Options::default()).await);
                assert!(served.is_ok_and(|served| served.by == "lru"));
            }
            runs.push(started.elapsed().as_nanos() as f64 / LOOKUPS as f64);
        }
        median(&mut runs)
    });
    ensure!(hits(&chain) >= 2 * RUNS as u64 * LOOKUPS, "every lookup was a hit");

    let store = Store::filled(Backend::Lmdb, &[&entries]);
    let lmdb = store.runtime.block_on(async {
        let mut runs = Vec::with_capacity(RUNS);
        for _ in 0..RUNS {
            let started = Instant::now();
            for step in 0..u64::from(COUNT) {
                let found = black_box(answered(store.tier.get(&entries.at(step).0)).await);
                assert!(found.is_ok_and(|found| found.is_some()));
            }
            runs.push(started.elapsed().as_nanos() as f64 / f64::from(COUNT));
        }
        median(&mut runs)
    });
    Ok(vec![
        Figure::new("LRU hit through the chain (get_now), median", format_nanos(now), "<= 50 ns"),
        Figure::new("LRU hit through the chain (get), median", format_nanos(get), "<= 200 ns"),
        Figure::new("LMDB hit of a floor, checked, median", format_nanos(lmdb), "<= 3 us"),
    ])
}

fn nanos_a_step(work: impl Fn(u64) -> bool) -> f64 {
    let run = || {
        let started = Instant::now();
        let hits = (0..LOOKUPS).filter(|step| black_box(work(*step))).count() as u64;
        let took = started.elapsed();
        assert_eq!(hits, LOOKUPS, "every lookup was a hit");
        took.as_nanos() as f64 / LOOKUPS as f64
    };
    median(&mut (0..RUNS).map(|_| run()).collect::<Vec<_>>())
}

fn hits(chain: &Chain) -> u64 {
    chain.report()[0].hits
}
