//! The guard's cases of new floors, end to end: what the server takes for a floor that no tier has, to what generating and
//! encoding it takes in this process.

use std::{hint::black_box, thread, time::Duration};

use anyhow::ensure;
use benches::{
    floors::{SIDE, specs},
    load::{ClosedLoop, Rpc, Shape, TimedRun, Window, framed},
    process::cpu_time,
    server::{Server, Setup},
    timing::median,
};
use bytes::Bytes;
use floor_gen::{Generator, Kind};
use floor_proto::v1;

use crate::cases::each;

/// The callers: one, and as many as keep the workers busy.
const SHAPES: [Shape; 3] = [Shape::new(1, 1), Shape::new(4, 10), Shape::new(8, 50)];
/// Turns of each. In a turn this process generates, then hits are served, then new floors.
const TURNS: u64 = 5;
const WINDOW: Window = Window { settle: Duration::from_millis(200), measured: Duration::from_millis(1500) };
/// Floors of a turn: more than the server generates in it.
const FLOORS: u32 = 60_000;
/// Floors that this process generates in a turn.
const IN_PROCESS: u32 = 5_000;
/// Calls of the smoke run.
const CALLS: u64 = 40;

/// The ratios of each shape. An empty list if the server is not built.
pub(crate) fn ratios() -> anyhow::Result<Vec<(String, f64)>> {
    let mut ratios = Vec::new();
    if !Setup::is_available() {
        return Ok(ratios);
    }
    let cores = thread::available_parallelism()?.get() as f64;
    for shape in SHAPES {
        eprintln!("new floors, {shape}: {TURNS} turns of {:?}, and as long for hits", WINDOW.measured);
        let (mut times, mut cpu) = (Vec::new(), Vec::new());
        for turn in 1..=TURNS {
            let server = memory_only().start()?;
            let generate = in_process();
            let hit = run(&server, shape, turn, 1)?;
            let new = run(&server, shape, turn, FLOORS)?;
            server.stop()?;
            times.push(match shape.in_flight() {
                1 => (latency(&new) - latency(&hit)) / generate,
                _ => cores / (generate + cpu_of(&hit)) / new.tally.rate(),
            });
            cpu.push((cpu_of(&new) - cpu_of(&hit)) / generate);
        }
        let time = if shape.in_flight() == 1 { "latency beyond a hit" } else { "time with all cores" };
        ratios.push((format!("a new floor, {shape}, {time} / generating"), median(times)));
        ratios.push((format!("a new floor, {shape}, CPU beyond a hit / generating"), median(cpu)));
    }
    Ok(ratios)
}

/// Makes some calls and checks that each floor was generated for it. Does nothing if the server is not built.
pub(crate) fn smoke() -> anyhow::Result<()> {
    if Setup::is_available() {
        let server = memory_only().start()?;
        let served_by = load(&server, SHAPES[1], 1, CALLS as u32).run_calls(CALLS)?.served_by;
        ensure!(served_by == [("generated".to_owned(), CALLS)].into(), "new floors were not generated: {served_by:?}");
        server.stop()?;
    }
    Ok(())
}

fn memory_only() -> Setup {
    Setup::new().with("CACHE__CHAIN", r#"["lru"]"#)
}

/// The mean time in seconds of generating and encoding a floor as [`load`] requests them, in this thread.
fn in_process() -> f64 {
    let (mut generator, specs) = (Generator::new(), specs(Kind::Standard, SIDE, IN_PROCESS));
    each(&specs, |spec| drop(black_box(floor_wire::framed(&generator.generate(spec))))).as_secs_f64()
}

/// Calls for the STANDARD floors 1 to `count` of a tower.
fn load(server: &Server, shape: Shape, seed: u64, count: u32) -> ClosedLoop {
    let kind = v1::FloorKind::Standard.into();
    let spec = |number| v1::FloorSpec { seed, number, kind, ..v1::FloorSpec::default() };
    let messages: Vec<Bytes> =
        (1..=count).map(|number| framed(&v1::GetFloorRequest { spec: Some(spec(number)) })).collect();
    ClosedLoop::new([server.grpc], Rpc::GetFloor, shape, messages.into())
}

fn run(server: &Server, shape: Shape, seed: u64, count: u32) -> anyhow::Result<TimedRun<Duration>> {
    let run = load(server, shape, seed, count).run_for(WINDOW, || Ok(cpu_time(server.pid())?))?;
    let (by, answers) = (if count == 1 { "lru" } else { "generated" }, run.tally.latency.len());
    ensure!(run.tally.served_by.get(by) == Some(&answers), "not all from {by}: {:?}", run.tally.served_by);
    Ok(run)
}

/// The median in seconds.
fn latency(run: &TimedRun<Duration>) -> f64 {
    run.tally.latency.value_at_quantile(0.5) as f64 * 1e-9
}

/// CPU seconds of the server for an answer.
fn cpu_of(run: &TimedRun<Duration>) -> f64 {
    (run.after - run.before).as_secs_f64() / run.tally.latency.len() as f64
}
