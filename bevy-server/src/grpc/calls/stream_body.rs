//! The response body of `StreamFloors`.

use std::{
    fmt,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::stream::BoxStream;
use http::HeaderMap;
use http_body::Frame;
use tonic::Code;

use super::{MetricsGuard, response::GuardedBytes};
use crate::{clients::Reserved, grpc::InFlightGuard};

/// An item of the stream.
pub(super) enum StreamItem {
    /// A floor and the memory reserved for it.
    Floor { floor: Bytes, reserved: Reserved, last: bool },
    End {
        code: Code,
        trailers: HeaderMap,
        /// The trailers as Connect sends them: in a last message.
        message: Option<Bytes>,
    },
}

/// The body of a stream.
pub(super) struct StreamBody {
    items: BoxStream<'static, StreamItem>,
    metrics_guard: MetricsGuard,
    in_flight: InFlightGuard,
    done: bool,
}

impl StreamBody {
    pub(super) const fn new(
        items: BoxStream<'static, StreamItem>,
        metrics_guard: MetricsGuard,
        in_flight: InFlightGuard,
    ) -> Self {
        Self { items, metrics_guard, in_flight, done: false }
    }

    /// A guard that keeps the call in flight.
    pub(super) fn in_flight(&self) -> InFlightGuard {
        self.in_flight.clone()
    }

    pub(super) fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Frame<GuardedBytes>>> {
        if self.done {
            return Poll::Ready(None);
        }
        let Poll::Ready(item) = self.items.as_mut().poll_next(cx) else { return Poll::Pending };
        Poll::Ready(match item {
            // The transport takes a floor before it has sent it, so the last one keeps the call in flight.
            Some(StreamItem::Floor { floor, reserved, last }) => {
                if let Some(record) = &self.metrics_guard.record {
                    record.sent(floor.len());
                }
                let in_flight = last.then(|| self.in_flight.clone());
                Some(Frame::data(GuardedBytes::floor(floor, reserved, in_flight)))
            }
            Some(StreamItem::End { code, trailers, message }) => {
                self.metrics_guard.code = code;
                if let Some(record) = &self.metrics_guard.record {
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
