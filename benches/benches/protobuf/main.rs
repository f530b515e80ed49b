//! The cost of protobuf: encoding and decoding a floor, and each grid encoding; and of other serializers for comparison.
//! `cargo bench -- protobuf`. It prints sizes in bytes at the end, also of a message per tile.
#![allow(missing_docs, reason = "criterion's macros write a function without documentation")]

mod plain;
mod serializers;

use std::cell::LazyCell;

use benches::{floors, suite::Suite};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use floor_gen::rng::Rng;
use floor_proto::{grid, v1::GridEncoding};

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

/// Each encoding of a 100x100 grid, with cells for which it is the shortest.
fn grids(criterion: &mut Criterion) {
    const SIDE: u32 = floors::SIDE as u32;
    let every = |cell: &mut dyn FnMut(u32) -> u8| (0..SIDE * SIDE).map(cell).collect::<Vec<u8>>();
    let noise = |values: u32| {
        let mut rng = Rng::from_seed(1);
        every(&mut |_| rng.below(values) as u8)
    };
    let rooms = every(&mut |at| u8::from(at / SIDE % 20 > 3 && at % SIDE % 50 > 9));
    let cases = [
        ("uniform", GridEncoding::Uniform, every(&mut |_| 1)),
        ("raw8", GridEncoding::Raw8, noise(64)),
        ("packed", GridEncoding::Packed, noise(16)),
        ("rle", GridEncoding::Rle, rooms),
    ];
    for (name, encoding, cells) in cases {
        let encoded = grid::encode(SIDE, SIDE, &cells);
        assert_eq!(encoded.encoding(), encoding, "the cells are such that {name} is the shortest");
        assert_eq!(grid::decode(&encoded).as_ref(), Ok(&cells));
        let mut group = criterion.benchmark_group(format!("protobuf/grid/{name}"));
        group.bench_function("encode", |bencher| bencher.iter(|| grid::encode(SIDE, SIDE, &cells)));
        group.bench_function("decode", |bencher| bencher.iter(|| grid::decode(&encoded).expect("our own grid")));
    }
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
    config = {
        let suite = Suite::start("protobuf");
        Criterion::default().warm_up_time(suite.warm_up()).measurement_time(suite.measured())
    };
    targets = encode, decode, grids, serializers::serializers
}
criterion_main!(benches);
