//! Frames (RFC 9113, sections 4 and 6): what a client's frame is, with the rules that need no state, and how the server
//! writes its own.

use crate::error::{ConnectionError, Reason};

/// Bytes of a frame's header.
pub(crate) const FRAME_HEADER_BYTES: usize = 9;
/// The largest payload of a frame in either direction: what every peer has to accept.
pub(crate) const MAX_FRAME_BYTES: usize = 16_384;
/// The largest id of a stream.
pub(crate) const MAX_STREAM: u32 = (1 << 31) - 1;
/// The largest flow-control window.
pub(crate) const MAX_WINDOW: i64 = (1 << 31) - 1;

/// The types of frames.
pub(crate) mod kind {
    pub(crate) const DATA: u8 = 0;
    pub(crate) const HEADERS: u8 = 1;
    pub(crate) const PRIORITY: u8 = 2;
    pub(crate) const RST_STREAM: u8 = 3;
    pub(crate) const SETTINGS: u8 = 4;
    pub(crate) const PUSH_PROMISE: u8 = 5;
    pub(crate) const PING: u8 = 6;
    pub(crate) const GOAWAY: u8 = 7;
    pub(crate) const WINDOW_UPDATE: u8 = 8;
    pub(crate) const CONTINUATION: u8 = 9;
}

/// The flags of frames.
pub(crate) mod flag {
    pub(crate) const ACK: u8 = 1;
    pub(crate) const END_STREAM: u8 = 1;
    pub(crate) const END_HEADERS: u8 = 4;
    pub(crate) const PADDED: u8 = 8;
    pub(crate) const PRIORITY: u8 = 0x20;
}

/// The identifiers of settings.
pub(crate) mod setting {
    pub(crate) const HEADER_TABLE_SIZE: u16 = 1;
    pub(crate) const ENABLE_PUSH: u16 = 2;
    pub(crate) const MAX_CONCURRENT_STREAMS: u16 = 3;
    pub(crate) const INITIAL_WINDOW_SIZE: u16 = 4;
    pub(crate) const MAX_FRAME_SIZE: u16 = 5;
    pub(crate) const MAX_HEADER_LIST_SIZE: u16 = 6;
}

/// The header of a frame (section 4.1).
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameHeader {
    pub(crate) length: usize,
    pub(crate) kind: u8,
    flags: u8,
    pub(crate) stream: u32,
}

impl FrameHeader {
    pub(crate) fn parse(bytes: &[u8; FRAME_HEADER_BYTES]) -> Self {
        let [a, b, c, kind, flags, stream @ ..] = *bytes;
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        // The first bit is reserved, and ignored.
        Self { length, kind, flags, stream: u32::from_be_bytes(stream) & MAX_STREAM }
    }

    pub(crate) const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// A frame of a client whose form is valid. Whether it may arrive now depends on the state of its stream and of the
/// connection.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Frame<'a> {
    Data(Data<'a>),
    Headers {
        headers: Headers,
        block: &'a [u8],
        is_last: bool,
    },
    /// Priorities are not used (section 5.3.2).
    Priority,
    Reset {
        stream: u32,
    },
    Settings(&'a [[u8; 6]]),
    SettingsAck,
    Ping([u8; 8]),
    PingAck([u8; 8]),
    GoAway,
    WindowUpdate {
        /// 0 is the connection.
        stream: u32,
        increment: u32,
    },
    Continuation {
        block: &'a [u8],
        is_last: bool,
    },
    /// A type that RFC 9113 does not define.
    Unknown,
}

/// A `DATA` frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Data<'a> {
    pub(crate) stream: u32,
    /// Without padding.
    pub(crate) data: &'a [u8],
    /// What it takes of the windows: its data and padding.
    pub(crate) length: usize,
    pub(crate) ends: bool,
}

/// What a `HEADERS` frame says besides its block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Headers {
    pub(crate) stream: u32,
    pub(crate) ends: bool,
    pub(crate) depends_on_itself: bool,
}

/// Why a frame has no valid form.
#[derive(Debug)]
pub(crate) enum FrameError {
    Connection(ConnectionError),
    /// The error is one of this stream, if that was opened.
    Stream(u32, Reason),
}

impl From<ConnectionError> for FrameError {
    fn from(error: ConnectionError) -> Self {
        Self::Connection(error)
    }
}

impl<'a> Frame<'a> {
    #[inline]
    pub(crate) fn parse(header: FrameHeader, payload: &'a [u8]) -> Result<Self, FrameError> {
        match header.kind {
            kind::DATA => Ok(Self::data(header, payload)?),
            kind::HEADERS => Ok(Self::headers(header, payload)?),
            kind::PRIORITY => Self::priority(header, payload),
            kind::RST_STREAM => Ok(Self::reset(header, payload)?),
            kind::SETTINGS => Ok(Self::settings(header, payload)?),
            // Section 8.4.
            kind::PUSH_PROMISE => Err(ConnectionError::protocol("a client may not push").into()),
            kind::PING => Ok(Self::ping(header, payload)?),
            kind::GOAWAY => Ok(Self::go_away(header, payload)?),
            kind::WINDOW_UPDATE => Ok(Self::window_update(header, payload)?),
            kind::CONTINUATION => Ok(Self::Continuation { block: payload, is_last: header.has(flag::END_HEADERS) }),
            // Ignored (section 4.1).
            _ => Ok(Self::Unknown),
        }
    }

    /// Section 6.1.
    #[inline]
    fn data(header: FrameHeader, payload: &'a [u8]) -> Result<Self, ConnectionError> {
        let data = without_padding(header, payload)?;
        let ends = header.has(flag::END_STREAM);
        Ok(Self::Data(Data { stream: header.stream, data, length: payload.len(), ends }))
    }

    /// Section 6.2.
    #[inline]
    fn headers(header: FrameHeader, payload: &'a [u8]) -> Result<Self, ConnectionError> {
        let stream = header.stream;
        // Clients open streams with odd ids (section 5.1.1).
        if stream.is_multiple_of(2) {
            return Err(ConnectionError::protocol("HEADERS on a stream that a client may not open"));
        }
        let mut block = without_padding(header, payload)?;
        let mut depends_on_itself = false;
        if header.has(flag::PRIORITY) {
            let Some((priority, rest)) = block.split_first_chunk::<5>() else {
                return Err(ConnectionError::new(Reason::FrameSizeError, "HEADERS is too short for its priority"));
            };
            depends_on_itself = dependency(priority) == stream;
            block = rest;
        }
        let headers = Headers { stream, ends: header.has(flag::END_STREAM), depends_on_itself };
        Ok(Self::Headers { headers, block, is_last: header.has(flag::END_HEADERS) })
    }

    /// Section 6.3.
    fn priority(header: FrameHeader, payload: &[u8]) -> Result<Self, FrameError> {
        if header.stream == 0 {
            return Err(ConnectionError::protocol("PRIORITY without a stream").into());
        }
        match <&[u8; 5]>::try_from(payload) {
            Ok(priority) if dependency(priority) != header.stream => Ok(Self::Priority),
            // RFC 7540, section 5.3.1.
            Ok(_) => Err(FrameError::Stream(header.stream, Reason::ProtocolError)),
            Err(_) => Err(FrameError::Stream(header.stream, Reason::FrameSizeError)),
        }
    }

    /// Section 6.4.
    fn reset(header: FrameHeader, payload: &[u8]) -> Result<Self, ConnectionError> {
        if payload.len() != 4 {
            return Err(ConnectionError::new(Reason::FrameSizeError, "RST_STREAM has not 4 bytes"));
        }
        Ok(Self::Reset { stream: header.stream })
    }

    /// Section 6.5.
    fn settings(header: FrameHeader, payload: &'a [u8]) -> Result<Self, ConnectionError> {
        if header.stream != 0 {
            return Err(ConnectionError::protocol("SETTINGS on a stream"));
        }
        if header.has(flag::ACK) {
            let not_empty =
                ConnectionError::new(Reason::FrameSizeError, "an acknowledgement of SETTINGS has a payload");
            return if payload.is_empty() { Ok(Self::SettingsAck) } else { Err(not_empty) };
        }
        match payload.as_chunks() {
            (settings, []) => Ok(Self::Settings(settings)),
            _ => Err(ConnectionError::new(Reason::FrameSizeError, "SETTINGS ends inside a setting")),
        }
    }

    /// Section 6.7.
    fn ping(header: FrameHeader, payload: &[u8]) -> Result<Self, ConnectionError> {
        if header.stream != 0 {
            return Err(ConnectionError::protocol("PING on a stream"));
        }
        let Ok(payload) = <[u8; 8]>::try_from(payload) else {
            return Err(ConnectionError::new(Reason::FrameSizeError, "PING has not 8 bytes"));
        };
        Ok(if header.has(flag::ACK) { Self::PingAck(payload) } else { Self::Ping(payload) })
    }

    /// Section 6.8.
    fn go_away(header: FrameHeader, payload: &[u8]) -> Result<Self, ConnectionError> {
        if header.stream != 0 {
            return Err(ConnectionError::protocol("GOAWAY on a stream"));
        }
        if payload.len() < 8 {
            return Err(ConnectionError::new(Reason::FrameSizeError, "GOAWAY has less than 8 bytes"));
        }
        Ok(Self::GoAway)
    }

    /// Section 6.9.
    #[inline]
    fn window_update(header: FrameHeader, payload: &[u8]) -> Result<Self, ConnectionError> {
        let Ok(increment) = <[u8; 4]>::try_from(payload) else {
            return Err(ConnectionError::new(Reason::FrameSizeError, "WINDOW_UPDATE has not 4 bytes"));
        };
        Ok(Self::WindowUpdate { stream: header.stream, increment: u32::from_be_bytes(increment) & MAX_STREAM })
    }
}

/// The payload of a frame without its padding (section 6.1).
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

/// The stream on which a priority depends (RFC 7540, section 6.3).
fn dependency([a, b, c, d, _]: &[u8; 5]) -> u32 {
    u32::from_be_bytes([*a, *b, *c, *d]) & MAX_STREAM
}

/// The header of a frame with `length` bytes of payload.
fn header(length: usize, kind: u8, flags: u8, stream: u32) -> [u8; FRAME_HEADER_BYTES] {
    let [_, a, b, c] = (length as u32).to_be_bytes();
    let [d, e, f, g] = stream.to_be_bytes();
    [a, b, c, kind, flags, d, e, f, g]
}

/// Appends the header of a frame with `length` bytes of payload.
pub(crate) fn put_header(output: &mut Vec<u8>, length: usize, kind: u8, flags: u8, stream: u32) {
    output.extend_from_slice(&header(length, kind, flags, stream));
}

/// Appends a header block that `encode` writes, in as many frames as it needs.
pub(crate) fn put_headers(output: &mut Vec<u8>, stream: u32, ends: bool, encode: impl FnOnce(&mut Vec<u8>)) {
    let start = output.len();
    output.extend_from_slice(&[0; FRAME_HEADER_BYTES]);
    encode(output);
    let block = start + FRAME_HEADER_BYTES;
    let length = output.len() - block;
    let mut flags = if ends { flag::END_STREAM } else { 0 };
    if length <= MAX_FRAME_BYTES {
        flags |= flag::END_HEADERS;
    }
    output[start..block].copy_from_slice(&header(length.min(MAX_FRAME_BYTES), kind::HEADERS, flags, stream));
    if length > MAX_FRAME_BYTES {
        let rest = output.split_off(block + MAX_FRAME_BYTES);
        let mut parts = rest.chunks(MAX_FRAME_BYTES).peekable();
        while let Some(part) = parts.next() {
            let flags = if parts.peek().is_none() { flag::END_HEADERS } else { 0 };
            put_header(output, part.len(), kind::CONTINUATION, flags, stream);
            output.extend_from_slice(part);
        }
    }
}

pub(crate) fn put_settings(output: &mut Vec<u8>, settings: &[(u16, u32)]) {
    put_header(output, 6 * settings.len(), kind::SETTINGS, 0, 0);
    for (id, value) in settings {
        output.extend_from_slice(&id.to_be_bytes());
        output.extend_from_slice(&value.to_be_bytes());
    }
}

pub(crate) fn put_settings_ack(output: &mut Vec<u8>) {
    put_header(output, 0, kind::SETTINGS, flag::ACK, 0);
}

pub(crate) fn put_ping(output: &mut Vec<u8>, is_answer: bool, payload: [u8; 8]) {
    put_header(output, payload.len(), kind::PING, if is_answer { flag::ACK } else { 0 }, 0);
    output.extend_from_slice(&payload);
}

pub(crate) fn put_reset(output: &mut Vec<u8>, stream: u32, reason: Reason) {
    put_header(output, 4, kind::RST_STREAM, 0, stream);
    output.extend_from_slice(&reason.code().to_be_bytes());
}

pub(crate) fn put_window_update(output: &mut Vec<u8>, stream: u32, increment: u32) {
    put_header(output, 4, kind::WINDOW_UPDATE, 0, stream);
    output.extend_from_slice(&increment.to_be_bytes());
}

pub(crate) fn put_go_away(output: &mut Vec<u8>, last_stream: u32, reason: Reason, text: &str) {
    put_header(output, 8 + text.len(), kind::GOAWAY, 0, 0);
    output.extend_from_slice(&last_stream.to_be_bytes());
    output.extend_from_slice(&reason.code().to_be_bytes());
    output.extend_from_slice(text.as_bytes());
}
