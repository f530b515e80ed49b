//! Accepts connections on the gRPC port.

use std::time::Duration;

use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
};
use tokio::{net::TcpListener, sync::watch, time::Instant};

use super::{
    coalescing::{CoalescingIo, FlushAfterPoll, PollBeforeSpawn},
    drain::{CLOSE_GRACE, Connections},
};
use crate::grpc::routing::Router;

/// Concurrent calls per connection: more than clients need, few enough to bound the memory that one client can use.
const MAX_CONCURRENT_CALLS: u32 = 256;
/// An HTTP/2 connection that is silent for this long gets a ping.
const KEEP_ALIVE: Duration = Duration::from_secs(60);
/// Deadline for the client to send its protocol preface and, with HTTP/1 (gRPC-Web), its headers.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause after a failed accept, mostly for lack of file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Serves connections until `closed` is true, then asks every client to disconnect, and returns when all connections
/// have [ended](Connections::close).
pub(in crate::grpc) async fn serve(listener: TcpListener, router: Router, mut closed: watch::Receiver<bool>) {
    let mut server = auto::Builder::new(PollBeforeSpawn);
    server
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_CONCURRENT_CALLS)
        .keep_alive_interval(KEEP_ALIVE);
    server.http1().timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
    let graceful = GracefulShutdown::new();
    let mut connections = Connections::default();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(()) = connections.remove_ended() => continue,
            _ = closed.wait_for(|closed| *closed) => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                continue;
            }
        };
        // A call is one small request and one response, so Nagle's algorithm would only delay it.
        let _ = stream.set_nodelay(true);
        let (server, router, watcher, closed) = (server.clone(), router.clone(), graceful.watcher(), closed.clone());
        let (io, write_buffer) = CoalescingIo::new(stream);
        connections.spawn(write_buffer.clone(), async move {
            let header_deadline = Instant::now() + HEADER_TIMEOUT;
            let connection = server.serve_connection(TokioIo::new(io), router).into_owned();
            let ended = FlushAfterPoll::new(watcher.watch(connection), write_buffer.clone(), header_deadline).await;
            if let Some(Err(error)) = ended {
                tracing::debug!(%error, "a connection ended with an error");
            }
            // Only when the server closes: a client that disconnects by itself has read its responses.
            if *closed.borrow() {
                write_buffer.linger(CLOSE_GRACE).await;
            }
        });
    }
    drop(listener);
    tokio::join!(graceful.shutdown(), connections.close());
}
