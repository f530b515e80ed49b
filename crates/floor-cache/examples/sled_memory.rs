//! Measures how much memory sled takes while values are read uniformly.
//!
//!     cargo run --release -p floor-cache --example sled_memory [chain]
//!
//! With `chain`, a chain with `bypass = "auto"` is asked, in front of a source that takes 0.2 ms.
//!
//! Fills a store in a temporary directory first, 1.7 GB for 230,000 floors of 4,600 bytes. The page cache
//! of the tier has 32 MiB, but sled 0.34 evicts pages of one of its 256 shards only after 64 accesses to that shard
//! (`lru.rs`), and a leaf page has up to 16 values of any size.

mod busy_source;

use std::{
    env, fs,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use busy_source::Busy;
use bytes::Bytes;
use floor_cache::{
    Chain, ChainConfig, Class, Key, Options, SledConfig, Tier, TierKind, assemble,
    envelope::{Envelope, Namespace},
    tier::Answer,
    tiers::SledTier,
};
use tokio::runtime::Runtime;

/// Floors in the store, and bytes of each.
const FLOORS: u64 = 230_000;
const BYTES: usize = 4_600;

/// How long the source of `chain` takes.
const GENERATION: Duration = Duration::from_micros(200);

/// Entries per call, as in the chain's writer.
const BATCH: u64 = 256;

/// Reads between two lines, and lines.
const READS: u64 = 10_000;
const LINES: u64 = 8;

fn main() {
    let home = tempfile::tempdir().expect("a directory for the store");
    let value = Bytes::from(vec![1; BYTES]);
    let tier = open(home.path());
    for first in (0..FLOORS).step_by(BATCH as usize) {
        let batch: Vec<_> = (first..FLOORS.min(first + BATCH)).map(|floor| (key(floor), value.clone())).collect();
        done(tier.put_many(&batch));
    }
    done(tier.flush());
    println!("filled with {FLOORS} floors of {BYTES} bytes: {:>4} MB of memory", memory_megabytes());
    drop(tier);
    if env::args().nth(1).as_deref() == Some("chain") {
        return ask_chain(home.path());
    }

    let tier = open(home.path());
    let mut random = 1;
    for line in 1..=LINES {
        let started = Instant::now();
        for _ in 0..READS {
            assert!(done(tier.get(&key(next(&mut random) % FLOORS))).is_some(), "every floor is stored");
        }
        let rate = READS as f64 / started.elapsed().as_secs_f64();
        println!("after {:>6} reads: {:>4} MB of memory, {rate:.0} reads a second", line * READS, memory_megabytes());
    }
}

fn ask_chain(home: &Path) {
    let runtime = Runtime::new().expect("threads");
    let config = ChainConfig { chain: vec![TierKind::Sled], sled: sled_config(home), ..ChainConfig::default() };
    let source = Arc::new(Busy { value: Bytes::from(vec![1; BYTES]), took: GENERATION });
    let chain: Chain = assemble(&config, source, runtime.handle()).expect("the store opens");
    let mut random = 1;
    for line in 1..=LINES {
        let started = Instant::now();
        for _ in 0..READS {
            let floor = key(next(&mut random) % FLOORS);
            runtime.block_on(chain.get(floor, Options::default())).expect("the source does not fail");
        }
        let rate = READS as f64 / started.elapsed().as_secs_f64();
        let sled = &chain.report()[0];
        println!(
            "after {:>6} calls: {:>4} MB of memory, {rate:.0} calls a second; sled answered {}, {}",
            line * READS,
            memory_megabytes(),
            sled.hits + sled.misses,
            sled.verdict
        );
    }
}

fn sled_config(home: &Path) -> SledConfig {
    SledConfig { path: home.join("sled"), capacity: 0 }
}

fn open(path: &Path) -> SledTier {
    let config = sled_config(path);
    let envelope = Envelope::new(Namespace::new("floors").expect("a good name"), 1);
    SledTier::open(&config, envelope).expect("an empty directory, or one that this process closed")
}

fn done<T>(answer: Answer<'_, T>) -> T {
    match answer {
        Answer::Now(result) => result.expect("sled answers"),
        Answer::Later(_) => unreachable!("sled does not answer later"),
    }
}

fn key(number: u64) -> Key {
    let mut identity = [0; Key::LEN - 1];
    identity[..8].copy_from_slice(&number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
    Key::new(identity, Class::new(1))
}

/// The next number of xorshift64 (Marsaglia, 2003).
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Resident memory of this process.
fn memory_megabytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux tells the memory of a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it is in the status");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number of kB") * 1024 / 1_000_000
}
