//! Response bodies: frames that are ready to go out as they lie.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::{Buf, Bytes};
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};

use super::stream::Flow;
use crate::lifecycle::Pass;

/// Bytes of an answer. With them goes the pass of their call if they are the last: the transport takes a body's frames
/// long before it has sent them, and a call is in flight until its answer is sent.
#[derive(Debug)]
pub struct Piece {
    bytes: Bytes,
    pass: Option<Pass>,
}

impl Piece {
    pub(super) const fn new(bytes: Bytes, pass: Option<Pass>) -> Self {
        Self { bytes, pass }
    }

    /// For a transport that takes nothing but bytes.
    pub(super) fn into_bytes(self) -> Bytes {
        match self.pass {
            None => self.bytes,
            Some(_) => Bytes::from_owner(self),
        }
    }
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
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
    /// What another service answers.
    Other(tonic::body::Body),
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
                let message = message.take().map(|bytes| Frame::data(Piece::new(bytes, pass.take())));
                Poll::Ready(message.or_else(|| trailers.take().map(Frame::trailers)).map(Ok))
            }
            Self::Stream(flow) => flow.poll_frame(cx).map(|frame| frame.map(Ok)),
            Self::Other(body) => {
                let frame = Pin::new(body).poll_frame(cx);
                frame.map_ok(|frame| frame.map_data(|bytes| Piece::new(bytes, None)))
            }
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
