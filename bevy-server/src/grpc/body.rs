//! The bodies of responses, whose frames are sent unchanged and keep the call in flight until they are sent.

use std::{
    collections::VecDeque,
    fmt,
    io::IoSlice,
    pin::Pin,
    sync::LazyLock,
    task::{Context, Poll},
    time::Instant,
};

use bytes::{Buf, Bytes};
use futures_util::stream::BoxStream;
use http::{HeaderMap, HeaderValue};
use http_body::{Body, Frame, SizeHint};
use tonic::{Code, Status};

use super::{
    admission::{InFlightGuard, Memory},
    answer::Frame as Message,
    call_end::CallEnd,
};
use crate::callers::{Caller, Reserved};

/// `grpc-status: 0`.
pub(super) static OK_TRAILERS: LazyLock<HeaderMap> =
    LazyLock::new(|| HeaderMap::from_iter([(Status::GRPC_STATUS, HeaderValue::from_static("0"))]));

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
    /// The body of a tonic service, with the memory of the call.
    Other(tonic::body::Body, #[expect(dead_code, reason = "only held")] Reserved),
}

impl FloorBody {
    /// The body of a unary response with status OK. `message` starts with its frame prefix.
    #[must_use]
    pub fn unary(message: Bytes) -> Self {
        Self::framed(message.into())
    }

    /// A message behind its frame prefix, and trailers.
    pub(super) fn framed(message: Message) -> Self {
        let message = Some(GuardedBytes::new(message));
        Self { frames: Frames::Unary { message, has_trailers: true }, deadline: None }
    }

    /// A body that ends with these bytes.
    pub(super) fn whole(bytes: Message) -> Self {
        let message = Some(GuardedBytes::new(bytes));
        Self { frames: Frames::Unary { message, has_trailers: false }, deadline: None }
    }

    /// The length of the body, if nothing follows its message.
    pub(super) fn content_length(&self) -> Option<u64> {
        match &self.frames {
            Frames::Unary { message: Some(message), has_trailers: false } => Some(message.remaining as u64),
            _ => None,
        }
    }

    /// The body of a stream that ends at `deadline`.
    pub(super) const fn stream(stream: StreamBody, deadline: Option<Instant>) -> Self {
        Self { frames: Frames::Stream(stream), deadline }
    }

    /// The body of a tonic service. `held` is the memory of the call.
    pub(super) const fn other(body: tonic::body::Body, held: Reserved) -> Self {
        Self { frames: Frames::Other(body, held), deadline: None }
    }

    /// When the client stops waiting. A response that it does not take until then is reset.
    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Takes the message of a unary body, and whether [`OK_TRAILERS`] follow it. `None` for another body.
    pub(super) fn take_unary(&mut self) -> Option<(GuardedBytes, bool)> {
        match &mut self.frames {
            Frames::Unary { message, has_trailers } => message.take().map(|message| (message, *has_trailers)),
            _ => None,
        }
    }

    /// The bytes of a unary message that are not sent yet.
    pub(super) fn unsent_bytes(&self) -> usize {
        match &self.frames {
            Frames::Unary { message: Some(message), .. } => message.remaining(),
            _ => 0,
        }
    }

    /// Attaches to a unary response what it holds until it is sent, and when its client stops waiting.
    #[must_use]
    pub(super) fn with_guards(mut self, in_flight: InFlightGuard, memory: Memory, deadline: Option<Instant>) -> Self {
        self.deadline = deadline;
        if let Frames::Unary { message: Some(message), .. } = &mut self.frames {
            (message.in_flight, message.memory) = (Some(in_flight), memory);
        }
        self
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
            Frames::Other(body, _) => {
                let frame = Pin::new(body).poll_frame(cx);
                frame.map_ok(|frame| frame.map_data(GuardedBytes::of_call))
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

/// What a stream sends next.
pub(super) enum StreamItem {
    /// A floor and the memory reserved for it.
    Floor { floor: Bytes, reserved: Reserved, last: bool },
    End {
        code: Code,
        trailers: HeaderMap,
        /// The trailers as gRPC-Web and Connect send them: in a last message.
        message: Option<Bytes>,
    },
}

/// The body of a stream.
pub(super) struct StreamBody {
    items: BoxStream<'static, StreamItem>,
    end: CallEnd,
    in_flight: InFlightGuard,
    done: bool,
}

impl StreamBody {
    pub(super) const fn new(items: BoxStream<'static, StreamItem>, end: CallEnd, in_flight: InFlightGuard) -> Self {
        Self { items, end, in_flight, done: false }
    }

    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Frame<GuardedBytes>>> {
        if self.done {
            return Poll::Ready(None);
        }
        let Poll::Ready(item) = self.items.as_mut().poll_next(cx) else { return Poll::Pending };
        Poll::Ready(match item {
            // The transport takes a floor before it has sent it, so the last one keeps the call in flight.
            Some(StreamItem::Floor { floor, reserved, last }) => {
                if let Some(record) = &self.end.record {
                    record.sent(floor.len());
                }
                let in_flight = last.then(|| self.in_flight.clone());
                Some(Frame::data(GuardedBytes::floor(floor, reserved, in_flight)))
            }
            Some(StreamItem::End { code, trailers, message }) => {
                self.end.code = code;
                if let Some(record) = &self.end.record {
                    record.answered(&trailers, 0);
                }
                self.done = true;
                Some(match message {
                    Some(message) => Frame::data(GuardedBytes::end(message, self.in_flight.clone())),
                    None => Frame::trailers(trailers),
                })
            }
            None => None,
        })
    }
}

impl fmt::Debug for StreamBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamBody").field("done", &self.done).finish_non_exhaustive()
    }
}

/// Bytes of a response, in slices, with what they hold until they are sent: the transport takes frames long before that.
/// A call stays in flight, and memory that is reserved stays so.
#[derive(Debug, Default)]
pub struct GuardedBytes {
    /// Not empty unless `rest` is.
    first: Bytes,
    rest: VecDeque<Bytes>,
    remaining: usize,
    memory: Memory,
    /// Set for the last bytes of a call.
    in_flight: Option<InFlightGuard>,
}

impl GuardedBytes {
    fn new(message: Message) -> Self {
        let remaining = message.len();
        let Message { first, rest } = message;
        Self { first, rest, remaining, ..Self::default() }
    }

    /// A floor of a stream: its memory, and the call if it is the last one.
    fn floor(floor: Bytes, reserved: Reserved, in_flight: Option<InFlightGuard>) -> Self {
        Self { memory: Memory::Reserved(reserved), in_flight, ..Self::new(floor.into()) }
    }

    /// The last message of a stream, which is no floor.
    fn end(message: Bytes, in_flight: InFlightGuard) -> Self {
        Self { in_flight: Some(in_flight), ..Self::of_call(message) }
    }

    /// Bytes for which the call has paid.
    fn of_call(bytes: Bytes) -> Self {
        Self { memory: Memory::OfCall, ..Self::new(bytes.into()) }
    }

    /// No bytes.
    pub(super) fn empty() -> Self {
        Self::default()
    }

    /// Releases the memory of `count` bytes that were sent.
    pub(super) fn release(&mut self, count: usize) {
        if let Memory::Reserved(reserved) = &mut self.memory {
            drop(reserved.split(count));
        }
    }

    /// Reserves the memory, unless it is reserved: `reserve` takes it from the caller that it gets, or else from that of the
    /// connection. False if the caller has more than its share.
    pub(super) fn pay(&mut self, reserve: impl FnOnce(Option<&Caller>, usize) -> Option<Reserved>) -> bool {
        let reserved = match &self.memory {
            Memory::Reserved(_) | Memory::OfCall => return true,
            _ if self.remaining == 0 => return true,
            Memory::PaidBy(caller) => reserve(Some(caller), self.remaining),
            Memory::PaidByConnection => reserve(None, self.remaining),
        };
        let is_paid = reserved.is_some();
        self.memory = reserved.map_or_else(Memory::default, Memory::Reserved);
        is_paid
    }

    /// The bytes without what they hold.
    #[cfg(test)]
    pub(super) fn into_bytes(mut self) -> Bytes {
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
    use http_body_util::BodyExt as _;
    use proptest::prelude::*;

    use super::*;

    #[tokio::test]
    async fn a_message_without_its_prefix_is_the_stored_bytes() {
        let stored = Bytes::from_static(b"\0\0\0\0\x03abc");
        assert_eq!(FloorBody::unary(stored.clone()).content_length(), None, "trailers follow");
        let mut body = FloorBody::whole(Message::from(stored.clone()).without_prefix());
        assert_eq!(body.content_length(), Some(3));
        let message = body.frame().await.unwrap().unwrap().into_data().unwrap().into_bytes();
        assert_eq!(message.as_ptr(), stored[5..].as_ptr(), "not copied");
        assert!(body.is_end_stream(), "no trailers follow");
    }

    proptest! {
        #[test]
        fn slices_read_as_one_message(parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), 1..9), cuts in prop::collection::vec(0usize..20, 0..9)) {
            let whole = parts.concat();
            let mut slices: VecDeque<_> = parts.into_iter().map(Bytes::from).filter(|part| !part.is_empty()).collect();
            let mut bytes = GuardedBytes::new(Message::of_slices(slices.pop_front().unwrap_or_default(), slices));
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
