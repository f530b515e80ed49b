//! The life of the connections to the gRPC port: each is accepted, opened, served and closed, in a task of its own.
//!
//! What is below: `tls` is the handshake, `http2` has the calls of a connection, `coalescing` its reads and writes.

use std::{
    collections::HashMap,
    error::Error,
    future::ready,
    io,
    net::IpAddr,
    pin::pin,
    sync::{Arc, OnceLock},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{FutureExt as _, future::Either};
use http::{Response, StatusCode, header};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    runtime::Handle,
    sync::watch,
    task::{AbortHandle, Id, JoinSet},
    time::{Instant, timeout},
};

use super::{
    coalescing::{CoalescingIo, FlushAfterPoll, HttpVersion, WriteBuffer},
    frame_budget::Payers,
    http2::{self, ConnectionError},
    tls::{Handshakes, Negotiated},
    transport::Transport,
};
use crate::{
    callers::{Budget, Caller, Callers},
    connections::{Acceptor, Admitted, ConnectionLimiter, Refusal},
    cores::Cores,
    grpc::{
        admission::InFlight,
        body::FloorBody,
        certificates::Certificates,
        path::{Router, Routes},
    },
    http1::host_problem,
    metrics::{Limit, Refusals},
};

/// Deadline for the client to complete the TLS handshake and to send its protocol preface, counted together. HTTP/1
/// (gRPC-Web) has as long again for its headers.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);

/// How long input is discarded after an error of the protocol, so that the client reads what was wrong.
const ERROR_GRACE: Duration = Duration::from_secs(1);

/// How long a connection may stay open without unsent bytes while no call is in flight: enough for a client that reads or
/// that has not heard yet that the connection closes, and short for a client that watches health or is unreachable.
const CLOSE_GRACE: Duration = Duration::from_secs(2);
/// How often the drain checks whether calls are in flight and whether connections have flushed.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Connections that are accepted after the start of a drain, at most: more than the backlog of a listener.
const MAX_BACKLOG: usize = 4096;

/// Limit for what HTTP/1 buffers, and so for a request's head. hyper's own is 400 KiB, which each half-sent request could
/// hold.
const MAX_HTTP1_BUFFER_BYTES: usize = 16 << 10;

/// What every connection needs.
#[derive(Debug, Clone)]
pub(in crate::grpc) struct ConnectionDeps {
    pub(in crate::grpc) callers: Callers,
    pub(in crate::grpc) unsent: Budget,
    pub(in crate::grpc) limiter: ConnectionLimiter,
    /// How long a connection may exist before it is told to go away; `None` for no limit.
    pub(in crate::grpc) max_age: Option<Duration>,
    pub(in crate::grpc) refusals: Refusals,
    pub(in crate::grpc) certificates: Certificates,
    pub(in crate::grpc) handshakes: Handshakes,
    /// What a drain waits for.
    pub(in crate::grpc) in_flight: InFlight,
    pub(in crate::grpc) cores: Cores,
    /// The common runtime, for handshakes.
    pub(in crate::grpc) common: Handle,
}

/// Serves connections until `closed` is true, then asks every client to disconnect, and returns when all connections
/// have [ended](Connections::close).
pub(in crate::grpc) async fn serve(
    listener: TcpListener,
    routes: Routes,
    deps: ConnectionDeps,
    mut closed: watch::Receiver<bool>,
) {
    let cores: Vec<_> = (0..deps.cores.count()).map(|_| CoreParts::new(&routes, &deps)).collect();
    let mut acceptor = Acceptor::new(listener, deps.limiter.clone(), deps.refusals.clone(), Refusal::key);
    let mut connections = Connections::default();
    loop {
        let (stream, peer, admitted) = tokio::select! {
            accepted = acceptor.accept(|peer| deps.callers.is_trusted_proxy(peer)) => accepted,
            Some(()) = connections.remove_ended() => continue,
            _ = closed.wait_for(|closed| *closed) => break,
        };
        start(&mut connections, stream, peer.ip(), admitted, &cores);
    }
    cores.iter().for_each(|core| _ = core.closing.send_replace(true));
    // Those in the backlog: the system would reset them, and their clients may already have sent a call.
    for _ in 0..MAX_BACKLOG {
        let accepted = acceptor.accept(|peer| deps.callers.is_trusted_proxy(peer)).now_or_never();
        let Some((stream, peer, admitted)) = accepted else { break };
        start(&mut connections, stream, peer.ip(), admitted, &cores);
    }
    drop(acceptor);
    connections.close(&deps.in_flight).await;
}

/// What the connections of one core use, with reference counts and other counts of its own, because each call writes some.
struct CoreParts {
    routes: Routes,
    deps: Arc<ConnectionDeps>,
    closing: watch::Sender<bool>,
}

impl CoreParts {
    fn new(routes: &Routes, deps: &ConnectionDeps) -> Self {
        Self { routes: routes.for_core(), deps: Arc::new(deps.clone()), closing: watch::Sender::new(false) }
    }
}

/// Starts the task of a connection, on the core that has the fewest.
fn start(connections: &mut Connections, stream: TcpStream, peer: IpAddr, admitted: Admitted, cores: &[CoreParts]) {
    // A call is one small request and one response, so Nagle's algorithm would only delay it.
    let _ = stream.set_nodelay(true);
    // It is registered with the runtime of the acceptor.
    let stream = stream.into_std();
    let place = cores[0].deps.cores.place();
    let CoreParts { routes, deps, closing } = &cores[place.core()];
    let (routes, deps, closed) = (routes.clone(), Arc::clone(deps), closing.subscribe());
    let slot = WriteBufferSlot::default();
    connections.spawn(&place.runtime().clone(), Arc::clone(&slot), async move {
        if let Err(error) = open_and_serve(stream, peer, &slot, &routes, &deps, closed.clone()).await {
            let error = &*error as &(dyn Error + 'static);
            tracing::debug!(error, address = %peer, "a connection ended with an error");
        }
        // Only when the server closes: a client that disconnects by itself has read its responses.
        let is_closing = *closed.borrow();
        if is_closing && let Some(write_buffer) = slot.get() {
            write_buffer.linger(CLOSE_GRACE).await;
        }
        drop((place, admitted));
    });
}

/// Opens a connection in time, and serves it until it ends.
async fn open_and_serve(
    stream: io::Result<std::net::TcpStream>,
    peer: IpAddr,
    slot: &OnceLock<WriteBuffer>,
    routes: &Routes,
    deps: &ConnectionDeps,
    closed: watch::Receiver<bool>,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    // Also during a drain: a client that has just connected hears of it from the protocol.
    let opened = timeout(HEADER_TIMEOUT, open(stream?, peer, slot, deps)).await;
    let opened = match opened.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
        Ok(opened) => opened,
        // It connected and left, as load balancers do to see whether the port is open.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
        Err(error) => {
            // A connection gets its write buffer after the TLS handshake, which has failed or taken too long.
            if slot.get().is_none() {
                deps.refusals.count(Limit::Handshake);
            }
            return Err(error.into());
        }
    };
    let behind_proxy = deps.callers.is_trusted_proxy(peer).then(|| deps.callers.clone());
    let payers = match &behind_proxy {
        None => Payers::Caller(deps.callers.clone(), opened.caller.id()),
        Some(callers) => Payers::BehindProxy(callers.clone()),
    };
    let router = routes.for_caller(opened.caller, behind_proxy);
    match opened.version {
        HttpVersion::Http2 => serve_http2(opened.io, opened.write_buffer, router, payers, deps.max_age, closed).await,
        HttpVersion::Http1 => serve_http1(opened.io, opened.write_buffer, router, closed).await,
    }
}

/// A connection whose client and version of HTTP are known.
struct Opened {
    io: CoalescingIo,
    write_buffer: WriteBuffer,
    version: HttpVersion,
    caller: Caller,
}

/// Finds the client and the version of HTTP, after the TLS handshake if there is one. Puts the write buffer into `slot`.
async fn open(
    stream: std::net::TcpStream,
    peer: IpAddr,
    slot: &OnceLock<WriteBuffer>,
    deps: &ConnectionDeps,
) -> io::Result<Opened> {
    let (transport, negotiated) = match deps.certificates.server_config() {
        None => (Transport::Tcp(TcpStream::from_std(stream)?), Negotiated::default()),
        // Boxed, so that a connection does not keep the memory that its handshake needs.
        Some(config) => Box::pin(deps.handshakes.run_in(&deps.common, stream, config)).await?,
    };
    let caller = match &negotiated.subject {
        Some(subject) => deps.callers.certified(subject, peer),
        None => deps.callers.at(peer),
    };
    let (mut io, write_buffer) = CoalescingIo::new(transport, Some((deps.unsent.clone(), caller.clone())));
    let _ = slot.set(write_buffer.clone());
    // Also if the version is negotiated: until the preface has arrived, nothing else limits the time.
    let detected = io.detect_version().await?;
    Ok(Opened { io, write_buffer, version: negotiated.version.unwrap_or(detected), caller })
}

/// Serves HTTP/2 until the client closes the connection or is asked to.
async fn serve_http2(
    io: CoalescingIo,
    write_buffer: WriteBuffer,
    router: Router,
    payers: Payers,
    max_age: Option<Duration>,
    closed: watch::Receiver<bool>,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let connection = http2::serve(io, router, payers, max_age, closed);
    let ended = FlushAfterPoll::new(connection, write_buffer.clone()).await?;
    if ended.as_ref().is_err_and(ConnectionError::is_of_protocol) {
        // The client may still send, and a socket that is closed with unread input drops what says why.
        let _ = timeout(ERROR_GRACE, write_buffer.linger(ERROR_GRACE)).await;
    }
    ended?;
    Ok(())
}

/// Serves HTTP/1, which browsers speak to a port without TLS, and clients whose ALPN offers nothing else.
async fn serve_http1(
    io: CoalescingIo,
    write_buffer: WriteBuffer,
    router: Router,
    mut closed: watch::Receiver<bool>,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut server = hyper::server::conn::http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT).max_buf_size(MAX_HTTP1_BUFFER_BYTES);
    let service = service_fn(move |request| match host_problem(&request) {
        Some(problem) => Either::Left(ready(Ok(bad_request(problem)))),
        None => Either::Right(hyper::service::Service::call(&router, request)),
    });
    let connection = async {
        let mut connection = pin!(server.serve_connection(TokioIo::new(io), service));
        tokio::select! {
            // First, so that a call that has arrived is read before the connection closes.
            biased;
            ended = connection.as_mut() => return ended,
            _ = closed.wait_for(|closed| *closed) => {}
        }
        connection.as_mut().graceful_shutdown();
        connection.await
    };
    FlushAfterPoll::new(connection, write_buffer).await??;
    Ok(())
}

/// The answer to a request that is none, after which the connection closes.
fn bad_request(problem: &'static str) -> Response<FloorBody> {
    let response = Response::builder()
        .status(StatusCode::BAD_REQUEST)
        .header(header::CONTENT_TYPE, "text/plain; charset=utf-8")
        .header(header::CACHE_CONTROL, "no-store")
        .header(header::CONNECTION, "close");
    response.body(FloorBody::whole(Bytes::from_static(problem.as_bytes()).into())).expect("constant headers are valid")
}

/// The write buffer of a connection. Empty until the connection has one, which with TLS is after the handshake.
type WriteBufferSlot = Arc<OnceLock<WriteBuffer>>;

/// The open connections.
#[derive(Default)]
struct Connections {
    tasks: JoinSet<()>,
    write_buffers: HashMap<Id, (AbortHandle, WriteBufferSlot)>,
}

impl Connections {
    /// Runs `connection`, which puts its write buffer into `slot`, in a task of `core`.
    fn spawn(&mut self, core: &Handle, slot: WriteBufferSlot, connection: impl Future<Output = ()> + Send + 'static) {
        let task = self.tasks.spawn_on(connection, core);
        self.write_buffers.insert(task.id(), (task, slot));
    }

    /// Waits until a connection ends, and removes it. `None` at once if no connection is open. Cancel safe.
    async fn remove_ended(&mut self) -> Option<()> {
        let ended = self.tasks.join_next_with_id().await?;
        // An error is a panic in the transport. Other connections continue.
        let id = ended.map_or_else(|error| error.id(), |(id, ())| id);
        self.write_buffers.remove(&id);
        Some(())
    }

    /// Waits until every connection has ended, each of which has been told to close. When no call has been in flight for
    /// [`CLOSE_GRACE`], aborts those without unsent bytes, and waits for those that still send.
    async fn close(mut self, in_flight: &InFlight) {
        let mut grace_ends = Instant::now() + CLOSE_GRACE;
        loop {
            match timeout(CHECK_INTERVAL, self.remove_ended()).await {
                Ok(Some(())) => {}
                Ok(None) => return,
                Err(_) if in_flight.calls() > 0 => grace_ends = Instant::now() + CLOSE_GRACE,
                Err(_) if Instant::now() < grace_ends => {}
                Err(_) => self.abort_idle(),
            }
        }
    }

    /// Aborts the connections without unsent bytes.
    fn abort_idle(&self) {
        self.write_buffers
            .values()
            .filter(|(_, slot)| !slot.get().is_some_and(WriteBuffer::is_busy))
            .for_each(|(task, _)| task.abort());
    }
}
