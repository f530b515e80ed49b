//! The cost of generating, encoding and decoding against the cells of a floor.

use benches::{
    floors,
    timing::{median, nanos_of_each},
};
use floor_gen::{Generator, Kind};

use crate::Curve;

/// Sides of square floors, in cells.
const SIDES: [u16; 6] = [16, 32, 64, 128, 256, 512];

/// Floors of each size; the result is their median.
const COUNT: u32 = 60;

pub(crate) fn measure() -> Vec<Curve> {
    let mut generator = Generator::new();
    let (mut make, mut encode, mut decode) = (Vec::new(), Vec::new(), Vec::new());
    for side in SIDES {
        let cells = f64::from(side) * f64::from(side);
        let specs = floors::specs(Kind::Standard, side, COUNT);
        let made: Vec<_> = specs.iter().map(|spec| generator.generate(spec)).collect();
        make.push((cells, micros(&specs, |spec| generator.generate(spec))));
        encode.push((cells, micros(&made, floor_wire::framed)));
        let decode_cells = |bytes| {
            let (_, terrain, region) = floors::decoded(bytes);
            (terrain, region)
        };
        decode.push((cells, micros(&floors::encoded(&made), decode_cells)));
    }
    let curve = |what: &str, points| Curve { what: what.to_owned(), size: "cells", cost: "us", points };
    vec![curve("make a STANDARD floor", make), curve("encode it", encode), curve("decode it", decode)]
}

/// The median over `inputs` of the duration of `work`, in microseconds.
fn micros<'a, I: 'a, O>(inputs: &'a [I], work: impl FnMut(&'a I) -> O) -> f64 {
    median(nanos_of_each(inputs, work)) / 1e3
}
