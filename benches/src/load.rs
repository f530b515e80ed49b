//! Closed loops of gRPC calls: each stream makes its next call when the last one is answered. Requests are framed
//! beforehand and answers are counted, not decoded, so that the client needs little CPU.
//!
//! [`ClosedLoop`] calls one or several servers, for a number of calls or for a time. [`open_loop`](crate::open_loop)
//! makes calls at a fixed rate.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use bytes::{BufMut, Bytes, BytesMut};
use floor_proto::v1;
use hdrhistogram::Histogram;
use prost::Message;
use rustix::event::{PollFd, Timespec, poll};

pub use floor_proto::rpc::Rpc;

use crate::http2_client::{Connection, Content, HeaderName};

/// The counts of a load.
#[derive(Debug, Clone)]
pub struct Tally {
    /// From the first call to the last answer.
    pub took: Duration,
    /// Nanoseconds from a call to the last byte of its answer. Stalls of a server show in `took` and hardly here.
    pub latency: Histogram<u64>,
    /// Bytes of messages with their frame prefixes.
    pub bytes: u64,
    /// Answers by the tier in their `floor-served-by`.
    pub served_by: BTreeMap<String, u64>,
}

/// Latencies are recorded in nanoseconds up to a minute, to three significant digits.
const MAX_LATENCY_NANOS: u64 = 60_000_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;

/// An empty histogram of latencies in nanoseconds.
pub(crate) fn latency_histogram() -> Histogram<u64> {
    Histogram::new_with_max(MAX_LATENCY_NANOS, SIGNIFICANT_DIGITS).expect("a minute in nanoseconds, three digits")
}

impl Tally {
    fn new() -> Self {
        Self { took: Duration::ZERO, latency: latency_histogram(), bytes: 0, served_by: BTreeMap::new() }
    }

    /// Answers a second.
    pub fn rate(&self) -> f64 {
        self.latency.len() as f64 / self.took.as_secs_f64()
    }

    /// The `percent`-th percentile of the latency, in microseconds.
    pub fn micros(&self, percent: f64) -> f64 {
        micros(&self.latency, percent)
    }
}

/// The `percent`-th percentile of `nanos`, in microseconds.
pub fn micros(nanos: &Histogram<u64>, percent: f64) -> f64 {
    nanos.value_at_percentile(percent) as f64 / 1e3
}

/// A closed loop of calls to one or several servers. Each stream sends the next message of a table. With several
/// servers each stream calls them in rotation, so that the load is even.
///
/// The loop runs in the calling thread, which sleeps until an answer arrives. It shares the processors with the servers
/// that it measures, so it uses `http2_client`, which takes a few microseconds per call.
///
/// Each run opens new connections, unless [`connect`](ClosedLoop::connect) did: a server closes idle ones that do not
/// answer its pings.
#[derive(Debug)]
pub struct ClosedLoop {
    servers: Vec<SocketAddr>,
    rpc: Rpc,
    connections: usize,
    /// The connections of a run, by connection of the load, then by server.
    open: Vec<OpenConnection>,
    streams: usize,
    messages: Arc<[Bytes]>,
    /// Messages sent.
    sent: usize,
    served_by: HeaderName,
    grpc_status: HeaderName,
}

/// A connection to one server, with its unanswered calls.
#[derive(Debug)]
struct OpenConnection {
    connection: Connection,
    open_calls: Vec<OpenCall>,
}

#[derive(Debug)]
struct OpenCall {
    number: usize,
    sent_at: Instant,
    bytes: u64,
    served_by: String,
    status: Option<String>,
}

/// The parts of a timed run.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// Time from the first call until answers count.
    pub settle: Duration,
    /// Time during which answers count.
    pub measured: Duration,
    /// Answers are also counted for each slice of this length.
    pub slice: Duration,
}

/// The result of a timed run.
#[derive(Debug)]
pub struct TimedRun<S> {
    /// The answers of the measured time. `served_by` counts floors, each floor of a batch by its own tier.
    pub tally: Tally,
    /// Answers in each slice of the measured time.
    pub slices: Vec<u64>,
    /// The caller's sample at the start of the measured time.
    pub before: S,
    /// The caller's sample at its end.
    pub after: S,
}

const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

impl ClosedLoop {
    /// A loop of `connections` connections to each of `servers`, with `streams` calls in flight for each of the
    /// `connections`. `messages` include their frame prefixes. Calls take them in rotation, across runs.
    pub fn new(servers: &[SocketAddr], rpc: Rpc, connections: usize, streams: usize, messages: Arc<[Bytes]>) -> Self {
        assert!(!servers.is_empty() && !messages.is_empty(), "a load needs a server and a message");
        Self {
            servers: servers.to_vec(),
            rpc,
            connections,
            open: Vec::new(),
            streams,
            messages,
            sent: 0,
            served_by: HeaderName::new("floor-served-by"),
            grpc_status: HeaderName::new("grpc-status"),
        }
    }

    /// Makes `calls` calls.
    pub fn run_calls(&mut self, calls: u64) -> anyhow::Result<Tally> {
        let (started, mut tally) = (Instant::now(), Tally::new());
        let end = self.sent + calls as usize;
        self.begin(end)?;
        self.drain(&mut tally, end)?;
        tally.took = started.elapsed();
        ensure!(tally.latency.len() == calls, "{} answers to {calls} calls", tally.latency.len());
        Ok(tally)
    }

    /// Makes calls for the time of `window`. `sample` is called at the start and at the end of the measured time.
    pub fn run_for<S>(
        &mut self,
        window: Window,
        mut sample: impl FnMut() -> anyhow::Result<S>,
    ) -> anyhow::Result<TimedRun<S>> {
        let settled = Instant::now() + window.settle;
        self.begin(usize::MAX)?;
        self.advance_until(settled, &mut Tally::new())?;
        let before = sample()?;
        let (started, mut tally) = (Instant::now(), Tally::new());
        let (mut slices, mut counted) = (Vec::new(), 0);
        while started.elapsed() < window.measured {
            let elapsed = window.slice * (slices.len() as u32 + 1);
            self.advance_until(started + elapsed.min(window.measured), &mut tally)?;
            slices.push(tally.latency.len() - counted);
            counted = tally.latency.len();
        }
        tally.took = started.elapsed();
        let after = sample()?;
        self.drain(&mut Tally::new(), 0)?;
        ensure!(!tally.latency.is_empty(), "no call was answered within {:?}", window.measured);
        Ok(TimedRun { tally, slices, before, after })
    }

    /// Opens the connections, which are idle until the next run.
    pub fn connect(&mut self) -> anyhow::Result<()> {
        let mut open = Vec::new();
        for _ in 0..self.connections {
            for server in &self.servers {
                let connection = Connection::open(*server, self.rpc)?;
                open.push(OpenConnection { connection, open_calls: Vec::new() });
            }
        }
        self.open = open;
        Ok(())
    }

    /// Makes the first call of each stream. Stream `n` begins with server `n`.
    fn begin(&mut self, end: usize) -> anyhow::Result<()> {
        if self.open.is_empty() {
            self.connect()?;
        }
        for stream in 0..self.streams {
            for connection in 0..self.connections {
                self.queue_call(connection, stream + connection, end);
            }
        }
        self.send()
    }

    /// Queues a call, unless `end` messages were sent already.
    fn queue_call(&mut self, connection: usize, server: usize, end: usize) {
        if self.sent >= end {
            return;
        }
        let open = &mut self.open[connection * self.servers.len() + server % self.servers.len()];
        let number = open.connection.queue_call(&self.messages[self.sent % self.messages.len()]);
        self.sent += 1;
        let call = OpenCall { number, sent_at: Instant::now(), bytes: 0, served_by: String::new(), status: None };
        open.open_calls.push(call);
    }

    fn send(&mut self) -> anyhow::Result<()> {
        self.open.iter_mut().try_for_each(|open| open.connection.send())
    }

    /// Runs until `until`. Each answer is followed by another call.
    fn advance_until(&mut self, until: Instant, tally: &mut Tally) -> anyhow::Result<()> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            self.advance(left, usize::MAX, tally)?;
        }
    }

    /// Runs until every call is answered. An answer is followed by another call while fewer than `end` were sent.
    fn drain(&mut self, tally: &mut Tally, end: usize) -> anyhow::Result<()> {
        while self.open.iter().any(|open| !open.open_calls.is_empty()) {
            ensure!(self.advance(ANSWER_TIMEOUT, end, tally)?, "no answer came within {ANSWER_TIMEOUT:?}");
        }
        self.open.clear();
        Ok(())
    }

    /// Waits up to `timeout` for data and handles it. Returns whether any arrived.
    fn advance(&mut self, timeout: Duration, end: usize, tally: &mut Tally) -> anyhow::Result<bool> {
        let mut polled: Vec<PollFd<'_>> = self.open.iter().map(|open| open.connection.poll_fd()).collect();
        let timeout = Timespec::try_from(timeout).context("a timeout is short")?;
        if poll(&mut polled, Some(&timeout))? == 0 {
            return Ok(false);
        }
        let ready: Vec<bool> = polled.iter().map(|polled| !polled.revents().is_empty()).collect();
        for (index, _) in ready.iter().enumerate().filter(|(_, is_ready)| **is_ready) {
            for _ in 0..self.receive(index, tally)? {
                let (connection, server) = (index / self.servers.len(), index % self.servers.len());
                self.queue_call(connection, server + 1, end);
            }
        }
        self.send()?;
        Ok(true)
    }

    /// Reads one connection. Returns the number of answers that it completed.
    fn receive(&mut self, index: usize, tally: &mut Tally) -> anyhow::Result<usize> {
        let OpenConnection { connection, open_calls } = &mut self.open[index];
        let (served_by, grpc_status, mut complete) = (&self.served_by, &self.grpc_status, 0);
        connection.receive(|part| {
            let position =
                open_calls.iter().position(|call| call.number == part.call).context("an answer to no call")?;
            let call = &mut open_calls[position];
            match part.content {
                Content::Data(bytes) => call.bytes += bytes.len() as u64,
                Content::Headers(block) => {
                    if let Some(tier) = block.get(served_by)? {
                        call.served_by = tier.read()?;
                    }
                    if let Some(status) = block.get(grpc_status)? {
                        call.status = Some(status.read()?);
                    }
                }
            }
            if part.is_last {
                let call = open_calls.swap_remove(position);
                let status = call.status.as_deref();
                ensure!(status == Some("0") && call.bytes > 0, "a call is answered with status {status:?}");
                tally.count(&call);
                complete += 1;
            }
            Ok(())
        })?;
        Ok(complete)
    }
}

impl Tally {
    fn count(&mut self, call: &OpenCall) {
        self.latency.saturating_record(call.sent_at.elapsed().as_nanos() as u64);
        self.bytes += call.bytes;
        for (tier, floors) in tiers(&call.served_by) {
            match self.served_by.get_mut(tier) {
                Some(count) => *count += floors,
                None => {
                    self.served_by.insert(tier.to_owned(), floors);
                }
            }
        }
    }
}

/// The tiers in a `floor-served-by` header with their floors: `lru`, or `lru=3,generated=8` on a batch.
fn tiers(served_by: &str) -> impl Iterator<Item = (&str, u64)> {
    served_by.split(',').filter(|part| !part.is_empty()).map(|part| match part.split_once('=') {
        Some((tier, count)) => (tier, count.parse().unwrap_or(0)),
        None => (part, 1),
    })
}

/// `message` with its frame prefix of five bytes, as gRPC sends it.
pub fn framed(message: &impl Message) -> Bytes {
    let length = message.encoded_len();
    let mut bytes = BytesMut::with_capacity(floor_proto::FRAME_PREFIX_BYTES + length);
    bytes.put_u8(0);
    bytes.put_u32(u32::try_from(length).expect("a request is far below 4 GiB"));
    message.encode(&mut bytes).expect("a BytesMut grows");
    bytes.freeze()
}

/// The framed request for floor `number` of the tower `seed`, of ordinary size and kind.
pub fn floor_request(seed: u64, number: u32) -> Bytes {
    framed(&v1::GetFloorRequest { spec: Some(v1::FloorSpec { seed, number, ..v1::FloorSpec::default() }) })
}

/// Makes one call on a new connection. Returns the answer's message without its frame prefix.
pub fn unary_call(server: SocketAddr, rpc: Rpc, message: &[u8]) -> anyhow::Result<Bytes> {
    let (mut answer, mut status, mut is_complete) = (BytesMut::new(), None, false);
    let grpc_status = HeaderName::new("grpc-status");
    let timeout = Timespec::try_from(ANSWER_TIMEOUT).context("a timeout is short")?;
    let mut connection = Connection::open(server, rpc)?;
    connection.queue_call(message);
    while !is_complete {
        connection.send()?;
        let ready = poll(&mut [connection.poll_fd()], Some(&timeout))?;
        ensure!(ready > 0, "no answer came within {ANSWER_TIMEOUT:?}");
        connection.receive(|part| {
            match part.content {
                Content::Data(bytes) => answer.extend_from_slice(bytes),
                Content::Headers(block) => {
                    if let Some(text) = block.get(&grpc_status)? {
                        status = Some(text.read()?);
                    }
                }
            }
            is_complete |= part.is_last;
            Ok(())
        })?;
    }
    ensure!(status.as_deref() == Some("0"), "{} answered status {status:?}", rpc.name());
    ensure!(answer.len() > floor_proto::FRAME_PREFIX_BYTES, "an answer without a message");
    Ok(answer.freeze().slice(floor_proto::FRAME_PREFIX_BYTES..))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{peers::servers::PeerServer, server::free_address};

    #[test]
    fn the_tiers_of_an_answer_are_read() {
        let read = |text| tiers(text).collect::<Vec<_>>();
        assert_eq!(read("lru"), [("lru", 1)]);
        assert_eq!(read("lru=3,generated=8"), [("lru", 3), ("generated", 8)]);
        assert_eq!(read(""), []);
    }

    #[test]
    fn a_closed_loop_makes_the_calls_of_its_number_or_of_its_time_to_every_server() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let servers = [free_address().unwrap(), free_address().unwrap()];
        for server in servers {
            runtime.spawn(PeerServer::BareHyper.serve(server));
        }
        let messages: Arc<[Bytes]> = Arc::new([framed(&floor_proto::v1::GetFloorRequest::default())]);
        let mut load = ClosedLoop::new(&servers, Rpc::GetFloor, 2, 3, messages);
        let started = Instant::now();
        let tally = loop {
            match load.run_calls(100) {
                Ok(tally) => break tally,
                Err(error) => assert!(started.elapsed() < Duration::from_secs(10), "{error:#}"),
            }
        };
        assert_eq!((tally.latency.len(), load.sent), (100, 100));
        let ms = Duration::from_millis;
        let window = Window { settle: ms(5), measured: ms(50), slice: ms(20) };
        let mut samples = 0;
        let timed = load.run_for(window, || {
            samples += 1;
            Ok(samples)
        });
        let timed = timed.unwrap();
        assert_eq!((timed.before, timed.after), (1, 2));
        assert_eq!(timed.slices.len(), 3);
        assert_eq!(timed.slices.iter().sum::<u64>(), timed.tally.latency.len());
        assert!(timed.tally.took >= ms(50));
        assert!(load.open.is_empty(), "every call was answered");
    }
}
