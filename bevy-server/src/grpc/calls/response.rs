//! What a response says: its head and its metadata, and the body, whose frames are sent unchanged and keep the call in
//! flight until they are sent.

use std::{
    collections::VecDeque,
    fmt::{self, Write as _},
    io::IoSlice,
    pin::Pin,
    sync::{Arc, LazyLock},
    task::{Context, Poll},
    time::Instant,
};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use floor_cache::{Served, Step};
use floor_proto::FRAME_PREFIX_BYTES;
use http::{HeaderMap, HeaderValue, Response, header};
use http_body::{Body, Frame, SizeHint};
use tonic::Status;

use super::{request::Call, stream_body::StreamBody};
use crate::{
    clients::Reserved,
    grpc::{InFlightGuard, connect::Protocol},
    headers::{FLOOR_SERVED_BY, FLOOR_SERVER_US, FLOOR_TRACE},
};

/// A unary response in `protocol` with the tier that served it, or `generated`.
pub(super) fn respond(protocol: Protocol, body: FloorBody, served_by: HeaderValue) -> Response<FloorBody> {
    let mut response = head(protocol, body);
    response.headers_mut().insert(&FLOOR_SERVED_BY, served_by);
    response
}

/// A response with status 200 and the content type of `protocol`.
pub(in crate::grpc) fn head(protocol: Protocol, body: FloorBody) -> Response<FloorBody> {
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(protocol.content_type()));
    response
}

/// Writes the frame prefix of a message with `length` bytes.
pub(super) fn put_prefix(message: &mut BytesMut, length: usize) {
    message.put_u8(0);
    message.put_u32(u32::try_from(length).expect("256 floors of 512x512 are far below 4 GiB"));
}

/// `grpc-status: 0`.
pub(in crate::grpc) static OK_TRAILERS: LazyLock<HeaderMap> =
    LazyLock::new(|| HeaderMap::from_iter([(Status::GRPC_STATUS, HeaderValue::from_static("0"))]));

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
    headers.insert(&FLOOR_SERVER_US, HeaderValue::from(micros));
    if steps.is_empty() {
        return;
    }
    let steps: Vec<_> = steps.iter().map(format_step).collect();
    if let Ok(trace) = HeaderValue::try_from(steps.join(",")) {
        headers.insert(&FLOOR_TRACE, trace);
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

/// What a gRPC-Web response holds until the transport has sent it.
#[derive(Debug)]
#[allow(dead_code, reason = "the parts are only held")]
pub(in crate::grpc) struct ResponseGuard {
    /// Keeps the call in flight.
    in_flight: InFlightGuard,
    /// The memory of a unary message.
    reserved: Option<Reserved>,
    /// When the client stops waiting.
    deadline: Option<Instant>,
}

/// A guard that the parts of a response share.
pub(in crate::grpc) type SharedGuard = Arc<ResponseGuard>;

/// A response body of the floor service or of tonic.
#[derive(Debug, Default)]
pub struct FloorBody {
    frames: Frames,
    deadline: Option<Instant>,
}

#[derive(Default)]
enum Frames {
    /// No frames: the status is in the headers.
    #[default]
    Empty,
    /// One message, which is taken when it is sent. With gRPC it has a frame prefix, and trailers follow.
    Unary { message: Option<GuardedBytes>, has_trailers: bool },
    /// The frames of a stream.
    Stream(StreamBody),
    /// The body of a tonic service, with a guard if the call is one for floors, and the memory of the call.
    Other(tonic::body::Body, Option<SharedGuard>, #[expect(dead_code, reason = "only held")] Reserved),
}

impl FloorBody {
    /// The body of a unary response with status OK. `message` starts with its frame prefix.
    #[must_use]
    pub fn unary(message: Bytes) -> Self {
        Self::slices(message, VecDeque::new())
    }

    /// A message without a frame prefix and trailers.
    pub(in crate::grpc) fn whole(message: Bytes) -> Self {
        let message = Some(GuardedBytes::new(message, VecDeque::new()));
        Self { frames: Frames::Unary { message, has_trailers: false }, deadline: None }
    }

    /// Removes the frame prefix and the trailers of a unary body.
    pub(in crate::grpc) fn remove_framing(&mut self) {
        if let Frames::Unary { message: Some(message), has_trailers } = &mut self.frames {
            message.advance(FRAME_PREFIX_BYTES.min(message.remaining));
            *has_trailers = false;
        }
    }

    /// The beginning of a unary message that is not sent yet: of one floor all of it.
    pub(in crate::grpc) fn first_slice(&self) -> &[u8] {
        match &self.frames {
            Frames::Unary { message: Some(message), .. } => message.chunk(),
            _ => &[],
        }
    }

    /// The length of the body, if nothing follows its message.
    pub(in crate::grpc) fn content_length(&self) -> Option<u64> {
        match &self.frames {
            Frames::Unary { message: Some(message), has_trailers: false } => Some(message.remaining as u64),
            _ => None,
        }
    }

    /// As [`unary`](Self::unary), of a message in several slices.
    pub(super) fn slices(first: Bytes, rest: VecDeque<Bytes>) -> Self {
        let message = Some(GuardedBytes::new(first, rest));
        Self { frames: Frames::Unary { message, has_trailers: true }, deadline: None }
    }

    /// The body of a stream that ends at `deadline`.
    pub(super) const fn stream(stream: StreamBody, deadline: Option<Instant>) -> Self {
        Self { frames: Frames::Stream(stream), deadline }
    }

    /// The body of a tonic service. `held` is the memory of the call.
    pub(in crate::grpc) fn other(body: tonic::body::Body, guard: Option<SharedGuard>, held: Reserved) -> Self {
        let deadline = guard.as_ref().and_then(|guard| guard.deadline);
        Self { frames: Frames::Other(body, guard, held), deadline }
    }

    /// When the client stops waiting. A response that it does not take until then is reset.
    pub(in crate::grpc) const fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Takes the message of a unary body, and whether [`OK_TRAILERS`] follow it. `None` for another body.
    pub(in crate::grpc) fn take_unary(&mut self) -> Option<(GuardedBytes, bool)> {
        match &mut self.frames {
            Frames::Unary { message, has_trailers } => message.take().map(|message| (message, *has_trailers)),
            _ => None,
        }
    }

    /// The bytes of a unary message that are not sent yet.
    pub(in crate::grpc) fn unsent_bytes(&self) -> usize {
        match &self.frames {
            Frames::Unary { message: Some(message), .. } => message.remaining(),
            _ => 0,
        }
    }

    /// Attaches to a unary response what it holds until it is sent, and when its client stops waiting.
    #[must_use]
    pub(super) fn with_guards(
        mut self,
        in_flight: InFlightGuard,
        reserved: Reserved,
        deadline: Option<Instant>,
    ) -> Self {
        self.deadline = deadline;
        if let Frames::Unary { message: Some(message), .. } = &mut self.frames {
            (message.in_flight, message.reserved) = (Some(in_flight), Some(reserved));
        }
        self
    }

    /// The guard of this body, for gRPC-Web, which replaces the bytes of the body.
    pub(in crate::grpc) fn take_guard(&mut self) -> Option<SharedGuard> {
        let (in_flight, reserved) = match &mut self.frames {
            Frames::Unary { message, .. } => {
                let message = message.as_mut()?;
                (message.in_flight.take()?, message.reserved.take())
            }
            Frames::Stream(stream) => (stream.in_flight(), None),
            Frames::Empty | Frames::Other(..) => return None,
        };
        Some(Arc::new(ResponseGuard { in_flight, reserved, deadline: self.deadline }))
    }
}

impl Body for FloorBody {
    type Data = GuardedBytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        match &mut self.frames {
            Frames::Empty => Poll::Ready(None),
            Frames::Unary { message, has_trailers } => {
                let message = message.take().map(Frame::data);
                let trailers = || std::mem::take(has_trailers).then(|| Frame::trailers(OK_TRAILERS.clone()));
                Poll::Ready(message.or_else(trailers).map(Ok))
            }
            Frames::Stream(stream) => stream.poll_frame(cx).map(|frame| frame.map(Ok)),
            Frames::Other(body, guard, _) => {
                let frame = Pin::new(body).poll_frame(cx);
                // Any frame may be the last, so each holds the guard.
                frame.map_ok(|frame| frame.map_data(|bytes| GuardedBytes::shared(bytes, guard.clone())))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.frames {
            Frames::Empty => true,
            Frames::Unary { message, has_trailers } => message.is_none() && !has_trailers,
            Frames::Stream(_) => false,
            Frames::Other(body, ..) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.frames {
            Frames::Empty => SizeHint::with_exact(0),
            Frames::Unary { message, has_trailers: false } => {
                SizeHint::with_exact(message.as_ref().map_or(0, |message| message.remaining as u64))
            }
            // No exact size: gRPC-Web appends the trailers to the body, beyond what a content-length would announce.
            Frames::Unary { .. } | Frames::Stream(_) => SizeHint::default(),
            Frames::Other(body, ..) => body.size_hint(),
        }
    }
}

impl fmt::Debug for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "Empty",
            Self::Unary { .. } => "Unary",
            Self::Stream(_) => "Stream",
            Self::Other(..) => "Other",
        })
    }
}

/// Bytes of a response, in slices, with a guard. The transport takes frames long before it has sent them, and a call
/// stays in flight, and its memory reserved, until its response is sent.
#[derive(Debug, Default)]
pub struct GuardedBytes {
    /// Not empty unless `rest` is.
    first: Bytes,
    rest: VecDeque<Bytes>,
    remaining: usize,
    /// The memory of these bytes.
    reserved: Option<Reserved>,
    /// Set for the last bytes of a call.
    in_flight: Option<InFlightGuard>,
    /// What all bytes of a gRPC-Web response share.
    _shared: Option<SharedGuard>,
}

impl GuardedBytes {
    fn new(first: Bytes, rest: VecDeque<Bytes>) -> Self {
        let remaining = first.len() + rest.iter().map(Bytes::len).sum::<usize>();
        Self { first, rest, remaining, ..Self::default() }
    }

    /// A floor of a stream: its memory, and the call if it is the last one.
    pub(super) fn floor(floor: Bytes, reserved: Reserved, in_flight: Option<InFlightGuard>) -> Self {
        Self { reserved: Some(reserved), in_flight, ..Self::new(floor, VecDeque::new()) }
    }

    /// The last message of a stream, which is no floor.
    pub(super) fn end(message: Bytes, in_flight: InFlightGuard) -> Self {
        Self { in_flight: Some(in_flight), ..Self::new(message, VecDeque::new()) }
    }

    /// Bytes of a response whose parts share a guard.
    fn shared(bytes: Bytes, guard: Option<SharedGuard>) -> Self {
        Self { _shared: guard, ..Self::new(bytes, VecDeque::new()) }
    }

    /// No bytes.
    pub(in crate::grpc) fn empty() -> Self {
        Self::default()
    }

    /// Releases the memory of `count` bytes that were sent.
    pub(in crate::grpc) fn release(&mut self, count: usize) {
        if let Some(reserved) = &mut self.reserved {
            drop(reserved.split(count));
        }
    }

    /// The bytes without the guard, for a transport whose response holds the guard elsewhere.
    pub(in crate::grpc) fn into_bytes(mut self) -> Bytes {
        if self.rest.is_empty() { std::mem::take(&mut self.first) } else { self.copy_to_bytes(self.remaining) }
    }

    fn next_slice(&mut self) {
        while self.first.is_empty()
            && let Some(next) = self.rest.pop_front()
        {
            self.first = next;
        }
    }
}

impl Buf for GuardedBytes {
    fn remaining(&self) -> usize {
        self.remaining
    }

    fn chunk(&self) -> &[u8] {
        &self.first
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let chunks = std::iter::once(&self.first).chain(&self.rest).filter(|chunk| !chunk.is_empty());
        let filled = slices.iter_mut().zip(chunks).map(|(slice, chunk)| *slice = IoSlice::new(chunk));
        filled.count()
    }

    fn advance(&mut self, count: usize) {
        assert!(count <= self.remaining, "{count} of {} bytes", self.remaining);
        self.remaining -= count;
        let mut left = count;
        while left > 0 {
            let of_first = left.min(self.first.len());
            self.first.advance(of_first);
            left -= of_first;
            self.next_slice();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn slices_read_as_one_message(parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), 1..9), cuts in prop::collection::vec(0usize..20, 0..9)) {
            let whole = parts.concat();
            let mut slices: VecDeque<_> = parts.into_iter().map(Bytes::from).filter(|part| !part.is_empty()).collect();
            let mut bytes = GuardedBytes::new(slices.pop_front().unwrap_or_default(), slices);
            let mut read = Vec::new();
            for cut in cuts {
                let mut vectored = [IoSlice::new(&[]); 16];
                let filled = bytes.chunks_vectored(&mut vectored);
                let chunks: usize = vectored[..filled].iter().map(|slice| slice.len()).sum();
                prop_assert_eq!(chunks, bytes.remaining());
                read.extend(bytes.copy_to_bytes(cut.min(chunks)));
            }
            prop_assert_eq!(read.len() + bytes.remaining(), whole.len());
            while bytes.has_remaining() {
                read.push(bytes.chunk()[0]);
                bytes.advance(1);
            }
            prop_assert_eq!(read, whole);
        }
    }
}
