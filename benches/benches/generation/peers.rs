//! Another generator, and the most similar kinds of ours, in one run. It neither validates its floors nor places content,
//! so our generator does more work.

use benches::floors::SIDE;
use criterion::{BenchmarkId, Criterion};
use floor_gen::Kind;
use mapgen::MapBuffer;

use crate::{COUNT, generate, mapgen_maps};

/// A peer's name, the kind of ours that is most similar, and what generates a map of a side.
type Peer = (&'static str, Kind, fn(u16) -> MapBuffer);

const PEERS: [Peer; 2] =
    [("mapgen-bsp", Kind::Keep, mapgen_maps::bsp), ("mapgen-cellular", Kind::Cavern, mapgen_maps::cellular)];

pub(crate) fn peers(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("generation/peers");
    for (name, kind, make) in PEERS {
        for side in [64, SIDE] {
            let size = format!("{side}x{side}");
            group.bench_function(BenchmarkId::new(name, &size), |bencher| {
                let is_walkable = |_: &u32| mapgen_maps::open_cells(&make(side)) > 0;
                let made = (0..COUNT).filter(is_walkable).count();
                assert!(made >= COUNT as usize * 9 / 10, "{name} generates walkable maps: {made} of {COUNT}");
                bencher.iter(|| make(side));
            });
            group.bench_function(BenchmarkId::new(format!("ours-{kind}-for-{name}"), &size), |bencher| {
                generate(bencher, kind, side);
            });
        }
    }
}
