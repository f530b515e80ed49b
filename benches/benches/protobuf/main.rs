//! The cost of protobuf: encoding and decoding a floor. `cargo bench -- protobuf`. It prints the size of a floor.
#![allow(missing_docs, reason = "criterion's macros write a function without documentation")]

use std::{cell::LazyCell, time::Duration};

use benches::{floors, timing::median};
use criterion::{BatchSize, Criterion, criterion_group};
use prost::Message;

/// Distinct floors: enough that the branch predictor does not learn them.
const COUNT: u32 = 64;

fn encode(criterion: &mut Criterion) {
    let floors = LazyCell::new(|| floors::standard(COUNT));
    let mut group = criterion.benchmark_group("protobuf/encode");
    group.bench_function("floor-to-framed-bytes", |bencher| {
        each(bencher, &floors, floor_wire::framed);
        let (decoded, ..) = floors::decoded(&floor_wire::unframed(&floor_wire::framed(&floors[0])));
        assert_eq!(decoded.terrain, floor_wire::message(&floors[0]).terrain);
        let lengths = floors.iter().map(|floor| floor_wire::message(floor).encoded_len() as f64);
        println!("the median of {COUNT} floors of 100x100: {} bytes", median(lengths));
    });
}

fn decode(criterion: &mut Criterion) {
    let floors = LazyCell::new(|| floors::standard(COUNT));
    let encoded = LazyCell::new(|| floors::encoded(&floors));
    let mut group = criterion.benchmark_group("protobuf/decode");
    group.bench_function("bytes-to-cells", |bencher| {
        each(bencher, &encoded, floors::decoded);
        for (floor, bytes) in floors.iter().zip(&*encoded) {
            let (_, terrain, region) = floors::decoded(bytes);
            let expected: Vec<u8> = floor.terrain.iter().map(|terrain| *terrain as u8).collect();
            assert_eq!((terrain, region), (expected, floor.region.clone()), "the same cells");
        }
    });
}

/// Times `work` on the `inputs` in rotation. Its results are dropped outside the measured time.
fn each<I, O>(bencher: &mut criterion::Bencher<'_>, inputs: &[I], work: impl Fn(&I) -> O) {
    let mut step = 0;
    let next = || {
        step += 1;
        &inputs[floors::index_at(step, inputs.len())]
    };
    bencher.iter_batched(next, work, BatchSize::SmallInput);
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(100).nresamples(10_000).warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(2));
    targets = encode, decode
}
benches::bench_main!(benches);
