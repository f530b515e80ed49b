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

use super::stream::Flow;
use crate::lifecycle::Pass;

/// A pass of which everything that is left of an answer holds a part. The call is over when the last part is dropped, or
/// at its deadline, whatever of the answer the transport still has by then.
#[derive(Debug, Clone)]
pub struct SharedPass(Arc<Mutex<Held>>);

#[derive(Debug)]
struct Held {
    /// Until the deadline.
    pass: Option<Pass>,
    timer: Option<AbortHandle>,
}

impl SharedPass {
    pub(super) fn new(pass: Pass) -> Self {
        Self(Arc::new(Mutex::new(Held { pass: Some(pass), timer: None })))
    }

    /// At `deadline` does `end` and gives the pass up, unless nobody holds it any more by then.
    pub(super) fn end_at(&self, deadline: Instant, end: impl FnOnce() + Send + 'static) {
        let held = Arc::downgrade(&self.0);
        let timer = tokio::spawn(async move {
            tokio::time::sleep_until(deadline.into()).await;
            end();
            if let Some(held) = held.upgrade() {
                lock(&held).pass = None;
            }
        });
        lock(&self.0).timer = Some(timer.abort_handle());
    }
}

/// What `mutex` guards, also after a panic of whoever had it.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(timer) = &self.timer {
            timer.abort();
        }
    }
}

/// What keeps the call of a [`Piece`] in flight.
#[derive(Debug)]
#[allow(dead_code, reason = "a pass is only held")]
pub(super) enum Hold {
    /// Its pass: the piece is all there is.
    Whole(Pass),
    /// A part of its pass.
    Part(SharedPass),
}

/// Bytes of an answer. The last of them hold their call's pass: the transport takes a body's frames long before it has
/// sent them, and a call is in flight until its answer is sent.
#[derive(Debug)]
pub struct Piece {
    bytes: Bytes,
    _hold: Option<Hold>,
}

impl Piece {
    pub(super) const fn new(bytes: Bytes, hold: Option<Hold>) -> Self {
        Self { bytes, _hold: hold }
    }

    /// For one who takes nothing but bytes, and holds the pass some other way.
    pub(super) fn into_bytes(self) -> Bytes {
        self.bytes
    }
}

impl Buf for Piece {
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
        pass: Option<Pass>,
    },
    /// Frames as they come.
    Stream(Flow),
    /// What another service answers, and the pass of the call if it is one for floors.
    Other(tonic::body::Body, Option<SharedPass>),
}

impl FloorBody {
    /// A whole answer: `message` with its frame prefix in front, and status OK.
    #[must_use]
    pub fn unary(message: Bytes) -> Self {
        Self::Unary { message: Some(message), trailers: Some(ok_trailers()), pass: None }
    }

    /// This body, keeping its call in flight until it is sent or dropped.
    #[must_use]
    pub(super) fn holding(mut self, held: Pass) -> Self {
        if let Self::Unary { pass, .. } = &mut self {
            *pass = Some(held);
        }
        self
    }

    /// The pass, for whoever makes other bytes of this body's, and so cannot leave it to them.
    pub(super) fn share_pass(&mut self) -> Option<SharedPass> {
        match self {
            Self::Unary { pass, .. } => pass.take().map(SharedPass::new),
            Self::Stream(flow) => Some(flow.pass().clone()),
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
    type Data = Piece;
    type Error = tonic::Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        match &mut *self {
            Self::Empty => Poll::Ready(None),
            Self::Unary { message, trailers, pass } => {
                let message = message.take().map(|bytes| Frame::data(Piece::new(bytes, pass.take().map(Hold::Whole))));
                Poll::Ready(message.or_else(|| trailers.take().map(Frame::trailers)).map(Ok))
            }
            Self::Stream(flow) => flow.poll_frame(cx).map(|frame| frame.map(Ok)),
            Self::Other(body, pass) => {
                let frame = Pin::new(body).poll_frame(cx);
                // Which frame is the last is not known before the next one is asked for.
                frame.map_ok(|frame| frame.map_data(|bytes| Piece::new(bytes, pass.clone().map(Hold::Part))))
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
