//! Measures how long a chain takes to open a full LMDB and to serve its first floor: less than a second with a million
//! floors.
//!
//!     cargo run --release -p floor-cache --example warm_start [FLOORS [BYTES]]
//!
//! Fills a store in a temporary directory first: 7 GB for the default of a million floors of 4,900 bytes (the median
//! 100x100 floor). Then it times misses with and without asking the store. The difference is the most that a filter of
//! absent keys could save.
#![allow(clippy::unwrap_used, reason = "an example that cannot go on says where")]

use std::{
    env,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use floor_cache::{
    Bypass, Chain, ChainConfig, Class, Forecast, GenerationRequest, Key, LmdbConfig, Made, Options, Source,
    SourceError, Tier, TierKind, Tuning, assemble_tuned,
    envelope::{Envelope, Namespace},
    tiers::LmdbTier,
};
use futures_util::{FutureExt, future::BoxFuture};
use tokio::runtime::{Handle, Runtime};

/// Entries per call, as in the chain's writer.
const BATCH: u64 = 256;

/// Timed calls per figure.
const CALLS: u64 = 20_000;

fn main() {
    let number = |at, otherwise| env::args().nth(at).map_or(otherwise, |text| text.parse().expect("a whole number"));
    let (floors, bytes): (u64, u64) = (number(1, 1_000_000), number(2, 4_900));
    let home = tempfile::tempdir().unwrap();
    // Whole pages for each value, the tree, and space above the high water.
    let config = LmdbConfig { path: home.path().join("lmdb"), map_size: floors * (bytes + 8_192) * 5 / 4 + (64 << 20) };

    let started = Instant::now();
    fill(&config, floors, bytes);
    println!("filled with {floors} floors of {bytes} bytes in {:.1} s", started.elapsed().as_secs_f64());

    let runtime = Runtime::new().unwrap();
    for round in 1..=3 {
        let started = Instant::now();
        let chain = open(&config, Bypass::Auto, runtime.handle());
        let opened = started.elapsed();
        let served = runtime.block_on(chain.get(key(floors / 2), Options::default())).unwrap();
        let ready = started.elapsed();
        assert_eq!((served.by, served.value.len() as u64), ("lmdb", bytes));
        assert_eq!(chain.report()[1].entries, floors);
        println!(
            "start {round}: open in {} us, the first floor served after {} us",
            opened.as_micros(),
            ready.as_micros()
        );
        close(&runtime, chain);
    }

    // Misses of a chain that asks the store and of one that never does, which is the cost with a perfect filter.
    let mut medians = [Vec::new(), Vec::new()];
    let mut miss_us = 0.0;
    for round in 0..5 {
        for (bypass, medians) in [Bypass::Off, Bypass::Forced].into_iter().zip(&mut medians) {
            let chain = open(&config, bypass, runtime.handle());
            medians.push(median_miss(&runtime, &chain, (1 + round) * 10 * floors));
            if bypass == Bypass::Off {
                miss_us = chain.report()[1].miss_cost_us;
            }
            close(&runtime, chain);
        }
    }
    let [asked, never] = medians.map(|mut medians| {
        medians.sort_unstable();
        medians[medians.len() / 2]
    });
    println!("a miss, generation free: {asked:?} with the store asked, {never:?} with it never asked");
    let part = miss_us / 200.0 * 100.0;
    println!("a miss in the store costs {miss_us:.2} us: {part:.2} % of a floor that takes 200 us to generate");
}

fn fill(config: &LmdbConfig, floors: u64, bytes: u64) {
    let tier = LmdbTier::open(config, Envelope::new(Namespace::new("floors").unwrap(), 1)).unwrap();
    let value = Bytes::from(vec![7; bytes as usize]);
    for first in (0..floors).step_by(BATCH as usize) {
        let batch: Vec<_> = (first..floors.min(first + BATCH)).map(|number| (key(number), value.clone())).collect();
        tier.put_many(&batch).now_or_never().unwrap().unwrap();
    }
    tier.flush().now_or_never().unwrap().unwrap();
}

fn open(config: &LmdbConfig, bypass: Bypass, runtime: &Handle) -> Chain {
    let chain = [TierKind::Lru, TierKind::Lmdb].to_vec();
    let config = ChainConfig { chain, bypass, lmdb: config.clone(), ..ChainConfig::default() };
    let tuning = Tuning::default();
    assemble_tuned(&config, &tuning, Arc::new(Free), runtime).unwrap()
}

/// Flushes the chain and waits until its threads have closed the store.
fn close(runtime: &Runtime, chain: Chain) {
    assert!(runtime.block_on(chain.close(Duration::from_secs(60))));
    drop(chain);
    std::thread::sleep(Duration::from_millis(200));
}

/// The median time of calls for the keys from `first` on, which no tier has.
fn median_miss(runtime: &Runtime, chain: &Chain, first: u64) -> Duration {
    runtime.block_on(async {
        let mut times = Vec::with_capacity(CALLS as usize);
        for number in first..first + CALLS {
            let started = Instant::now();
            let served = chain.get(key(number), Options::default()).await.unwrap();
            times.push(started.elapsed());
            assert_eq!(served.by, "generated");
        }
        times.sort_unstable();
        times[times.len() / 2]
    })
}

/// The `number`th key, distributed over the tree like the towers of many players.
fn key(number: u64) -> Key {
    let mut identity = [0; Key::LEN - 1];
    identity[..8].copy_from_slice(&number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
    Key::new(identity, Class::new(1))
}

/// A source without cost, so that the figures show the chain alone.
#[derive(Debug)]
struct Free;

/// The time that it reports.
const TOOK: Duration = Duration::from_micros(200);

impl Source for Free {
    fn generate(&self, _: GenerationRequest) -> BoxFuture<'static, Result<Made, SourceError>> {
        std::future::ready(Ok(Made { value: Bytes::from_static(b"floor"), took: TOOK, cpu: TOOK })).boxed()
    }

    fn class_name(&self, _: Class) -> &'static str {
        "standard"
    }

    fn forecast(&self, keys: &[Key]) -> Option<Forecast> {
        let run = TOOK.as_secs_f64() * keys.len() as f64;
        Some(Forecast { response: run, run, cpu: run })
    }
}
