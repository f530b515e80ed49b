//! The cost of protobuf: encoding and decoding a floor, and each grid encoding; and of other serializers for comparison.
//! `cargo bench -- protobuf`. It prints sizes in bytes at the end, also of a message per tile.
#![allow(missing_docs, reason = "criterion's macros write a function without documentation")]

mod plain;
mod serializers;

use std::cell::LazyCell;

use benches::floors;
use bytes::Bytes;
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use floor_gen::rng::Rng;
use floor_proto::{
    grid,
    v1::{self, GridEncoding},
};
use prost::Message;

/// Distinct floors: enough that the branch predictor does not learn them.
const COUNT: u32 = 64;

fn encode(criterion: &mut Criterion) {
    let floors = LazyCell::new(|| floors::standard(COUNT));
    let mut group = criterion.benchmark_group("protobuf/encode");
    group.bench_function("floor-to-framed-bytes", |bencher| {
        each(bencher, &floors, floor_wire::framed);
        assert_eq!(decoded(&floor_wire::framed(&floors[0])).terrain, floor_wire::message(&floors[0]).terrain);
    });
}

fn decode(criterion: &mut Criterion) {
    let floors = LazyCell::new(|| floors::standard(COUNT));
    let framed = LazyCell::new(|| {
        floors.iter().map(|floor| floor_wire::unframed(&floor_wire::framed(floor))).collect::<Vec<_>>()
    });
    let mut group = criterion.benchmark_group("protobuf/decode");
    group.bench_function("bytes-to-cells", |bencher| {
        each(bencher, &framed, cells);
        for (floor, bytes) in floors.iter().zip(&*framed) {
            let (_, terrain, region) = cells(bytes);
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

/// The message of a floor and the cells of its two grids.
fn cells(bytes: &Bytes) -> (v1::Floor, Vec<u8>, Vec<u8>) {
    let floor = v1::Floor::decode(bytes.clone()).expect("our own bytes");
    let grid = |grid: &Option<v1::Grid>| grid::decode(grid.as_ref().expect("it has its grids")).expect("our own grid");
    let (terrain, region) = (grid(&floor.terrain), grid(&floor.region));
    (floor, terrain, region)
}

fn decoded(framed: &Bytes) -> v1::Floor {
    v1::Floor::decode(floor_wire::unframed(framed)).expect("our own bytes")
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

criterion_group!(benches, encode, decode, grids, serializers::serializers);
criterion_main!(benches);
