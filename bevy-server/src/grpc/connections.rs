//! Accepting connections, and letting go of them when the server drains.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
};
use tokio::{
    net::TcpListener,
    sync::watch,
    task::{AbortHandle, Id, JoinError, JoinSet},
    time::Instant,
};

use super::{
    coalescing::{CoalescingIo, FlushAfterPoll, WriteBuffer},
    router::Router,
};

/// Calls that one connection may have open: more than a client library ever needs, few enough to bound what a peer can
/// make us hold.
const MAX_CONCURRENT_CALLS: u32 = 256;
/// A connection that says nothing for this long is asked whether it still lives.
const KEEP_ALIVE: Duration = Duration::from_secs(60);
/// A peer must have said by then what it speaks, and one who speaks HTTP/1 (gRPC-Web) have sent its headers.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// After an accept that failed (mostly for want of file descriptors), others get this long to free some.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);
/// Once every call has ended, a connection that has nothing left to send gets this long to close: enough for a peer who
/// listens, and short for one who watches health, and so never ends, or is gone.
const CLOSE_GRACE: Duration = Duration::from_secs(2);
/// How often it is looked after that whether a connection has sent what it had.
const FLUSH_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Serves connections until `closed` turns true; then tells every peer to go, and returns when the last one has. Whoever
/// stays without anything left to be sent is let go after a moment; whoever reads slowly is waited for.
pub(super) async fn serve(listener: TcpListener, router: Router, mut closed: watch::Receiver<bool>) {
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
            Some(ended) = connections.tasks.join_next_with_id() => {
                connections.remove(ended);
                continue;
            }
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
        // A call is one small request and one answer: waiting to fill a packet only delays it.
        let _ = stream.set_nodelay(true);
        let (server, router, watcher, closed) = (server.clone(), router.clone(), graceful.watcher(), closed.clone());
        let (io, write_buffer) = CoalescingIo::new(stream);
        let drain_handle = write_buffer.clone();
        let task = connections.tasks.spawn(async move {
            let header_deadline = Instant::now() + HEADER_TIMEOUT;
            let connection = server.serve_connection(TokioIo::new(io), router).into_owned();
            let ended = FlushAfterPoll::new(watcher.watch(connection), write_buffer.clone(), header_deadline).await;
            if let Some(Err(error)) = ended {
                tracing::debug!(%error, "a connection ended badly");
            }
            // A peer who hangs up by itself needs no such care: only the end of the server comes unasked.
            if *closed.borrow() {
                write_buffer.linger(CLOSE_GRACE).await;
            }
        });
        connections.write_buffers.insert(task.id(), (task, drain_handle));
    }
    drop(listener);
    tokio::join!(graceful.shutdown(), connections.close());
}

/// The connections that are open.
#[derive(Default)]
struct Connections {
    tasks: JoinSet<()>,
    write_buffers: HashMap<Id, (AbortHandle, WriteBuffer)>,
}

impl Connections {
    fn remove(&mut self, ended: Result<(Id, ()), JoinError>) {
        // An error is a panic in the transport; what is open otherwise goes on.
        let id = ended.map_or_else(|error| error.id(), |(id, ())| id);
        self.write_buffers.remove(&id);
    }

    /// Waits until every connection has ended.
    async fn close(mut self) {
        let grace_ends = Instant::now() + CLOSE_GRACE;
        while !self.tasks.is_empty() {
            let next_check = grace_ends.max(Instant::now() + FLUSH_CHECK_INTERVAL);
            match tokio::time::timeout_at(next_check, self.tasks.join_next_with_id()).await {
                Ok(Some(ended)) => self.remove(ended),
                Ok(None) => return,
                Err(_) => self
                    .write_buffers
                    .values()
                    .filter(|(_, write_buffer)| !write_buffer.is_busy())
                    .for_each(|(task, _)| task.abort()),
            }
        }
    }
}

/// Runs a call where its connection is served, as far as it goes without waiting, and spawns only what is left.
///
/// A hit in memory never waits: its answer is queued while the connection still has the socket in hand, so it costs no
/// task, no wake-up of another thread, and goes out with its neighbours in one write.
#[derive(Debug, Clone, Copy)]
pub struct PollBeforeSpawn;

impl<F> hyper::rt::Executor<F> for PollBeforeSpawn
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
