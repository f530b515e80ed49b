//! Accepts connections on the gRPC port, and closes them when the server drains.

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

/// Concurrent calls per connection: more than clients need, few enough to bound the memory that one client can use.
const MAX_CONCURRENT_CALLS: u32 = 256;
/// An HTTP/2 connection that is silent for this long gets a ping.
const KEEP_ALIVE: Duration = Duration::from_secs(60);
/// Deadline for the client to send its protocol preface and, with HTTP/1 (gRPC-Web), its headers.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause after a failed accept, mostly for lack of file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);
/// How long a connection may stay open without unsent bytes once every call has ended: enough for a client that reads,
/// and short for a client that watches health or is unreachable.
const CLOSE_GRACE: Duration = Duration::from_secs(2);
/// How often the drain checks whether a connection has flushed.
const FLUSH_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Serves connections until `closed` is true, then asks every client to disconnect and returns when all have. A
/// connection without unsent bytes is aborted after [`CLOSE_GRACE`]; one that still sends is waited for.
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
        // A call is one small request and one response, so Nagle's algorithm would only delay it.
        let _ = stream.set_nodelay(true);
        let (server, router, watcher, closed) = (server.clone(), router.clone(), graceful.watcher(), closed.clone());
        let (io, write_buffer) = CoalescingIo::new(stream);
        let drain_handle = write_buffer.clone();
        let task = connections.tasks.spawn(async move {
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
        connections.write_buffers.insert(task.id(), (task, drain_handle));
    }
    drop(listener);
    tokio::join!(graceful.shutdown(), connections.close());
}

/// The open connections.
#[derive(Default)]
struct Connections {
    tasks: JoinSet<()>,
    write_buffers: HashMap<Id, (AbortHandle, WriteBuffer)>,
}

impl Connections {
    fn remove(&mut self, ended: Result<(Id, ()), JoinError>) {
        // An error is a panic in the transport. Other connections continue.
        let id = ended.map_or_else(|error| error.id(), |(id, ())| id);
        self.write_buffers.remove(&id);
    }

    /// Waits until every connection has ended, and aborts those without unsent bytes after [`CLOSE_GRACE`].
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

/// An executor that polls a call once on the connection's task and spawns it only if it is pending.
///
/// A hit in memory is ready at the first poll. It needs no task and no wake-up of another thread, and its response goes
/// out in one write with others.
#[derive(Debug, Clone, Copy)]
pub struct PollBeforeSpawn;

impl<F> hyper::rt::Executor<F> for PollBeforeSpawn
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, call: F) {
        let mut call: Pin<Box<F>> = Box::pin(call);
        // The waker does nothing: a pending call is polled again by its own task.
        let poll = || call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        match catch_unwind(AssertUnwindSafe(poll)) {
            Ok(Poll::Pending) => _ = tokio::spawn(call),
            Ok(Poll::Ready(())) => {}
            // As in a task of its own, a panic ends only this call.
            Err(_) => tracing::error!("a call panicked"),
        }
    }
}
