//! The bodies of requests, for every protocol and service: a caller must send one in time, and a call that waits for its
//! body is charged to its caller.

use std::{
    pin::{Pin, pin},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use tokio::time::Sleep;
use tonic::Status;
use tower::BoxError;

use crate::{
    callers::{Budget, Caller, Reserved},
    grpc::status,
};

/// Limit for receiving a whole request, from its headers on. A request is one small message.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Limit for the pause between two messages of a request stream. Only reflection has one.
const PAUSE_TIMEOUT: Duration = Duration::from_secs(5 * 60);
/// What a call that waits costs beside its head: the states of its stream and of its task, the beginning of a message,
/// and as much again, because the allocator keeps freed memory that is in pieces.
const WAITING_REQUEST_BYTES: usize = 20 << 10;
/// What an entry of a `HeaderMap` costs: 104 bytes, and as much again. Its vectors grow by doubling.
const HEADER_ENTRY_BYTES: usize = 240;

/// The memory of a head, in bytes.
pub(in crate::grpc) fn head_bytes(headers: &HeaderMap) -> usize {
    let values: usize = headers.values().map(|value| value.len()).sum();
    headers.len().next_power_of_two() * HEADER_ENTRY_BYTES + values
}

/// How much time a caller has to send a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::grpc) enum TimeLimit {
    /// [`REQUEST_TIMEOUT`] for the whole request.
    Whole,
    /// [`REQUEST_TIMEOUT`] for the first message of a stream, and [`PAUSE_TIMEOUT`] for each further one.
    Pauses,
}

/// Who pays for a call that waits for its body, and for which head.
#[derive(Debug, Clone, Copy)]
pub(in crate::grpc) struct Charge<'a> {
    pub(in crate::grpc) caller: &'a Caller,
    pub(in crate::grpc) budget: &'a Budget,
    pub(in crate::grpc) head: &'a HeaderMap,
}

impl Charge<'_> {
    /// Reserves `bytes` until the message is handed on.
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED if the caller has too much already.
    pub(in crate::grpc) fn reserve(&self, bytes: usize) -> Result<Reserved, Status> {
        self.budget.try_reserve(self.caller, bytes).ok_or_else(status::request_budget_exhausted)
    }
}

/// A request body that fails if its caller does not send it in time, or if its caller has too many calls that wait.
pub(in crate::grpc) struct RequestBody<'a, B> {
    body: Pin<B>,
    charge: Option<Charge<'a>>,
    limit: TimeLimit,
    /// Set once the server has to wait. Mostly the body arrives with the head.
    waiting: Option<Waiting>,
}

struct Waiting {
    timer: Pin<Box<Sleep>>,
    limit: Duration,
    _reserved: Option<Reserved>,
}

impl Waiting {
    fn new(limit: Duration, reserved: Option<Reserved>) -> Self {
        Self { timer: Box::pin(tokio::time::sleep(limit)), limit, _reserved: reserved }
    }
}

impl<'a, B> RequestBody<'a, B> {
    /// A body of a call for which nothing is charged here.
    pub(in crate::grpc) const fn new(body: Pin<B>, limit: TimeLimit) -> Self {
        Self { body, charge: None, limit, waiting: None }
    }

    /// The body of a call with one message. While it waits, `charge` pays.
    pub(in crate::grpc) const fn charged(body: Pin<B>, charge: Charge<'a>) -> Self {
        Self { body, charge: Some(charge), limit: TimeLimit::Whole, waiting: None }
    }

    fn wait(&mut self) -> Result<&mut Waiting, Status> {
        if self.waiting.is_none() {
            let reserve = |charge: Charge<'_>| charge.reserve(WAITING_REQUEST_BYTES + head_bytes(charge.head));
            let reserved = self.charge.map(reserve).transpose()?;
            self.waiting = Some(Waiting::new(REQUEST_TIMEOUT, reserved));
        }
        Ok(self.waiting.as_mut().expect("it was set"))
    }
}

impl<B, T> Body for RequestBody<'_, B>
where
    Pin<B>: Unpin,
    B: std::ops::DerefMut<Target = T>,
    T: Body<Data = Bytes, Error: Into<BoxError>>,
{
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = &mut *self;
        match this.body.as_mut().poll_frame(cx) {
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Ready(frame) => {
                if this.limit == TimeLimit::Pauses {
                    this.waiting = Some(Waiting::new(PAUSE_TIMEOUT, None));
                }
                Poll::Ready(frame.map(|frame| frame.map_err(|error| body_error(error.into()))))
            }
            Poll::Pending => match this.wait() {
                Ok(Waiting { timer, limit, .. }) => {
                    timer.as_mut().poll(cx).map(|()| Some(Err(status::request_timed_out(*limit))))
                }
                Err(status) => Poll::Ready(Some(Err(status))),
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Reads the rest of a refused request: a response that is sent before its request has ended is followed by a reset,
/// which some clients report instead of the response. `body` limits the time.
pub(in crate::grpc) async fn discard(body: impl Body<Data = Bytes, Error = Status>) {
    let mut body = pin!(body);
    while !body.is_end_stream() && matches!(body.as_mut().frame().await, Some(Ok(_))) {}
}

/// A status inside the error, or else a cancelled call.
fn body_error(error: BoxError) -> Status {
    Status::try_from_error(error).unwrap_or_else(|error| Status::cancelled(format!("the request body failed: {error}")))
}
