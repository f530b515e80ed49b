//! Closed loops of gRPC calls: each stream makes its next call when the last one is answered. Requests are framed
//! beforehand and answers are counted, not decoded, so that the client needs little CPU.
//!
//! [`HyperLoad`] makes a number of calls to one server through hyper. [`ClosedLoop`] calls one or several servers, for
//! a number of calls or for a time, with a fifth of the CPU. [`open_loop`](crate::open_loop) makes calls at a fixed
//! rate.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use bytes::{BufMut, Bytes, BytesMut};
use floor_proto::rpc::Rpc;
use hdrhistogram::Histogram;
use http::{HeaderValue, Request, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::{net::TcpStream, task::JoinSet};

use crate::http2_client::{Connection, Content, HeaderName};

/// A unary method of the floor service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Returns one floor.
    GetFloor,
    /// Returns several floors.
    BatchGetFloors,
}

impl Method {
    /// The path of the HTTP request.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::GetFloor => Rpc::GetFloor.path(),
            Self::BatchGetFloors => Rpc::BatchGetFloors.path(),
        }
    }
}

/// A closed loop of a number of calls to one server, through hyper.
#[derive(Debug, Clone)]
pub struct HyperLoad {
    /// The server's address.
    pub server: SocketAddr,
    /// The method to call.
    pub method: Method,
    /// TCP connections.
    pub connections: usize,
    /// Calls in flight on each.
    pub streams: usize,
    /// The number of calls.
    pub calls: u64,
}

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

    fn add(&mut self, other: Self) {
        self.latency.add(other.latency).expect("histograms of one shape");
        self.bytes += other.bytes;
        for (tier, count) in other.served_by {
            *self.served_by.entry(tier).or_default() += count;
        }
    }

    /// Answers a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.latency.len() as f64 / self.took.as_secs_f64()
    }

    /// The `percent`-th percentile of the latency, in microseconds.
    #[must_use]
    pub fn micros(&self, percent: f64) -> f64 {
        self.latency.value_at_percentile(percent) as f64 / 1e3
    }
}

impl HyperLoad {
    /// Makes the calls. Call `n` sends `request(n)`, a message with its frame prefix.
    ///
    /// # Errors
    /// When a connection cannot be made, or the status of any answer is not OK.
    pub async fn run(&self, request: impl Fn(u64) -> Bytes + Clone + Send + 'static) -> anyhow::Result<Tally> {
        let connections = self.connect().await?;
        self.run_on(connections, request).await
    }

    /// Opens the connections of the load, which stay idle.
    ///
    /// # Errors
    /// When one cannot be made.
    pub async fn connect(&self) -> anyhow::Result<Vec<HyperConnection>> {
        let mut connections = Vec::with_capacity(self.connections);
        for _ in 0..self.connections {
            connections.push(connect(self.server).await?);
        }
        Ok(connections)
    }

    /// As [`run`](Self::run), on connections opened before.
    ///
    /// # Errors
    /// When the status of any answer is not OK.
    pub async fn run_on(
        &self,
        connections: Vec<HyperConnection>,
        request: impl Fn(u64) -> Bytes + Clone + Send + 'static,
    ) -> anyhow::Result<Tally> {
        let next = Arc::new(AtomicU64::new(0));
        let (mut tasks, started) = (JoinSet::new(), Instant::now());
        for connection in connections {
            for _ in 0..self.streams {
                let (load, connection, next, request) =
                    (self.clone(), connection.clone(), Arc::clone(&next), request.clone());
                tasks.spawn(async move { load.stream(connection, &next, request).await });
            }
        }
        let mut tally = Tally::new();
        while let Some(stream) = tasks.join_next().await {
            tally.add(stream??);
        }
        tally.took = started.elapsed();
        ensure!(tally.latency.len() == self.calls, "{} answers to {} calls", tally.latency.len(), self.calls);
        Ok(tally)
    }

    async fn stream(
        &self,
        mut connection: HyperConnection,
        next: &AtomicU64,
        request: impl Fn(u64) -> Bytes,
    ) -> anyhow::Result<Tally> {
        let mut tally = Tally::new();
        loop {
            let call = next.fetch_add(1, Relaxed);
            if call >= self.calls {
                return Ok(tally);
            }
            let started = Instant::now();
            let answer = connection.call(self.method, request(call)).await?;
            tally.latency.record(u64::try_from(started.elapsed().as_nanos())?.min(MAX_LATENCY_NANOS))?;
            tally.bytes += answer.bytes;
            if let Some(tier) = answer.served_by {
                *tally.served_by.entry(text(&tier)).or_default() += 1;
            }
        }
    }
}

fn text(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}

/// A closed loop of calls to one or several servers. Each stream sends the next message of a table. With several
/// servers each stream calls them in rotation, so that the load is even.
///
/// The loop runs in the calling thread, which sleeps until an answer arrives. It shares the processors with the servers
/// that it measures, so it uses `http2_client`, which takes a few microseconds per call.
///
/// Each run opens new connections: a server closes idle ones that do not answer its pings.
#[derive(Debug)]
pub struct ClosedLoop {
    servers: Vec<SocketAddr>,
    method: Method,
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
    ///
    /// # Panics
    /// When there is no server or no message.
    #[must_use]
    pub fn new(
        servers: &[SocketAddr],
        method: Method,
        connections: usize,
        streams: usize,
        messages: Arc<[Bytes]>,
    ) -> Self {
        assert!(!servers.is_empty() && !messages.is_empty(), "a load needs a server and a message");
        Self {
            servers: servers.to_vec(),
            method,
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
    ///
    /// # Errors
    /// When a connection cannot be made, the status of any answer is not OK, or no answer comes for a minute.
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
    ///
    /// # Errors
    /// When a connection cannot be made, any status is not OK, no answer comes in the measured time, or `sample` fails.
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

    /// Opens the connections and makes the first call of each stream. Stream `n` begins with server `n`.
    fn begin(&mut self, end: usize) -> anyhow::Result<()> {
        self.open.clear();
        for _ in 0..self.connections {
            for server in &self.servers {
                self.open.push(OpenConnection {
                    connection: Connection::open(*server, self.method)?,
                    open_calls: Vec::new(),
                });
            }
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
        let mut polled: Vec<PollFd<'_>> = Vec::with_capacity(self.open.len());
        for open in &self.open {
            let queued = if open.connection.has_queued() { PollFlags::OUT } else { PollFlags::empty() };
            polled.push(PollFd::new(&open.connection, PollFlags::IN | queued));
        }
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
                Content::Data(bytes) => call.bytes += u64::from(bytes),
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

/// A connection through hyper. Clones share it.
#[derive(Debug, Clone)]
pub struct HyperConnection {
    sender: SendRequest<Full<Bytes>>,
    get_floor: Uri,
    batch_get_floors: Uri,
}

struct CallResult {
    bytes: u64,
    served_by: Option<HeaderValue>,
}

async fn connect(server: SocketAddr) -> anyhow::Result<HyperConnection> {
    let stream = TcpStream::connect(server).await.with_context(|| format!("cannot connect to {server}"))?;
    stream.set_nodelay(true)?;
    let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let uri = |method: Method| format!("http://{server}{}", method.path()).parse();
    Ok(HyperConnection { sender, get_floor: uri(Method::GetFloor)?, batch_get_floors: uri(Method::BatchGetFloors)? })
}

impl HyperConnection {
    async fn call(&mut self, method: Method, message: Bytes) -> anyhow::Result<CallResult> {
        let mut bytes = 0;
        let served_by = self.call_with(method, message, |data| bytes += data.len() as u64).await?;
        Ok(CallResult { bytes, served_by })
    }

    /// Passes every piece of the answer to `take`. Returns `floor-served-by`, if the answer has it.
    async fn call_with(
        &mut self,
        method: Method,
        message: Bytes,
        mut take: impl FnMut(&[u8]),
    ) -> anyhow::Result<Option<HeaderValue>> {
        let uri = match method {
            Method::GetFloor => self.get_floor.clone(),
            Method::BatchGetFloors => self.batch_get_floors.clone(),
        };
        let request = Request::post(uri)
            .header(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"))
            .header(header::TE, HeaderValue::from_static("trailers"))
            .body(Full::new(message))?;
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let served_by = response.headers().get("floor-served-by").cloned();
        let mut status = response.headers().get("grpc-status").cloned();
        let mut body = response.into_body();
        while let Some(frame) = body.frame().await {
            let frame = frame?;
            if let Some(data) = frame.data_ref() {
                take(data);
            } else if let Some(trailers) = frame.trailers_ref() {
                status = trailers.get("grpc-status").cloned();
            }
        }
        if status.as_ref().map(HeaderValue::as_bytes) != Some(b"0") {
            bail!("{} answered status {status:?}", method.path());
        }
        Ok(served_by)
    }
}

/// `message` with its frame prefix of five bytes, as gRPC sends it.
#[must_use]
pub fn framed(message: &impl Message) -> Bytes {
    let length = message.encoded_len();
    let mut bytes = BytesMut::with_capacity(floor_proto::FRAME_PREFIX_BYTES + length);
    bytes.put_u8(0);
    bytes.put_u32(u32::try_from(length).expect("a request is far below 4 GiB"));
    message.encode(&mut bytes).expect("a BytesMut grows");
    bytes.freeze()
}

/// Makes one call on a new connection. Returns the answer's message without its frame prefix.
///
/// # Errors
/// When no message comes, or the status is not OK.
pub async fn unary_call(server: SocketAddr, method: Method, message: Bytes) -> anyhow::Result<Bytes> {
    let mut answer = BytesMut::new();
    connect(server).await?.call_with(method, message, |data| answer.extend_from_slice(data)).await?;
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
        let mut load = ClosedLoop::new(&servers, Method::GetFloor, 2, 3, messages);
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
