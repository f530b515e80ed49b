//! Accepting connections, and letting go of them when the server drains.

use std::time::Duration;

use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
};
use tokio::{net::TcpListener, sync::watch};

use super::front::Front;

/// Calls that one connection may have open: more than a client library ever has, few enough to bound what a peer can
/// make us hold.
const MAX_STREAMS: u32 = 1024;
/// A connection that says nothing for this long is asked whether it still lives.
const KEEP_ALIVE: Duration = Duration::from_secs(60);
/// An HTTP/1 peer (gRPC-Web) must have sent its headers by then.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// After an accept that failed (mostly for want of file descriptors), others get this long to free some.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves connections until `closed` turns true; then tells every peer to go, and returns when the last one has.
pub(super) async fn serve(listener: TcpListener, front: Front, mut closed: watch::Receiver<bool>) {
    let mut server = auto::Builder::new(TokioExecutor::new());
    server.http2().timer(TokioTimer::new()).max_concurrent_streams(MAX_STREAMS).keep_alive_interval(KEEP_ALIVE);
    server.http1().timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
    let connections = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = closed.wait_for(|closed| *closed) => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        // A call is one small request and one answer: waiting to fill a packet only delays it.
        let _ = stream.set_nodelay(true);
        let connection = server.serve_connection(TokioIo::new(stream), front.clone()).into_owned();
        let connection = connections.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended badly");
            }
        });
    }
    drop(listener);
    connections.shutdown().await;
}
