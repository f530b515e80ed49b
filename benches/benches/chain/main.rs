//! What the chain costs around its tiers: a hit in front, a hit further down and what brings it up, a miss all the way,
//! writes behind the answer and waited for, many keys at once.
//!
//! `cargo bench -- chain`. Behind the chain stands a shelf of floors made before, so that no figure holds generation.
#![allow(missing_docs, reason = "criterion's macros write a function without documentation")]

mod fixture;
mod many;
mod memory;
mod promotion;
mod stores;

use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};

/// Floors behind the chain.
const COUNT: u32 = 1024;

criterion_group! {
    name = benches;
    // A second of warming up: the first call of a bench sets its store up, and criterion counts that as warming up.
    config = Criterion::default()
        .sample_size(50)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(1));
    targets =
        memory::layers,
        memory::writes,
        promotion::promotion,
        stores::front,
        stores::below,
        stores::through,
        stores::contains,
        stores::mixed,
        many::get,
        many::put,
        many::remove
}
criterion_main!(benches);
