//! Reproduces the failure that the chain prevents: a tier with hits of 6.19 ms before generation of 0.55 ms. With the
//! policy, the median call costs the same as without the tier.
//!
//!     cargo run --release -p floor-cache --example slow_tier
//!
//! The tier is a real LMDB with delayed answers; generation keeps a core busy. Calls are sequential, each for a floor
//! that the tier has, alternating between a chain without the tier and one with it.
#![allow(clippy::unwrap_used, reason = "an example that cannot go on says where")]

mod busy_source;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use busy_source::Busy;
use bytes::Bytes;
use floor_cache::{
    Admit, Answer, Bypass, Chain, ChainBuilder, ChainConfig, Class, Key, LmdbConfig, Options, Tier, TierAdmin,
    TierStats, Tuning,
    envelope::{Envelope, Namespace},
    tiers::LmdbTier,
};
use futures_util::FutureExt;
use tempfile::TempDir;
use tokio::runtime::{Handle, Runtime};

const HIT: Duration = Duration::from_micros(6_190);
const GENERATION: Duration = Duration::from_micros(550);

/// Floors of 4,900 bytes, the median of 100x100 cells.
const FLOORS: u64 = 2_000;
const BYTES: usize = 4_900;

/// Calls to one chain before the other, and rounds.
const CALLS: u64 = 200;
const ROUNDS: u64 = 10;

fn main() {
    let runtime = Runtime::new().unwrap();
    let (without, _none) = chain(false, Bypass::Auto, runtime.handle());
    let (with, _store) = chain(true, Bypass::Auto, runtime.handle());
    let (mut bare, mut chained) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        runtime.block_on(calls(&without, round * CALLS, CALLS, &mut bare));
        runtime.block_on(calls(&with, round * CALLS, CALLS, &mut chained));
    }
    let (always, _held) = chain(true, Bypass::Off, runtime.handle());
    let mut asked = Vec::new();
    runtime.block_on(calls(&always, 0, CALLS, &mut asked));

    let tier = with.report().into_iter().next().unwrap();
    println!(
        "tier {}: {}, {} of {} keys asked while a caller waited",
        tier.name,
        tier.verdict,
        ROUNDS * CALLS - tier.bypasses,
        ROUNDS * CALLS
    );
    println!("                      p50        p90        p99");
    for (name, times) in [("no tier", &mut bare), ("the chain", &mut chained), ("always asked", &mut asked)] {
        times.sort_unstable();
        let at = |part: usize| times[times.len() * part / 100].as_secs_f64() * 1e3;
        println!("{name:<15} {:>7.3} ms {:>7.3} ms {:>7.3} ms", at(50), at(90), at(99));
    }
    let p50 = |times: &[Duration]| times[times.len() / 2].as_secs_f64();
    println!("p50 with the chain over no tier: {:.4}", p50(&chained) / p50(&bare));
}

/// A chain without memory tiers, either with a slow tier that has every floor or without tiers.
fn chain(slow: bool, bypass: Bypass, runtime: &Handle) -> (Chain, TempDir) {
    let home = tempfile::tempdir().unwrap();
    let config = ChainConfig { bypass, ..ChainConfig::default() };
    let tuning = Tuning::default();
    let mut builder = ChainBuilder::new(&config, &tuning, runtime).unwrap();
    if slow {
        let config = LmdbConfig { path: home.path().join("lmdb"), map_size: 256 << 20 };
        let store = LmdbTier::open(&config, Envelope::new(Namespace::new("floors").unwrap(), 1)).unwrap();
        let floors: Vec<_> = (0..FLOORS).map(|number| (key(number), Bytes::from(vec![7; BYTES]))).collect();
        store.put_many(&floors).now_or_never().unwrap().unwrap();
        builder = builder.tier(Slowed(store), Admit::All).unwrap();
    }
    let source = Busy { value: Bytes::from(vec![7; BYTES]), took: GENERATION };
    (builder.build(Arc::new(source)), home)
}

async fn calls(chain: &Chain, first: u64, count: u64, times: &mut Vec<Duration>) {
    for number in first..first + count {
        let started = Instant::now();
        let served = chain.get(key(number % FLOORS), Options::default()).await.unwrap();
        times.push(started.elapsed());
        assert_eq!(served.value.len(), BYTES);
    }
}

fn key(number: u64) -> Key {
    let mut identity = [0; Key::LEN - 1];
    identity[..8].copy_from_slice(&number.to_be_bytes());
    Key::new(identity, Class::new(1))
}

/// A store whose answers take [`HIT`].
#[derive(Debug)]
struct Slowed(LmdbTier);

impl Slowed {
    fn late<'a, T: Send + Unpin + 'a>(answer: Answer<'a, T>) -> Answer<'a, T> {
        Answer::later(async move {
            // A thread sleeps with microseconds, tokio's timer with milliseconds.
            let _ = tokio::task::spawn_blocking(|| std::thread::sleep(HIT)).await;
            answer.await
        })
    }
}

impl Tier for Slowed {
    fn name(&self) -> &'static str {
        "slow"
    }

    fn waits(&self) -> bool {
        true
    }

    fn get<'a>(&'a self, key: &'a Key) -> Answer<'a, Option<Bytes>> {
        Self::late(self.0.get(key))
    }

    fn get_many<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, Vec<Option<Bytes>>> {
        Self::late(self.0.get_many(keys))
    }

    fn put_many<'a>(&'a self, entries: &'a [(Key, Bytes)]) -> Answer<'a, ()> {
        Self::late(self.0.put_many(entries))
    }

    fn remove_many<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, ()> {
        Self::late(self.0.remove_many(keys))
    }
}

impl TierAdmin for Slowed {
    fn contains<'a>(&'a self, key: &'a Key) -> Answer<'a, bool> {
        Self::late(self.0.contains(key))
    }

    fn stats(&self) -> TierStats {
        self.0.stats()
    }
}
