//! What the C functions cost beside the Rust that they call, in one run: ratios of times for floors of 100x100.
//!
//!     cargo run --release -p floor-gen-c --example cost
#![allow(unsafe_code, reason = "it calls the C functions")]

use std::{hint::black_box, time::Instant};

use floor_gen::{FloorSpec, Generator};
use floor_gen_c as c;
use floor_pack::LoadedPack;

const SEED: u64 = 42;
/// Of all kinds, as the schedule has them.
const FLOORS: u32 = 100;
const ROUNDS: usize = 50;

fn main() {
    let pack = c::floor_gen_pack_built_in();
    let mut generator = Generator::new();
    let resolve = |number| FloorSpec::resolve(SEED, number, 0, 0, None).expect("the number is in range");
    compare(
        "generate",
        |number| {
            // SAFETY: the built-in pack is not freed, and the floor is freed once.
            unsafe { c::floor_gen_floor_free(black_box(c::floor_gen_generate(pack, SEED, number, 0, 0, 0))) }
        },
        |number| drop(black_box(generator.generate(&resolve(number)))),
    );
    let mut generator = Generator::new();
    compare(
        "encode",
        |number| {
            // SAFETY: the built-in pack is not freed, and the bytes are freed once.
            unsafe { c::floor_gen_bytes_free(black_box(c::floor_gen_encode(pack, SEED, number, 0, 0, 0))) }
        },
        |number| drop(black_box(LoadedPack::built_in().framed(&mut generator, &resolve(number)))),
    );
}

/// Prints how long the first takes of the second. Of each floor the fastest time counts, so that other programs of the
/// machine do not. They take turns at who is second, for whom the processor has just seen the floor.
fn compare(name: &str, mut of_c: impl FnMut(u32), mut native: impl FnMut(u32)) {
    let mut fastest = vec![(f64::INFINITY, f64::INFINITY); FLOORS as usize];
    for round in 0..ROUNDS {
        for (number, (c, rust)) in (1..).zip(&mut fastest) {
            let mut call_c = || *c = c.min(time(&mut of_c, number));
            if round % 2 == 0 {
                call_c();
            }
            *rust = rust.min(time(&mut native, number));
            if round % 2 == 1 {
                call_c();
            }
        }
    }
    let sum = |part: fn(&(f64, f64)) -> f64| fastest.iter().map(part).sum::<f64>();
    let (c, rust) = (sum(|times| times.0), sum(|times| times.1));
    let mut ratios: Vec<f64> = fastest.iter().map(|(c, rust)| c / rust).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    let [low, high] = [1, 3].map(|quarter| ratios[ratios.len() * quarter / 4]);
    let native = rust / f64::from(FLOORS) * 1e6;
    println!("{name:9} {:.3} of Rust (half of the floors {low:.3} to {high:.3}), which takes {native:.1} us", c / rust);
}

fn time(work: &mut impl FnMut(u32), number: u32) -> f64 {
    let start = Instant::now();
    work(number);
    start.elapsed().as_secs_f64()
}
