//! Prints the percentiles of generation, and the server's start, memory and CPU at idle:
//! `cargo run --release -p benches --bin figures`. The other figures of `docs/benchmarks.md` are criterion's.

use std::{thread, time::Duration};

use benches::{
    floors,
    process::{cpu_time, resident_bytes},
    report::{self, Record, RecordArgs},
    server::Setup,
    timing::{format_nanos, median, nanos_of_each, percentile},
};
use clap::Parser;
use floor_gen::{Generator, Kind};
use serde::Serialize;

/// Distinct floors, and runs of each. Every run is a sample, so that the p99 is that of single calls.
const COUNT: u32 = 1000;
const REPEATS: usize = 5;

/// Starts of the server; the result is their median. One more start before them warms the page cache.
const STARTS: usize = 7;

/// Time between the start of a server and its observation, and the duration of the observation.
const SETTLE: Duration = Duration::from_secs(5);
const OBSERVED: Duration = Duration::from_secs(10);

#[derive(Debug, Serialize)]
struct Figure {
    what: &'static str,
    measured: String,
    /// Nanoseconds of generation or milliseconds of a start; none where it was observed once.
    samples: Vec<f64>,
    /// The target in `docs/benchmarks.md`.
    aim: &'static str,
}

impl Figure {
    const fn new(what: &'static str, measured: String, aim: &'static str, samples: Vec<f64>) -> Self {
        Self { what, measured, samples, aim }
    }
}

#[derive(Debug, Parser)]
#[command(about = "Prints the percentiles of generation, and the server's start, memory and CPU at idle")]
struct Args {
    #[command(flatten)]
    record: RecordArgs,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    report::ensure_release()?;
    let mut record = Record::start(&args.record, "figures", "figures")?;
    let mut table = report::table(["what", "measured", "aim"]);
    for figure in generation().into_iter().chain(server()?) {
        record.line(&figure)?;
        table.add_row([figure.what, figure.measured.as_str(), figure.aim]);
    }
    record.finish("Figures", &format!("{table}\n"))
}

fn generation() -> Vec<Figure> {
    let specs = floors::specs(Kind::Standard, floors::SIDE, COUNT);
    let mut generator = Generator::new();
    // The first runs grow the generator's scratch memory.
    specs.iter().for_each(|spec| drop(generator.generate(spec)));
    let repeated = (0..REPEATS).flat_map(|_| &specs);
    let mut samples = nanos_of_each(repeated, |spec| generator.generate(spec));
    let (middle, p99) = (format_nanos(median(samples.iter().copied())), format_nanos(percentile(&mut samples, 99)));
    vec![
        Figure::new("generate, median", middle, "<= 200 us", samples),
        // Of the same samples.
        Figure::new("generate, p99", p99, "<= 1 ms", Vec::new()),
    ]
}

fn server() -> anyhow::Result<Vec<Figure>> {
    let data = tempfile::tempdir()?;
    let mut starts = Vec::with_capacity(STARTS);
    for start in 0..=STARTS {
        let server = Setup::new().start_in(data.path())?;
        if start > 0 {
            starts.push(server.started_in.as_secs_f64() * 1e3);
        }
        server.stop()?;
    }
    let server = Setup::new().start_in(data.path())?;
    thread::sleep(SETTLE);
    let before = cpu_time(server.pid())?;
    thread::sleep(OBSERVED);
    let idle = (cpu_time(server.pid())? - before).as_secs_f64() / OBSERVED.as_secs_f64();
    let resident = resident_bytes(server.pid())? as f64 / 1e6;
    server.stop()?;
    let start = format!("{:.0} ms", median(starts.iter().copied()));
    Ok(vec![
        Figure::new("server start to ready, warm binary, median of 7", start, "< 1 s", starts),
        Figure::new("resident memory at idle", format!("{resident:.1} MB"), "< 60 MB", Vec::new()),
        Figure::new("CPU at idle, of one core", format!("{:.3} %", idle * 100.0), "about 0", Vec::new()),
    ])
}
