//! The latency of calls at fixed rates, the same for every server. The loop is open, so that a stall counts for all calls
//! that wait for it. The caller has its own processor.

use std::time::Duration;

use benches::{
    load::{Rpc, Window},
    open_loop::{OpenLoop, Pace},
    process::CpuPartition,
    sample::{Column, Sample, Snapshot},
};

use crate::fleet::MeasuredServer;

/// How late calls were sent: the part of the latency that the client adds.
pub(crate) const LATE: Column = ("sent late, p99 us", 1, |it| it.late_p99_us);

/// How late the same thread is without calls: the part that the machine adds.
pub(crate) const CLOCK_LATE: Column = ("clock alone late, p99 us", 1, |it| it.clock_p99_us);

/// Time for which the clock alone is measured.
const CLOCK_TIME: Duration = Duration::from_secs(1);

pub(crate) fn measure(
    server: &MeasuredServer,
    rate: u32,
    connections: usize,
    window: Window,
) -> anyhow::Result<Sample> {
    let _partition = CpuPartition::isolate(server.pid())?;
    let load = OpenLoop {
        target: server.target.clone(),
        rpc: Rpc::GetFloor,
        messages: server.messages(Rpc::GetFloor)?,
        answer_bytes: server.answer_bytes(Rpc::GetFloor)?,
        may_be_refused: false,
        connections,
        pace: Pace::PerSecond(rate.into()),
        settle: window.settle,
        measured: window.measured,
    };
    let sample = Sample::of(&load.run()?, &Snapshot::default(), &Snapshot::default());
    let clock = OpenLoop { settle: Duration::ZERO, measured: CLOCK_TIME, ..load }.timer_lateness();
    Ok(Sample { clock_p99_us: clock.value_at_percentile(99.0) as f64 / 1e3, ..sample })
}
