//! Measures how much floors of one kind differ: `cargo run --release -p floor-gen --example variety`.

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use clap::Parser;
use floor_gen::explain::Report;
use floor_gen::{Floor, FloorSpec, Generator, Kind, Terrain};

/// Measures how much floors of one kind differ.
#[derive(Parser)]
struct Options {
    /// Floors of each kind.
    #[arg(long, default_value_t = 100)]
    floors: u64,
    /// One kind only, by name.
    #[arg(long, value_parser = |name: &str| Kind::from_name(name).ok_or("no such kind"))]
    kind: Option<Kind>,
    /// Sizes, as WIDTHxHEIGHT.
    #[arg(long, value_parser = size, default_values = ["100x100", "60x60", "40x32"])]
    size: Vec<(u32, u32)>,
    /// Lists why layouts were rejected, and how often.
    #[arg(long)]
    rejected: bool,
}

fn size(text: &str) -> Result<(u32, u32), String> {
    let sides = text.split_once('x').and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
    sides.ok_or_else(|| format!("{text:?} is no size; a size looks like 100x100"))
}

/// Rows and columns of the grids that are compared.
const GRID: usize = 10;
/// How much of each of 10 x 10 parts of a floor is open.
type Occupancy = [[f64; GRID]; GRID];

/// What the table says of one floor.
struct Sample {
    rooms: usize,
    loops: u32,
    occupancy: Occupancy,
    /// The roles of the rooms along the walk from entry to exit.
    roles: String,
    path_over_diagonal: f64,
    /// Steps between open cells of passages: east and west, north and south.
    level_steps: u32,
    upright_steps: u32,
    took: Duration,
    open: f64,
}

fn main() {
    let options = Options::parse();
    println!(
        "kind      size     rooms 10/50/90 %  spread  looped  alike  roles  path  level  open  fallbacks  median      p99"
    );
    for &(width, height) in &options.size {
        for kind in Kind::ALL.into_iter().filter(|&kind| options.kind.is_none_or(|only| only == kind)) {
            let mut generator = Generator::new();
            let specs = (0..options.floors).map(|seed| {
                let spec = FloorSpec::resolve(seed, 3 + (seed * 7 % 90) as u32, width, height, Some(kind));
                spec.expect("the size is in range")
            });
            let samples: Vec<Sample> = specs
                .clone()
                .map(|spec| {
                    let started = Instant::now();
                    let floor = generator.generate(&spec);
                    measure(&floor, started.elapsed())
                })
                .collect();
            print(kind, (width, height), &samples, generator.fallbacks());
            if options.rejected {
                let report = Report::default();
                for spec in specs {
                    let _ = generator.generate_observed(&spec, &report);
                }
                for (why, count) in report.rejected() {
                    println!("          {count:6} layouts rejected: {why}");
                }
            }
        }
    }
    println!(
        "spread: (90th - 10th percentile) / median; looped: share of floors with a loop; alike: mean correlation of \
         the open cells of two floors in {GRID}x{GRID} parts, best of eight symmetries; roles: different sequences of \
         roles along the walk; path: critical path over the diagonal; level: steps east and west over those north and \
         south, outside rooms"
    );
}

fn print(kind: Kind, (width, height): (u32, u32), samples: &[Sample], fallbacks: u64) {
    let [least, median, most] = [10, 50, 90].map(|percent| quantile(samples.iter().map(|s| s.rooms), percent));
    let looped = samples.iter().filter(|sample| sample.loops > 0).count() as f64 / samples.len() as f64;
    let roles: BTreeSet<_> = samples.iter().map(|sample| &sample.roles).collect();
    let sum = |part: fn(&Sample) -> f64| samples.iter().map(part).sum::<f64>();
    let count = samples.len() as f64;
    println!(
        "{:9} {:8} {least:5} {median:4} {most:4}  {:5.0}%  {:5.0}%  {:5.2} {:6} {:5.2} {:6.2} {:4.0}% {fallbacks:10} \
         {:5.0}us {:6.0}us",
        kind.name(),
        format!("{width}x{height}"),
        100.0 * (most - least) as f64 / median as f64,
        100.0 * looped,
        alike(samples),
        roles.len(),
        sum(|sample| sample.path_over_diagonal) / count,
        sum(|sample| f64::from(sample.level_steps)) / sum(|sample| f64::from(sample.upright_steps)).max(1.0),
        100.0 * sum(|sample| sample.open) / count,
        quantile(samples.iter().map(|s| s.took), 50).as_secs_f64() * 1e6,
        quantile(samples.iter().map(|s| s.took), 99).as_secs_f64() * 1e6,
    );
}

fn quantile<T: Ord + Copy>(values: impl Iterator<Item = T>, percent: usize) -> T {
    let mut values: Vec<T> = values.collect();
    values.sort_unstable();
    values[(values.len() - 1) * percent / 100]
}

fn measure(floor: &Floor<'_>, took: Duration) -> Sample {
    let (width, height) = (usize::from(floor.spec.width()), usize::from(floor.spec.height()));
    let is_open = |at: usize| !matches!(floor.terrain[at], Terrain::Wall | Terrain::Pillar);
    let mut cells = [[(0, 0); GRID]; GRID];
    let (mut level_steps, mut upright_steps, mut open) = (0, 0, 0);
    for at in 0..width * height {
        let part = &mut cells[at / width * GRID / height][at % width * GRID / width];
        part.1 += 1;
        if is_open(at) {
            part.0 += 1;
            open += 1;
            // The border is wall, so every open cell has four neighbours.
            let passage = |at: usize| is_open(at) && floor.region[at] == 0;
            level_steps += u32::from(passage(at) && passage(at + 1));
            upright_steps += u32::from(passage(at) && passage(at + width));
        }
    }
    let diagonal = ((width * width + height * height) as f64).sqrt();
    Sample {
        rooms: floor.rooms.len(),
        loops: floor.metrics.loops,
        occupancy: cells.map(|row| row.map(|(open, all)| f64::from(open) / f64::from(all))),
        roles: roles(floor),
        path_over_diagonal: f64::from(floor.metrics.critical_path) / diagonal,
        level_steps,
        upright_steps,
        took,
        open: f64::from(open) / (width * height) as f64,
    }
}

/// The roles of the rooms on the shortest way from the entry's room to the exit's, a letter each.
fn roles(floor: &Floor<'_>) -> String {
    let room_at = |x: u16, y: u16| {
        usize::from(floor.region[usize::from(y) * usize::from(floor.spec.width()) + usize::from(x)]).saturating_sub(1)
    };
    let (entry, exit) = (room_at(floor.entry.x, floor.entry.y), room_at(floor.exit.x, floor.exit.y));
    let mut before = vec![None; floor.rooms.len()];
    let mut queue = VecDeque::from([exit]);
    before[exit] = Some(exit);
    while let Some(room) = queue.pop_front() {
        for connection in &floor.connections {
            let ends = (usize::from(connection.from_room), usize::from(connection.to_room));
            let there = if ends.0 == room { ends.1 } else { ends.0 };
            if (ends.0 == room || ends.1 == room) && before[there].is_none() {
                before[there] = Some(room);
                queue.push_back(there);
            }
        }
    }
    let mut walk = vec![entry];
    while let Some(&Some(next)) = walk.last().map(|&room| &before[room]) {
        if walk.len() > floor.rooms.len() || *walk.last().expect("the entry") == exit {
            break;
        }
        walk.push(next);
    }
    walk.iter().map(|&room| format!("{:?} ", floor.rooms[room].role)).collect()
}

/// The mean over all pairs of the greatest correlation under the eight symmetries of a square.
fn alike(samples: &[Sample]) -> f64 {
    let grids: Vec<Occupancy> = samples.iter().map(|sample| normalized(&sample.occupancy)).collect();
    let mut sum = 0.0;
    let mut pairs = 0.0;
    for (i, one) in grids.iter().enumerate() {
        for other in &grids[..i] {
            let best = (0..8).map(|symmetry| correlation(one, other, symmetry)).fold(f64::MIN, f64::max);
            sum += best;
            pairs += 1.0;
        }
    }
    sum / f64::max(pairs, 1.0)
}

/// Mean 0 and length 1.
fn normalized(grid: &Occupancy) -> Occupancy {
    let mean = grid.iter().flatten().sum::<f64>() / (GRID * GRID) as f64;
    let length = grid.iter().flatten().map(|value| (value - mean).powi(2)).sum::<f64>().sqrt().max(1e-9);
    grid.map(|row| row.map(|value| (value - mean) / length))
}

fn correlation(one: &Occupancy, other: &Occupancy, symmetry: usize) -> f64 {
    let last = GRID - 1;
    let turned = |x: usize, y: usize| {
        let (x, y) = (if symmetry & 1 == 0 { x } else { last - x }, if symmetry & 2 == 0 { y } else { last - y });
        if symmetry & 4 == 0 { other[y][x] } else { other[x][y] }
    };
    let cells = one.iter().enumerate().flat_map(|(y, row)| row.iter().enumerate().map(move |(x, value)| (x, y, value)));
    cells.map(|(x, y, value)| value * turned(x, y)).sum()
}
