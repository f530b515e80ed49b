//! Response bodies: frames that are ready to go out as they lie.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Instant,
};

use bytes::{Buf, Bytes};
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use tokio::task::AbortHandle;

use super::stream::StreamBody;
use crate::lifecycle::InFlightGuard;

/// A pass of which everything that is left of an answer holds a part. The call is over when the last part is dropped, or
/// at its deadline, whatever of the answer the transport still has by then.
#[derive(Debug, Clone)]
pub struct SharedGuard(Arc<Mutex<SharedGuardState>>);

#[derive(Debug)]
struct SharedGuardState {
    /// Until the deadline.
    guard: Option<InFlightGuard>,
    timer: Option<AbortHandle>,
}

impl SharedGuard {
    pub(super) fn new(guard: InFlightGuard) -> Self {
        Self(Arc::new(Mutex::new(SharedGuardState { guard: Some(guard), timer: None })))
    }

    /// At `deadline` does `on_deadline` and gives the pass up, unless nobody holds it any more by then.
    pub(super) fn release_at(&self, deadline: Instant, on_deadline: impl FnOnce() + Send + 'static) {
        let state = Arc::downgrade(&self.0);
        let timer = tokio::spawn(async move {
            tokio::time::sleep_until(deadline.into()).await;
            on_deadline();
            if let Some(state) = state.upgrade() {
                lock(&state).guard = None;
            }
        });
        lock(&self.0).timer = Some(timer.abort_handle());
    }
}

/// What `mutex` guards, also after a panic of whoever had it.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for SharedGuardState {
    fn drop(&mut self) {
        if let Some(timer) = &self.timer {
            timer.abort();
        }
    }
}

/// What keeps the call of a [`GuardedBytes`] in flight.
#[derive(Debug)]
#[allow(dead_code, reason = "a guard is only held")]
pub(super) enum Guard {
    /// Its pass: the piece is all there is.
    Owned(InFlightGuard),
    /// A part of its pass.
    Shared(SharedGuard),
}

/// Bytes of an answer. The last of them hold their call's pass: the transport takes a body's frames long before it has
/// sent them, and a call is in flight until its answer is sent.
#[derive(Debug)]
pub struct GuardedBytes {
    bytes: Bytes,
    _guard: Option<Guard>,
}

impl GuardedBytes {
    pub(super) const fn new(bytes: Bytes, guard: Option<Guard>) -> Self {
        Self { bytes, _guard: guard }
    }

    /// For one who takes nothing but bytes, and holds the pass some other way.
    pub(super) fn into_bytes(self) -> Bytes {
        self.bytes
    }
}

impl Buf for GuardedBytes {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
    }
}

/// A response body of the floor service, or one of tonic's.
#[derive(Default)]
pub enum FloorBody {
    /// Nothing: the status stands in the headers.
    #[default]
    Empty,
    /// One message with its frame prefix, then the trailers.
    Unary {
        /// The message, until it is sent.
        message: Option<Bytes>,
        /// The trailers, until they are sent.
        trailers: Option<HeaderMap>,
        /// Of the call; it goes with the message.
        guard: Option<InFlightGuard>,
    },
    /// Frames as they come.
    Stream(StreamBody),
    /// What another service answers, and the pass of the call if it is one for floors.
    Other(tonic::body::Body, Option<SharedGuard>),
}

impl FloorBody {
    /// A whole answer: `message` with its frame prefix in front, and status OK.
    #[must_use]
    pub fn unary(message: Bytes) -> Self {
        Self::Unary { message: Some(message), trailers: Some(ok_trailers()), guard: None }
    }

    /// This body, keeping its call in flight until it is sent or dropped.
    #[must_use]
    pub(super) fn with_guard(mut self, call_guard: InFlightGuard) -> Self {
        if let Self::Unary { guard, .. } = &mut self {
            *guard = Some(call_guard);
        }
        self
    }

    /// The pass, for whoever makes other bytes of this body's, and so cannot leave it to them.
    pub(super) fn shared_guard(&mut self) -> Option<SharedGuard> {
        match self {
            Self::Unary { guard, .. } => guard.take().map(SharedGuard::new),
            Self::Stream(stream) => Some(stream.guard().clone()),
            Self::Empty | Self::Other(..) => None,
        }
    }
}

/// `grpc-status: 0`.
pub(super) fn ok_trailers() -> HeaderMap {
    let mut trailers = HeaderMap::with_capacity(1);
    trailers.insert("grpc-status", http::HeaderValue::from_static("0"));
    trailers
}

impl Body for FloorBody {
    type Data = GuardedBytes;
    type Error = tonic::Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        match &mut *self {
            Self::Empty => Poll::Ready(None),
            Self::Unary { message, trailers, guard } => {
                let message =
                    message.take().map(|bytes| Frame::data(GuardedBytes::new(bytes, guard.take().map(Guard::Owned))));
                Poll::Ready(message.or_else(|| trailers.take().map(Frame::trailers)).map(Ok))
            }
            Self::Stream(stream) => stream.poll_frame(cx).map(|frame| frame.map(Ok)),
            Self::Other(body, guard) => {
                let frame = Pin::new(body).poll_frame(cx);
                // Which frame is the last is not known before the next one is asked for.
                frame.map_ok(|frame| frame.map_data(|bytes| GuardedBytes::new(bytes, guard.clone().map(Guard::Shared))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Unary { message, trailers, .. } => message.is_none() && trailers.is_none(),
            Self::Stream(_) => false,
            Self::Other(body, _) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Empty => SizeHint::with_exact(0),
            // No exact size: gRPC-Web appends the trailers to the body, behind what a content-length would announce.
            Self::Unary { .. } | Self::Stream(_) => SizeHint::default(),
            Self::Other(body, _) => body.size_hint(),
        }
    }
}

impl std::fmt::Debug for FloorBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Empty => "Empty",
            Self::Unary { .. } => "Unary",
            Self::Stream(_) => "Stream",
            Self::Other(..) => "Other",
        })
    }
}
