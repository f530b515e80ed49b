//! Response bodies of the gRPC port. Their frames are sent unchanged, and they keep the call in flight until it is
//! sent.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};

use super::{guarded_bytes::GuardedBytes, responses::ok_trailers, stream_body::StreamBody};
use crate::lifecycle::InFlightGuard;

/// A response body of the floor service or of tonic.
#[derive(Default)]
pub enum FloorBody {
    /// No frames: the status is in the headers.
    #[default]
    Empty,
    /// One message with its frame prefix, then the trailers.
    Unary {
        /// The message, until it is sent.
        message: Option<Bytes>,
        /// The trailers, until they are sent.
        trailers: Option<HeaderMap>,
        /// Keeps the call in flight. Moves into the message's bytes.
        guard: Option<InFlightGuard>,
    },
    /// The frames of a stream.
    Stream(StreamBody),
    /// The body of a tonic service, with a guard if the call is one for floors.
    Other(tonic::body::Body, Option<InFlightGuard>),
}

impl FloorBody {
    /// The body of a unary response with status OK. `message` starts with its frame prefix.
    #[must_use]
    pub fn unary(message: Bytes) -> Self {
        Self::Unary { message: Some(message), trailers: Some(ok_trailers()), guard: None }
    }

    /// Attaches the guard that keeps the call in flight.
    #[must_use]
    pub(in crate::grpc) fn with_guard(mut self, call_guard: InFlightGuard) -> Self {
        if let Self::Unary { guard, .. } = &mut self {
            *guard = Some(call_guard);
        }
        self
    }

    /// The guard of this body, for gRPC-Web, which replaces the bytes of the body.
    pub(in crate::grpc) fn take_guard(&mut self) -> Option<InFlightGuard> {
        match self {
            Self::Unary { guard, .. } => guard.take(),
            Self::Stream(stream) => Some(stream.guard().clone()),
            Self::Empty | Self::Other(..) => None,
        }
    }
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
                let message = message.take().map(|bytes| Frame::data(GuardedBytes::new(bytes, guard.take())));
                Poll::Ready(message.or_else(|| trailers.take().map(Frame::trailers)).map(Ok))
            }
            Self::Stream(stream) => stream.poll_frame(cx).map(|frame| frame.map(Ok)),
            Self::Other(body, guard) => {
                let frame = Pin::new(body).poll_frame(cx);
                // Any frame may be the last, so each holds the guard.
                frame.map_ok(|frame| frame.map_data(|bytes| GuardedBytes::new(bytes, guard.clone())))
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
            // No exact size: gRPC-Web appends the trailers to the body, beyond what a content-length would announce.
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
