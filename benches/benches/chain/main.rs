//! What the chain costs around its tiers: a hit in front, a hit further down, a miss all the way, many keys at once.
//!
//! `cargo bench -- chain`. Behind the chain stands a shelf of floors made before, so that no figure holds generation.
#![allow(missing_docs, reason = "criterion's macros write a function without documentation")]

mod memory;
mod stores;

use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};

/// Floors behind the chain.
const COUNT: u32 = 1024;

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(50)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(1));
    targets = memory::layers, memory::writes, stores::front, stores::below, stores::through, stores::many, stores::contains
}
criterion_main!(benches);
