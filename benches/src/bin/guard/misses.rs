//! The guard's cases of new floors, end to end: what the server takes for a floor that no tier has, to what generating and
//! encoding it takes in this process.

use std::{
    hint::black_box,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use anyhow::ensure;
use benches::{
    floors::{SIDE, specs},
    load::{ClosedLoop, Rpc, Shape, Window, framed},
    process::cpu_time,
    server::{Server, Setup},
    timing::median,
};
use bytes::Bytes;
use floor_gen::{Generator, Kind};
use floor_proto::v1;

/// The callers: one, and as many as keep the workers busy.
const SHAPES: [Shape; 3] = [Shape::new(1, 1), Shape::new(4, 10), Shape::new(8, 50)];
/// Turns of each, interleaved.
const TURNS: u64 = 5;
/// Floors of a turn: more than are generated in it.
const FLOORS: u32 = 60_000;
const WINDOW: Window = Window { settle: Duration::from_millis(200), measured: Duration::from_millis(1500) };
/// Floors that this process generates in a turn.
const IN_PROCESS: u32 = 5_000;
/// Calls of the smoke run.
const CALLS: u64 = 40;

/// What a floor took in a turn, in seconds.
#[derive(Debug, Clone, Copy)]
struct Turn {
    /// The median latency.
    latency: f64,
    /// From one answer to the next.
    interval: f64,
    /// CPU time of the server.
    cpu: f64,
}

/// The ratios of each shape. An empty list if the server is not built.
pub(crate) fn ratios() -> anyhow::Result<Vec<(String, f64)>> {
    let cores = thread::available_parallelism()?.get() as f64;
    let mut ratios = Vec::new();
    for shape in SHAPES.into_iter().filter(|_| Setup::is_available()) {
        eprintln!("new floors, {shape}: {TURNS} turns of {:?}, and as long for hits", WINDOW.measured);
        let (mut latency, mut interval, mut cpu) = (Vec::new(), Vec::new(), Vec::new());
        for turn in 1..=TURNS {
            let server = memory_only().start()?;
            let generate = in_process();
            let hit = run(&server, shape, vec![request(0, 1)])?;
            let new = run(&server, shape, new_floors(turn, FLOORS))?;
            server.stop()?;
            latency.push((new.latency - hit.latency) / generate);
            interval.push(new.interval * cores / (generate + hit.cpu));
            cpu.push((new.cpu - hit.cpu) / generate);
        }
        if shape.in_flight() == 1 {
            ratios.push((format!("a new floor beyond a hit, {shape}: latency / generating"), median(latency)));
        } else {
            ratios.push((format!("new floors, {shape}: time / generating on all cores"), median(interval)));
        }
        ratios.push((format!("a new floor beyond a hit, {shape}: CPU / generating"), median(cpu)));
    }
    Ok(ratios)
}

/// Makes some calls and checks that each floor was generated for it. Does nothing if the server is not built.
pub(crate) fn smoke() -> anyhow::Result<()> {
    if Setup::is_available() {
        let server = memory_only().start()?;
        let mut load = ClosedLoop::new([server.grpc], Rpc::GetFloor, SHAPES[1], new_floors(1, CALLS as u32).into());
        let served_by = load.run_calls(CALLS)?.served_by;
        ensure!(served_by == [("generated".to_owned(), CALLS)].into(), "new floors were not generated: {served_by:?}");
        ensure!(in_process() > 0.0, "generating takes time");
        server.stop()?;
    }
    Ok(())
}

fn memory_only() -> Setup {
    Setup::new().with("CACHE__CHAIN", r#"["lru"]"#)
}

/// A request for a STANDARD floor of ordinary size.
fn request(seed: u64, number: u32) -> Bytes {
    let kind = v1::FloorKind::Standard.into();
    framed(&v1::GetFloorRequest { spec: Some(v1::FloorSpec { seed, number, kind, ..v1::FloorSpec::default() }) })
}

fn new_floors(turn: u64, count: u32) -> Vec<Bytes> {
    (1..=count).map(|number| request(turn, number)).collect()
}

/// The mean time of generating a floor of that kind and size and encoding it, in this thread.
fn in_process() -> f64 {
    let (mut generator, specs) = (Generator::new(), specs(Kind::Standard, SIDE, IN_PROCESS));
    let started = Instant::now();
    for spec in &specs {
        black_box(floor_wire::framed(&generator.generate(spec)));
    }
    started.elapsed().as_secs_f64() / f64::from(IN_PROCESS)
}

fn run(server: &Server, shape: Shape, messages: Vec<Bytes>) -> anyhow::Result<Turn> {
    let (repeats, messages) = (messages.len() == 1, Arc::from(messages));
    let mut load = ClosedLoop::new([server.grpc], Rpc::GetFloor, shape, messages);
    let run = load.run_for(WINDOW, || Ok(cpu_time(server.pid())?))?;
    let answers = run.tally.latency.len();
    let by = if repeats { "lru" } else { "generated" };
    let expected = run.tally.served_by.get(by).copied().unwrap_or(0);
    // The first answer of a floor that repeats is generated.
    ensure!(expected + u64::from(repeats) >= answers, "{expected} of {answers} floors came from {by}");
    Ok(Turn {
        latency: run.tally.latency.value_at_quantile(0.5) as f64 * 1e-9,
        interval: run.tally.took.as_secs_f64() / answers as f64,
        cpu: (run.after - run.before).as_secs_f64() / answers as f64,
    })
}
