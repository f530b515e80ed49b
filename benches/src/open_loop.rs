//! An open loop: calls at a fixed rate or at given times, from one thread that spins over non-blocking sockets, for
//! `serving` and `which-chain replay`.
//!
//! Latency is the time from when a call was due to the last byte of its answer. The thread does not sleep: a runtime's
//! timer rounds to a millisecond, and the calls would be sent in bursts.

use std::{
    slice,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::ensure;
use bytes::Bytes;

use crate::load::{Calls, Rpc, Tally, Target, nanos};

/// Calls that may be open on a connection. No server here allows fewer. A further call waits, which counts as latency.
const MAX_OPEN_CALLS: usize = 100;

/// How long the last answers may take, counted from when the last call was due.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// When calls are due.
#[derive(Debug, Clone)]
pub enum Pace {
    /// Calls a second, evenly spaced.
    PerSecond(f64),
    /// The time of each call after the start, ascending. There are as many calls as times.
    At(Arc<[Duration]>),
}

/// A load at a given pace, and the answer that it expects.
#[derive(Debug, Clone)]
pub struct OpenLoop {
    /// The server, and what the caller presents.
    pub target: Target,
    /// The RPC to call.
    pub rpc: Rpc,
    /// Request messages as the protocol of the target has them. Calls take them in rotation.
    pub messages: Arc<[Bytes]>,
    /// Bytes of every answer's message, with gRPC with its frame prefix; `None` where answers differ.
    pub answer_bytes: Option<u64>,
    /// Whether RESOURCE_EXHAUSTED is an answer like others. Else it is an error.
    pub may_be_refused: bool,
    /// TCP connections. Calls take them in rotation.
    pub connections: usize,
    /// When calls are due.
    pub pace: Pace,
    /// The first calls do not count: those that are due within this time.
    pub settle: Duration,
    /// The time in which the calls that count are due. With given times, that of the last call.
    pub measured: Duration,
}

impl OpenLoop {
    /// Makes the calls.
    pub fn run(&self) -> anyhow::Result<Tally> {
        Ok(Self::run_together(slice::from_ref(self))?.remove(0))
    }

    /// Makes the calls of several loads at the same time, from this thread. Returns their tallies in the same order.
    pub fn run_together(loads: &[Self]) -> anyhow::Result<Vec<Tally>> {
        let mut running = loads.iter().map(Running::new).collect::<anyhow::Result<Vec<_>>>()?;
        let started = Instant::now();
        loop {
            let mut is_done = true;
            for load in &mut running {
                is_done &= load.advance(started)?;
            }
            if is_done {
                return Ok(running.into_iter().map(|load| load.finish(started)).collect());
            }
        }
    }

    fn calls(&self) -> u64 {
        match &self.pace {
            Pace::PerSecond(rate) => ((self.settle + self.measured).as_secs_f64() * rate).round() as u64,
            Pace::At(times) => times.len() as u64,
        }
    }

    fn due(&self, call: u64) -> Duration {
        match &self.pace {
            Pace::PerSecond(rate) => Duration::from_secs_f64(call as f64 / rate),
            // The end of the load is due with its last call.
            Pace::At(times) => times.get(call as usize).or(times.last()).copied().unwrap_or_default(),
        }
    }
}

struct Running<'a> {
    load: &'a OpenLoop,
    connections: Vec<Calls>,
    sent: u64,
    /// The calls that do not count.
    settling: Tally,
    tally: Tally,
}

impl<'a> Running<'a> {
    fn new(load: &'a OpenLoop) -> anyhow::Result<Self> {
        let connections = (0..load.connections).map(|_| Calls::connect(&load.target, load.rpc));
        Ok(Self {
            load,
            connections: connections.collect::<anyhow::Result<_>>()?,
            sent: 0,
            settling: Tally::new(),
            tally: Tally::new(),
        })
    }

    /// Queues the calls that are due, and sends and receives as much as is possible without blocking. Returns whether
    /// every call was answered, or the time for answers is over.
    fn advance(&mut self, started: Instant) -> anyhow::Result<bool> {
        let Self { load, connections, sent, settling, tally } = self;
        let counts_from = started + load.settle;
        while *sent < load.calls() {
            let due = started + load.due(*sent);
            let calls = &mut connections[*sent as usize % load.connections];
            if due > Instant::now() || calls.open().len() == MAX_OPEN_CALLS {
                break;
            }
            calls.queue(&load.messages[*sent as usize % load.messages.len()], due);
            *sent += 1;
            if due >= counts_from {
                tally.lateness.saturating_record(nanos(due.elapsed()));
            }
        }
        let mut is_answered = *sent == load.calls();
        for calls in connections {
            calls.connection.send()?;
            calls.receive(|answer| {
                if let Some(expected) = load.answer_bytes {
                    ensure!(answer.bytes == expected, "an answer of {} bytes instead of {expected}", answer.bytes);
                }
                let tally = if answer.since < counts_from { &mut *settling } else { &mut *tally };
                tally.count(&answer, load.may_be_refused)
            })?;
            is_answered &= calls.open().len() == 0;
        }
        Ok(is_answered || started.elapsed() > load.due(load.calls()) + ANSWER_TIMEOUT)
    }

    /// The tally, in which each unanswered call has the time that it has waited.
    fn finish(self, started: Instant) -> Tally {
        let Self { load, connections, sent, mut tally, .. } = self;
        let unsent = (sent..load.calls()).map(|call| started + load.due(call));
        for due in connections.iter().flat_map(|calls| calls.open()).map(|answer| answer.since).chain(unsent) {
            tally.unanswered += 1;
            tally.latency.saturating_record(nanos(due.elapsed()));
        }
        tally.took = load.measured;
        tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{load, peer_servers::PeerServer, process::free_address, server::wait_until_listening};

    #[test]
    fn every_call_is_answered_and_its_bytes_are_counted() {
        let address = free_address().unwrap();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.spawn(PeerServer::BareHyper.serve(address));
        wait_until_listening(address).unwrap();
        let message = load::framed(&floor_proto::v1::GetFloorRequest::default());
        let answer = load::unary_call(&address.into(), Rpc::GetFloor, &message).unwrap();
        let mut load = OpenLoop {
            target: address.into(),
            rpc: Rpc::GetFloor,
            messages: Arc::new([message]),
            answer_bytes: Some((answer.len() + floor_proto::FRAME_PREFIX_BYTES) as u64),
            may_be_refused: false,
            connections: 3,
            pace: Pace::PerSecond(2000.0),
            settle: Duration::from_millis(50),
            measured: Duration::from_millis(200),
        };
        let started = Instant::now();
        let tally = load.run().unwrap();
        assert_eq!(
            (tally.latency.len(), tally.lateness.len()),
            (400, 400),
            "the calls of the first 50 ms do not count"
        );
        assert_eq!((tally.unanswered, tally.refused), (0, 0));
        assert!(started.elapsed() >= Duration::from_millis(249), "the last call was due after 249.5 ms");
        let times: Arc<[Duration]> = [0, 0, 60, 70].map(Duration::from_millis).into();
        let scheduled = OpenLoop { pace: Pace::At(times), settle: Duration::ZERO, ..load.clone() }.run().unwrap();
        assert_eq!((scheduled.latency.len(), scheduled.unanswered), (4, 0), "every call at its time");
        load.answer_bytes = load.answer_bytes.map(|bytes| bytes + 1);
        let error = OpenLoop::run_together(&[load.clone(), load]).unwrap_err();
        assert!(error.to_string().contains("instead of"));
    }
}
