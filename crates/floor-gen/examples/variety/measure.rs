//! What is measured of floors, to tell how much they differ.

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use floor_gen::explain::bare_cells;
use floor_gen::{Floor, FloorSpec, Generator, Kind, Room, Terrain};

/// Rows and columns of the grids that are compared.
const GRID: usize = 10;
/// Columns and rows of the lattice on which rooms may stand without that anybody wants it.
const LATTICE: f64 = 5.0;
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
    /// For each room, the distance of its center from the middle of its part of the lattice, in parts; squared, the mean
    /// across and down.
    off_lattice: Vec<f64>,
    took: Duration,
    open: f64,
    bare: f64,
}

/// The specs of the `count` floors that are measured: different towers, different numbers.
pub(crate) fn specs(kind: Kind, (width, height): (u32, u32), count: u64) -> impl Iterator<Item = FloorSpec> + Clone {
    (0..count).map(move |seed| {
        FloorSpec::resolve(seed, 3 + (seed * 7 % 90) as u32, width, height, Some(kind)).expect("the size is in range")
    })
}

/// What the table says of floors of one kind and size.
pub(crate) struct Variety {
    /// Rooms: 10th percentile, median, 90th percentile.
    pub(crate) rooms: [usize; 3],
    /// Share of floors with a loop.
    pub(crate) looped: f64,
    /// Mean over all pairs of the correlation of their open cells.
    pub(crate) alike: f64,
    /// Different sequences of roles along the walk.
    pub(crate) roles: usize,
    /// Mean critical path over the diagonal.
    pub(crate) path: f64,
    /// Steps east and west over those north and south, in passages.
    pub(crate) level: f64,
    /// Standard deviation of the rooms' centers within the parts of a lattice of 5x5: 0.29 where they lie at random.
    pub(crate) phase: f64,
    /// Mean share of open cells.
    pub(crate) open: f64,
    /// Share of bare cells: the mean, and that of the barest floor.
    pub(crate) bare: [f64; 2],
    /// Floors from the fallback.
    pub(crate) fallbacks: u64,
    /// Median and 99th percentile.
    pub(crate) took: [Duration; 2],
}

impl Variety {
    /// Generates and measures floors.
    pub(crate) fn measure(specs: impl Iterator<Item = FloorSpec>) -> Self {
        let mut generator = Generator::new();
        let samples: Vec<Sample> = specs
            .map(|spec| {
                let started = Instant::now();
                let floor = generator.generate(&spec);
                measure(&floor, started.elapsed())
            })
            .collect();
        let mean = |part: fn(&Sample) -> f64| samples.iter().map(part).sum::<f64>() / samples.len() as f64;
        let roles: BTreeSet<_> = samples.iter().map(|sample| &sample.roles).collect();
        Self {
            rooms: [10, 50, 90].map(|percent| quantile(samples.iter().map(|sample| sample.rooms), percent)),
            looped: mean(|sample| f64::from(sample.loops.min(1))),
            alike: alike(&samples),
            roles: roles.len(),
            path: mean(|sample| sample.path_over_diagonal),
            level: mean(|sample| f64::from(sample.level_steps))
                / mean(|sample| f64::from(sample.upright_steps)).max(1.0),
            phase: quadratic_mean(samples.iter().flat_map(|sample| &sample.off_lattice)),
            open: mean(|sample| sample.open),
            bare: [mean(|sample| sample.bare), samples.iter().map(|sample| sample.bare).fold(0.0, f64::max)],
            fallbacks: generator.fallbacks(),
            took: [50, 99].map(|percent| quantile(samples.iter().map(|sample| sample.took), percent)),
        }
    }

    /// 90th less 10th percentile of the rooms, over the median.
    pub(crate) fn spread(&self) -> f64 {
        let [least, median, most] = self.rooms;
        (most - least) as f64 / median as f64
    }
}

fn quadratic_mean<'a>(squares: impl Iterator<Item = &'a f64> + Clone) -> f64 {
    (squares.clone().sum::<f64>() / squares.count().max(1) as f64).sqrt()
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
        off_lattice: floor.rooms.iter().map(|room| off_lattice(room, (width, height))).collect(),
        took,
        open: f64::from(open) / (width * height) as f64,
        bare: bare_cells(floor).iter().filter(|&&is_bare| is_bare).count() as f64
            / f64::from(floor.metrics.passable_cells.max(1)),
    }
}

fn off_lattice(room: &Room, (width, height): (usize, usize)) -> f64 {
    let off = |at: u16, side: usize| (f64::from(at) * LATTICE / side as f64).fract() - 0.5;
    (off(room.center.x, width).powi(2) + off(room.center.y, height).powi(2)) / 2.0
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
