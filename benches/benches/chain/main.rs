//! The cost of the chain around its tiers: a hit in the first tier, a hit in a lower tier and its promotion, a miss in
//! all, writes behind and through, many keys at once. `cargo bench -- chain`.
//!
//! The chain's source returns floors generated beforehand, so that no figure includes generation.
#![allow(missing_docs, reason = "criterion's macros write a function without documentation")]

mod fixture;
mod many;
mod memory;
mod promotion;
mod stores;

use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};

/// Floors of the chain's source.
const COUNT: u32 = 1024;

criterion_group! {
    name = benches;
    // The first call of a bench sets up its store, which criterion counts as warm-up.
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
        many::get,
        many::put,
        many::remove
}
criterion_main!(benches);
