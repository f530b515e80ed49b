//! Generating, encoding and decoding a thousand floors.

use std::{hint::black_box, time::Instant};

use benches::{
    floors, tile_floor,
    timing::{format_nanos, median, percentile},
};
use floor_gen::{Generator, Kind};
use floor_proto::{grid, v1};
use prost::Message;

use crate::Figure;

/// Distinct floors.
const COUNT: u32 = 1000;

/// Runs of each floor. Every run is a sample, so that the p99 is that of single calls.
const REPEATS: usize = 5;

pub(crate) fn measure() -> Vec<Figure> {
    let specs = floors::specs(Kind::Standard, floors::SIDE, COUNT);
    let mut generator = Generator::new();
    // Also warms up: the first round grows the generator's scratch memory.
    let made: Vec<_> = specs.iter().map(|spec| generator.generate(spec)).collect();
    let mut generate = samples(&specs, |spec| generator.generate(spec));
    let mut encode = samples(&made, floor_wire::framed);
    let bytes: Vec<_> = made.iter().map(|floor| floor_wire::unframed(&floor_wire::framed(floor))).collect();
    let mut decode = samples(&bytes, |bytes| {
        let floor = v1::Floor::decode(bytes.clone()).expect("our own bytes");
        let cells = |grid: &Option<v1::Grid>| grid::decode(grid.as_ref().expect("it has its grids"));
        let grids = (cells(&floor.terrain).expect("our own grid"), cells(&floor.region).expect("our own grid"));
        (floor, grids)
    });
    let mut sizes: Vec<usize> = bytes.iter().map(bytes::Bytes::len).collect();
    let mut tile_sizes: Vec<usize> = made.iter().map(|floor| tile_floor::message(floor).encoded_len()).collect();
    vec![
        Figure::new("STANDARD 100x100, encoded, median of 1,000", bytes_of(median(&mut sizes)), "<= 5 KB"),
        Figure::new("the same as a message a tile", bytes_of(median(&mut tile_sizes)), "(106 KB)"),
        Figure::new(
            "encode (floor to framed bytes, hash included), median",
            format_nanos(median(&mut encode)),
            "<= 25 us",
        ),
        Figure::new(
            "decode (bytes to message and both grids' cells), median",
            format_nanos(median(&mut decode)),
            "<= 15 us",
        ),
        Figure::new("generate, median", format_nanos(median(&mut generate)), "<= 200 us"),
        Figure::new("generate, p99", format_nanos(percentile(&mut generate, 99)), "<= 1 ms"),
    ]
}

/// The nanoseconds of every run of every input.
fn samples<I, O>(inputs: &[I], mut work: impl FnMut(&I) -> O) -> Vec<f64> {
    let sample = |input| {
        let started = Instant::now();
        let output = black_box(work(black_box(input)));
        let took = started.elapsed().as_nanos() as f64;
        drop(output);
        took
    };
    (0..REPEATS).flat_map(|_| inputs).map(sample).collect()
}

fn bytes_of(count: usize) -> String {
    format!("{count} bytes")
}
