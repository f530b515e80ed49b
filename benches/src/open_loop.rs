//! An open loop: calls at a fixed rate, from one thread that spins over non-blocking sockets, for `serving` and
//! `ablation`.
//!
//! Latency is the time from when a call was due to the last byte of its answer. The thread does not sleep: a runtime's
//! timer rounds to a millisecond, and the calls would be sent in bursts.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::ensure;
use bytes::Bytes;
use hdrhistogram::Histogram;

use crate::{
    http2_client::{Connection, Content},
    load::{Rpc, latency_histogram},
};

/// Calls that may be open on a connection. No server here allows fewer. A further call waits, which counts as latency.
const MAX_OPEN_CALLS: usize = 100;

/// How long the last answers may take, counted from when the last call was due.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// A load at a fixed rate, and the answer that it expects.
#[derive(Debug, Clone)]
pub struct OpenLoop {
    /// The server's address.
    pub server: SocketAddr,
    /// The RPC to call.
    pub rpc: Rpc,
    /// Request messages with their frame prefixes. Calls take them in rotation.
    pub messages: Arc<[Bytes]>,
    /// Bytes of every answer's message with its frame prefix; `None` where answers differ. An error has no message.
    pub answer_bytes: Option<u64>,
    /// TCP connections. Calls take them in rotation.
    pub connections: usize,
    /// The number of calls.
    pub calls: u64,
    /// The rate. Calls are evenly spaced.
    pub calls_per_second: f64,
}

/// The latencies of a run, in nanoseconds.
#[derive(Debug)]
pub struct Latencies {
    /// From when a call was due to the last byte of its answer.
    pub latency: Histogram<u64>,
    /// From when a call was due until it was queued for sending: the delay that the client adds.
    pub lateness: Histogram<u64>,
}

impl OpenLoop {
    /// Makes the calls.
    pub fn run(&self) -> anyhow::Result<Latencies> {
        let connections =
            (0..self.connections).map(|_| TrackedConnection::open(self)).collect::<anyhow::Result<Vec<_>>>();
        let mut connections = connections?;
        let mut latencies = Latencies { latency: latency_histogram(), lateness: latency_histogram() };
        let (mut sent, started) = (0, Instant::now());
        while latencies.latency.len() < self.calls {
            let now = started.elapsed();
            while sent < self.calls && self.due(sent) <= now {
                let connection = &mut connections[sent as usize % self.connections];
                if connection.open_calls == MAX_OPEN_CALLS {
                    break;
                }
                connection.start_call(self.due(sent), &self.messages[sent as usize % self.messages.len()]);
                latencies.lateness.saturating_record(nanos(started.elapsed().saturating_sub(self.due(sent))));
                sent += 1;
            }
            for connection in &mut connections {
                connection.advance(self.answer_bytes, started, &mut latencies.latency)?;
            }
            ensure!(
                now < self.due(self.calls) + ANSWER_TIMEOUT,
                "{} answers to {} calls",
                latencies.latency.len(),
                self.calls
            );
        }
        Ok(latencies)
    }

    /// How late this thread reaches the same points in time without calls, in nanoseconds: the resolution of latencies.
    pub fn timer_lateness(&self) -> Histogram<u64> {
        let (mut lateness, started) = (latency_histogram(), Instant::now());
        for call in 0..self.calls {
            let due = self.due(call);
            let now = loop {
                let now = started.elapsed();
                if now >= due {
                    break now;
                }
                std::hint::spin_loop();
            };
            lateness.saturating_record(nanos(now - due));
        }
        lateness
    }

    fn due(&self, call: u64) -> Duration {
        Duration::from_secs_f64(call as f64 / self.calls_per_second)
    }
}

struct TrackedConnection {
    connection: Connection,
    /// When each call was due, and the bytes of its answer so far.
    calls: Vec<(Duration, u64)>,
    open_calls: usize,
}

impl TrackedConnection {
    fn open(load: &OpenLoop) -> anyhow::Result<Self> {
        let connection = Connection::open(load.server, load.rpc)?;
        let calls = Vec::with_capacity(load.calls as usize / load.connections + 1);
        Ok(Self { connection, calls, open_calls: 0 })
    }

    /// Queues a call that is due at `due` after the start.
    fn start_call(&mut self, due: Duration, message: &[u8]) {
        self.connection.queue_call(message);
        self.calls.push((due, 0));
        self.open_calls += 1;
    }

    /// Sends and receives as much as is possible without blocking.
    fn advance(
        &mut self,
        answer_bytes: Option<u64>,
        started: Instant,
        latency: &mut Histogram<u64>,
    ) -> anyhow::Result<()> {
        self.connection.send()?;
        let (calls, open_calls) = (&mut self.calls, &mut self.open_calls);
        self.connection.receive(|part| {
            let (due, bytes) = &mut calls[part.call];
            if let Content::Data(data) = part.content {
                *bytes += data.len() as u64;
            }
            if part.is_last {
                if let Some(expected) = answer_bytes {
                    ensure!(*bytes == expected, "an answer of {bytes} bytes instead of {expected}");
                }
                ensure!(*bytes > 0, "an answer without a message");
                latency.saturating_record(nanos(started.elapsed() - *due));
                *open_calls -= 1;
            }
            Ok(())
        })
    }
}

fn nanos(took: Duration) -> u64 {
    u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{load, peers::servers::PeerServer, server::free_address};

    #[test]
    fn every_call_is_answered_and_its_bytes_are_counted() {
        let address = free_address().unwrap();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.spawn(PeerServer::BareHyper.serve(address));
        let message = load::framed(&floor_proto::v1::GetFloorRequest::default());
        let started = Instant::now();
        let answer = loop {
            match load::unary_call(address, Rpc::GetFloor, &message) {
                Ok(answer) => break answer,
                Err(error) => assert!(started.elapsed() < ANSWER_TIMEOUT, "{error:#}"),
            }
        };
        let mut load = OpenLoop {
            server: address,
            rpc: Rpc::GetFloor,
            messages: Arc::new([message]),
            answer_bytes: Some((answer.len() + floor_proto::FRAME_PREFIX_BYTES) as u64),
            connections: 3,
            calls: 500,
            calls_per_second: 2000.0,
        };
        let latencies = load.run().unwrap();
        assert_eq!((latencies.latency.len(), latencies.lateness.len()), (500, 500));
        assert!(started.elapsed() >= Duration::from_millis(249), "the last call was due after 249.5 ms");
        load.answer_bytes = load.answer_bytes.map(|bytes| bytes + 1);
        assert!(load.run().unwrap_err().to_string().contains("instead of"));
    }
}
