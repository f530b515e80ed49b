//! Compares builds of the server: `cargo run --release -p benches --bin versus -- before=PATH after=PATH`.
//!
//! All builds run at the same time, each as a process; all but the measured one are idle. In each round every build
//! answers the same load, in an order that is reversed in every other round. The first build is measured twice: the
//! difference is the noise, and an optimisation stays when it gains more.

use std::{
    fs,
    path::{self, Path, PathBuf},
    str::FromStr,
};

use anyhow::{Context, ensure};
use benches::{
    floors::{NUMBER, TOWER},
    h2load,
    load::{self, Method},
    machine::Machine,
    process,
    server::{Server, Setup},
    timing::{mean_and_interval, median},
};
use clap::Parser;
use comfy_table::{Table, presets::ASCII_MARKDOWN};
use floor_proto::{FRAME_PREFIX_BYTES, v1};
use tempfile::TempDir;

#[derive(Debug, Parser)]
#[command(about = "Compares builds of the floor server under the same load")]
struct Args {
    /// Builds: a name, the binary, and environment variables for it. The others are compared with the first
    #[arg(required = true, num_args = 2.., value_name = "NAME=BINARY[,VARIABLE=VALUE]...")]
    builds: Vec<Build>,
    /// Number of rounds; ratios are computed within a round
    #[arg(long, default_value_t = 15)]
    rounds: usize,
    /// Calls to a build in one round of one load
    #[arg(long, default_value_t = 60_000)]
    calls: u64,
    /// TCP connections
    #[arg(long, default_value_t = 8)]
    connections: usize,
    /// Calls in flight on each connection; each number is one load
    #[arg(long, value_delimiter = ',', default_values_t = [1, 10, 50])]
    streams: Vec<usize>,
    /// Directory for the record; without it no record is written
    #[arg(long, value_name = "DIRECTORY")]
    record: Option<PathBuf>,
}

#[derive(Debug, Clone)]
struct Build {
    name: String,
    binary: PathBuf,
    variables: Vec<(String, String)>,
}

impl FromStr for Build {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let pair = |text: &str| {
            let (name, value) = text.split_once('=')?;
            (!name.is_empty() && !value.is_empty()).then(|| (name.to_owned(), value.to_owned()))
        };
        let mut parts = text.split(',');
        let first = parts.next().and_then(pair);
        let (name, binary) =
            first.ok_or_else(|| format!("{text:?} is not of the form NAME=BINARY[,VARIABLE=VALUE]..."))?;
        let variables = parts
            .map(|part| pair(part).ok_or_else(|| format!("{part:?} in {text:?} is not of the form VARIABLE=VALUE")))
            .collect::<Result<_, _>>()?;
        Ok(Self { name, binary: binary.into(), variables })
    }
}

/// A running build whose first answer was checked.
struct RunningBuild {
    name: String,
    server: Server,
    samples: Vec<Sample>,
    _data: TempDir,
}

/// The figures of one build under one load in one round.
#[derive(Clone, Copy)]
struct Sample {
    rate: f64,
    cpu_us: f64,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    h2load::installed()?;
    let request = request();
    let directory = tempfile::tempdir()?;
    let body = directory.path().join("get-floor");
    fs::write(&body, &request)?;

    let again = Build { name: format!("{} again", args.builds[0].name), ..args.builds[0].clone() };
    let runtime = tokio::runtime::Runtime::new()?;
    let mut running = Vec::new();
    let mut floor = None;
    for build in args.builds.iter().chain([&again]) {
        let mut server = start(build).with_context(|| format!("{} ({})", build.name, build.binary.display()))?;
        let answer = runtime.block_on(load::unary_call(server.server.grpc, Method::GetFloor, request.clone()))?;
        ensure!(*floor.get_or_insert_with(|| answer.clone()) == answer, "{} sends another floor", build.name);
        // Warms up: the first calls grow buffers.
        server.measure(&body, &args, args.streams[0], answer.len())?;
        server.samples.clear();
        running.push(server);
    }
    let answer_bytes = floor.map_or(0, |floor| floor.len());

    let mut text = format!(
        "{}, {}. h2load in one thread on the same cores, {} connections, {} calls a round, {} rounds by turns. Ratios are \
         {} to the build, above 1 in the build's favour: mean of the rounds' own with its 95 % interval (Student's t).\n",
        Machine::current(),
        Machine::today(),
        args.connections,
        args.calls,
        args.rounds,
        args.builds[0].name
    );
    for streams in &args.streams {
        for round in 0..args.rounds {
            let mut order: Vec<&mut RunningBuild> = running.iter_mut().collect();
            if round % 2 == 1 {
                order.reverse();
            }
            for build in order {
                build.measure(&body, &args, *streams, answer_bytes)?;
            }
        }
        eprintln!("{streams} streams done");
        text += &format!("\n### {streams} streams a connection\n\n{}\n", table(&running));
        running.iter_mut().for_each(|build| build.samples.clear());
    }
    print!("{text}");
    if let Some(directory) = &args.record {
        let path = directory.join(format!("{}-versus.md", Machine::today()));
        fs::write(&path, &text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Starts `build` with memory as its only tier, so that the figures show the cost of serving.
fn start(build: &Build) -> anyhow::Result<RunningBuild> {
    let data = tempfile::tempdir()?;
    // The path becomes absolute, since the server runs in another directory.
    let mut setup = Setup::of_binary(&path::absolute(&build.binary)?).with("CACHE__CHAIN", r#"["lru"]"#);
    for (name, value) in &build.variables {
        setup = setup.with_variable(name, value);
    }
    Ok(RunningBuild { name: build.name.clone(), server: setup.start(&data)?, samples: Vec::new(), _data: data })
}

impl RunningBuild {
    fn measure(&mut self, body: &Path, args: &Args, streams: usize, answer_bytes: usize) -> anyhow::Result<()> {
        let before = process::cpu_time(self.server.pid())?;
        let outcome = h2load::run(self.server.grpc, Method::GetFloor, body, args.connections, streams, args.calls)?;
        let cpu = process::cpu_time(self.server.pid())? - before;
        let expected = args.calls * (answer_bytes + FRAME_PREFIX_BYTES) as u64;
        ensure!(outcome.data_bytes == expected, "{} sent {} bytes, not {expected}", self.name, outcome.data_bytes);
        let calls = args.calls as f64;
        let sample = Sample { rate: calls / outcome.took.as_secs_f64(), cpu_us: cpu.as_secs_f64() * 1e6 / calls };
        self.samples.push(sample);
        Ok(())
    }
}

fn table(running: &[RunningBuild]) -> Table {
    let mut table = Table::new();
    table.load_preset(ASCII_MARKDOWN).set_header(["build", "CPU us a call", "calls/s", "CPU ratio", "calls/s ratio"]);
    let base = &running[0].samples;
    for build in running {
        let middle = |figure: fn(&Sample) -> f64| median(&mut build.samples.iter().map(figure).collect::<Vec<_>>());
        let ratio = |figure: fn(&Sample, &Sample) -> f64| {
            let (mean, half) =
                mean_and_interval(&base.iter().zip(&build.samples).map(|(a, b)| figure(a, b)).collect::<Vec<_>>());
            format!("{mean:.2} ± {half:.2}")
        };
        table.add_row([
            build.name.clone(),
            format!("{:.2}", middle(|sample| sample.cpu_us)),
            format!("{:.0}", middle(|sample| sample.rate)),
            ratio(|base, build| base.cpu_us / build.cpu_us),
            ratio(|base, build| build.rate / base.rate),
        ]);
    }
    table
}

/// A framed request for one floor of 100x100.
fn request() -> bytes::Bytes {
    load::framed(&v1::GetFloorRequest {
        spec: Some(v1::FloorSpec { seed: TOWER, number: NUMBER, ..v1::FloorSpec::default() }),
    })
}
