//! Measures how much memory the process takes for an LRU whose values have mixed sizes and are evicted all the time,
//! with the allocator of the server, which is asked for free memory as the server asks.
//!
//!     cargo run --release --example lru_memory [MiB] [million gets]
//!
//! Values have 400 bytes to 100 KB, small ones more often, as floors of 32x32 to 512x512 cells. Four threads get values
//! that memory does not have, so nearly each get makes a value, inserts it and evicts others.
#![allow(clippy::unwrap_used, reason = "an example that cannot go on says where")]

use std::{env, sync::Arc, time::Duration};

use bevy_server::memory::{self, Held};
use bytes::Bytes;
use floor_cache::{
    Chain, ChainConfig, Class, Forecast, GenerationRequest, Key, Made, Options, Source, SourceError, TierKind, assemble,
};
use futures_util::{FutureExt, future::BoxFuture};
use tokio::runtime::Runtime;

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const THREADS: u64 = 4;
/// Keys that are asked for: far more than memory has room for.
const KEYS: u64 = 1 << 32;
/// Lines to print.
const LINES: u64 = 10;

fn main() {
    let mut arguments = env::args().skip(1).map(|text| text.parse::<u64>().expect("a number"));
    let (capacity, millions) = (arguments.next().unwrap_or(256), arguments.next().unwrap_or(10));
    let runtime = Runtime::new().unwrap();
    let before = anonymous_bytes();
    runtime.spawn(memory::return_freed(Vec::new(), Held::default));
    let chain = chain(capacity << 20, &runtime);
    for line in 1..=LINES {
        let gets = millions * 1_000_000 / LINES / THREADS;
        let tasks: Vec<_> =
            (0..THREADS).map(|thread| runtime.spawn(get(chain.clone(), line * THREADS + thread, gets))).collect();
        for task in tasks {
            runtime.block_on(task).unwrap();
        }
        let tier = chain.report().into_iter().next().unwrap();
        let resident = anonymous_bytes() - before;
        println!(
            "after {:>4.1} million: {:>4} MiB counted, {:>4} MiB resident, {:.2} of {capacity} MiB",
            (line * gets * THREADS) as f64 / 1e6,
            tier.bytes >> 20,
            resident >> 20,
            resident as f64 / (capacity << 20) as f64
        );
    }
}

/// Makes values of mixed sizes.
#[derive(Debug)]
struct Mixed;

impl Source for Mixed {
    fn generate(&self, request: GenerationRequest) -> BoxFuture<'static, Result<Made, SourceError>> {
        async move { Ok(Made { value: value(&request.key), took: Duration::ZERO, cpu: Duration::ZERO }) }.boxed()
    }

    fn class_name(&self, _: Class) -> &'static str {
        "standard"
    }

    fn forecast(&self, _: &[Key]) -> Option<Forecast> {
        None
    }
}

/// A value whose size depends on the key: evenly distributed on a logarithmic scale.
fn value(key: &Key) -> Bytes {
    let random = u64::from_be_bytes(key.as_bytes()[..8].try_into().unwrap());
    let share = (random >> 11) as f64 / (1_u64 << 53) as f64;
    Bytes::from(vec![1; (400.0 * 250.0_f64.powf(share)) as usize])
}

fn chain(capacity: u64, runtime: &Runtime) -> Chain {
    let mut config = ChainConfig { chain: vec![TierKind::Lru], ..ChainConfig::default() };
    config.lru.capacity = capacity;
    assemble(&config, Arc::new(Mixed), runtime.handle()).unwrap()
}

async fn get(chain: Chain, seed: u64, count: u64) {
    let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    for _ in 0..count {
        chain.get(key(next(&mut random) % KEYS), Options::default()).await.unwrap();
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

fn anonymous_bytes() -> u64 {
    memory::anonymous_bytes().expect("Linux tells the memory of a process")
}
