//! Accepting connections, and letting go of them when the server drains.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
};
use tokio::{net::TcpListener, sync::watch};

use super::{
    front::Front,
    turn::{self, Turns},
};

/// Calls that one connection may have open: more than a client library ever has, few enough to bound what a peer can
/// make us hold.
const MAX_STREAMS: u32 = 1024;
/// A connection that says nothing for this long is asked whether it still lives.
const KEEP_ALIVE: Duration = Duration::from_secs(60);
/// A peer must have begun to speak by then, and one who speaks HTTP/1 (gRPC-Web) have sent its headers.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// After an accept that failed (mostly for want of file descriptors), others get this long to free some.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves connections until `closed` turns true; then tells every peer to go, and returns when the last one has.
pub(super) async fn serve(listener: TcpListener, front: Front, mut closed: watch::Receiver<bool>) {
    let mut server = auto::Builder::new(Eager);
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
        let (server, front, watcher) = (server.clone(), front.clone(), connections.watcher());
        tokio::spawn(async move {
            if !matches!(tokio::time::timeout(HEADER_TIMEOUT, stream.readable()).await, Ok(Ok(()))) {
                return;
            }
            let (line, outgoing) = turn::gathered(stream);
            let connection = server.serve_connection(TokioIo::new(line), front).into_owned();
            if let Err(error) = Turns::new(watcher.watch(connection), outgoing).await {
                tracing::debug!(%error, "a connection ended badly");
            }
        });
    }
    drop(listener);
    connections.shutdown().await;
}

/// Runs a call where its connection is served, as far as it goes without waiting, and spawns only what is left.
///
/// A hit in memory never waits: its answer is queued while the connection still has the socket in hand, so it costs no
/// task, no wake-up of another thread, and goes out with its neighbours in one write.
#[derive(Debug, Clone, Copy)]
pub struct Eager;

impl<F> hyper::rt::Executor<F> for Eager
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, call: F) {
        let mut call: Pin<Box<F>> = Box::pin(call);
        // Nobody is woken by this poll: a call that has to wait is polled again, by a task that can be.
        let poll = || call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        match catch_unwind(AssertUnwindSafe(poll)) {
            Ok(Poll::Pending) => _ = tokio::spawn(call),
            Ok(Poll::Ready(())) => {}
            // As in a task of its own: this call is lost, the others of the connection are not.
            Err(_) => tracing::error!("a call panicked"),
        }
    }
}
