//! The cost of generating a floor: every kind, by size. `cargo bench -- generation`.
#![allow(missing_docs, reason = "criterion's macros write a function without documentation")]

use std::time::Duration;

use benches::floors::{self, SIDE};
use criterion::{Bencher, BenchmarkId, Criterion, Throughput, criterion_group};
use floor_gen::{FloorSpec, Generator, Kind, validate::validate};

/// Sides of square floors, in cells: the least, the default and the greatest.
const SIDES: [u16; 3] = [FloorSpec::MIN_SIDE, SIDE, FloorSpec::MAX_SIDE];

/// Distinct floors. Many, since their times differ.
const COUNT: u32 = 200;

fn generation(criterion: &mut Criterion) {
    for kind in &Kind::ALL {
        let mut group = criterion.benchmark_group(format!("generation/{kind}"));
        for side in SIDES {
            group.throughput(Throughput::Elements(u64::from(side) * u64::from(side)));
            group.bench_function(BenchmarkId::from_parameter(format!("{side}x{side}")), |bencher| {
                generate(bencher, *kind, side);
            });
        }
    }
}

/// Times our generator on [`COUNT`] floors.
fn generate(bencher: &mut Bencher<'_>, kind: Kind, side: u16) {
    let (mut generator, specs) = (Generator::new(), floors::specs(kind, side, COUNT));
    assert_eq!(validate(&generator.generate(&specs[0])), Ok(()), "the generator returns valid floors");
    let mut step = 0;
    bencher.iter(|| {
        step += 1;
        generator.generate(&specs[floors::index_at(step, specs.len())])
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(50).nresamples(10_000).warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(2));
    targets = generation
}
benches::bench_main!(benches);
