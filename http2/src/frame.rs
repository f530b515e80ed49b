//! Frames (RFC 9113, section 4): their header, their types, and how the server writes its own.

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

/// The header of a frame.
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
        Self { length, kind, flags, stream: u32::from_be_bytes(stream) & MAX_STREAM }
    }

    pub(crate) const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// The payload of a frame without its padding.
pub(crate) fn without_padding(header: FrameHeader, payload: &[u8]) -> Result<&[u8], ConnectionError> {
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
pub(crate) fn dependency([a, b, c, d, _]: &[u8; 5]) -> u32 {
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
