//! The latency of calls at fixed rates, the same for every server. The loop is open, so that a stall counts for all calls
//! that wait for it. The caller has its own processor.

use benches::{
    load::{Rpc, Window},
    open_loop::{OpenLoop, Pace},
    process::CpuPartition,
    sample::{Column, Sample, Snapshot},
};

use crate::fleet::MeasuredServer;

/// How late calls were sent: the part of the latency that the client adds.
pub(crate) const LATE: Column = ("sent late, p99 us", 1, |it| it.late_p99_us);

/// TCP connections.
pub(crate) const CONNECTIONS: usize = 8;

pub(crate) fn measure(server: &MeasuredServer, rate: u32, window: Window) -> anyhow::Result<Sample> {
    let _partition = CpuPartition::isolate(server.pid())?;
    let load = OpenLoop {
        target: server.target.clone(),
        rpc: Rpc::GetFloor,
        messages: server.messages()?,
        answer_bytes: Some(server.answer_bytes()),
        may_be_refused: false,
        connections: CONNECTIONS,
        pace: Pace::PerSecond(rate.into()),
        settle: window.settle,
        measured: window.measured,
    };
    Ok(Sample::of(&load.run()?, &Snapshot::default(), &Snapshot::default()))
}
