//! The state of a connection, without I/O: takes received bytes, queues requests, and writes frames to its output. This
//! file has the state, how received bytes become frames, and how the connection ends.

pub(crate) mod bounds;
mod calls;
mod heads;
mod last_head;
mod receive;

use std::{
    collections::{HashMap, VecDeque},
    task::Waker,
};

use bounds::{FRAMES_AT_ONCE, FrameBudget, Window};
use foldhash::fast::RandomState;
use http::{HeaderMap, Request};
use last_head::LastHead;

use crate::{
    Limits, PREFACE,
    error::{ConnectionError, Reason},
    frame::{
        self, FRAME_HEADER_BYTES, Frame, FrameError, FrameHeader, Headers, MAX_FRAME_BYTES, MAX_STREAM, kind, setting,
    },
    hpack::{Decoder, Encoder},
};

/// The window of a stream or connection before a setting or an update changes it.
const DEFAULT_WINDOW: u32 = 65_535;
/// The payload of the two pings that follow the announcement of a close.
const CLOSE_PING: [u8; 8] = *b"closing!";
/// The payload of other pings.
const PING: [u8; 8] = *b"floors??";
/// Free frames of a new connection: an acknowledgement of settings, `GOAWAY`, pings. Many connections of one client may
/// share a budget.
const FREE_AT_FIRST: u32 = 8;
/// Capacity that an empty buffer keeps.
const MAX_IDLE_CAPACITY: usize = 4096;
/// Bytes of fields, as HPACK counts them, that are decoded at once. A byte may stand for a field, so what was received does
/// not bound them.
const DECODED_BYTES_AT_ONCE: usize = 32 << 10;
/// Streams for which a connection without any keeps memory.
const MAX_IDLE_STREAMS: usize = 64;

/// The state of a connection.
#[derive(Debug)]
pub(crate) struct State {
    limits: Limits,
    preface_received: usize,
    has_settings: bool,
    /// Received bytes that were not taken yet: the beginning of a frame, mostly; sometimes frames.
    pending: Vec<u8>,
    /// The beginning of a header block whose rest has not arrived.
    block: Option<Block>,
    decoder: Decoder,
    /// Bytes of the fields that the last call of [`receive`](Self::receive) has decoded.
    pub(crate) decoded_bytes: usize,
    last_head: LastHead,
    encoder: Encoder,
    streams: HashMap<u32, Stream, RandomState>,
    /// The greatest id of a stream that the server has reset. A frame for a closed stream up to it may have been sent
    /// before the client knew, and is ignored (section 5.1, "closed"). Later streams were closed by the client too.
    last_reset: u32,
    /// The greatest id of a stream that the client has opened.
    last_stream: u32,
    /// What may be sent on all streams.
    send_window: i64,
    /// What may be sent on a new stream.
    initial_send_window: i64,
    /// What the client may send on all streams.
    receive_window: Window,
    /// Requests that the caller has not accepted yet.
    requests: VecDeque<(u32, Request<()>)>,
    /// Frames to send.
    pub(crate) output: Vec<u8>,
    /// Bytes that `output` may have before data waits.
    room: usize,
    /// Streams whose data waits for `send_window` or `room`.
    waiting: Vec<u32>,
    frame_budget: Box<dyn FrameBudget>,
    /// Frames without effect that are free, because the server's own frames explain them. Each `DATA` frame and each
    /// response without data earns one: gRPC clients measure the bandwidth with pings, some give back the window of each
    /// frame, and a client does not know of the end of a response before it has received it.
    free_frames: u32,
    closing: Closing,
    /// Wakes the task of the connection when there is output. `None` while the task runs: it sends at the end of its
    /// poll.
    pub(crate) waker: Option<Waker>,
}

/// A header block whose end has not arrived.
#[derive(Debug)]
struct Block {
    headers: Headers,
    bytes: Vec<u8>,
}

#[derive(Debug)]
struct Stream {
    /// Data that the caller has not read.
    data: Vec<u8>,
    trailers: Option<Box<HeaderMap>>,
    /// Whether the client has sent the whole request.
    is_received: bool,
    /// Whether the caller does not read the body any more.
    is_body_dropped: bool,
    /// Who pays for what the client does to it; `None` for the connection.
    payer: Option<u64>,
    /// What `content-length` announces and has not arrived.
    announced: Option<u64>,
    receive_window: Window,
    send_window: i64,
    /// Whether it is in `waiting`.
    is_waiting: bool,
    /// Whether a writer waits for `send_window`.
    waits_for_window: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// How far the server has closed the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closing {
    Open,
    /// The client was told. New streams are accepted until it has answered two pings, because it may have opened them
    /// before it knew.
    Announced,
    /// The client has answered the first ping, so that it knows. Streams that it had opened before may follow its answer:
    /// the h2 crate answers pings before it sends what is queued. They come before the answer to the second ping.
    Known,
    /// New streams are ignored. The client knows which was the last one.
    Final,
}

impl State {
    pub(crate) fn new(limits: Limits, frame_budget: Box<dyn FrameBudget>) -> Self {
        let mut output = Vec::new();
        let settings = [
            (setting::MAX_CONCURRENT_STREAMS, limits.max_streams),
            (setting::INITIAL_WINDOW_SIZE, limits.stream_window),
            (setting::MAX_HEADER_LIST_SIZE, limits.max_header_bytes),
        ];
        frame::put_settings(&mut output, &settings);
        if let Some(more) = limits.connection_window.checked_sub(DEFAULT_WINDOW).filter(|more| *more > 0) {
            frame::put_window_update(&mut output, 0, more);
        }
        Self {
            limits,
            preface_received: 0,
            has_settings: false,
            pending: Vec::new(),
            block: None,
            decoder: Decoder::default(),
            decoded_bytes: 0,
            last_head: LastHead::default(),
            encoder: Encoder::default(),
            streams: HashMap::default(),
            last_reset: 0,
            last_stream: 0,
            send_window: DEFAULT_WINDOW.into(),
            initial_send_window: DEFAULT_WINDOW.into(),
            receive_window: Window::new(limits.connection_window.max(DEFAULT_WINDOW)),
            requests: VecDeque::new(),
            output,
            room: 0,
            waiting: Vec::new(),
            frame_budget,
            free_frames: FREE_AT_FIRST,
            closing: Closing::Open,
            waker: None,
        }
    }

    /// Whether frames were left because those before them had decoded enough.
    pub(crate) fn has_frames(&self) -> bool {
        self.pending.first_chunk().is_some_and(|header| {
            let length = FrameHeader::parse(header).length;
            length > MAX_FRAME_BYTES || self.pending.len() >= FRAME_HEADER_BYTES + length
        })
    }

    /// Takes received bytes, after those that the last call has left.
    ///
    /// # Errors
    /// The client broke the protocol. `output` then has the frame that says so.
    pub(crate) fn receive(&mut self, input: &[u8]) -> Result<(), ConnectionError> {
        self.decoded_bytes = 0;
        let received = self.receive_frames(input);
        if let Err(ConnectionError::Protocol { reason, text }) = &received {
            frame::put_go_away(&mut self.output, self.last_stream, *reason, text);
        }
        received
    }

    fn receive_frames(&mut self, mut input: &[u8]) -> Result<(), ConnectionError> {
        if self.preface_received < PREFACE.len() {
            let length = input.len().min(PREFACE.len() - self.preface_received);
            let (preface, rest) = input.split_at(length);
            if preface != &PREFACE[self.preface_received..][..length] {
                return Err(ConnectionError::protocol("the connection does not begin with the preface of HTTP/2"));
            }
            self.preface_received += length;
            input = rest;
        }
        if self.pending.is_empty() {
            let used = self.take_frames(input)?;
            self.pending.extend_from_slice(&input[used..]);
        } else {
            let mut pending = std::mem::take(&mut self.pending);
            pending.extend_from_slice(input);
            let used = self.take_frames(&pending)?;
            if used == 0 || pending.capacity() <= MAX_IDLE_CAPACITY {
                pending.drain(..used);
                self.pending = pending;
            } else {
                self.pending = pending[used..].to_vec();
            }
        }
        Ok(())
    }

    /// Takes the complete frames at the beginning of `input`, until they have decoded enough. Returns their length.
    fn take_frames(&mut self, input: &[u8]) -> Result<usize, ConnectionError> {
        let mut used = 0;
        while self.decoded_bytes < DECODED_BYTES_AT_ONCE
            && let Some((header, rest)) = input[used..].split_first_chunk::<FRAME_HEADER_BYTES>()
        {
            let header = FrameHeader::parse(header);
            // Section 4.2: the server announces no other MAX_FRAME_SIZE.
            if header.length > MAX_FRAME_BYTES {
                return Err(ConnectionError::new(Reason::FrameSizeError, "a frame is larger than 16,384 bytes"));
            }
            let Some(payload) = rest.get(..header.length) else { break };
            used += FRAME_HEADER_BYTES + header.length;
            self.take_frame(header, payload)?;
        }
        Ok(used)
    }

    fn take_frame(&mut self, header: FrameHeader, payload: &[u8]) -> Result<(), ConnectionError> {
        // Section 6.10: nothing comes between the frames of a header block.
        let continued = self.block.as_ref().map(|block| block.headers.stream);
        if continued.is_some_and(|stream| header.kind != kind::CONTINUATION || header.stream != stream) {
            return Err(ConnectionError::protocol("another frame arrived inside a header block"));
        }
        // Section 3.4.
        if !self.has_settings && header.kind != kind::SETTINGS {
            return Err(ConnectionError::protocol("the first frame is not SETTINGS"));
        }
        match Frame::parse(header, payload) {
            Ok(Frame::Data(data)) => self.take_data(data),
            Ok(Frame::Headers { headers, block, is_last }) => self.take_headers(headers, block, is_last),
            Ok(Frame::Continuation { block, is_last }) => self.take_continuation(block, is_last),
            Ok(Frame::Reset { stream }) => self.take_reset(stream),
            Ok(Frame::Settings(settings)) => self.take_settings(settings),
            Ok(Frame::SettingsAck) => self.take_settings_ack(),
            Ok(Frame::Ping(payload)) => self.take_ping(payload),
            Ok(Frame::PingAck(payload)) => self.take_ping_ack(payload),
            Ok(Frame::WindowUpdate { stream: 0, increment }) => self.take_connection_update(increment),
            Ok(Frame::WindowUpdate { stream, increment }) => self.take_stream_update(stream, increment),
            Ok(Frame::GoAway) => self.take_free_frame(None),
            Ok(Frame::Priority | Frame::Unknown) => self.charge(None),
            Err(FrameError::Connection(error)) => Err(error),
            Err(FrameError::Stream(id, reason)) => self.refuse_frame(id, reason),
        }
    }

    /// Charges a frame without effect: of a request of `payer`, or of the connection.
    fn charge(&mut self, payer: Option<u64>) -> Result<(), ConnectionError> {
        if self.frame_budget.take(payer) { Ok(()) } else { Err(too_many_frames()) }
    }

    /// As [`charge`](Self::charge), for frames that honest clients send as often as they get something.
    fn take_free_frame(&mut self, payer: Option<u64>) -> Result<(), ConnectionError> {
        match self.free_frames.checked_sub(1) {
            Some(left) => self.free_frames = left,
            None => self.charge(payer)?,
        }
        Ok(())
    }

    fn earn_free_frame(&mut self) {
        self.free_frames = (self.free_frames + 1).min(FRAMES_AT_ONCE);
    }

    /// The server resets a stream, also one that the client has not ended.
    fn put_reset(&mut self, id: u32, reason: Reason) {
        frame::put_reset(&mut self.output, id, reason);
        self.last_reset = self.last_reset.max(id);
    }

    /// Gives the client back `count` bytes of the connection's window.
    fn give_back(&mut self, count: usize) {
        if let Some(increment) = self.receive_window.give_back(count) {
            frame::put_window_update(&mut self.output, 0, increment);
        }
    }

    /// Gives the client back `count` bytes of both windows, from a task other than the connection's.
    fn give_back_read(&mut self, id: u32, count: usize) {
        let before = self.output.len();
        self.give_back(count);
        self.give_back_on(id, count);
        if self.output.len() > before {
            self.wake_connection();
        }
    }

    /// Gives the client back `count` bytes of a stream's window.
    fn give_back_on(&mut self, id: u32, count: usize) {
        if let Some(stream) = self.streams.get_mut(&id)
            && !stream.is_received
            && let Some(increment) = stream.receive_window.give_back(count)
        {
            frame::put_window_update(&mut self.output, id, increment);
        }
    }

    /// The client has ended a stream. Its request is not started, if the caller has not accepted it yet.
    fn forget_request(&mut self, id: u32) {
        if let Some(index) = self.requests.iter().rposition(|(of, _)| *of == id) {
            self.requests.remove(index);
        }
    }

    fn remove(&mut self, id: u32) {
        if let Some(mut stream) = self.streams.remove(&id) {
            if stream.is_waiting {
                self.waiting.retain(|waiting| *waiting != id);
            }
            wake(&mut stream.reader);
            wake(&mut stream.writer);
            self.give_back(stream.data.len());
        }
    }

    /// Wakes the streams that wait, if they may send.
    fn wake_waiting(&mut self) {
        if self.send_window <= 0 || !self.has_room() {
            return;
        }
        for id in std::mem::take(&mut self.waiting) {
            if let Some(stream) = self.streams.get_mut(&id) {
                stream.is_waiting = false;
                wake(&mut stream.writer);
            }
        }
    }

    /// Wakes the connection's task, because there is output.
    fn wake_connection(&mut self) {
        wake(&mut self.waker);
    }

    /// The next request and its stream.
    pub(crate) fn next_request(&mut self) -> Option<(u32, Request<()>)> {
        self.requests.pop_front()
    }

    /// `output` was taken, and may have `room` bytes from now on.
    pub(crate) fn set_room(&mut self, room: usize) {
        self.room = room;
        if self.streams.is_empty() && self.streams.capacity() > MAX_IDLE_STREAMS {
            self.streams.shrink_to_fit();
            self.requests.shrink_to_fit();
        }
        self.wake_waiting();
    }

    pub(crate) fn has_room(&self) -> bool {
        self.output.len() < self.room
    }

    pub(crate) fn has_streams(&self) -> bool {
        !self.streams.is_empty()
    }

    /// Whether the connection was closed and all requests are answered.
    pub(crate) fn is_done(&self) -> bool {
        self.closing == Closing::Final && self.streams.is_empty()
    }

    /// Tells the client that the connection closes; at the second call, that later requests are ignored.
    pub(crate) fn close(&mut self) {
        match self.closing {
            Closing::Open => {
                self.closing = Closing::Announced;
                frame::put_go_away(&mut self.output, MAX_STREAM, Reason::NoError, "");
                frame::put_ping(&mut self.output, false, CLOSE_PING);
            }
            Closing::Announced | Closing::Known => self.close_finally(),
            Closing::Final => return,
        }
        self.wake_connection();
    }

    /// The client has answered a ping of the close.
    fn confirm_close(&mut self) {
        match self.closing {
            Closing::Announced => {
                self.closing = Closing::Known;
                frame::put_ping(&mut self.output, false, CLOSE_PING);
            }
            Closing::Known => self.close_finally(),
            Closing::Open | Closing::Final => {}
        }
    }

    fn close_finally(&mut self) {
        self.closing = Closing::Final;
        frame::put_go_away(&mut self.output, self.last_stream, Reason::NoError, "");
    }

    /// Sends a ping to a client that has long been silent, and frees memory that earlier calls have left.
    pub(crate) fn ping(&mut self) {
        self.streams.shrink_to_fit();
        self.requests.shrink_to_fit();
        self.waiting.shrink_to_fit();
        self.last_head = LastHead::default();
        frame::put_ping(&mut self.output, false, PING);
        self.wake_connection();
    }

    /// The connection has ended: ends all streams.
    pub(crate) fn end(&mut self) {
        self.requests.clear();
        for (_, mut stream) in self.streams.drain() {
            wake(&mut stream.reader);
            wake(&mut stream.writer);
        }
    }

    /// Resets a stream, if it has not ended.
    pub(crate) fn reset(&mut self, id: u32, reason: Reason) {
        self.put_reset(id, reason);
        self.remove(id);
        self.wake_connection();
    }
}

fn too_many_frames() -> ConnectionError {
    ConnectionError::new(Reason::EnhanceYourCalm, "too many resets, or frames without effect")
}

fn wake(waker: &mut Option<Waker>) {
    if let Some(waker) = waker.take() {
        waker.wake();
    }
}

#[cfg(test)]
mod tests;
