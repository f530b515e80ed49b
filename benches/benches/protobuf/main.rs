//! The cost of protobuf: encoding and decoding a floor; and of other serializers for comparison.
//! `cargo bench -- protobuf`. It prints sizes in bytes at the end, also of a message per tile.
#![allow(missing_docs, reason = "criterion's macros write a function without documentation")]

mod plain;
mod serializers;

use std::cell::LazyCell;

use benches::floors;
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};

/// Distinct floors: enough that the branch predictor does not learn them.
const COUNT: u32 = 64;

fn encode(criterion: &mut Criterion) {
    let floors = LazyCell::new(|| floors::standard(COUNT));
    let mut group = criterion.benchmark_group("protobuf/encode");
    group.bench_function("floor-to-framed-bytes", |bencher| {
        each(bencher, &floors, floor_wire::framed);
        let (decoded, ..) = floors::decoded(&floor_wire::unframed(&floor_wire::framed(&floors[0])));
        assert_eq!(decoded.terrain, floor_wire::message(&floors[0]).terrain);
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
    config = benches::suite!("protobuf", 100 samples);
    targets = encode, decode, serializers::serializers
}
criterion_main!(benches);
