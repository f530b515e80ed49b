//! Generates and validates floors of every kind and of many sizes, on all cores: `cargo run --release -p floor-gen
//! --example prove -- --floors 100000`.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use floor_gen::validate::validate;
use floor_gen::{Floor, FloorSpec, Generator, Kind, SpecError};
use indicatif::{ProgressBar, ProgressStyle};

/// Generates floors, validates them and measures the time.
#[derive(Parser)]
struct Options {
    /// Floors in all.
    #[arg(long, default_value_t = 100_000)]
    floors: u64,
    /// The first seed; each floor has its own.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads; 0: one for each core.
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// One kind only, by name.
    #[arg(long, value_parser = kind)]
    kind: Option<Kind>,
    /// One size only, as WIDTHxHEIGHT.
    #[arg(long, value_parser = size)]
    size: Option<(u32, u32)>,
    /// Generates only and does not validate.
    #[arg(long)]
    skip_proof: bool,
}

fn kind(name: &str) -> Result<Kind, String> {
    let offered = || Kind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
    Kind::from_name(name).ok_or_else(|| format!("kinds are {}", offered()))
}

fn size(text: &str) -> Result<(u32, u32), String> {
    let (width, height) = text.split_once('x').ok_or("a size looks like 100x100")?;
    Ok((width.parse().map_err(|e| format!("{e}"))?, height.parse().map_err(|e| format!("{e}"))?))
}

/// Sizes and their weights: mostly the default and smaller ones, some awkward, few large.
const SIZES: [(u32, u32, u64); 12] = [
    (100, 100, 40),
    (64, 64, 16),
    (16, 16, 10),
    (32, 32, 10),
    (17, 23, 5),
    (80, 30, 5),
    (16, 64, 4),
    (128, 128, 4),
    (200, 60, 3),
    (16, 512, 1),
    (512, 16, 1),
    (512, 512, 1),
];

impl Options {
    /// The `i`-th floor of the run.
    fn spec(&self, i: u64) -> Result<FloorSpec, SpecError> {
        let kind = self.kind.unwrap_or(Kind::ALL[(i % Kind::ALL.len() as u64) as usize]);
        let shares: u64 = SIZES.iter().map(|(_, _, share)| share).sum();
        let mut left = (i / Kind::ALL.len() as u64) % shares;
        let row = SIZES.iter().find(|(_, _, share)| {
            let here = left < *share;
            left = left.wrapping_sub(*share);
            here
        });
        let (width, height) = self.size.unwrap_or(row.map_or((100, 100), |&(width, height, _)| (width, height)));
        // Mostly low numbers: most towers are climbed from the bottom.
        let number = if i.is_multiple_of(3) { 1 + (i * 7_919) % 1_000_000 } else { 1 + i % 120 };
        FloorSpec::resolve(self.seed.wrapping_add(i), number as u32, width, height, Some(kind))
    }
}

/// The results of one thread.
#[derive(Default)]
struct Results {
    /// By kind: floors and fallbacks by shorter side (64 and above, or less); times and sizes of 100x100.
    kinds: Vec<Tally>,
    failures: Vec<(FloorSpec, String)>,
}

#[derive(Default, Clone)]
struct Tally {
    floors: u64,
    fallbacks: u64,
    small_floors: u64,
    small_fallbacks: u64,
    times: Vec<Duration>,
    bytes: Vec<usize>,
    loops: Vec<u32>,
    rooms: Vec<usize>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} floors, {per_sec}, {eta} left");
    let bar = ProgressBar::new(options.floors).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let started = Instant::now();
    let results: Vec<Results> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| work(&options, &next, &stop, &bar))).collect();
        workers.into_iter().filter_map(|worker| worker.join().ok()).collect()
    });
    bar.finish_and_clear();
    if results.len() < threads {
        eprintln!("a thread panicked; the floor that it was at is named above");
        return ExitCode::FAILURE;
    }
    let exceeds_limit = report(&results, started.elapsed());
    let failures: Vec<_> = results.iter().flat_map(|results| &results.failures).collect();
    for (spec, why) in &failures {
        eprintln!(
            "FAILED --seed {} --number {} --width {} --height {} --kind {}: {why}",
            spec.seed(),
            spec.number(),
            spec.width(),
            spec.height(),
            spec.kind()
        );
    }
    if failures.is_empty() && !exceeds_limit { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The largest share of fallbacks among floors of 64x64 and above, in per cent, for each kind.
const MAX_FALLBACK_PERCENT: f64 = 0.1;

/// Takes floors from the shared counter until it ends or a floor fails.
fn work(options: &Options, next: &AtomicU64, stop: &AtomicBool, bar: &ProgressBar) -> Results {
    const BATCH: u64 = 64;
    let mut generator = Generator::new();
    let mut results = Results { kinds: vec![Tally::default(); Kind::ALL.len() + 1], failures: Vec::new() };
    while !stop.load(Ordering::Relaxed) {
        let first = next.fetch_add(BATCH, Ordering::Relaxed);
        let last = (first + BATCH).min(options.floors);
        if first >= last {
            break;
        }
        for i in first..last {
            if let Err(failure) = prove(options, i, &mut generator, &mut results) {
                results.failures.push(failure);
                stop.store(true, Ordering::Relaxed);
                break;
            }
        }
        bar.inc(last - first);
    }
    results
}

fn prove(
    options: &Options,
    i: u64,
    generator: &mut Generator,
    results: &mut Results,
) -> Result<(), (FloorSpec, String)> {
    let spec = match options.spec(i) {
        Ok(spec) => spec,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(2);
        }
    };
    let fallbacks = generator.fallbacks();
    let started = Instant::now();
    let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| generator.generate(&spec)));
    let took = started.elapsed();
    let floor = made.map_err(|_| (spec, "panicked".to_owned()))?;
    let tally = &mut results.kinds[spec.kind() as usize];
    let fell_back = generator.fallbacks() - fallbacks;
    if spec.width().min(spec.height()) >= 64 {
        tally.floors += 1;
        tally.fallbacks += fell_back;
    } else {
        tally.small_floors += 1;
        tally.small_fallbacks += fell_back;
    }
    if (spec.width(), spec.height()) == options.size.map_or((100, 100), |(w, h)| (w as u16, h as u16)) {
        tally.times.push(took);
        tally.bytes.push(encoded_size(&floor));
        tally.loops.push(floor.metrics.loops);
        tally.rooms.push(floor.rooms.len());
    }
    if options.skip_proof {
        return Ok(());
    }
    validate(&floor).map_err(|found| {
        let all: Vec<String> = found.iter().take(8).map(ToString::to_string).collect();
        (spec, all.join("; "))
    })
}

/// An estimate of the encoded size in bytes: each grid as runs or packed cells, whichever is smaller, and records of
/// typical sizes.
fn encoded_size(floor: &Floor) -> usize {
    fn grid(cells: impl Iterator<Item = u8> + Clone) -> usize {
        let mut values: Vec<u8> = cells.clone().collect();
        values.dedup();
        let mut run = (0u8, 0usize);
        let mut bytes = 0;
        for cell in cells.clone() {
            if cell == run.0 {
                run.1 += 1;
            } else {
                bytes += run_bytes(run.1);
                run = (cell, 1);
            }
        }
        bytes += run_bytes(run.1);
        values.sort_unstable();
        values.dedup();
        let count = cells.count();
        let packed = match values.len() {
            0..=2 => count / 8,
            3..=4 => count / 4,
            5..=16 => count / 2,
            _ => count,
        };
        bytes.min(packed) + values.len() + 14
    }
    fn run_bytes(length: usize) -> usize {
        match length {
            0 => 0,
            1..=128 => 2,
            129..=16_384 => 3,
            _ => 4,
        }
    }
    let terrain = grid(floor.terrain.iter().map(|&cell| cell as u8));
    let region = grid(floor.region.iter().copied());
    let things: usize = floor.spawns.iter().map(|spawn| 12 + spawn.archetype.len()).sum::<usize>()
        + floor.items.iter().map(|item| 13 + item.archetype.len()).sum::<usize>()
        + floor.traps.iter().map(|trap| 12 + trap.archetype.len()).sum::<usize>();
    terrain + region + things + 24 * floor.rooms.len() + 7 * floor.connections.len() + 10 * floor.locks.len() + 60
}

/// Prints a line for each kind. Returns whether a kind exceeds [`MAX_FALLBACK_PERCENT`].
fn report(results: &[Results], elapsed: Duration) -> bool {
    let mut exceeds_limit = false;
    println!("kind       floors>=64  fallbacks   smaller  fallbacks   median      p99   bytes  loops (least)  rooms");
    for kind in Kind::ALL {
        let mut all = Tally::default();
        for tally in results.iter().map(|results| &results.kinds[kind as usize]) {
            all.floors += tally.floors;
            all.fallbacks += tally.fallbacks;
            all.small_floors += tally.small_floors;
            all.small_fallbacks += tally.small_fallbacks;
            all.times.extend(&tally.times);
            all.bytes.extend(&tally.bytes);
            all.loops.extend(&tally.loops);
            all.rooms.extend(&tally.rooms);
        }
        let share = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
        if share(all.fallbacks, all.floors) > MAX_FALLBACK_PERCENT {
            eprintln!("{kind} falls back on more than {MAX_FALLBACK_PERCENT} % of its floors");
            exceeds_limit = true;
        }
        println!(
            "{:9} {:11} {:9.3}% {:9} {:9.3}% {:7.1}us {:6.1}us {:7} {:6} {:7} {:6}",
            kind.name(),
            all.floors,
            share(all.fallbacks, all.floors),
            all.small_floors,
            share(all.small_fallbacks, all.small_floors),
            quantile(&mut all.times, 50).as_secs_f64() * 1e6,
            quantile(&mut all.times, 99).as_secs_f64() * 1e6,
            quantile(&mut all.bytes, 50),
            quantile(&mut all.loops, 50),
            all.loops.iter().min().copied().unwrap_or(0),
            quantile(&mut all.rooms, 50),
        );
    }
    println!("fallbacks by shorter side; the other columns are medians over 100x100 (or --size); {elapsed:.1?} in all");
    exceeds_limit
}

/// The quantile of `percent`.
fn quantile<T: Ord + Copy + Default>(values: &mut [T], percent: usize) -> T {
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) * percent / 100).copied().unwrap_or_default()
}
