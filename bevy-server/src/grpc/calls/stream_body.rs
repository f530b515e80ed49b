//! The response body of `StreamFloors`.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::Instant,
};

use bytes::Bytes;
use futures_util::stream::BoxStream;
use http::HeaderMap;
use http_body::Frame;
use tonic::Code;

use super::{
    MetricsGuard,
    response::{GuardedBytes, error_trailers},
};
use crate::{grpc::status, lifecycle::InFlightGuard};

/// An item of the stream.
pub(super) enum StreamItem {
    Floor { floor: Bytes, last: bool },
    End(Code, HeaderMap),
}

/// The body of a stream. It ends at its deadline even if the client does not read: the transport does not poll a body
/// that it cannot send, so a timer drops the stream and the guard of its last floor.
pub struct StreamBody {
    state: Arc<Mutex<StreamState>>,
    guard: InFlightGuard,
    done: bool,
}

struct StreamState {
    /// `None` after the trailers or the deadline.
    active: Option<ActiveStream>,
    /// The waker of the transport, while it waits for a frame.
    waker: Option<Waker>,
}

struct ActiveStream {
    items: BoxStream<'static, StreamItem>,
    metrics_guard: MetricsGuard,
}

impl StreamState {
    /// Ends the stream at the deadline, and wakes the transport.
    fn expire(&mut self) {
        if let Some(mut active) = self.active.take() {
            active.metrics_guard.code = Code::DeadlineExceeded;
        }
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

/// Locks `state`, also if it is poisoned.
fn lock(state: &Mutex<StreamState>) -> MutexGuard<'_, StreamState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StreamBody {
    pub(super) fn new(
        items: BoxStream<'static, StreamItem>,
        metrics_guard: MetricsGuard,
        guard: InFlightGuard,
        deadline: Option<Instant>,
    ) -> Self {
        let active = ActiveStream { items, metrics_guard };
        let state = Arc::new(Mutex::new(StreamState { active: Some(active), waker: None }));
        let guard = match deadline {
            None => guard,
            Some(deadline) => {
                let state = Arc::clone(&state);
                guard.release_at(deadline, move || lock(&state).expire())
            }
        };
        Self { state, guard, done: false }
    }

    pub(super) const fn guard(&self) -> &InFlightGuard {
        &self.guard
    }

    pub(super) fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Frame<GuardedBytes>>> {
        if self.done {
            return Poll::Ready(None);
        }
        let mut state = lock(&self.state);
        let Some(active) = &mut state.active else {
            self.done = true;
            return Poll::Ready(Some(Frame::trailers(error_trailers(&status::deadline_exceeded()))));
        };
        let Poll::Ready(item) = active.items.as_mut().poll_next(cx) else {
            state.waker = Some(cx.waker().clone());
            return Poll::Pending;
        };
        Poll::Ready(Some(match item {
            Some(StreamItem::Floor { floor, last }) => {
                Frame::data(GuardedBytes::new(floor, last.then(|| self.guard.clone())))
            }
            Some(StreamItem::End(code, trailers)) => {
                active.metrics_guard.code = code;
                state.active = None;
                self.done = true;
                Frame::trailers(trailers)
            }
            None => return Poll::Ready(None),
        }))
    }
}

impl Drop for StreamBody {
    fn drop(&mut self) {
        // Drop the stream now, not when the timer's task ends.
        lock(&self.state).active = None;
    }
}
