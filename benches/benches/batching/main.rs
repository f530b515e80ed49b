//! The gain of batches: through each tier, and over gRPC. `cargo bench -- batching`.
//!
//! Throughput is in floors, so that its reciprocal is the cost of a floor.
#![allow(missing_docs, reason = "criterion's macros write a function without documentation")]

mod grpc;
mod tiers;

use criterion::{criterion_group, criterion_main};

criterion_group! {
    name = benches;
    // The first call of a bench sets up its store, which criterion counts as warm-up.
    config = benches::suite!("batching", 30 samples);
    targets = tiers::tiers, grpc::grpc
}
criterion_main!(benches);
