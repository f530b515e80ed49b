//! Generates and validates floors of every kind and of many sizes, on all cores: `cargo run --release -p floor-gen
//! --example prove -- --floors 100000`.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{fs, iter};

use clap::Parser;
use floor_gen::pack::Files;
use floor_gen::validate::{validate, validate_pair};
use floor_gen::{Floor, FloorSpec, Generator, Kind, Pack};
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
    /// Another pack than the built-in one: a file that `floorctl pack build` wrote.
    #[arg(long)]
    pack: Option<PathBuf>,
    /// Generates the next floor of each tower too, and checks that the two fit together.
    #[arg(long)]
    pairs: bool,
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
    let side = |text: &str| text.parse::<u32>().map_err(|error| format!("{text:?}: {error}"));
    let size = (side(width)?, side(height)?);
    FloorSpec::resolve(0, 1, size.0, size.1, None).map(|_| size).map_err(|error| error.to_string())
}

/// Sizes and their weights: mostly the default and smaller ones, some awkward, few large.
const SIZES: [(u32, u32, usize); 15] = [
    (100, 100, 36),
    (64, 64, 8),
    (60, 60, 6),
    (48, 48, 6),
    (16, 16, 8),
    (40, 32, 8),
    (32, 32, 8),
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
    fn spec(&self, pack: &Pack, i: u64) -> FloorSpec {
        let (round, turn) = (i as usize / Kind::ALL.len(), i as usize % Kind::ALL.len());
        let sizes = || SIZES.into_iter().flat_map(|(width, height, share)| iter::repeat_n((width, height), share));
        let size = || sizes().nth(round % sizes().count());
        let (width, height) = self.size.or_else(size).unwrap_or_default();
        // Mostly low numbers: most towers are climbed from the bottom.
        let number = if i.is_multiple_of(3) { 1 + (i * 7_919) % 1_000_000 } else { 1 + i % 120 };
        let kind = self.kind.unwrap_or(Kind::ALL[turn]);
        pack.resolve(self.seed.wrapping_add(i), number as u32, width, height, Some(kind))
            .expect("`size` checks the size, and the number is in range")
    }
}

/// What a floor adds to the report.
struct Sample {
    spec: FloorSpec,
    fell_back: bool,
    took: Duration,
    loops: u32,
    rooms: usize,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let pack = match options.pack.as_deref().map(read_pack).transpose() {
        Ok(pack) => pack,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let pack = pack.as_ref().unwrap_or_else(|| Pack::tower());
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} floors, {per_sec}, {eta} left");
    let bar = ProgressBar::new(options.floors).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    if !bar.is_hidden() {
        bar.enable_steady_tick(Duration::from_millis(100));
    }
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let started = Instant::now();
    let results: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| work(&options, pack, &next, &stop, &bar))).collect();
        workers.into_iter().map(|worker| worker.join().expect("a worker catches panics")).collect()
    });
    bar.finish_and_clear();
    let (mut samples, mut failed) = (Vec::new(), false);
    for result in results {
        match result {
            Ok(more) => samples.extend(more),
            Err(failure) => {
                eprintln!("FAILED {failure}");
                failed = true;
            }
        }
    }
    if failed || report(&options, &samples, started.elapsed()) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn read_pack(path: &Path) -> Result<Pack, String> {
    let named = |error: &dyn Display| format!("{}: {error}", path.display());
    let bytes = fs::read(path).map_err(|error| named(&error))?;
    let files = Files::from_bytes(&bytes).map_err(|error| named(&error))?;
    Pack::read(files).map_err(|errors| named(&errors))
}

/// Takes floors from the shared counter until it ends or a floor fails.
fn work(
    options: &Options,
    pack: &Pack,
    next: &AtomicU64,
    stop: &AtomicBool,
    bar: &ProgressBar,
) -> Result<Vec<Sample>, String> {
    const BATCH: u64 = 64;
    let mut generator = Generator::new();
    let mut samples = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let first = next.fetch_add(BATCH, Ordering::Relaxed);
        let last = (first + BATCH).min(options.floors);
        if first >= last {
            break;
        }
        for spec in (first..last).map(|i| options.spec(pack, i)) {
            let proof = catch_unwind(AssertUnwindSafe(|| prove(options, pack, spec, &mut generator)));
            samples.push(proof.unwrap_or_else(|_| Err("panicked".to_owned())).map_err(|why| {
                stop.store(true, Ordering::Relaxed);
                let (seed, number, kind) = (spec.seed(), spec.number(), spec.kind());
                let (width, height) = (spec.width(), spec.height());
                format!("--seed {seed} --number {number} --width {width} --height {height} --kind {kind}: {why}")
            })?);
            bar.inc(1);
        }
    }
    Ok(samples)
}

fn check(floor: &Floor<'_>) -> Result<(), String> {
    validate(floor).map_err(|found| found.iter().take(8).map(ToString::to_string).collect::<Vec<_>>().join("; "))
}

/// Generates and validates a floor.
fn prove(options: &Options, pack: &Pack, spec: FloorSpec, generator: &mut Generator) -> Result<Sample, String> {
    let fallbacks = generator.fallbacks();
    let started = Instant::now();
    let floor = generator.generate_of(pack, &spec);
    let took = started.elapsed();
    let fell_back = generator.fallbacks() > fallbacks;
    if !options.skip_proof {
        check(&floor)?;
    }
    if options.pairs && spec.number() < FloorSpec::MAX_NUMBER {
        let (width, height) = (spec.width().into(), spec.height().into());
        let above =
            pack.resolve(spec.seed(), spec.number() + 1, width, height, None).expect("as in range as the first");
        let above = generator.generate_of(pack, &above);
        check(&above)?;
        validate_pair(&floor, &above).map_err(|apart| apart.to_string())?;
    }
    Ok(Sample { spec, fell_back, took, loops: floor.metrics.loops, rooms: floor.rooms.len() })
}

/// The largest share of fallbacks among floors of 48x48 and above, in per cent, for each kind.
const MAX_FALLBACK_PERCENT: f64 = 0.01;

/// Prints a line for each kind. Returns whether a kind exceeds [`MAX_FALLBACK_PERCENT`].
fn report(options: &Options, samples: &[Sample], elapsed: Duration) -> bool {
    let size = options.size.unwrap_or((100, 100));
    let mut exceeds_limit = false;
    println!("kind       floors>=48  fallbacks   smaller  fallbacks   median      p99  loops (least)  rooms");
    for kind in Kind::ALL {
        let of_kind = || samples.iter().filter(move |sample| sample.spec.kind() == kind);
        let fallbacks = |large: bool| {
            let is_large = |spec: &FloorSpec| spec.width().min(spec.height()) >= 48;
            let floors: Vec<_> = of_kind().filter(|sample| is_large(&sample.spec) == large).collect();
            let fell_back = floors.iter().filter(|sample| sample.fell_back).count();
            (floors.len(), 100.0 * fell_back as f64 / floors.len().max(1) as f64)
        };
        let ((large, percent), (small, small_percent)) = (fallbacks(true), fallbacks(false));
        if percent > MAX_FALLBACK_PERCENT {
            eprintln!("{kind} falls back on more than {MAX_FALLBACK_PERCENT} % of its floors");
            exceeds_limit = true;
        }
        let size_of = |spec: &FloorSpec| (u32::from(spec.width()), u32::from(spec.height()));
        let measured = || of_kind().filter(move |sample| size_of(&sample.spec) == size);
        let micros = |percent| quantile(measured().map(|sample| sample.took), percent).as_secs_f64() * 1e6;
        println!(
            "{:9} {large:11} {percent:9.3}% {small:9} {small_percent:9.3}% {:7.1}us {:6.1}us {:6} {:7} {:6}",
            kind.name(),
            micros(50),
            micros(99),
            quantile(measured().map(|sample| sample.loops), 50),
            quantile(measured().map(|sample| sample.loops), 0),
            quantile(measured().map(|sample| sample.rooms), 50),
        );
    }
    println!("fallbacks by shorter side; the other columns are medians over 100x100 (or --size); {elapsed:.1?} in all");
    exceeds_limit
}

/// The quantile of `percent`.
fn quantile<T: Ord + Copy + Default>(values: impl Iterator<Item = T>, percent: usize) -> T {
    let mut values: Vec<T> = values.collect();
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) * percent / 100).copied().unwrap_or_default()
}
