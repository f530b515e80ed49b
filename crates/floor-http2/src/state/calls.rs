//! What the handles of a call do: read its request, and send its response.

use std::task::{Context, Poll, Waker};

use bytes::{Buf, BufMut, Bytes};
use http::{HeaderMap, StatusCode};

use super::{State, Stream};
use crate::{
    error::{Reason, StreamEnded},
    frame::{self, MAX_FRAME_BYTES, flag, kind},
};

/// A part of a message that is sent alone, because the window takes no more, earns a free frame from this size on.
const MIN_FREE_BYTES: usize = 256;

impl State {
    /// The data of a request that has arrived. `None` at its end.
    pub(crate) fn poll_data(&mut self, id: u32, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, StreamEnded>>> {
        let Some(stream) = self.streams.get_mut(&id) else { return Poll::Ready(Some(Err(StreamEnded))) };
        if stream.data.is_empty() {
            if stream.is_received {
                return Poll::Ready(None);
            }
            register(&mut stream.reader, cx);
            return Poll::Pending;
        }
        let data = Bytes::from(std::mem::take(&mut stream.data));
        self.give_back_read(id, data.len());
        Poll::Ready(Some(Ok(data)))
    }

    /// The trailers of a request whose data was read to its end.
    pub(crate) fn take_trailers(&mut self, id: u32) -> Option<HeaderMap> {
        self.streams.get_mut(&id)?.trailers.take().map(|trailers| *trailers)
    }

    /// Whether a body has nothing more to read. The body of a stream that has ended has an error.
    pub(crate) fn is_body_ended(&self, id: u32) -> bool {
        let is_ended = |stream: &Stream| stream.is_received && stream.data.is_empty() && stream.trailers.is_none();
        self.streams.get(&id).is_some_and(is_ended)
    }

    /// The caller does not read the body any more.
    pub(crate) fn drop_body(&mut self, id: u32) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.is_body_dropped = true;
        let unread = std::mem::take(&mut stream.data).len();
        self.give_back_read(id, unread);
    }

    /// Ready when a stream has ended.
    pub(crate) fn poll_ended(&mut self, id: u32, cx: &mut Context<'_>) -> Poll<()> {
        let Some(stream) = self.streams.get_mut(&id) else { return Poll::Ready(()) };
        register(&mut stream.writer, cx);
        Poll::Pending
    }

    /// Sends the head of a response, with a `content-length` if there is a `length`; with `ends` the whole response.
    pub(crate) fn send_head(
        &mut self,
        id: u32,
        status: StatusCode,
        headers: &HeaderMap,
        length: Option<u64>,
        ends: bool,
    ) -> Result<(), StreamEnded> {
        if !self.streams.contains_key(&id) {
            return Err(StreamEnded);
        }
        let Self { output, encoder, .. } = self;
        frame::put_headers(output, id, ends, |block| encoder.encode_head(status, headers, length, block));
        if ends {
            self.earn_free_frame();
            self.end_response(id);
        }
        self.wake_connection();
        Ok(())
    }

    pub(crate) fn send_trailers(&mut self, id: u32, trailers: &HeaderMap) -> Result<(), StreamEnded> {
        if !self.streams.contains_key(&id) {
            return Err(StreamEnded);
        }
        let Self { output, encoder, .. } = self;
        frame::put_headers(output, id, true, |block| encoder.encode_trailers(trailers, block));
        self.end_response(id);
        self.wake_connection();
        Ok(())
    }

    /// Sends the beginning of `data`, as much as the windows and the output take; with `ends`, all of it ends the
    /// response. Returns the number of bytes. Pending if it is 0 and there is data.
    pub(crate) fn poll_send(
        &mut self,
        id: u32,
        data: &mut impl Buf,
        ends: bool,
        cx: &mut Context<'_>,
    ) -> Poll<Result<usize, StreamEnded>> {
        let mut sent = 0;
        loop {
            let Some(stream) = self.streams.get_mut(&id) else { return Poll::Ready(Err(StreamEnded)) };
            let remaining = data.remaining();
            let room = self.room.saturating_sub(self.output.len());
            let window = stream.send_window.min(self.send_window).max(0) as usize;
            let count = remaining.min(MAX_FRAME_BYTES).min(window).min(room);
            if count == 0 && remaining > 0 {
                if sent > 0 {
                    break;
                }
                register(&mut stream.writer, cx);
                stream.waits_for_window = stream.send_window <= 0;
                if !stream.waits_for_window && !std::mem::replace(&mut stream.is_waiting, true) {
                    self.waiting.push(id);
                }
                return Poll::Pending;
            }
            let is_last = count == remaining;
            if count > 0 || ends {
                stream.waits_for_window = false;
                stream.send_window -= count as i64;
                self.send_window -= count as i64;
                let flags = if is_last && ends { flag::END_STREAM } else { 0 };
                frame::put_header(&mut self.output, count, kind::DATA, flags, id);
                self.output.put(Buf::take(&mut *data, count));
                sent += count;
                // A window that is opened byte by byte explains nothing.
                if is_last || count >= MIN_FREE_BYTES {
                    self.earn_free_frame();
                }
            }
            if is_last {
                if ends {
                    self.end_response(id);
                }
                break;
            }
        }
        self.wake_connection();
        Poll::Ready(Ok(sent))
    }

    /// The response is complete. A request whose rest is not needed ends too (section 8.1).
    fn end_response(&mut self, id: u32) {
        if self.streams.get(&id).is_some_and(|stream| !stream.is_received) {
            self.put_reset(id, Reason::NoError);
        }
        self.remove(id);
    }

    /// As [`reset`](Self::reset), unless the stream has ended.
    pub(crate) fn reset_open(&mut self, id: u32, reason: Reason) {
        if self.streams.contains_key(&id) {
            self.reset(id, reason);
        }
    }
}

fn register(waker: &mut Option<Waker>, cx: &Context<'_>) {
    match waker {
        Some(waker) => waker.clone_from(cx.waker()),
        None => *waker = Some(cx.waker().clone()),
    }
}
