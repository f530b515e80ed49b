//! What a response says: its head and its metadata, and the body, whose frames are sent unchanged and keep the call in
//! flight until they are sent.

use std::{
    fmt::{self, Write as _},
    pin::Pin,
    task::{Context, Poll},
};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use floor_cache::{Served, Step};
use http::{HeaderMap, HeaderValue, Response, header};
use http_body::{Body, Frame, SizeHint};
use tonic::Status;

use super::{request::Call, stream_body::StreamBody};
use crate::lifecycle::InFlightGuard;

/// A unary response with the tier that served it, or `generated`.
pub(super) fn respond(message: Bytes, served_by: HeaderValue) -> Response<FloorBody> {
    let mut response = head(FloorBody::unary(message));
    response.headers_mut().insert("floor-served-by", served_by);
    response
}

/// A response with status 200 and the content type of gRPC.
pub(super) fn head(body: FloorBody) -> Response<FloorBody> {
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    response
}

/// Writes the frame prefix of a message with `length` bytes.
pub(super) fn put_prefix(message: &mut BytesMut, length: usize) {
    message.put_u8(0);
    message.put_u32(u32::try_from(length).expect("256 floors of 512x512 are far below 4 GiB"));
}

/// `grpc-status: 0`.
pub(super) fn ok_trailers() -> HeaderMap {
    let mut trailers = HeaderMap::with_capacity(1);
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    trailers
}

/// The trailers of a failed call.
pub(super) fn error_trailers(status: &Status) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    // Cannot fail: the text is made here and fits a header.
    let _ = status.add_header(&mut trailers);
    trailers
}

/// Adds `floor-server-us` and `floor-trace` if the call requested them.
pub(super) fn add_trace(call: &Call, steps: &[Step], headers: &mut HeaderMap) {
    if !call.trace {
        return;
    }
    let micros = u64::try_from(call.started.elapsed().as_micros()).unwrap_or(u64::MAX);
    headers.insert("floor-server-us", HeaderValue::from(micros));
    if steps.is_empty() {
        return;
    }
    let steps: Vec<_> = steps.iter().map(format_step).collect();
    if let Ok(trace) = HeaderValue::try_from(steps.join(",")) {
        headers.insert("floor-trace", trace);
    }
}

fn format_step(step: &Step) -> String {
    let micros = step.took.as_micros();
    match step.tier {
        "generated" => format!("generated:{micros}us"),
        tier => format!("{tier}={}:{micros}us", step.outcome.as_str()),
    }
}

/// Floors per tier, in the order of the first hits.
#[derive(Debug, Default)]
pub(super) struct ServedCounts {
    by: Vec<(&'static str, u32)>,
    coalesced: u32,
}

impl ServedCounts {
    pub(super) fn add(&mut self, served: &Served) {
        self.coalesced += u32::from(served.coalesced);
        match self.by.iter_mut().find(|(by, _)| *by == served.by) {
            Some((_, count)) => *count += 1,
            None => self.by.push((served.by, 1)),
        }
    }

    /// `lru=3,lmdb=5,generated=8`
    pub(super) fn served_by(&self) -> HeaderValue {
        let mut text = String::new();
        for (i, (by, count)) in self.by.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            let _ = write!(text, "{comma}{by}={count}");
        }
        HeaderValue::try_from(text).expect("tier names and digits are ASCII")
    }

    /// The number of coalesced floors; `None` for 0.
    pub(super) fn coalesced(&self) -> Option<HeaderValue> {
        (self.coalesced > 0).then(|| HeaderValue::from(self.coalesced))
    }
}

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
    type Error = Status;

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

impl fmt::Debug for FloorBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "Empty",
            Self::Unary { .. } => "Unary",
            Self::Stream(_) => "Stream",
            Self::Other(..) => "Other",
        })
    }
}

/// Bytes of a response with a guard. The transport takes frames long before it has sent them, and a call stays in
/// flight until its response is sent.
#[derive(Debug)]
pub struct GuardedBytes {
    bytes: Bytes,
    _guard: Option<InFlightGuard>,
}

impl GuardedBytes {
    pub(super) const fn new(bytes: Bytes, guard: Option<InFlightGuard>) -> Self {
        Self { bytes, _guard: guard }
    }

    /// The bytes without the guard, for a transport whose response holds the guard elsewhere.
    pub(in crate::grpc) fn into_bytes(self) -> Bytes {
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
