//! Other generators, and the most similar kind of ours, at a size that both support, in one run.
//!
//! None of the peers validates its floors, and only tatami-dungeon places content, so our generator does more work.

use std::{
    cell::Cell,
    hint::black_box,
    time::{Duration, Instant},
};

use benches::{
    floors::{self, SIDE},
    timing::median,
};
use criterion::{BenchmarkId, Criterion};
use floor_gen::{Generator, Kind};

use crate::{mapgen, tatami};

/// Distinct floors.
const COUNT: u32 = 200;

/// Turns of each generator; the ratio is the median over them. Odd, so that the median is one of them.
const TURNS: usize = 41;

/// Floors of a turn.
const FLOORS_PER_TURN: u64 = 8;

/// A generator, and the kind of ours that it is compared with.
struct Peer {
    name: &'static str,
    kind: Kind,
    side: u16,
    /// Generates a floor by side and number.
    make: fn(u16, u64),
    /// Generates a floor and counts its walkable cells.
    open_cells: fn(u16, u64) -> usize,
}

const PEERS: [Peer; 5] = [
    bsp(64),
    bsp(SIDE),
    cellular(64),
    cellular(SIDE),
    Peer {
        name: "tatami-dungeon",
        kind: Kind::Standard,
        side: tatami::SIDE,
        make: |_, number| _ = black_box(tatami::floor(number)),
        open_cells: |_, number| tatami::open_cells(&tatami::floor(number)),
    },
];

const fn bsp(side: u16) -> Peer {
    Peer {
        name: "mapgen-bsp",
        kind: Kind::Keep,
        side,
        make: |side, _| _ = black_box(mapgen::bsp(side)),
        open_cells: |side, _| mapgen::open_cells(&mapgen::bsp(side)),
    }
}

const fn cellular(side: u16) -> Peer {
    Peer {
        name: "mapgen-cellular",
        kind: Kind::Cavern,
        side,
        make: |side, _| _ = black_box(mapgen::cellular(side)),
        open_cells: |side, _| mapgen::open_cells(&mapgen::cellular(side)),
    }
}

pub(crate) fn peers(criterion: &mut Criterion) {
    let ran = Cell::new(false);
    let mut group = criterion.benchmark_group("generation/peers");
    for peer in PEERS {
        let size = format!("{0}x{0}", peer.side);
        group.bench_function(BenchmarkId::new(peer.name, &size), |bencher| {
            let made = (0..u64::from(COUNT)).filter(|number| (peer.open_cells)(peer.side, *number) > 0).count();
            assert!(made >= COUNT as usize * 9 / 10, "{} generates walkable floors: {made} of {COUNT}", peer.name);
            ran.set(true);
            let mut step = 0;
            bencher.iter(|| {
                step += 1;
                (peer.make)(peer.side, step);
            });
        });
        group.bench_function(BenchmarkId::new(format!("ours-{}-for-{}", peer.kind, peer.name), &size), |bencher| {
            let mut ours = Ours::new(&peer);
            bencher.iter(|| ours.make());
        });
    }
    group.finish();
    if ran.get() {
        PEERS.iter().for_each(print_ratio);
    }
}

/// Our generator, with floors of the peer's size.
struct Ours {
    generator: Generator,
    specs: Vec<floor_gen::FloorSpec>,
    step: u64,
}

impl Ours {
    fn new(peer: &Peer) -> Self {
        Self { generator: Generator::new(), specs: floors::specs(peer.kind, peer.side, COUNT), step: 0 }
    }

    fn make(&mut self) {
        self.step += 1;
        black_box(self.generator.generate(&self.specs[floors::index_at(self.step, self.specs.len())]));
    }
}

/// Prints the time of the peer divided by ours, measured in alternating turns so that a drift of the machine cancels.
fn print_ratio(peer: &Peer) {
    let mut ours = Ours::new(peer);
    ours.make();
    let mut ratios: Vec<f64> = (0..TURNS as u64)
        .map(|turn| {
            let its = timed(|step| (peer.make)(peer.side, turn * FLOORS_PER_TURN + step));
            its.as_secs_f64() / timed(|_| ours.make()).as_secs_f64()
        })
        .collect();
    let middle = median(&mut ratios);
    println!(
        "{0} {1}x{1}: ours is {middle:.1} times as fast as {2} ({3:.1} .. {4:.1} in nine turns of ten)",
        peer.kind,
        peer.side,
        peer.name,
        ratios[TURNS / 20],
        ratios[TURNS - 1 - TURNS / 20],
    );
}

fn timed(mut work: impl FnMut(u64)) -> Duration {
    let started = Instant::now();
    (0..FLOORS_PER_TURN).for_each(&mut work);
    started.elapsed()
}
