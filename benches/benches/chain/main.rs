//! The cost of the chain around its tiers: a hit in the first tier, a miss in all, writes, many keys at once.
//! `cargo bench -- chain`.
//!
//! The chain's source returns floors generated beforehand, so that no figure includes generation.
#![allow(missing_docs, reason = "criterion's macros write a function without documentation")]

mod memory;
mod stores;

use std::time::Duration;

use criterion::{Criterion, criterion_group};

/// Floors of the chain's source.
const COUNT: u32 = 1024;

criterion_group! {
    name = benches;
    // The first call of a bench sets up its store, which criterion counts as warm-up.
    config = Criterion::default().sample_size(50).nresamples(10_000).warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(1));
    targets = memory::layers, stores::hits, stores::through
}
benches::bench_main!(benches);
