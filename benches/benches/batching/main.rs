//! The gain of batches: through each tier, and over gRPC. `cargo bench -- batching`.
//!
//! Throughput is in floors, so that its reciprocal is the cost of a floor.
#![allow(missing_docs, reason = "criterion's macros write a function without documentation")]

mod grpc;
mod tiers;

use std::time::Duration;

use criterion::{Criterion, criterion_group};

criterion_group! {
    name = benches;
    // The first call of a bench sets up its store, which criterion counts as warm-up.
    config = Criterion::default().sample_size(30).nresamples(10_000).warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(1));
    targets = tiers::tiers, grpc::grpc
}
benches::bench_main!(benches);
