//! Serves one HTTP/2 connection with the `h2` crate: starts its calls, sends their responses as fast as the client takes
//! them, and ends the connection when it is idle, old, or dead.
//!
//! hyper offers no way to reset a response that the client does not take, so this module drives h2 itself.

use std::{
    fmt,
    hash::{BuildHasher, Hasher, RandomState},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    sync::atomic::Ordering,
    task::{Context, Poll, Waker, ready},
    time::Duration,
};

use bytes::{Buf, Bytes};
use h2::{
    Ping, PingPong, Reason, RecvStream, SendStream,
    server::{Builder, Connection, SendResponse},
};
use http::{Method, Request};
use http_body::{Body, Frame};
use tokio::{
    sync::watch,
    time::{Instant, Sleep, sleep_until, timeout_at},
};

use super::coalescing::CoalescingIo;
use crate::{
    config::ConnectionLimits,
    grpc::{FloorBody, GuardedBytes, routing::Router},
};

/// Bytes that a client may send on one call before the server has read them.
const STREAM_WINDOW: u32 = 64 << 10;
/// Bytes that a client may send on all calls of a connection before the server has read them.
const CONNECTION_WINDOW: u32 = 256 << 10;
/// Limit for the headers of a call.
const MAX_HEADER_BYTES: u32 = 16 << 10;
/// Bytes of one response that h2 holds. The rest waits in the body.
const MAX_SEND_BUFFER_BYTES: usize = 256 << 10;
/// A connection that is silent for this long gets a ping.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(60);
/// How long the client may take to answer a ping.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a client without calls may take to close after the server said that it will.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a connection ended before its client closed it.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectionError {
    /// An error of the protocol or of the socket.
    #[error(transparent)]
    Http2(#[from] h2::Error),
    /// The client did not answer a ping.
    #[error("the client did not answer a ping")]
    Silent,
}

/// Serves the calls of a connection until its client closes it, or until `close` is true and all calls are answered.
pub(super) async fn serve(
    io: CoalescingIo,
    router: Router,
    limits: ConnectionLimits,
    mut close: watch::Receiver<bool>,
) -> Result<(), ConnectionError> {
    let received = io.received();
    let mut builder = Builder::new();
    builder
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_concurrent_streams(limits.max_streams)
        .max_header_list_size(MAX_HEADER_BYTES)
        .max_send_buffer_size(MAX_SEND_BUFFER_BYTES);
    let mut connection: Connection<CoalescingIo, GuardedBytes> = builder.handshake(io).await?;
    let mut watch = Watch::new(connection.ping_pong(), &limits);
    let mut closed = pin!(close.wait_for(|closed| *closed));
    let mut closing = false;
    loop {
        tokio::select! {
            biased;
            accepted = connection.accept() => {
                let Some(accepted) = accepted else { return Ok(()) };
                let (request, respond) = accepted?;
                watch.calls += 1;
                poll_before_spawn(run_call(router.clone(), request, respond, limits.stall_timeout));
            }
            _ = &mut closed, if !closing => {
                closing = true;
                connection.graceful_shutdown();
            }
            () = &mut watch.timer => match watch.check(received.load(Ordering::Relaxed), connection.has_streams()) {
                Verdict::Keep => {}
                Verdict::Close => connection.graceful_shutdown(),
                Verdict::End => return Ok(()),
                Verdict::Silent => return Err(ConnectionError::Silent),
            }
        }
    }
}

/// What to do with a connection.
enum Verdict {
    Keep,
    /// Say that no further calls are accepted.
    Close,
    /// End it: the client was told to close, and has no calls.
    End,
    /// End it: the client does not answer.
    Silent,
}

/// Finds connections that are idle, old or dead. It wakes a connection at most once per [`KEEP_ALIVE_INTERVAL`], or at
/// its limits if they are shorter.
struct Watch {
    timer: Pin<Box<Sleep>>,
    ping_pong: Option<PingPong>,
    /// When the answer to the last ping is due.
    answer_due: Option<Instant>,
    /// Bytes received at the last check.
    received: u64,
    /// Calls so far, and those at the last check.
    calls: u64,
    checked_calls: u64,
    idle_since: Instant,
    idle_timeout: Option<Duration>,
    /// When the connection reaches its maximum age.
    old_at: Option<Instant>,
    closing: bool,
}

impl Watch {
    fn new(ping_pong: Option<PingPong>, limits: &ConnectionLimits) -> Self {
        let now = Instant::now();
        let mut watch = Self {
            timer: Box::pin(sleep_until(now)),
            ping_pong,
            answer_due: None,
            received: 0,
            calls: 0,
            checked_calls: 0,
            idle_since: now,
            idle_timeout: limits.idle_timeout,
            old_at: limits.max_connection_age.map(|age| now + with_jitter(age)),
            closing: false,
        };
        watch.schedule(now + KEEP_ALIVE_INTERVAL);
        watch
    }

    fn schedule(&mut self, latest: Instant) {
        let idle_at = self.idle_timeout.map(|timeout| self.idle_since + timeout);
        let limits = [idle_at, self.old_at].into_iter().flatten().filter(|_| !self.closing);
        let next = limits.fold(latest, Instant::min);
        self.timer.as_mut().reset(next.max(Instant::now() + Duration::from_millis(100)));
    }

    /// Checks a connection that has received so many bytes and has calls or not.
    fn check(&mut self, received: u64, has_calls: bool) -> Verdict {
        let now = Instant::now();
        if has_calls || self.calls != self.checked_calls {
            self.idle_since = now;
        }
        self.checked_calls = self.calls;
        let silent = received == self.received;
        self.received = received;
        if !silent {
            self.answer_due = None;
        }
        if self.closing && !has_calls {
            return Verdict::End;
        }
        let is_idle = self.idle_timeout.is_some_and(|timeout| now >= self.idle_since + timeout);
        if !self.closing && (is_idle || self.old_at.is_some_and(|old_at| now >= old_at)) {
            self.closing = true;
            self.schedule(now + CLOSE_TIMEOUT);
            return Verdict::Close;
        }
        // Calls may still run on a closing connection, so it gets pings too.
        match self.answer_due {
            Some(due) if now >= due => return Verdict::Silent,
            Some(due) => self.schedule(due),
            None if silent => {
                self.send_ping(now);
                self.schedule(now + KEEP_ALIVE_TIMEOUT);
            }
            None => self.schedule(now + if self.closing { CLOSE_TIMEOUT } else { KEEP_ALIVE_INTERVAL }),
        }
        Verdict::Keep
    }

    fn send_ping(&mut self, now: Instant) {
        let Some(ping_pong) = &mut self.ping_pong else { return };
        // Takes the answer to the last ping, so that another may be sent.
        let _ = ping_pong.poll_pong(&mut Context::from_waker(Waker::noop()));
        // Fails if the client has not answered the last ping. That answer then counts.
        let _ = ping_pong.send_ping(Ping::opaque());
        self.answer_due = Some(now + KEEP_ALIVE_TIMEOUT);
    }
}

/// A duration up to a tenth shorter or longer, so that connections that began together do not all end together.
fn with_jitter(duration: Duration) -> Duration {
    // Keyed with random numbers, which makes a hash of nothing a random number.
    let random = RandomState::new().build_hasher().finish();
    duration.mul_f64(0.9 + 0.2 * random as f64 / u64::MAX as f64)
}

/// Polls a call once on the connection's task and spawns it only if it is pending.
///
/// A hit in memory is ready at the first poll. It needs no task and no wake-up of another thread, and its response goes
/// out in one write with others.
fn poll_before_spawn(call: impl Future<Output = ()> + Send + 'static) {
    let mut call = Box::pin(call);
    // The waker does nothing: a pending call is polled again by its own task.
    let poll = || call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    match catch_unwind(AssertUnwindSafe(poll)) {
        Ok(Poll::Pending) => _ = tokio::spawn(call),
        Ok(Poll::Ready(())) => {}
        // As in a task of its own, a panic ends only this call.
        Err(_) => tracing::error!("a call panicked"),
    }
}

/// Answers a call and sends its response. A reset by the client drops the work.
async fn run_call(
    router: Router,
    request: Request<RecvStream>,
    mut respond: SendResponse<GuardedBytes>,
    stall_timeout: Option<Duration>,
) {
    let is_head = *request.method() == Method::HEAD;
    let response = {
        let mut answer = pin!(router.call(request.map(RequestBody::new)));
        std::future::poll_fn(|cx| match answer.as_mut().poll(cx) {
            Poll::Ready(response) => Poll::Ready(Some(response)),
            Poll::Pending => respond.poll_reset(cx).map(|_| None),
        })
        .await
    };
    let Some(response) = response else { return };
    let (head, body) = response.into_parts();
    // HTTP/2 leaves it to us that an answer to HEAD has no body.
    let is_empty = is_head || body.is_end_stream();
    // Fails if the client has left.
    let Ok(stream) = respond.send_response(http::Response::from_parts(head, ()), is_empty) else { return };
    if !is_empty {
        Response { stream, body, stall_timeout }.send().await;
    }
}

/// A response that is being sent.
struct Response {
    stream: SendStream<GuardedBytes>,
    body: FloorBody,
    stall_timeout: Option<Duration>,
}

/// The client has left, or its response was reset.
struct Ended;

impl Response {
    async fn send(mut self) {
        while let Ok(Some(frame)) = self.next_frame().await {
            let has_ended = match frame.into_data() {
                Ok(data) => {
                    // A body of Connect has no trailers, and ends with its message.
                    let is_last = self.body.is_end_stream();
                    self.send_data(data, is_last).await.map_or(true, |()| is_last)
                }
                Err(frame) => {
                    // Only data and trailers are frames of a body.
                    let trailers = frame.into_trailers().unwrap_or_default();
                    let _ = self.stream.send_trailers(trailers);
                    return;
                }
            };
            if has_ended {
                return;
            }
        }
    }

    /// The next frame of the body. `None` after the last one; the stream is then closed.
    async fn next_frame(&mut self) -> Result<Option<Frame<GuardedBytes>>, Ended> {
        let (body, stream) = (&mut self.body, &mut self.stream);
        let frame = std::future::poll_fn(|cx| match Pin::new(&mut *body).poll_frame(cx) {
            Poll::Ready(frame) => Poll::Ready(Ok(frame)),
            Poll::Pending => stream.poll_reset(cx).map(|_| Err(Ended)),
        });
        match frame.await? {
            Some(Ok(frame)) => Ok(Some(frame)),
            Some(Err(status)) => {
                tracing::debug!(%status, "a response body failed");
                self.stream.send_reset(Reason::INTERNAL_ERROR);
                Err(Ended)
            }
            None => {
                let _ = self.stream.send_data(GuardedBytes::empty(), true);
                Ok(None)
            }
        }
    }

    /// Sends `data` in parts as large as the client's window. `is_last`: the stream ends with it.
    async fn send_data(&mut self, mut data: GuardedBytes, is_last: bool) -> Result<(), Ended> {
        self.stream.reserve_capacity(data.remaining());
        loop {
            let capacity = self.stream.capacity();
            if capacity >= data.remaining() {
                return self.stream.send_data(data, is_last).map_err(|_| Ended);
            }
            if capacity > 0 {
                self.stream.send_data(data.split_to(capacity), false).map_err(|_| Ended)?;
            }
            self.wait_for_capacity().await?;
        }
    }

    /// Waits until the client takes more. Resets the stream if that lasts too long or passes the deadline of the call.
    async fn wait_for_capacity(&mut self) -> Result<(), Ended> {
        let stalled_at = self.stall_timeout.map(|timeout| Instant::now() + timeout);
        let deadline = self.body.deadline().map(Instant::from_std);
        let until = stalled_at.into_iter().chain(deadline).min();
        let stream = &mut self.stream;
        let more = std::future::poll_fn(|cx| {
            // Zero is no more: the connection assigns capacity again when there is some.
            loop {
                match ready!(stream.poll_capacity(cx)) {
                    Some(Ok(0)) => {}
                    Some(Ok(_)) => return Poll::Ready(Ok(())),
                    Some(Err(_)) | None => return Poll::Ready(Err(Ended)),
                }
            }
        });
        let Some(until) = until else { return more.await };
        if let Ok(more) = timeout_at(until, more).await {
            return more;
        }
        tracing::debug!("a response was reset: the client did not take it in time");
        self.stream.send_reset(Reason::CANCEL);
        Err(Ended)
    }
}

/// The body of a request.
pub(super) struct RequestBody {
    stream: RecvStream,
    data_ended: bool,
}

impl RequestBody {
    const fn new(stream: RecvStream) -> Self {
        Self { stream, data_ended: false }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = h2::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, h2::Error>>> {
        if !self.data_ended {
            match ready!(self.stream.poll_data(cx)) {
                Some(Ok(data)) => {
                    // Fails if the stream has ended, and then no window is needed.
                    let _ = self.stream.flow_control().release_capacity(data.len());
                    return Poll::Ready(Some(Ok(Frame::data(data))));
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => self.data_ended = true,
            }
        }
        self.stream.poll_trailers(cx).map(|trailers| trailers.map(|trailers| trailers.map(Frame::trailers)).transpose())
    }

    fn is_end_stream(&self) -> bool {
        self.stream.is_end_stream()
    }
}

impl fmt::Debug for RequestBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestBody").finish_non_exhaustive()
    }
}
