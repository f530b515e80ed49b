//! Serves one HTTP/2 connection: starts its calls, sends their responses as fast as the client takes them, and ends the
//! connection when it is idle, old, or dead.

use std::{
    future::poll_fn,
    hash::{BuildHasher, Hasher, RandomState},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    sync::atomic::Ordering,
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Buf as _;
use floor_http2::{Connection, Limits, Reason, RequestBody, Responder, StreamEnded};
use http::{Method, Request};
use http_body::{Body as _, Frame};
use tokio::{
    sync::watch,
    time::{Instant, Sleep, sleep_until},
};
use tonic::Status;

use super::{
    coalescing::{CoalescingIo, STALL_TIMEOUT},
    frame_budget::Payers,
};
use crate::grpc::{
    body::{FloorBody, GuardedBytes, OK_TRAILERS},
    path::Router,
};

/// Calls that one connection may have open.
const MAX_STREAMS: u32 = 128;

/// Bytes that a client may send on one call before the server has read them.
const STREAM_WINDOW: u32 = 64 << 10;
/// Bytes that a client may send on all calls of a connection before the server has read them.
const CONNECTION_WINDOW: u32 = 256 << 10;
/// Limit for the headers of a call.
const MAX_HEADER_BYTES: u32 = 16 << 10;
/// A connection that is silent for this long gets a ping.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(60);
/// How long a connection may exist without a call.
const IDLE_TIMEOUT: Duration = Duration::from_secs(600);
/// How long the client may take to answer a ping.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(20);
/// Calls after which a busy connection is checked for its age and for a drain.
const CALLS_BETWEEN_CHECKS: u64 = 1024;
/// How long a client without calls may take to close after the server said that it will.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a connection ended before its client closed it.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectionError {
    /// An error of the protocol or of the socket.
    #[error(transparent)]
    Http2(#[from] floor_http2::ConnectionError),
    /// The client did not answer a ping.
    #[error("the client did not answer a ping")]
    Silent,
}

impl ConnectionError {
    /// Whether the client broke the protocol, and was told so.
    pub(super) const fn is_of_protocol(&self) -> bool {
        matches!(self, Self::Http2(floor_http2::ConnectionError::Protocol { .. }))
    }
}

/// Serves the calls of a connection until its client closes it, or until `close` is true and all calls are answered.
pub(super) async fn serve(
    io: CoalescingIo,
    router: Router,
    payers: Payers,
    max_age: Option<Duration>,
    mut close: watch::Receiver<bool>,
) -> Result<(), ConnectionError> {
    let received = io.received();
    let of_connection = Limits {
        max_streams: MAX_STREAMS,
        max_header_bytes: MAX_HEADER_BYTES,
        stream_window: STREAM_WINDOW,
        connection_window: CONNECTION_WINDOW,
    };
    let mut connection = Connection::with_budget(io, of_connection, Box::new(payers));
    let mut watch = Watch::new(max_age);
    let closes = close.clone();
    let mut closed = pin!(close.wait_for(|closed| *closed));
    let mut closing = false;
    loop {
        tokio::select! {
            biased;
            accepted = connection.accept() => {
                let Some(accepted) = accepted else { return Ok(()) };
                let (request, responder) = accepted?;
                watch.calls += 1;
                // A client that always has sent more keeps the other branches from being polled.
                if watch.calls.is_multiple_of(CALLS_BETWEEN_CHECKS) {
                    if !closing && *closes.borrow() {
                        closing = true;
                        connection.close();
                    }
                    watch.close_if_old(&connection);
                }
                poll_before_spawn(run_call(router.clone(), request, responder));
            }
            _ = &mut closed, if !closing => {
                closing = true;
                connection.close();
            }
            () = &mut watch.timer => match watch.check(received.load(Ordering::Relaxed), connection.has_streams()) {
                Verdict::Keep => {}
                Verdict::Ping => connection.ping(),
                Verdict::Close => connection.close(),
                Verdict::End => return Ok(()),
                Verdict::Silent => return Err(ConnectionError::Silent),
            }
        }
    }
}

/// What to do with a connection.
enum Verdict {
    Keep,
    /// Send a ping.
    Ping,
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
    /// When the answer to the last ping is due.
    answer_due: Option<Instant>,
    /// Bytes received at the last check.
    received: u64,
    /// Calls so far, and those at the last check.
    calls: u64,
    checked_calls: u64,
    idle_since: Instant,
    /// When the connection reaches its maximum age.
    old_at: Option<Instant>,
    closing: bool,
}

impl Watch {
    fn new(max_age: Option<Duration>) -> Self {
        let now = Instant::now();
        let mut watch = Self {
            timer: Box::pin(sleep_until(now)),
            answer_due: None,
            received: 0,
            calls: 0,
            checked_calls: 0,
            idle_since: now,
            old_at: max_age.map(|age| now + with_jitter(age)),
            closing: false,
        };
        watch.schedule(now + KEEP_ALIVE_INTERVAL);
        watch
    }

    fn schedule(&mut self, latest: Instant) {
        let limits =
            [Some(self.idle_since + IDLE_TIMEOUT), self.old_at].into_iter().flatten().filter(|_| !self.closing);
        let next = limits.fold(latest, Instant::min);
        self.timer.as_mut().reset(next.max(Instant::now() + Duration::from_millis(100)));
    }

    /// Closes a connection that has reached its maximum age.
    fn close_if_old(&mut self, connection: &Connection<CoalescingIo>) {
        let now = Instant::now();
        if !self.closing && self.old_at.is_some_and(|old_at| now >= old_at) {
            self.closing = true;
            self.schedule(now + CLOSE_TIMEOUT);
            connection.close();
        }
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
        let is_idle = now >= self.idle_since + IDLE_TIMEOUT;
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
                self.answer_due = Some(now + KEEP_ALIVE_TIMEOUT);
                self.schedule(now + KEEP_ALIVE_TIMEOUT);
                return Verdict::Ping;
            }
            None if self.closing => {
                self.schedule(now + CLOSE_TIMEOUT);
                // Again: the client has not confirmed that it knows.
                return Verdict::Close;
            }
            None => self.schedule(now + KEEP_ALIVE_INTERVAL),
        }
        Verdict::Keep
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
async fn run_call(router: Router, request: Request<RequestBody>, mut responder: Responder) {
    let is_head = *request.method() == Method::HEAD;
    let response = {
        let mut answer = pin!(router.call(request));
        poll_fn(|cx| match answer.as_mut().poll(cx) {
            Poll::Ready(response) => Poll::Ready(Some(response)),
            Poll::Pending => responder.poll_ended(cx).map(|()| None),
        })
        .await
    };
    let Some(response) = response else { return };
    let (head, mut body) = response.into_parts();
    // HTTP/2 leaves it to us that an answer to HEAD has no body, and that a head says the length of its body.
    let is_empty = is_head || body.is_end_stream();
    if responder.send_head(&head, body.content_length(), is_empty).is_err() || is_empty {
        return;
    }
    let deadline = body.deadline().map(Instant::from_std);
    let mut response = Response { responder, deadline, router };
    let sent = match body.take_unary() {
        Some((message, has_trailers)) => response.send_unary(message, has_trailers).await,
        None => response.send_frames(body).await,
    };
    match sent {
        Ok(()) | Err(Unsent::Ended) => {}
        Err(Unsent::TooSlow) => {
            tracing::debug!("a response was reset: the client did not take it in time");
            response.responder.reset(Reason::Cancel);
        }
        // Clients read it as UNAVAILABLE. That the call has done nothing is wrong, but no call of this service does harm twice.
        Err(Unsent::CutOff) => {
            tracing::debug!("a response was cut off: the client did not take it before the end of the drain");
            response.responder.reset(Reason::RefusedStream);
        }
        Err(Unsent::BeyondShare) => {
            tracing::debug!("an answer was reset: the client has too many that it does not take");
            response.responder.reset(Reason::EnhanceYourCalm);
        }
        Err(Unsent::Failed(status)) => {
            tracing::debug!(%status, "a response body failed");
            response.responder.reset(Reason::InternalError);
        }
    }
}

/// A response that is being sent.
struct Response {
    responder: Responder,
    /// The deadline of the call.
    deadline: Option<Instant>,
    router: Router,
}

impl Response {
    /// Sends one message. A response of Connect has no trailers, and ends with its message.
    async fn send_unary(&mut self, message: GuardedBytes, has_trailers: bool) -> Result<(), Unsent> {
        self.send_data(message, !has_trailers).await?;
        if has_trailers {
            self.responder.send_trailers(&OK_TRAILERS)?;
        }
        Ok(())
    }

    async fn send_frames(&mut self, mut body: FloorBody) -> Result<(), Unsent> {
        loop {
            let Some(frame) = self.next_frame(&mut body).await? else {
                return self.send_data(GuardedBytes::empty(), true).await;
            };
            match frame.into_data() {
                Ok(data) => {
                    let is_last = body.is_end_stream();
                    self.send_data(data, is_last).await?;
                    if is_last {
                        return Ok(());
                    }
                }
                // Only data and trailers are frames of a body.
                Err(frame) => return Ok(self.responder.send_trailers(&frame.into_trailers().unwrap_or_default())?),
            }
        }
    }

    /// The next frame of `body`. `None` after the last one.
    async fn next_frame(&mut self, body: &mut FloorBody) -> Result<Option<Frame<GuardedBytes>>, Unsent> {
        poll_fn(|cx| match Pin::new(&mut *body).poll_frame(cx) {
            Poll::Ready(frame) => Poll::Ready(frame.transpose().map_err(Unsent::Failed)),
            Poll::Pending => self.responder.poll_ended(cx).map(|()| Err(Unsent::Ended)),
        })
        .await
    }

    /// Sends `data` as fast as the client takes it. `is_last`: the response ends with it.
    async fn send_data(&mut self, mut data: GuardedBytes, is_last: bool) -> Result<(), Unsent> {
        loop {
            let sent = self.send_some(&mut data, is_last).await?;
            if !data.has_remaining() {
                return Ok(());
            }
            data.release(sent);
        }
    }

    /// Sends the beginning of `data`. Returns the number of bytes.
    async fn send_some(&mut self, data: &mut GuardedBytes, is_last: bool) -> Result<usize, Unsent> {
        // Mostly the client takes data, and then no timer is needed.
        let sent = poll_fn(|cx| Poll::Ready(self.responder.poll_send(data, is_last, cx))).await;
        if let Poll::Ready(sent) = sent {
            return Ok(sent?);
        }
        if !data.pay(|caller, bytes| self.router.reserve_unsent(caller, bytes)) {
            return Err(Unsent::BeyondShare);
        }
        let stalled_at = Instant::now() + STALL_TIMEOUT;
        let until = self.deadline.map_or(stalled_at, |deadline| deadline.min(stalled_at));
        tokio::select! {
            biased;
            sent = poll_fn(|cx| self.responder.poll_send(data, is_last, cx)) => Ok(sent?),
            () = self.router.until_cut_off() => Err(Unsent::CutOff),
            () = sleep_until(until) => Err(Unsent::TooSlow),
        }
    }
}

/// Why a response was not sent.
enum Unsent {
    /// The call has ended.
    Ended,
    /// The client took nothing for too long, or until the deadline of the call.
    TooSlow,
    /// The client had not taken it when the drain ended.
    CutOff,
    /// It has to wait, and its client has more than its share of the memory for that.
    BeyondShare,
    /// The body failed.
    Failed(Status),
}

impl From<StreamEnded> for Unsent {
    fn from(StreamEnded: StreamEnded) -> Self {
        Self::Ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_connection_without_calls_is_closed_and_one_with_calls_is_not() {
        for (has_calls, closes) in [(false, true), (true, false)] {
            let (started, mut watch) = (Instant::now(), Watch::new(None));
            let mut closed = None;
            // The client answers every ping.
            for received in 1..=15 {
                watch.timer.as_mut().await;
                if matches!(watch.check(received, has_calls), Verdict::Close) {
                    closed = Some(started.elapsed());
                    break;
                }
            }
            assert_eq!(closed.is_some(), closes, "{closed:?}");
            assert!(closed.is_none_or(|after| after.abs_diff(IDLE_TIMEOUT) < Duration::from_secs(1)), "{closed:?}");
        }
    }
}
