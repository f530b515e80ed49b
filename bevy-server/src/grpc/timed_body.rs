//! Time limits for the bodies of requests to tonic's services, which have none of their own.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep};
use tonic::Status;
use tower::BoxError;

use super::{calls::REQUEST_TIMEOUT, status};

/// Limit for the pause between two messages of a request stream.
const PAUSE_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// A request body that fails if its client does not send it in time: the first frame within [`REQUEST_TIMEOUT`], each
/// further one within [`PAUSE_TIMEOUT`].
pub(super) struct TimedBody<B> {
    body: Pin<Box<B>>,
    limit: Duration,
    timer: Pin<Box<Sleep>>,
}

impl<B> TimedBody<B> {
    pub(super) fn new(body: B) -> Self {
        let timer = Box::pin(tokio::time::sleep(REQUEST_TIMEOUT));
        Self { body: Box::pin(body), limit: REQUEST_TIMEOUT, timer }
    }
}

impl<B: Body<Data = Bytes, Error: Into<BoxError>>> Body for TimedBody<B> {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = &mut *self;
        match this.body.as_mut().poll_frame(cx) {
            Poll::Ready(frame) => {
                this.limit = PAUSE_TIMEOUT;
                this.timer.as_mut().reset(Instant::now() + PAUSE_TIMEOUT);
                Poll::Ready(frame.map(|frame| frame.map_err(|error| Status::from_error(error.into()))))
            }
            Poll::Pending => this.timer.as_mut().poll(cx).map(|()| Some(Err(status::request_timed_out(this.limit)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
