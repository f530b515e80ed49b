//! Serves each connection to the gRPC port in a task of its own.

use std::{
    error::Error,
    io,
    net::IpAddr,
    pin::pin,
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures_util::FutureExt as _;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    time::timeout,
};

use super::{
    coalescing::{CoalescingIo, FlushAfterPoll, Protocol, WriteBuffer},
    drain::{CLOSE_GRACE, Connections, WriteBufferSlot},
    frame_budget::Payers,
    http2::{self, ConnectionError},
    tls::{Handshakes, Negotiated},
    transport::Transport,
};
use crate::{
    clients::{Budget, Client, Clients},
    config::ConnectionLimits,
    connections::{Acceptor, Admitted, ConnectionLimiter, Refusal},
    grpc::{
        InFlight,
        certificates::Certificates,
        routing::{Router, Routes},
    },
    metrics::{Limit, Refusals},
};

/// Deadline for the client to complete the TLS handshake and to send its protocol preface, counted together. HTTP/1
/// (gRPC-Web) has as long again for its headers.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);

/// How long input is discarded after an error of the protocol, so that the client reads what was wrong.
const ERROR_GRACE: Duration = Duration::from_secs(1);

/// Connections that are accepted after the start of a drain, at the most: more than the backlog of a listener.
const MAX_BACKLOG: usize = 4096;

/// Limit for what HTTP/1 buffers of a request's head. hyper's own is 400 KiB, which each half-sent request could hold.
const MAX_HTTP1_BUFFER_BYTES: usize = 64 << 10;

/// What every connection needs.
#[derive(Debug, Clone)]
pub(in crate::grpc) struct ConnectionDeps {
    pub(in crate::grpc) clients: Clients,
    pub(in crate::grpc) unsent: Budget,
    pub(in crate::grpc) limiter: ConnectionLimiter,
    pub(in crate::grpc) limits: ConnectionLimits,
    pub(in crate::grpc) refusals: Refusals,
    pub(in crate::grpc) certificates: Certificates,
    pub(in crate::grpc) handshakes: Handshakes,
    /// What a drain waits for.
    pub(in crate::grpc) in_flight: InFlight,
}

/// A connection whose client and protocol are known.
struct Opened {
    io: CoalescingIo,
    write_buffer: WriteBuffer,
    protocol: Protocol,
    client: Client,
}

/// Serves connections until `closed` is true, then asks every client to disconnect, and returns when all connections
/// have [ended](Connections::close).
pub(in crate::grpc) async fn serve(
    listener: TcpListener,
    routes: Routes,
    deps: ConnectionDeps,
    mut closed: watch::Receiver<bool>,
) {
    let deps = Arc::new(deps);
    let mut acceptor = Acceptor::new(listener, deps.limiter.clone(), deps.refusals.clone(), Refusal::key);
    let mut connections = Connections::default();
    loop {
        let (stream, peer, admitted) = tokio::select! {
            accepted = acceptor.accept(|peer| deps.clients.is_trusted_proxy(peer)) => accepted,
            Some(()) = connections.remove_ended() => continue,
            _ = closed.wait_for(|closed| *closed) => break,
        };
        start(&mut connections, stream, peer.ip(), admitted, &routes, &deps, &closed);
    }
    // Those in the backlog: the system would reset them, and their clients may already have sent a call.
    for _ in 0..MAX_BACKLOG {
        let accepted = acceptor.accept(|peer| deps.clients.is_trusted_proxy(peer)).now_or_never();
        let Some((stream, peer, admitted)) = accepted else { break };
        start(&mut connections, stream, peer.ip(), admitted, &routes, &deps, &closed);
    }
    drop(acceptor);
    connections.close(&deps.in_flight).await;
}

/// Starts to serve a connection.
fn start(
    connections: &mut Connections,
    stream: TcpStream,
    peer: IpAddr,
    admitted: Admitted,
    routes: &Routes,
    deps: &Arc<ConnectionDeps>,
    closed: &watch::Receiver<bool>,
) {
    // A call is one small request and one response, so Nagle's algorithm would only delay it.
    let _ = stream.set_nodelay(true);
    let slot = WriteBufferSlot::default();
    let (routes, deps, closed) = (routes.clone(), Arc::clone(deps), closed.clone());
    connections.spawn(Arc::clone(&slot), async move {
        if let Err(error) = serve_connection(stream, peer, &slot, &routes, &deps, closed.clone()).await {
            let error = &*error as &(dyn Error + 'static);
            tracing::debug!(error, address = %peer, "a connection ended with an error");
        }
        // Only when the server closes: a client that disconnects by itself has read its responses.
        let is_closing = *closed.borrow();
        if is_closing && let Some(write_buffer) = slot.get() {
            write_buffer.linger(CLOSE_GRACE).await;
        }
        drop(admitted);
    });
}

async fn serve_connection(
    stream: TcpStream,
    peer: IpAddr,
    slot: &OnceLock<WriteBuffer>,
    routes: &Routes,
    deps: &ConnectionDeps,
    closed: watch::Receiver<bool>,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    // Also during a drain: a client that has just connected hears of it from the protocol.
    let opened = timeout(HEADER_TIMEOUT, open(stream, peer, slot, deps)).await;
    let Opened { io, write_buffer, protocol, client } =
        match opened.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
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
    let behind_proxy = deps.clients.is_trusted_proxy(peer).then(|| deps.clients.clone());
    let payers = match &behind_proxy {
        None => Payers::Client(deps.clients.clone(), client.id()),
        Some(clients) => Payers::BehindProxy(clients.clone()),
    };
    let (router, limits) = (routes.for_client(client, behind_proxy), deps.limits);
    match protocol {
        Protocol::Http2 => {
            let connection = http2::serve(io, router, payers, limits, closed);
            let ended = FlushAfterPoll::new(connection, write_buffer.clone(), limits.stall_timeout).await?;
            if ended.as_ref().is_err_and(ConnectionError::is_of_protocol) {
                // The client may still send, and a socket that is closed with unread input drops what says why.
                let _ = timeout(ERROR_GRACE, write_buffer.linger(ERROR_GRACE)).await;
            }
            ended?;
        }
        Protocol::Http1 => {
            let connection = serve_http1(io, router, closed);
            FlushAfterPoll::new(connection, write_buffer, limits.stall_timeout).await??;
        }
    }
    Ok(())
}

/// Finds the client and the protocol of a connection, after the TLS handshake if there is one. Puts the write buffer
/// into `slot`.
async fn open(
    stream: TcpStream,
    peer: IpAddr,
    slot: &OnceLock<WriteBuffer>,
    deps: &ConnectionDeps,
) -> io::Result<Opened> {
    let (transport, negotiated) = match deps.certificates.server_config() {
        None => (Transport::Tcp(stream), Negotiated::default()),
        // Boxed, so that a connection does not keep the memory that its handshake needs.
        Some(config) => Box::pin(deps.handshakes.run(stream, config)).await?,
    };
    let client = match &negotiated.subject {
        Some(subject) => deps.clients.certified(subject, peer),
        None => deps.clients.at(peer),
    };
    let (mut io, write_buffer) = CoalescingIo::new(transport, Some((deps.unsent.clone(), client.clone())));
    let _ = slot.set(write_buffer.clone());
    // Also if the protocol is negotiated: until the preface has arrived, nothing else limits the time.
    let detected = io.detect_protocol().await?;
    Ok(Opened { io, write_buffer, protocol: negotiated.protocol.unwrap_or(detected), client })
}

/// Serves HTTP/1, which browsers speak to a port without TLS, and clients whose ALPN offers nothing else.
async fn serve_http1(io: CoalescingIo, router: Router, mut closed: watch::Receiver<bool>) -> hyper::Result<()> {
    let mut server = hyper::server::conn::http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT).max_buf_size(MAX_HTTP1_BUFFER_BYTES);
    let mut connection = pin!(server.serve_connection(TokioIo::new(io), router));
    tokio::select! {
        // First, so that a call that has arrived is read before the connection closes.
        biased;
        ended = connection.as_mut() => return ended,
        _ = closed.wait_for(|closed| *closed) => {}
    }
    connection.as_mut().graceful_shutdown();
    connection.await
}
