//! Serves each connection to the gRPC port in a task of its own.

use std::{error::Error, io, net::IpAddr, pin::pin, time::Duration};

use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    time::timeout,
};

use super::{
    coalescing::{CoalescingIo, FlushAfterPoll, Protocol, WriteBuffer},
    drain::{CLOSE_GRACE, Connections},
    http2,
};
use crate::{
    clients::{Budget, Clients},
    config::ConnectionLimits,
    connections::{Acceptor, Admitted, ConnectionLimiter, Refusal},
    grpc::routing::{Router, Routes},
    metrics::Refusals,
};

/// Deadline for the client to send its protocol preface and, with HTTP/1 (gRPC-Web), its headers.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);

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
}

/// Serves connections until `closed` is true, then asks every client to disconnect, and returns when all connections
/// have [ended](Connections::close).
pub(in crate::grpc) async fn serve(
    listener: TcpListener,
    routes: Routes,
    deps: ConnectionDeps,
    mut closed: watch::Receiver<bool>,
) {
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
    drop(acceptor);
    connections.close().await;
}

/// Starts to serve a connection.
fn start(
    connections: &mut Connections,
    stream: TcpStream,
    peer: IpAddr,
    admitted: Admitted,
    routes: &Routes,
    deps: &ConnectionDeps,
    closed: &watch::Receiver<bool>,
) {
    // A call is one small request and one response, so Nagle's algorithm would only delay it.
    let _ = stream.set_nodelay(true);
    let client = deps.clients.at(peer);
    let (io, write_buffer) = CoalescingIo::new(stream, Some((deps.unsent.clone(), client.clone())));
    let behind_proxy = deps.clients.is_trusted_proxy(peer).then(|| deps.clients.clone());
    let router = routes.for_client(client, behind_proxy);
    let (limits, closed) = (deps.limits, closed.clone());
    connections.spawn(write_buffer.clone(), async move {
        if let Err(error) = serve_connection(io, write_buffer.clone(), router, limits, closed.clone()).await {
            tracing::debug!(error = &*error as &(dyn Error + 'static), "a connection ended with an error");
        }
        // Only when the server closes: a client that disconnects by itself has read its responses.
        if *closed.borrow() {
            write_buffer.linger(CLOSE_GRACE).await;
        }
        drop(admitted);
    });
}

async fn serve_connection(
    mut io: CoalescingIo,
    write_buffer: WriteBuffer,
    router: Router,
    limits: ConnectionLimits,
    mut closed: watch::Receiver<bool>,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let protocol = tokio::select! {
        protocol = timeout(HEADER_TIMEOUT, io.detect_protocol()) => protocol,
        // Nothing is in progress.
        _ = closed.wait_for(|closed| *closed) => return Ok(()),
    };
    match protocol.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
        Ok(Protocol::Http2) => {
            let connection = http2::serve(io, router, limits, closed);
            FlushAfterPoll::new(connection, write_buffer, limits.stall_timeout).await??;
        }
        Ok(Protocol::Http1) => {
            let connection = serve_http1(io, router, closed);
            FlushAfterPoll::new(connection, write_buffer, limits.stall_timeout).await??;
        }
        // It connected and left, as load balancers do to see whether the port is open.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// Serves HTTP/1, which browsers speak to a port without TLS.
async fn serve_http1(io: CoalescingIo, router: Router, mut closed: watch::Receiver<bool>) -> hyper::Result<()> {
    let mut server = hyper::server::conn::http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT).max_buf_size(MAX_HTTP1_BUFFER_BYTES);
    let mut connection = pin!(server.serve_connection(TokioIo::new(io), router));
    tokio::select! {
        ended = connection.as_mut() => return ended,
        _ = closed.wait_for(|closed| *closed) => {}
    }
    connection.as_mut().graceful_shutdown();
    connection.await
}
