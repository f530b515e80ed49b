//! Closed loops of calls: each stream makes its next call when the last one is answered. Requests are framed
//! beforehand and answers are counted, not decoded, so that the client needs little CPU.
//!
//! [`ClosedLoop`] calls one or several servers, for a number of calls or for a time. [`open_loop`](crate::open_loop)
//! makes calls at a fixed rate. Both count in a [`Tally`].

use std::{
    collections::BTreeMap,
    fmt,
    str::FromStr,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use bytes::{BufMut, Bytes, BytesMut};
use floor_proto::v1;
use hdrhistogram::Histogram;
use prost::Message;
use rustix::event::{PollFd, Timespec, poll};

pub use crate::target::{Protocol, Target};
pub use floor_proto::rpc::Rpc;

use crate::{
    http2_client::{Connection, Content, Headers},
    target::OK,
};

/// How many calls are in flight, written as `CONNECTIONSxSTREAMS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// TCP connections (to each server, where there are several).
    pub connections: usize,
    /// Calls in flight on each.
    pub streams: usize,
}

impl Shape {
    /// `connections` with `streams` calls each.
    pub const fn new(connections: usize, streams: usize) -> Self {
        Self { connections, streams }
    }

    /// Calls in flight.
    pub const fn in_flight(self) -> usize {
        self.connections * self.streams
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.connections, self.streams)
    }
}

impl FromStr for Shape {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let shape = text.split_once('x').and_then(|(connections, streams)| {
            Some(Self::new(connections.parse().ok()?, streams.parse().ok()?)).filter(|shape| shape.in_flight() > 0)
        });
        shape.with_context(|| format!("{text:?} is not of the form CONNECTIONSxSTREAMS, for example 64x10"))
    }
}

/// The counts of a load.
#[derive(Debug, Clone)]
pub struct Tally {
    /// From the first call to the last answer.
    pub took: Duration,
    /// Nanoseconds from a call, in an open loop from when it was due, to the last byte of its answer. Stalls of a server
    /// show in an open loop, and hardly in a closed one.
    pub latency: Histogram<u64>,
    /// Nanoseconds from when a call of an open loop was due until it was queued: the delay that the client adds.
    pub lateness: Histogram<u64>,
    /// Bytes of messages, with gRPC with their frame prefixes.
    pub bytes: u64,
    /// Floors by tier, from `floor-served-by`.
    pub served_by: BTreeMap<String, u64>,
    /// Calls that were answered RESOURCE_EXHAUSTED.
    pub refused: u64,
    /// Calls of an open loop that were not answered in time. `latency` has the time that they waited.
    pub unanswered: u64,
}

/// Latencies are recorded in nanoseconds up to a minute, to three significant digits.
const MAX_LATENCY_NANOS: u64 = 60_000_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;

/// The number of a status of gRPC.
const RESOURCE_EXHAUSTED: u8 = 8;

pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Tally {
    pub(crate) fn new() -> Self {
        let histogram = || {
            Histogram::new_with_max(MAX_LATENCY_NANOS, SIGNIFICANT_DIGITS)
                .expect("a minute in nanoseconds, three digits")
        };
        Self {
            took: Duration::ZERO,
            latency: histogram(),
            lateness: histogram(),
            bytes: 0,
            served_by: BTreeMap::new(),
            refused: 0,
            unanswered: 0,
        }
    }

    /// Adds the counts of a load at the same time.
    pub fn add(&mut self, other: &Self) -> anyhow::Result<()> {
        self.latency.add(&other.latency)?;
        self.lateness.add(&other.lateness)?;
        self.bytes += other.bytes;
        for (tier, floors) in &other.served_by {
            *self.served_by.entry(tier.clone()).or_default() += floors;
        }
        self.refused += other.refused;
        self.unanswered += other.unanswered;
        Ok(())
    }

    /// Answers a second.
    pub fn rate(&self) -> f64 {
        (self.latency.len() - self.unanswered) as f64 / self.took.as_secs_f64()
    }

    /// Counts an answer. Fails for a status other than OK, and for RESOURCE_EXHAUSTED unless the caller `may_be_refused`.
    pub(crate) fn count(&mut self, answer: &Answer, may_be_refused: bool) -> anyhow::Result<()> {
        match answer.status {
            Some(OK) if answer.bytes > 0 => {}
            Some(RESOURCE_EXHAUSTED) if may_be_refused => {
                self.refused += 1;
                return Ok(());
            }
            status => bail!("a call is answered with status {status:?} and {} bytes", answer.bytes),
        }
        self.latency.saturating_record(nanos(answer.since.elapsed()));
        self.bytes += answer.bytes;
        for (tier, floors) in answer.headers.iter().flat_map(|headers| &headers.served_by) {
            match self.served_by.get_mut(tier) {
                Some(count) => *count += floors,
                None => {
                    self.served_by.insert(tier.clone(), *floors);
                }
            }
        }
        Ok(())
    }
}

/// A connection with its unanswered calls.
#[derive(Debug)]
pub(crate) struct Calls {
    pub(crate) connection: Connection,
    open: Vec<(usize, Answer)>,
}

/// An answer, or as much of it as has come.
#[derive(Debug)]
pub(crate) struct Answer {
    /// When the call was made, in an open loop when it was due.
    pub(crate) since: Instant,
    /// Bytes of the message, with gRPC with its frame prefix.
    pub(crate) bytes: u64,
    headers: Option<Arc<Headers>>,
    status: Option<u8>,
}

impl Calls {
    pub(crate) fn connect(target: &Target, rpc: Rpc) -> anyhow::Result<Self> {
        Ok(Self { connection: Connection::open(target, rpc)?, open: Vec::new() })
    }

    /// Queues a call, whose time counts from `since`.
    pub(crate) fn queue(&mut self, message: &[u8], since: Instant) {
        let number = self.connection.queue_call(message);
        self.open.push((number, Answer { since, bytes: 0, headers: None, status: None }));
    }

    /// The unanswered calls.
    pub(crate) fn open(&self) -> impl ExactSizeIterator<Item = &Answer> {
        self.open.iter().map(|(_, answer)| answer)
    }

    /// Reads without blocking and passes each complete answer to `take`.
    pub(crate) fn receive(&mut self, mut take: impl FnMut(Answer) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let Self { connection, open } = self;
        let protocol = connection.protocol;
        connection.receive(|part| {
            let position = open.iter().position(|(number, _)| *number == part.call).context("an answer to no call")?;
            let answer = &mut open[position].1;
            match part.content {
                Content::Data(bytes) => answer.bytes += bytes.len() as u64,
                Content::Headers(headers) => {
                    answer.status = headers.status(protocol).or(answer.status);
                    if !headers.served_by.is_empty() {
                        answer.headers = Some(Arc::clone(headers));
                    }
                }
            }
            if part.is_last { take(open.swap_remove(position).1) } else { Ok(()) }
        })
    }
}

/// A closed loop of calls to one or several servers. Each stream sends the next message of a table. With several
/// servers each stream calls them in rotation, so that the load is even, or each connection goes to
/// [one](ClosedLoop::one_server_each).
///
/// The loop runs in the calling thread, which sleeps until an answer arrives. It shares the processors with the servers
/// that it measures, so it uses `http2_client`, which takes a few microseconds per call.
///
/// Each run opens new connections, unless [`connect`](ClosedLoop::connect) did: a server closes idle ones that do not
/// answer its pings.
#[derive(Debug)]
pub struct ClosedLoop {
    targets: Vec<Target>,
    rpc: Rpc,
    shape: Shape,
    messages: Arc<[Bytes]>,
    /// How many of the servers each connection of the load goes to.
    servers_each: usize,
    /// The connections of a run, by connection of the load, then by server.
    open: Vec<Calls>,
    /// Messages sent.
    sent: usize,
}

/// The parts of a timed run.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// Time from the first call until answers count.
    pub settle: Duration,
    /// Time during which answers count.
    pub measured: Duration,
}

impl Window {
    /// Both parts.
    pub fn total(self) -> Duration {
        self.settle + self.measured
    }
}

/// The result of a timed run.
#[derive(Debug)]
pub struct TimedRun<S> {
    /// The answers of the measured time.
    pub tally: Tally,
    /// The caller's sample at the start of the measured time.
    pub before: S,
    /// The caller's sample at its end.
    pub after: S,
}

const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// The most passes of [`ClosedLoop::fill`], and the time between two.
const FILLING_PASSES: usize = 40;
const BETWEEN_PASSES: Duration = Duration::from_millis(50);

impl ClosedLoop {
    /// A loop of `shape` to each of `targets`. `messages` are as the protocol of the targets has them, with gRPC with
    /// their frame prefixes. Calls take them in rotation, across runs.
    pub fn new(
        targets: impl IntoIterator<Item = impl Into<Target>>,
        rpc: Rpc,
        shape: Shape,
        messages: Arc<[Bytes]>,
    ) -> Self {
        let targets: Vec<Target> = targets.into_iter().map(Into::into).collect();
        assert!(!targets.is_empty() && !messages.is_empty(), "a load needs a server and a message");
        Self { servers_each: targets.len(), targets, rpc, shape, messages, open: Vec::new(), sent: 0 }
    }

    /// The same loop, with each connection to one server: the first to the first, the second to the second, in rotation.
    #[must_use]
    pub const fn one_server_each(mut self) -> Self {
        self.servers_each = 1;
        self
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

    /// Makes a call with each message, again and again until `tier` has every floor. Returns the tally of the last pass.
    /// A server writes to its tiers after the answers, and may drop a write.
    pub fn fill(&mut self, tier: &str) -> anyhow::Result<Tally> {
        for _ in 0..FILLING_PASSES {
            let tally = self.run_calls(self.messages.len() as u64)?;
            if tally.served_by.keys().all(|by| by == tier) {
                return Ok(tally);
            }
            thread::sleep(BETWEEN_PASSES);
        }
        bail!("after {FILLING_PASSES} passes {tier} does not have every floor")
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
        self.advance_until(started + window.measured, &mut tally)?;
        tally.took = started.elapsed();
        let after = sample()?;
        self.drain(&mut Tally::new(), 0)?;
        ensure!(!tally.latency.is_empty(), "no call was answered within {:?}", window.measured);
        Ok(TimedRun { tally, before, after })
    }

    /// Opens the connections, which are idle until the next run.
    pub fn connect(&mut self) -> anyhow::Result<()> {
        let all = self.targets.iter().cycle().take(self.shape.connections * self.servers_each);
        self.open = all.map(|target| Calls::connect(target, self.rpc)).collect::<anyhow::Result<_>>()?;
        Ok(())
    }

    /// Makes the first call of each stream. Stream `n` begins with server `n`.
    fn begin(&mut self, end: usize) -> anyhow::Result<()> {
        if self.open.is_empty() {
            self.connect()?;
        }
        for stream in 0..self.shape.streams {
            for connection in 0..self.shape.connections {
                self.queue_call(connection, stream + connection, end);
            }
        }
        self.send()
    }

    /// Queues a call, unless `end` messages were sent already.
    fn queue_call(&mut self, connection: usize, server: usize, end: usize) {
        if self.sent < end {
            let calls = &mut self.open[connection * self.servers_each + server % self.servers_each];
            calls.queue(&self.messages[self.sent % self.messages.len()], Instant::now());
            self.sent += 1;
        }
    }

    fn send(&mut self) -> anyhow::Result<()> {
        self.open.iter_mut().try_for_each(|calls| calls.connection.send())
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
        while self.open.iter().any(|calls| calls.open().len() > 0) {
            ensure!(self.advance(ANSWER_TIMEOUT, end, tally)?, "no answer came within {ANSWER_TIMEOUT:?}");
        }
        self.open.clear();
        Ok(())
    }

    /// Waits up to `timeout` for data and handles it. Returns whether any arrived.
    fn advance(&mut self, timeout: Duration, end: usize, tally: &mut Tally) -> anyhow::Result<bool> {
        let mut polled: Vec<PollFd<'_>> = self.open.iter().map(|calls| calls.connection.poll_fd()).collect();
        let timeout = Timespec::try_from(timeout).context("a timeout is short")?;
        if poll(&mut polled, Some(&timeout))? == 0 {
            return Ok(false);
        }
        let ready: Vec<bool> = polled.iter().map(|polled| !polled.revents().is_empty()).collect();
        for (index, _) in ready.iter().enumerate().filter(|(_, is_ready)| **is_ready) {
            let mut complete = 0;
            self.open[index].receive(|answer| {
                complete += 1;
                tally.count(&answer, false)
            })?;
            for _ in 0..complete {
                let (connection, server) = (index / self.servers_each, index % self.servers_each);
                self.queue_call(connection, server + 1, end);
            }
        }
        self.send()?;
        Ok(true)
    }
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

/// Makes one call on a new connection, of `message` as the protocol has it. Returns the answer's message without a frame
/// prefix.
pub fn unary_call(target: &Target, rpc: Rpc, message: &[u8]) -> anyhow::Result<Bytes> {
    let (mut answer, mut status, mut is_complete) = (BytesMut::new(), None, false);
    let mut connection = Connection::open(target, rpc)?;
    let timeout = Timespec::try_from(ANSWER_TIMEOUT).context("a timeout is short")?;
    connection.queue_call(message);
    while !is_complete {
        connection.send()?;
        let ready = poll(&mut [connection.poll_fd()], Some(&timeout))?;
        ensure!(ready > 0, "no answer came within {ANSWER_TIMEOUT:?}");
        connection.receive(|part| {
            match part.content {
                Content::Data(bytes) => answer.extend_from_slice(bytes),
                Content::Headers(headers) => status = headers.status(target.protocol).or(status),
            }
            is_complete |= part.is_last;
            Ok(())
        })?;
    }
    ensure!(status == Some(OK), "{} answered status {status:?}", rpc.name());
    ensure!(answer.len() > target.protocol.prefix_bytes(), "an answer without a message");
    Ok(answer.freeze().slice(target.protocol.prefix_bytes()..))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{peer_servers::PeerServer, process::free_address, server::wait_until_listening};

    #[test]
    fn a_shape_is_read_as_it_is_written() {
        assert_eq!("64x10".parse::<Shape>().unwrap(), Shape::new(64, 10));
        for text in ["64", "64x", "x10", "0x10", "64x10x1"] {
            assert!(text.parse::<Shape>().unwrap_err().to_string().contains("for example 64x10"), "{text}");
        }
    }

    #[test]
    fn a_closed_loop_makes_the_calls_of_its_number_or_of_its_time_to_every_server() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let servers = [free_address().unwrap(), free_address().unwrap()];
        for server in servers {
            runtime.spawn(PeerServer::BareHyper.serve(server));
            wait_until_listening(server).unwrap();
        }
        let messages: Arc<[Bytes]> = Arc::new([framed(&floor_proto::v1::GetFloorRequest::default())]);
        let mut load = ClosedLoop::new(servers, Rpc::GetFloor, Shape::new(2, 3), messages);
        let tally = load.run_calls(100).unwrap();
        assert_eq!((tally.latency.len(), load.sent), (100, 100));
        let ms = Duration::from_millis;
        let mut samples = 0;
        let timed = load.run_for(Window { settle: ms(5), measured: ms(50) }, || {
            samples += 1;
            Ok(samples)
        });
        let timed = timed.unwrap();
        assert_eq!((timed.before, timed.after), (1, 2));
        assert!(timed.tally.took >= ms(50));
        assert!(load.open.is_empty(), "every call was answered");

        let mut load = load.one_server_each();
        load.connect().unwrap();
        assert_eq!(load.open.len(), 2);
        assert_eq!(load.run_calls(100).unwrap().latency.len(), 100);
    }
}
