//! What asking for many at once saves: through each tier, and over real gRPC.
//!
//! `cargo bench -- batching`. Throughput is in floors, so that the cost a floor can be read off.
#![allow(missing_docs, reason = "criterion's macros write a function without documentation")]

mod grpc;
mod tiers;

use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};

criterion_group! {
    name = benches;
    // Seventy benches: a second and a half each keep the suite at three minutes.
    // A second of warming up: the first call of a bench sets its store up, and criterion counts that as warming up.
    config = Criterion::default()
        .sample_size(30)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_millis(1500));
    targets = tiers::tiers, grpc::grpc
}
criterion_main!(benches);
