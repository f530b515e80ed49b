//! A load of gRPC calls that costs the machine little: HTTP/2 by hyper, requests framed beforehand, answers counted and
//! not decoded.

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
use hdrhistogram::Histogram;
use http::{HeaderValue, Request, header};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use tokio::{net::TcpStream, task::JoinSet};

/// A unary method of the floor service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// One floor.
    GetFloor,
    /// Many.
    BatchGetFloors,
}

impl Method {
    /// Its path.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::GetFloor => "/floors.v1.FloorService/GetFloor",
            Self::BatchGetFloors => "/floors.v1.FloorService/BatchGetFloors",
        }
    }
}

/// What is asked, and how much of it at once: the next call as soon as one is answered. For calls at a pace there is
/// [`paced`](crate::paced).
#[derive(Debug, Clone)]
pub struct Load {
    /// Whom.
    pub server: SocketAddr,
    /// Which method.
    pub method: Method,
    /// TCP connections.
    pub connections: usize,
    /// Calls in flight on each.
    pub streams: usize,
    /// Calls in all.
    pub calls: u64,
}

/// What came of a load.
#[derive(Debug, Clone)]
pub struct Tally {
    /// From the first call to the last answer.
    pub took: Duration,
    /// Nanoseconds from a call to the last byte of its answer. A server that stalls keeps calls from being made, which this does
    /// not show and `took` does.
    pub latency: Histogram<u64>,
    /// Bytes of messages, their frame prefixes included.
    pub bytes: u64,
    /// Answers by what they said had served them.
    pub served_by: BTreeMap<String, u64>,
}

/// Latencies are kept in nanoseconds up to a minute, to three digits.
const LONGEST: u64 = 60_000_000_000;
const DIGITS: u8 = 3;

/// An empty histogram of latencies in nanoseconds.
pub(crate) fn latencies() -> Histogram<u64> {
    Histogram::new_with_max(LONGEST, DIGITS).expect("a minute in nanoseconds, three digits")
}

impl Tally {
    fn new() -> Self {
        Self { took: Duration::ZERO, latency: latencies(), bytes: 0, served_by: BTreeMap::new() }
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

    /// Microseconds that so many percent of the calls did not exceed.
    #[must_use]
    pub fn micros(&self, percent: f64) -> f64 {
        self.latency.value_at_percentile(percent) as f64 / 1e3
    }
}

impl Load {
    /// Puts the load on the server: call `n` sends `request(n)`, a message with its frame prefix.
    ///
    /// # Errors
    /// When a connection cannot be made, or any answer is not an OK: a load that fails in part measures something else.
    pub async fn run(&self, request: impl Fn(u64) -> Bytes + Clone + Send + 'static) -> anyhow::Result<Tally> {
        let lines = self.lines().await?;
        self.run_on(lines, request).await
    }

    /// The connections of the load, made and idle.
    ///
    /// # Errors
    /// When one cannot be made.
    pub async fn lines(&self) -> anyhow::Result<Vec<Line>> {
        let mut lines = Vec::with_capacity(self.connections);
        for _ in 0..self.connections {
            lines.push(connect(self.server).await?);
        }
        Ok(lines)
    }

    /// As [`run`](Self::run), on connections made before.
    ///
    /// # Errors
    /// When any answer is not an OK.
    pub async fn run_on(
        &self,
        lines: Vec<Line>,
        request: impl Fn(u64) -> Bytes + Clone + Send + 'static,
    ) -> anyhow::Result<Tally> {
        let next = Arc::new(AtomicU64::new(0));
        let (mut tasks, started) = (JoinSet::new(), Instant::now());
        for line in lines {
            for _ in 0..self.streams {
                let (load, line, next, request) = (self.clone(), line.clone(), Arc::clone(&next), request.clone());
                tasks.spawn(async move { load.stream(line, &next, request).await });
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

    async fn stream(&self, mut line: Line, next: &AtomicU64, request: impl Fn(u64) -> Bytes) -> anyhow::Result<Tally> {
        let mut tally = Tally::new();
        loop {
            let call = next.fetch_add(1, Relaxed);
            if call >= self.calls {
                return Ok(tally);
            }
            let asked = Instant::now();
            let answer = line.call(self.method, request(call)).await?;
            tally.latency.record(u64::try_from(asked.elapsed().as_nanos())?.min(LONGEST))?;
            tally.bytes += answer.bytes;
            if let Some(tier) = answer.served_by {
                *tally.served_by.entry(tier).or_default() += 1;
            }
        }
    }
}

/// A connection. Clones share it.
#[derive(Debug, Clone)]
pub struct Line {
    sender: SendRequest<Full<Bytes>>,
    authority: Arc<str>,
}

struct Answered {
    bytes: u64,
    served_by: Option<String>,
}

async fn connect(server: SocketAddr) -> anyhow::Result<Line> {
    let stream = TcpStream::connect(server).await.with_context(|| format!("cannot connect to {server}"))?;
    stream.set_nodelay(true)?;
    let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(Line { sender, authority: server.to_string().into() })
}

impl Line {
    async fn call(&mut self, method: Method, message: Bytes) -> anyhow::Result<Answered> {
        let mut bytes = 0;
        let served_by = self.call_with(method, message, |data| bytes += data.len() as u64).await?;
        Ok(Answered { bytes, served_by })
    }

    /// Gives every piece of the answer to `take`; who served it, if that is told.
    async fn call_with(
        &mut self,
        method: Method,
        message: Bytes,
        mut take: impl FnMut(&[u8]),
    ) -> anyhow::Result<Option<String>> {
        let uri = format!("http://{}{}", self.authority, method.path());
        let request = Request::post(uri)
            .header(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"))
            .header(header::TE, HeaderValue::from_static("trailers"))
            .body(Full::new(message))?;
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let served_by = response.headers().get("floor-served-by");
        let served_by = served_by.and_then(|value| value.to_str().ok()).map(str::to_owned);
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

/// `message` as it goes over the wire: five bytes of frame prefix, then itself.
#[must_use]
pub fn framed(message: &impl Message) -> Bytes {
    let length = message.encoded_len();
    let mut bytes = BytesMut::with_capacity(floor_proto::FRAME_PREFIX_BYTES + length);
    bytes.put_u8(0);
    bytes.put_u32(u32::try_from(length).expect("a request is far below 4 GiB"));
    message.encode(&mut bytes).expect("a BytesMut grows");
    bytes.freeze()
}

/// The one answer to one call: the message, without its frame prefix.
///
/// # Errors
/// When there is none, or its status is not OK.
pub async fn ask(server: SocketAddr, method: Method, message: Bytes) -> anyhow::Result<Bytes> {
    let mut answer = BytesMut::new();
    connect(server).await?.call_with(method, message, |data| answer.extend_from_slice(data)).await?;
    ensure!(answer.len() > floor_proto::FRAME_PREFIX_BYTES, "an answer without a message");
    Ok(answer.freeze().slice(floor_proto::FRAME_PREFIX_BYTES..))
}
