//! The start time of the release server, and its memory and CPU when idle.

use std::{thread, time::Duration};

use benches::{
    process::{cpu_time, resident_bytes},
    server::Setup,
    timing::median,
};

use crate::Figure;

/// Starts; the result is their median. One more start before them warms the page cache.
const STARTS: usize = 7;

/// Time between the start of a server and its observation.
const SETTLE: Duration = Duration::from_secs(1);

/// Duration of the observation.
const WATCH: Duration = Duration::from_secs(5);

pub(crate) fn measure() -> anyhow::Result<Vec<Figure>> {
    let data = tempfile::tempdir()?;
    let mut starts = Vec::with_capacity(STARTS);
    for start in 0..=STARTS {
        let server = Setup::new().start(&data)?;
        if start > 0 {
            starts.push(server.started_in.as_secs_f64() * 1e3);
        }
        server.stop()?;
    }
    let server = Setup::new().start(&data)?;
    thread::sleep(SETTLE);
    let before = cpu_time(server.pid())?;
    thread::sleep(WATCH);
    let idle = (cpu_time(server.pid())? - before).as_secs_f64() / WATCH.as_secs_f64();
    let resident = resident_bytes(server.pid())?;
    server.stop()?;
    Ok(vec![
        Figure::new(
            "server start to ready, warm binary, median of 7",
            format!("{:.0} ms", median(&mut starts)),
            "< 1 s",
        ),
        Figure::new("resident memory at idle", format!("{:.1} MB", resident as f64 / 1e6), "< 60 MB"),
        Figure::new("CPU at idle, of one core", format!("{:.3} %", idle * 100.0), "about 0"),
    ])
}
