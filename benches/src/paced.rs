//! Calls at a steady pace, each on time: one thread that never sleeps, and HTTP/2 frames laid out beforehand.
//!
//! How long a caller waits is the time from when its call was due to the last byte of its answer. A runtime's timer
//! rounds to a millisecond and so sends in bursts, which would be measured. This spins over sockets that do not block.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::ensure;
use bytes::Bytes;
use hdrhistogram::Histogram;

use crate::{
    frames::{Connection, Content},
    load::{Method, latencies},
};

/// Calls that may be open on a connection: fewer than any server here allows. A call beyond waits, and is charged for it.
const MOST_OPEN: usize = 100;

/// How long the last answers may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is asked, how often, and what must come back.
#[derive(Debug, Clone)]
pub struct Paced {
    /// Whom.
    pub server: SocketAddr,
    /// Which method.
    pub method: Method,
    /// The requests' messages with their frame prefixes, taken in turn.
    pub messages: Arc<[Bytes]>,
    /// Bytes of every answer's message, its frame prefix included; `None` where answers differ. An error has none.
    pub answer_bytes: Option<u64>,
    /// TCP connections, taken in turn.
    pub connections: usize,
    /// Calls in all.
    pub calls: u64,
    /// Calls a second, evenly spaced.
    pub pace: f64,
}

/// How long calls took, in nanoseconds.
#[derive(Debug)]
pub struct Waits {
    /// From when a call was due to the last byte of its answer.
    pub latency: Histogram<u64>,
    /// From when a call was due until it was queued for sending. This side's fault, unless so many calls are open that it has
    /// to wait for answers.
    pub lateness: Histogram<u64>,
}

impl Paced {
    /// Makes the calls.
    ///
    /// # Errors
    /// When a connection breaks, an answer has another length than it should or no message, or one does not come.
    pub fn run(&self) -> anyhow::Result<Waits> {
        let lines = (0..self.connections).map(|_| Line::open(self)).collect::<anyhow::Result<Vec<_>>>();
        let mut lines = lines?;
        let mut waits = Waits { latency: latencies(), lateness: latencies() };
        let (mut sent, started) = (0, Instant::now());
        while waits.latency.len() < self.calls {
            let now = started.elapsed();
            while sent < self.calls && self.due(sent) <= now {
                let line = &mut lines[sent as usize % self.connections];
                if line.open == MOST_OPEN {
                    break;
                }
                line.ask(self.due(sent), &self.messages[sent as usize % self.messages.len()]);
                waits.lateness.saturating_record(nanos(started.elapsed().saturating_sub(self.due(sent))));
                sent += 1;
            }
            for line in &mut lines {
                line.advance(self.answer_bytes, started, &mut waits.latency)?;
            }
            ensure!(now < self.due(self.calls) + PATIENCE, "{} answers to {} calls", waits.latency.len(), self.calls);
        }
        Ok(waits)
    }

    /// The same moments waited for in the same way, and nobody asked: how late a thread of this machine is that only
    /// looks at the clock. No wait of a caller can be told from it.
    #[must_use]
    pub fn clock_alone(&self) -> Histogram<u64> {
        let (mut lateness, started) = (latencies(), Instant::now());
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
        Duration::from_secs_f64(call as f64 / self.pace)
    }
}

/// A connection, and the calls that it has carried.
struct Line {
    connection: Connection,
    /// When each call was due, and the bytes of its answer so far.
    calls: Vec<(Duration, u64)>,
    open: usize,
}

impl Line {
    fn open(load: &Paced) -> anyhow::Result<Self> {
        let connection = Connection::open(load.server, load.method)?;
        let calls = Vec::with_capacity(load.calls as usize / load.connections + 1);
        Ok(Self { connection, calls, open: 0 })
    }

    /// Queues a call.
    fn ask(&mut self, due: Duration, message: &[u8]) {
        self.connection.ask(message);
        self.calls.push((due, 0));
        self.open += 1;
    }

    /// Sends what is queued and reads what has come, as far as that goes without waiting.
    fn advance(
        &mut self,
        answer_bytes: Option<u64>,
        started: Instant,
        latency: &mut Histogram<u64>,
    ) -> anyhow::Result<()> {
        self.connection.send()?;
        let (calls, open) = (&mut self.calls, &mut self.open);
        self.connection.receive(|part| {
            let (due, bytes) = &mut calls[part.call];
            if let Content::Data(length) = part.content {
                *bytes += u64::from(length);
            }
            if part.is_last {
                if let Some(expected) = answer_bytes {
                    ensure!(*bytes == expected, "an answer of {bytes} bytes instead of {expected}");
                }
                ensure!(*bytes > 0, "an answer without a message");
                latency.saturating_record(nanos(started.elapsed() - *due));
                *open -= 1;
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
    use crate::{load, peers::servers::Rival, server::free_address};

    #[test]
    fn every_call_is_answered_and_its_bytes_are_counted() {
        let address = free_address().unwrap();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.spawn(Rival::BareHyper.serve(address));
        let message = load::framed(&floor_proto::v1::GetFloorRequest::default());
        let asked = || runtime.block_on(load::ask(address, Method::GetFloor, message.clone()));
        let started = Instant::now();
        let answer = loop {
            match asked() {
                Ok(answer) => break answer,
                Err(error) => assert!(started.elapsed() < PATIENCE, "{error:#}"),
            }
        };
        let mut load = Paced {
            server: address,
            method: Method::GetFloor,
            messages: Arc::new([message]),
            answer_bytes: Some((answer.len() + floor_proto::FRAME_PREFIX_BYTES) as u64),
            connections: 3,
            calls: 500,
            pace: 2000.0,
        };
        let waits = load.run().unwrap();
        assert_eq!((waits.latency.len(), waits.lateness.len()), (500, 500));
        assert!(started.elapsed() >= Duration::from_millis(249), "the last call was due after 249.5 ms");
        load.answer_bytes = load.answer_bytes.map(|bytes| bytes + 1);
        assert!(load.run().unwrap_err().to_string().contains("instead of"));
    }
}
