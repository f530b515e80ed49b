//! Response bodies: frames that are ready to go out as they lie.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::stream::{BoxStream, Stream};
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};

use crate::lifecycle::Pass;

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
        /// The call is in flight as long as its answer is.
        pass: Option<Pass>,
    },
    /// Frames as they come.
    Stream(BoxStream<'static, Frame<Bytes>>),
    /// What another service answers.
    Other(tonic::body::Body),
}

impl FloorBody {
    /// A whole answer: `message` with its frame prefix in front, and status OK.
    #[must_use]
    pub fn unary(message: Bytes) -> Self {
        Self::Unary { message: Some(message), trailers: Some(ok_trailers()), pass: None }
    }

    /// This body, keeping its call in flight until it is dropped.
    #[must_use]
    pub(super) fn holding(mut self, held: Pass) -> Self {
        if let Self::Unary { pass, .. } = &mut self {
            *pass = Some(held);
        }
        self
    }
}

/// `grpc-status: 0`.
pub(super) fn ok_trailers() -> HeaderMap {
    let mut trailers = HeaderMap::with_capacity(1);
    trailers.insert("grpc-status", http::HeaderValue::from_static("0"));
    trailers
}

impl Body for FloorBody {
    type Data = Bytes;
    type Error = tonic::Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        match &mut *self {
            Self::Empty => Poll::Ready(None),
            Self::Unary { message, trailers, .. } => {
                let frame = message.take().map(Frame::data).or_else(|| trailers.take().map(Frame::trailers));
                Poll::Ready(frame.map(Ok))
            }
            Self::Stream(frames) => Pin::new(frames).poll_next(cx).map(|frame| frame.map(Ok)),
            Self::Other(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Unary { message, trailers, .. } => message.is_none() && trailers.is_none(),
            Self::Stream(_) => false,
            Self::Other(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Empty => SizeHint::with_exact(0),
            // No exact size: gRPC-Web appends the trailers to the body, behind what a content-length would announce.
            Self::Unary { .. } | Self::Stream(_) => SizeHint::default(),
            Self::Other(body) => body.size_hint(),
        }
    }
}

impl std::fmt::Debug for FloorBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Empty => "Empty",
            Self::Unary { .. } => "Unary",
            Self::Stream(_) => "Stream",
            Self::Other(_) => "Other",
        })
    }
}
