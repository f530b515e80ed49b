//! Other generators, and the most similar kind of ours, at a size that both support, in one run.
//!
//! None of the peers validates its floors, and only tatami-dungeon places content, so our generator does more work.

use std::hint::black_box;

use benches::floors::{self, SIDE};
use criterion::{BenchmarkId, Criterion};
use floor_gen::{Generator, Kind};

use crate::{mapgen, tatami};

/// Distinct floors.
const COUNT: u32 = 200;

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
    let mut group = criterion.benchmark_group("generation/peers");
    for peer in PEERS {
        let size = format!("{0}x{0}", peer.side);
        group.bench_function(BenchmarkId::new(peer.name, &size), |bencher| {
            let made = (0..u64::from(COUNT)).filter(|number| (peer.open_cells)(peer.side, *number) > 0).count();
            assert!(made >= COUNT as usize * 9 / 10, "{} generates walkable floors: {made} of {COUNT}", peer.name);
            let mut step = 0;
            bencher.iter(|| {
                step += 1;
                (peer.make)(peer.side, step);
            });
        });
        group.bench_function(BenchmarkId::new(format!("ours-{}-for-{}", peer.kind, peer.name), &size), |bencher| {
            let (mut generator, specs) = (Generator::new(), floors::specs(peer.kind, peer.side, COUNT));
            let mut step = 0;
            bencher.iter(|| {
                step += 1;
                generator.generate(&specs[floors::index_at(step, specs.len())])
            });
        });
    }
}
