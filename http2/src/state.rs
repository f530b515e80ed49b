//! The state of a connection, without I/O: takes received bytes, queues requests, and writes frames to its output.

use std::{
    collections::{HashMap, VecDeque},
    task::{Context, Poll, Waker},
    time::Instant,
};

use bytes::{Buf, Bytes};
use foldhash::fast::RandomState;
use http::{HeaderMap, HeaderValue, Request, StatusCode, header};

use crate::{
    Limits,
    error::{ConnectionError, Reason, StreamEnded},
    frame::{self, FRAME_HEADER_BYTES, FrameHeader, MAX_FRAME_BYTES, MAX_WINDOW, flag, kind, setting},
    head::{HeadBuilder, HeadError, content_length},
    hpack::{Decoder, Encoder},
};

/// What a client sends first (RFC 9113, section 3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The window of a stream or connection before a setting or an update changes it.
const DEFAULT_WINDOW: u32 = 65_535;
/// The payload of the ping that follows the announcement of a close.
const CLOSE_PING: [u8; 8] = *b"closing!";
/// The payload of other pings.
const PING: [u8; 8] = *b"floors??";
/// The largest id of a stream.
const MAX_STREAM: u32 = (1 << 31) - 1;
/// How many streams that the server has reset are remembered. Frames for them are ignored: they were sent before the
/// client knew.
const MAX_REMEMBERED_RESETS: usize = 64;
/// Bytes of a header block, as a multiple of the limit for its fields. A block up to this size is answered with 431, a
/// larger one also ends the connection.
const BLOCK_BYTES_PER_LIMIT: usize = 4;
/// Capacity that an empty buffer keeps.
const MAX_IDLE_CAPACITY: usize = 4096;
/// Frames without effect and resets that a client may send at once.
const IDLE_FRAMES: u32 = 10_000;
/// As [`IDLE_FRAMES`], for each second.
const IDLE_FRAMES_PER_SECOND: f64 = 1000.0;

/// The state of a connection.
#[derive(Debug)]
pub(crate) struct State {
    limits: Limits,
    preface_received: usize,
    has_settings: bool,
    /// The beginning of a frame whose rest has not arrived.
    pending: Vec<u8>,
    /// The beginning of a header block whose rest has not arrived.
    block: Option<Block>,
    decoder: Decoder,
    encoder: Encoder,
    streams: HashMap<u32, Stream, RandomState>,
    remembered_resets: VecDeque<u32>,
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
    idle_frames: FrameBudget,
    closing: Closing,
    /// Wakes the task of the connection when there is output. `None` while the task runs: it sends at the end of its
    /// poll.
    pub(crate) waker: Option<Waker>,
}

/// A header block whose end has not arrived.
#[derive(Debug)]
struct Block {
    stream: u32,
    ends: bool,
    depends_on_itself: bool,
    bytes: Vec<u8>,
}

#[derive(Debug)]
struct Stream {
    /// Data that the caller has not read.
    data: Vec<u8>,
    trailers: Option<HeaderMap>,
    /// Whether the client has sent the whole request.
    is_received: bool,
    /// Whether the caller does not read the body any more.
    is_body_dropped: bool,
    /// What `content-length` announces and has not arrived.
    announced: Option<u64>,
    receive_window: Window,
    send_window: i64,
    is_waiting: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// What the client may send.
#[derive(Debug)]
struct Window {
    size: u32,
    /// What it may send now.
    open: i64,
    /// What was read and not given back.
    read: u32,
}

impl Window {
    const fn new(size: u32) -> Self {
        Self { size, open: size as i64, read: 0 }
    }

    /// Gives back `count` bytes. Returns the increment to tell the client, if it is time to.
    fn give_back(&mut self, count: usize) -> Option<u32> {
        self.read += count as u32;
        if self.read < (self.size / 2).max(1) {
            return None;
        }
        self.open += i64::from(self.read);
        Some(std::mem::take(&mut self.read))
    }
}

/// The frames of a client that cost work and lead to nothing. Limited, or a client could keep a core busy with them.
#[derive(Debug)]
struct FrameBudget {
    left: u32,
    refilled_at: Instant,
}

impl FrameBudget {
    fn new() -> Self {
        Self { left: IDLE_FRAMES, refilled_at: Instant::now() }
    }

    fn take(&mut self) -> Result<(), ConnectionError> {
        if self.left == 0 {
            let now = Instant::now();
            let earned = now.duration_since(self.refilled_at).as_secs_f64() * IDLE_FRAMES_PER_SECOND;
            self.left = earned.min(f64::from(IDLE_FRAMES)) as u32;
            self.refilled_at = now;
        }
        self.left = self
            .left
            .checked_sub(1)
            .ok_or(ConnectionError::new(Reason::EnhanceYourCalm, "too many resets, or frames without effect"))?;
        Ok(())
    }
}

/// How far the server has closed the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closing {
    Open,
    /// The client knows of it. New streams are accepted until it has answered a ping, because it may have sent them
    /// before.
    Announced,
    /// New streams are ignored. The client knows which was the last one.
    Final,
}

impl State {
    pub(crate) fn new(limits: Limits) -> Self {
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
            encoder: Encoder::default(),
            streams: HashMap::default(),
            remembered_resets: VecDeque::new(),
            last_stream: 0,
            send_window: DEFAULT_WINDOW.into(),
            initial_send_window: DEFAULT_WINDOW.into(),
            receive_window: Window::new(limits.connection_window.max(DEFAULT_WINDOW)),
            requests: VecDeque::new(),
            output,
            room: 0,
            waiting: Vec::new(),
            idle_frames: FrameBudget::new(),
            closing: Closing::Open,
            waker: None,
        }
    }

    /// Takes received bytes.
    ///
    /// # Errors
    /// The client broke the protocol. `output` then has the frame that says so.
    pub(crate) fn receive(&mut self, input: &[u8]) -> Result<(), ConnectionError> {
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
            if used < pending.len() || pending.capacity() <= MAX_IDLE_CAPACITY {
                pending.drain(..used);
                self.pending = pending;
            }
        }
        Ok(())
    }

    /// Takes the complete frames at the beginning of `input`. Returns their length.
    fn take_frames(&mut self, input: &[u8]) -> Result<usize, ConnectionError> {
        let mut used = 0;
        while let Some((header, rest)) = input[used..].split_first_chunk::<FRAME_HEADER_BYTES>() {
            let header = FrameHeader::parse(header);
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
        let continued = self.block.as_ref().map(|block| block.stream);
        if continued.is_some_and(|stream| header.kind != kind::CONTINUATION || header.stream != stream) {
            return Err(ConnectionError::protocol("another frame arrived inside a header block"));
        }
        if !self.has_settings && header.kind != kind::SETTINGS {
            return Err(ConnectionError::protocol("the first frame is not SETTINGS"));
        }
        match header.kind {
            kind::DATA => self.take_data(header, payload),
            kind::HEADERS => self.take_headers(header, payload),
            kind::CONTINUATION => self.take_continuation(header, payload),
            kind::PRIORITY => self.take_priority(header, payload),
            kind::RST_STREAM => self.take_reset(header, payload),
            kind::SETTINGS => self.take_settings(header, payload),
            kind::PUSH_PROMISE => Err(ConnectionError::protocol("a client may not push")),
            kind::PING => self.take_ping(header, payload),
            kind::GOAWAY if header.stream != 0 => Err(ConnectionError::protocol("GOAWAY on a stream")),
            kind::GOAWAY => Ok(()),
            kind::WINDOW_UPDATE => self.take_window_update(header, payload),
            // Unknown types are ignored (section 4.1).
            _ => self.idle_frames.take(),
        }
    }

    fn take_data(&mut self, header: FrameHeader, payload: &[u8]) -> Result<(), ConnectionError> {
        let (id, length) = (header.stream, payload.len());
        self.refuse_idle(id, "DATA on a stream that is not open")?;
        self.receive_window.open -= length as i64;
        if self.receive_window.open < 0 {
            return Err(ConnectionError::new(Reason::FlowControlError, "more data than the connection's window"));
        }
        let data = without_padding(header, payload)?;
        let ends = header.has(flag::END_STREAM);
        if data.is_empty() && !ends {
            self.idle_frames.take()?;
        }
        let Some(stream) = self.streams.get_mut(&id) else {
            self.give_back(length);
            return self.refuse_after_end(id);
        };
        stream.receive_window.open -= length as i64;
        let broken = match &mut stream.announced {
            _ if stream.is_received => Some(Reason::StreamClosed),
            _ if stream.receive_window.open < 0 => Some(Reason::FlowControlError),
            Some(announced) => match announced.checked_sub(data.len() as u64) {
                Some(rest) => {
                    *announced = rest;
                    None
                }
                None => Some(Reason::ProtocolError),
            },
            None => None,
        };
        if let Some(reason) = broken {
            self.give_back(length);
            return self.reset_for_error(id, reason);
        }
        let unread = if stream.is_body_dropped { length } else { length - data.len() };
        if !stream.is_body_dropped && !data.is_empty() {
            if stream.data.is_empty() {
                // Mostly the only data. With an exact capacity it becomes `Bytes` without a copy.
                stream.data.reserve_exact(data.len());
            }
            stream.data.extend_from_slice(data);
        }
        wake(&mut stream.reader);
        self.give_back(unread);
        self.give_back_on(id, unread);
        if ends { self.end_request(id) } else { Ok(()) }
    }

    fn take_headers(&mut self, header: FrameHeader, payload: &[u8]) -> Result<(), ConnectionError> {
        let id = header.stream;
        if id.is_multiple_of(2) {
            return Err(ConnectionError::protocol("HEADERS on a stream that a client may not open"));
        }
        let mut block = without_padding(header, payload)?;
        let mut depends_on_itself = false;
        if header.has(flag::PRIORITY) {
            let Some((priority, rest)) = block.split_first_chunk::<5>() else {
                return Err(ConnectionError::new(Reason::FrameSizeError, "HEADERS is too short for its priority"));
            };
            depends_on_itself = dependency(priority) == id;
            block = rest;
        }
        let ends = header.has(flag::END_STREAM);
        if header.has(flag::END_HEADERS) {
            return self.take_block(id, ends, depends_on_itself, block);
        }
        self.block = Some(Block { stream: id, ends, depends_on_itself, bytes: block.to_vec() });
        Ok(())
    }

    fn take_continuation(&mut self, header: FrameHeader, payload: &[u8]) -> Result<(), ConnectionError> {
        let Some(block) = &mut self.block else {
            return Err(ConnectionError::protocol("CONTINUATION without HEADERS"));
        };
        block.bytes.extend_from_slice(payload);
        let is_last = header.has(flag::END_HEADERS);
        if block.bytes.len() > BLOCK_BYTES_PER_LIMIT * self.limits.max_header_bytes as usize {
            let id = block.stream;
            if id > self.last_stream && self.closing != Closing::Final {
                self.last_stream = id;
                self.refuse_large_head(id, false);
            }
            return Err(ConnectionError::new(Reason::EnhanceYourCalm, "a header block is far above the limit"));
        }
        if payload.is_empty() && !is_last {
            self.idle_frames.take()?;
        }
        match self.block.take_if(|_| is_last) {
            Some(block) => self.take_block(block.stream, block.ends, block.depends_on_itself, &block.bytes),
            None => Ok(()),
        }
    }

    /// Takes a complete header block. It is decoded in any case, because that changes the decoder's table.
    fn take_block(
        &mut self,
        id: u32,
        ends: bool,
        depends_on_itself: bool,
        block: &[u8],
    ) -> Result<(), ConnectionError> {
        let mut head = HeadBuilder::new(self.limits.max_header_bytes as usize);
        if self.decoder.decode(block, |field, size| head.push(field, size)).is_err() {
            return Err(ConnectionError::new(Reason::CompressionError, "a header block cannot be decoded"));
        }
        if let Some(stream) = self.streams.get_mut(&id) {
            if stream.is_received {
                return self.reset_for_error(id, Reason::StreamClosed);
            }
            return match head.trailers() {
                Ok(trailers) if ends => {
                    stream.trailers = Some(trailers);
                    self.end_request(id)
                }
                _ => self.reset_for_error(id, Reason::ProtocolError),
            };
        }
        if id <= self.last_stream {
            let is_late = self.remembered_resets.contains(&id);
            let closed = ConnectionError::new(Reason::StreamClosed, "HEADERS on a closed stream");
            return if is_late { self.idle_frames.take() } else { Err(closed) };
        }
        if self.closing == Closing::Final {
            return Ok(());
        }
        self.last_stream = id;
        if depends_on_itself {
            return self.reset_for_error(id, Reason::ProtocolError);
        }
        if self.streams.len() >= self.limits.max_streams as usize {
            return self.reset_for_error(id, Reason::RefusedStream);
        }
        let request = match head.request() {
            Ok(request) => request,
            Err(HeadError::Malformed) => return self.reset_for_error(id, Reason::ProtocolError),
            Err(HeadError::InvalidPath) => {
                self.refuse(id, StatusCode::BAD_REQUEST, "the path of the request is not a valid URI\n", ends);
                return self.idle_frames.take();
            }
            Err(HeadError::TooLarge) => {
                self.refuse_large_head(id, ends);
                return self.idle_frames.take();
            }
        };
        let announced = match content_length(request.headers()) {
            Ok(announced) if !ends || announced.is_none_or(|length| length == 0) => announced,
            _ => return self.reset_for_error(id, Reason::ProtocolError),
        };
        let stream = Stream {
            data: Vec::new(),
            trailers: None,
            is_received: ends,
            is_body_dropped: false,
            announced,
            receive_window: Window::new(self.limits.stream_window),
            send_window: self.initial_send_window,
            is_waiting: false,
            reader: None,
            writer: None,
        };
        self.streams.insert(id, stream);
        self.requests.push_back((id, request));
        Ok(())
    }

    /// The client has sent a whole request.
    fn end_request(&mut self, id: u32) -> Result<(), ConnectionError> {
        let Some(stream) = self.streams.get_mut(&id) else { return Ok(()) };
        if stream.announced.is_some_and(|rest| rest > 0) {
            return self.reset_for_error(id, Reason::ProtocolError);
        }
        stream.is_received = true;
        wake(&mut stream.reader);
        Ok(())
    }

    fn take_priority(&mut self, header: FrameHeader, payload: &[u8]) -> Result<(), ConnectionError> {
        if header.stream == 0 {
            return Err(ConnectionError::protocol("PRIORITY without a stream"));
        }
        let reason = match <&[u8; 5]>::try_from(payload) {
            Ok(priority) if dependency(priority) != header.stream => return self.idle_frames.take(),
            Ok(_) => Reason::ProtocolError,
            Err(_) => Reason::FrameSizeError,
        };
        if header.stream.is_multiple_of(2) || header.stream > self.last_stream {
            // A stream that is not open cannot be reset.
            return Err(ConnectionError::new(reason, "PRIORITY is not valid"));
        }
        self.reset_for_error(header.stream, reason)
    }

    fn take_reset(&mut self, header: FrameHeader, payload: &[u8]) -> Result<(), ConnectionError> {
        if payload.len() != 4 {
            return Err(ConnectionError::new(Reason::FrameSizeError, "RST_STREAM has not 4 bytes"));
        }
        self.refuse_idle(header.stream, "RST_STREAM on a stream that is not open")?;
        self.remove(header.stream);
        self.idle_frames.take()
    }

    fn take_settings(&mut self, header: FrameHeader, payload: &[u8]) -> Result<(), ConnectionError> {
        if header.stream != 0 {
            return Err(ConnectionError::protocol("SETTINGS on a stream"));
        }
        if header.has(flag::ACK) {
            let is_empty = payload.is_empty() && self.has_settings;
            let not_empty =
                ConnectionError::new(Reason::FrameSizeError, "an acknowledgement of SETTINGS has a payload");
            return if is_empty { self.idle_frames.take() } else { Err(not_empty) };
        }
        let (settings, rest) = payload.as_chunks::<6>();
        if !rest.is_empty() {
            return Err(ConnectionError::new(Reason::FrameSizeError, "SETTINGS ends inside a setting"));
        }
        for [a, b, value @ ..] in settings {
            self.apply_setting(u16::from_be_bytes([*a, *b]), u32::from_be_bytes(*value))?;
        }
        if std::mem::replace(&mut self.has_settings, true) {
            self.idle_frames.take()?;
        }
        frame::put_settings_ack(&mut self.output);
        Ok(())
    }

    fn apply_setting(&mut self, id: u16, value: u32) -> Result<(), ConnectionError> {
        match id {
            setting::HEADER_TABLE_SIZE => self.encoder.limit_table(value as usize),
            setting::ENABLE_PUSH if value > 1 => return Err(ConnectionError::protocol("ENABLE_PUSH is not 0 or 1")),
            setting::MAX_FRAME_SIZE if !(MAX_FRAME_BYTES as u32..1 << 24).contains(&value) => {
                return Err(ConnectionError::protocol("MAX_FRAME_SIZE is outside of its range"));
            }
            setting::INITIAL_WINDOW_SIZE => {
                let too_large = || ConnectionError::new(Reason::FlowControlError, "a window is larger than 2^31-1");
                let value = i64::from(value);
                if value > MAX_WINDOW {
                    return Err(too_large());
                }
                let change = value - self.initial_send_window;
                self.initial_send_window = value;
                for stream in self.streams.values_mut() {
                    stream.send_window += change;
                    if stream.send_window > MAX_WINDOW {
                        return Err(too_large());
                    }
                    wake(&mut stream.writer);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn take_ping(&mut self, header: FrameHeader, payload: &[u8]) -> Result<(), ConnectionError> {
        if header.stream != 0 {
            return Err(ConnectionError::protocol("PING on a stream"));
        }
        let Ok(payload) = <[u8; 8]>::try_from(payload) else {
            return Err(ConnectionError::new(Reason::FrameSizeError, "PING has not 8 bytes"));
        };
        if !header.has(flag::ACK) {
            frame::put_ping(&mut self.output, true, payload);
        } else if payload == CLOSE_PING && self.closing == Closing::Announced {
            self.closing = Closing::Final;
            frame::put_go_away(&mut self.output, self.last_stream, Reason::NoError, "");
        }
        self.idle_frames.take()
    }

    fn take_window_update(&mut self, header: FrameHeader, payload: &[u8]) -> Result<(), ConnectionError> {
        let Ok(increment) = <[u8; 4]>::try_from(payload) else {
            return Err(ConnectionError::new(Reason::FrameSizeError, "WINDOW_UPDATE has not 4 bytes"));
        };
        let increment = i64::from(u32::from_be_bytes(increment) & MAX_STREAM);
        let id = header.stream;
        if id == 0 {
            self.send_window += increment;
            if increment == 0 {
                return Err(ConnectionError::protocol("WINDOW_UPDATE by 0"));
            }
            if self.send_window > MAX_WINDOW {
                return Err(ConnectionError::new(Reason::FlowControlError, "a window is larger than 2^31-1"));
            }
            self.wake_waiting();
            return Ok(());
        }
        self.refuse_idle(id, "WINDOW_UPDATE on a stream that is not open")?;
        let Some(stream) = self.streams.get_mut(&id) else { return self.idle_frames.take() };
        stream.send_window += increment;
        if increment == 0 {
            return self.reset_for_error(id, Reason::ProtocolError);
        }
        if stream.send_window > MAX_WINDOW {
            return self.reset_for_error(id, Reason::FlowControlError);
        }
        wake(&mut stream.writer);
        Ok(())
    }

    /// An error for a frame on a stream that the client has not opened.
    fn refuse_idle(&self, id: u32, text: &'static str) -> Result<(), ConnectionError> {
        if id == 0 || id > self.last_stream || id.is_multiple_of(2) {
            // After the last GOAWAY, the client's newer streams are unknown here.
            if self.closing == Closing::Final && id > self.last_stream && !id.is_multiple_of(2) {
                return Ok(());
            }
            return Err(ConnectionError::protocol(text));
        }
        Ok(())
    }

    /// Data arrived for a stream that has ended.
    fn refuse_after_end(&mut self, id: u32) -> Result<(), ConnectionError> {
        if self.remembered_resets.contains(&id) || id > self.last_stream {
            return Ok(());
        }
        self.reset_for_error(id, Reason::StreamClosed)
    }

    /// Resets a stream because of what the client did.
    fn reset_for_error(&mut self, id: u32, reason: Reason) -> Result<(), ConnectionError> {
        self.reset(id, reason);
        self.idle_frames.take()
    }

    /// Answers a request that the caller does not see. `ends`: the request has no body.
    fn refuse(&mut self, id: u32, status: StatusCode, text: &str, ends: bool) {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        let length = text.len() as i64;
        let has_window = self.send_window >= length && self.initial_send_window >= length;
        let Self { output, encoder, .. } = self;
        frame::put_headers(output, id, !has_window, |block| encoder.encode_head(status, &headers, block));
        if has_window {
            self.send_window -= length;
            frame::put_header(output, text.len(), kind::DATA, flag::END_STREAM, id);
            output.extend_from_slice(text.as_bytes());
        }
        if !ends {
            frame::put_reset(output, id, Reason::NoError);
        }
        self.remember_reset(id);
    }

    fn refuse_large_head(&mut self, id: u32, ends: bool) {
        let limit = self.limits.max_header_bytes;
        let text = format!("the headers of the request, with its path, have more than {limit} bytes\n");
        self.refuse(id, StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, &text, ends);
    }

    fn remember_reset(&mut self, id: u32) {
        if self.remembered_resets.len() == MAX_REMEMBERED_RESETS {
            self.remembered_resets.pop_front();
        }
        self.remembered_resets.push_back(id);
    }

    /// Gives the client back `count` bytes of the connection's window.
    fn give_back(&mut self, count: usize) {
        if let Some(increment) = self.receive_window.give_back(count) {
            frame::put_window_update(&mut self.output, 0, increment);
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

    fn remove(&mut self, id: u32) {
        if let Some(mut stream) = self.streams.remove(&id) {
            wake(&mut stream.reader);
            wake(&mut stream.writer);
            self.give_back(stream.data.len());
        }
    }

    fn wake_waiting(&mut self) {
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
        if self.has_room() {
            self.wake_waiting();
        }
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

    /// Tells the client that the connection closes.
    pub(crate) fn close(&mut self) {
        if self.closing == Closing::Open {
            self.closing = Closing::Announced;
            frame::put_go_away(&mut self.output, MAX_STREAM, Reason::NoError, "");
            frame::put_ping(&mut self.output, false, CLOSE_PING);
            self.wake_connection();
        }
    }

    pub(crate) fn ping(&mut self) {
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
        let before = self.output.len();
        self.give_back(data.len());
        self.give_back_on(id, data.len());
        if self.output.len() > before {
            self.wake_connection();
        }
        Poll::Ready(Some(Ok(data)))
    }

    /// The trailers of a request whose data was read to its end.
    pub(crate) fn take_trailers(&mut self, id: u32) -> Option<HeaderMap> {
        self.streams.get_mut(&id)?.trailers.take()
    }

    /// Whether a body has nothing more to read.
    pub(crate) fn is_body_ended(&self, id: u32) -> bool {
        let is_ended = |stream: &Stream| stream.is_received && stream.data.is_empty() && stream.trailers.is_none();
        self.streams.get(&id).is_none_or(is_ended)
    }

    /// The caller does not read the body any more.
    pub(crate) fn drop_body(&mut self, id: u32) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.is_body_dropped = true;
        let unread = std::mem::take(&mut stream.data).len();
        if unread > 0 {
            let before = self.output.len();
            self.give_back(unread);
            self.give_back_on(id, unread);
            if self.output.len() > before {
                self.wake_connection();
            }
        }
    }

    /// Ready when a stream has ended.
    pub(crate) fn poll_ended(&mut self, id: u32, cx: &mut Context<'_>) -> Poll<()> {
        let Some(stream) = self.streams.get_mut(&id) else { return Poll::Ready(()) };
        register(&mut stream.writer, cx);
        Poll::Pending
    }

    /// Sends the head of a response; with `ends` the whole response.
    pub(crate) fn send_head(
        &mut self,
        id: u32,
        status: StatusCode,
        headers: &HeaderMap,
        ends: bool,
    ) -> Result<(), StreamEnded> {
        if !self.streams.contains_key(&id) {
            return Err(StreamEnded);
        }
        let Self { output, encoder, .. } = self;
        frame::put_headers(output, id, ends, |block| encoder.encode_head(status, headers, block));
        if ends {
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
                if stream.send_window > 0 && !std::mem::replace(&mut stream.is_waiting, true) {
                    self.waiting.push(id);
                }
                return Poll::Pending;
            }
            let is_last = count == remaining;
            if count > 0 || ends {
                stream.send_window -= count as i64;
                self.send_window -= count as i64;
                let flags = if is_last && ends { flag::END_STREAM } else { 0 };
                frame::put_header(&mut self.output, count, kind::DATA, flags, id);
                put(&mut self.output, data, count);
                sent += count;
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
            frame::put_reset(&mut self.output, id, Reason::NoError);
            self.remember_reset(id);
        }
        self.remove(id);
    }

    /// Resets a stream, if it has not ended.
    pub(crate) fn reset(&mut self, id: u32, reason: Reason) {
        frame::put_reset(&mut self.output, id, reason);
        self.remember_reset(id);
        self.remove(id);
        self.wake_connection();
    }

    /// As [`reset`](Self::reset), unless the stream has ended.
    pub(crate) fn reset_open(&mut self, id: u32, reason: Reason) {
        if self.streams.contains_key(&id) {
            self.reset(id, reason);
        }
    }
}

fn wake(waker: &mut Option<Waker>) {
    if let Some(waker) = waker.take() {
        waker.wake();
    }
}

fn register(waker: &mut Option<Waker>, cx: &Context<'_>) {
    match waker {
        Some(waker) => waker.clone_from(cx.waker()),
        None => *waker = Some(cx.waker().clone()),
    }
}

/// Appends the first `count` bytes of `data`.
fn put(output: &mut Vec<u8>, data: &mut impl Buf, count: usize) {
    let mut left = count;
    while left > 0 {
        let chunk = data.chunk();
        let length = left.min(chunk.len());
        output.extend_from_slice(&chunk[..length]);
        data.advance(length);
        left -= length;
    }
}

/// The payload of a frame without its padding.
fn without_padding(header: FrameHeader, payload: &[u8]) -> Result<&[u8], ConnectionError> {
    if !header.has(flag::PADDED) {
        return Ok(payload);
    }
    let (padding, rest) = payload
        .split_first()
        .ok_or(ConnectionError::new(Reason::FrameSizeError, "a padded frame has no length of its padding"))?;
    let length = rest.len().checked_sub(usize::from(*padding));
    let length = length.ok_or(ConnectionError::protocol("a frame has more padding than payload"))?;
    Ok(&rest[..length])
}

/// The stream on which a priority depends.
fn dependency([a, b, c, d, _]: &[u8; 5]) -> u32 {
    u32::from_be_bytes([*a, *b, *c, *d]) & MAX_STREAM
}
