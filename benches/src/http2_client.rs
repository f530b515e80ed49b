//! The client side of HTTP/2 (RFC 9113), reduced to unary gRPC calls. The load generators
//! [`open_loop`](crate::open_loop) and [`load`](crate::load) use it: an HTTP library needs more CPU than the servers.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
};

use anyhow::{Context, bail, ensure};
use floor_proto::rpc::Rpc;
use rustix::event::{PollFd, PollFlags};

/// A connection. Its calls are numbered from 0.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    /// The header block that every request has.
    headers: Vec<u8>,
    calls: u32,
    out: Vec<u8>,
    input: Box<[u8]>,
    /// Bytes of `input` that belong to an incomplete frame.
    buffered: usize,
    /// Bytes received since the last WINDOW_UPDATE.
    unacknowledged: u32,
}

/// A part of an answer: one frame.
#[derive(Debug)]
pub(crate) struct AnswerPart<'a> {
    /// The number of the call.
    pub(crate) call: usize,
    pub(crate) content: Content<'a>,
    /// Whether the answer is complete.
    pub(crate) is_last: bool,
}

#[derive(Debug)]
pub(crate) enum Content<'a> {
    Headers(HeaderBlock<'a>),
    /// Bytes of the message.
    Data(&'a [u8]),
}

/// Types of frames.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

/// Flags of frames.
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// Bytes of a frame's header: length, type, flags, stream.
const FRAME_HEADER: usize = 9;

/// The largest flow-control window, and the initial one.
const MAX_WINDOW: u32 = (1 << 31) - 1;
const DEFAULT_WINDOW: u32 = (1 << 16) - 1;

/// Bytes received between two WINDOW_UPDATEs: a small part of the window.
const WINDOW_UPDATE_THRESHOLD: u32 = 1 << 26;

/// Bytes of the read buffer: about fifty floors, and more than the 16 KiB that a frame may have.
const READ_BUFFER: usize = 256 << 10;

impl Connection {
    /// Connects to `server` for calls of `rpc`. Reads and writes of the socket do not block.
    pub(crate) fn open(server: SocketAddr, rpc: Rpc) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(server).with_context(|| format!("cannot connect to {server}"))?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        // SETTINGS_HEADER_TABLE_SIZE = 0, SETTINGS_ENABLE_PUSH = 0, SETTINGS_INITIAL_WINDOW_SIZE = MAX_WINDOW.
        let settings = [(1_u16, 0_u32), (2, 0), (4, MAX_WINDOW)]
            .map(|(name, value)| [&name.to_be_bytes()[..], &value.to_be_bytes()[..]].concat())
            .concat();
        let mut out = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        put_frame(&mut out, SETTINGS, 0, 0, &settings);
        put_frame(&mut out, WINDOW_UPDATE, 0, 0, &(MAX_WINDOW - DEFAULT_WINDOW).to_be_bytes());
        let headers = headers(rpc, &server.to_string());
        let input = vec![0; READ_BUFFER].into_boxed_slice();
        let mut connection = Self { stream, headers, calls: 0, out, input, buffered: 0, unacknowledged: 0 };
        // Sent now: the server closes a connection whose preface does not come in time.
        connection.send()?;
        Ok(connection)
    }

    /// Queues a call with `message`, which includes its frame prefix. Returns the number of the call.
    pub(crate) fn queue_call(&mut self, message: &[u8]) -> usize {
        // Streams of a client have odd numbers.
        let stream = self.calls * 2 + 1;
        put_frame(&mut self.out, HEADERS, END_HEADERS, stream, &self.headers);
        put_frame(&mut self.out, DATA, END_STREAM, stream, message);
        self.calls += 1;
        self.calls as usize - 1
    }

    /// For `poll`: waits until an answer can be received or queued bytes can be sent.
    pub(crate) fn poll_fd(&self) -> PollFd<'_> {
        let queued = if self.out.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
        PollFd::new(&self.stream, PollFlags::IN | queued)
    }

    /// Sends queued bytes, as many as the socket takes without blocking.
    pub(crate) fn send(&mut self) -> anyhow::Result<()> {
        if !self.out.is_empty()
            && let Some(sent) = unless_it_blocks(self.stream.write(&self.out))?
        {
            self.out.drain(..sent);
        }
        Ok(())
    }

    /// Reads without blocking and passes each part of an answer to `take`. Acknowledges SETTINGS and PING frames.
    pub(crate) fn receive(&mut self, mut take: impl FnMut(AnswerPart<'_>) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let Some(read) = unless_it_blocks(self.stream.read(&mut self.input[self.buffered..]))? else { return Ok(()) };
        ensure!(read > 0, "the server closed the connection");
        self.buffered += read;
        let mut at = 0;
        while let Some(frame) = Frame::first(&self.input[at..self.buffered]) {
            at += FRAME_HEADER + frame.payload.len();
            let is_last = frame.flags & END_STREAM != 0;
            match frame.kind {
                DATA => {
                    self.unacknowledged += frame.payload.len() as u32;
                    take(AnswerPart { call: frame.call(), content: Content::Data(frame.payload), is_last })?;
                }
                HEADERS => {
                    ensure!(frame.flags & END_HEADERS != 0, "the server sent headers in several frames");
                    take(AnswerPart {
                        call: frame.call(),
                        content: Content::Headers(HeaderBlock(frame.payload)),
                        is_last,
                    })?;
                }
                RST_STREAM | GOAWAY | CONTINUATION => {
                    bail!("the server refused: frame {} {:?}", frame.kind, frame.payload);
                }
                SETTINGS if frame.flags & ACK == 0 => put_frame(&mut self.out, SETTINGS, ACK, 0, &[]),
                PING if frame.flags & ACK == 0 => put_frame(&mut self.out, PING, ACK, 0, frame.payload),
                _ => {}
            }
        }
        self.input.copy_within(at..self.buffered, 0);
        self.buffered -= at;
        if self.unacknowledged > WINDOW_UPDATE_THRESHOLD {
            put_frame(&mut self.out, WINDOW_UPDATE, 0, 0, &self.unacknowledged.to_be_bytes());
            self.unacknowledged = 0;
        }
        Ok(())
    }
}

struct Frame<'a> {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: &'a [u8],
}

impl<'a> Frame<'a> {
    fn first(input: &'a [u8]) -> Option<Self> {
        let (header, rest) = input.split_at_checked(FRAME_HEADER)?;
        let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
        let stream = u32::from_be_bytes([header[5], header[6], header[7], header[8]]);
        Some(Self { kind: header[3], flags: header[4], stream, payload: rest.get(..length)? })
    }

    /// The number of the call that it belongs to.
    fn call(&self) -> usize {
        (self.stream / 2) as usize
    }
}

fn put_frame(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    out.extend_from_slice(&(payload.len() as u32).to_be_bytes()[1..]);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}

/// A request's headers in HPACK (RFC 7541): indexed where the static table has name and value, else literal without
/// indexing, so that every call has the same bytes.
fn headers(rpc: Rpc, authority: &str) -> Vec<u8> {
    // :method POST and :scheme http, from the static table.
    let mut out = vec![0x83, 0x86];
    // Name indices of the static table: :path is 4, :authority 1, content-type 31, written as 15 and 16.
    for (name, value) in [(&[0x04][..], rpc.path()), (&[0x01], authority), (&[0x0f, 0x10], "application/grpc")] {
        out.extend_from_slice(name);
        put_string(&mut out, value);
    }
    out.push(0);
    put_string(&mut out, "te");
    put_string(&mut out, "trailers");
    out
}

/// Appends an HPACK string. A length below 127 is one byte, whose first bit says that the string is not Huffman-coded.
fn put_string(out: &mut Vec<u8>, text: &str) {
    assert!(text.len() < 127, "{text:?} is too long for one byte of length");
    out.push(text.len() as u8);
    out.extend_from_slice(text.as_bytes());
}

/// The HPACK header block of an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeaderBlock<'a>(&'a [u8]);

/// A string of HPACK: its bytes, and whether they are Huffman-coded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct HpackString<'a> {
    bytes: &'a [u8],
    is_huffman: bool,
}

impl<'a> HeaderBlock<'a> {
    /// The value of the header `name`, if it is a literal. The headers of gRPC and of the floor server are.
    pub(crate) fn get(self, name: &HeaderName) -> anyhow::Result<Option<HpackString<'a>>> {
        let mut rest = self.0;
        while let Some(&first) = rest.first() {
            let is_wanted = match first {
                // Name and value from the static table. The dynamic table has size 0 and is empty.
                0x80.. => {
                    ensure!(integer(&mut rest, 7)? <= 61, "the server refers to headers that it may not have kept");
                    continue;
                }
                // A new size of the dynamic table.
                0x20..0x40 => {
                    integer(&mut rest, 5)?;
                    continue;
                }
                // A literal value, with or without indexing. The name is a literal where its index is 0.
                _ => {
                    let number = integer(&mut rest, if first & 0x40 != 0 { 6 } else { 4 })?;
                    number == 0 && name.is(string(&mut rest)?)
                }
            };
            let value = string(&mut rest)?;
            if is_wanted {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }
}

/// An integer with a prefix of `bits` bits (RFC 7541, section 5.1).
fn integer(rest: &mut &[u8], bits: u32) -> anyhow::Result<usize> {
    let mut next = || -> anyhow::Result<usize> {
        let (first, others) = rest.split_first().context("headers end within an integer")?;
        *rest = others;
        Ok(usize::from(*first))
    };
    let most = (1 << bits) - 1;
    let mut value = next()? & most;
    if value < most {
        return Ok(value);
    }
    for shift in (0..28).step_by(7) {
        let byte = next()?;
        value += (byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    bail!("an integer of the headers is too long")
}

fn string<'a>(rest: &mut &'a [u8]) -> anyhow::Result<HpackString<'a>> {
    let is_huffman = rest.first().is_some_and(|first| first & 0x80 != 0);
    let length = integer(rest, 7)?;
    let (bytes, others) = rest.split_at_checked(length).context("headers end within a text")?;
    *rest = others;
    Ok(HpackString { bytes, is_huffman })
}

/// HPACK's Huffman codes (RFC 7541, appendix B) with their lengths in bits, for the characters that are expected.
#[rustfmt::skip]
const HUFFMAN_CODES: [(u8, u32, u32); 39] = [
    (b'0', 0x0, 5), (b'1', 0x1, 5), (b'2', 0x2, 5), (b'a', 0x3, 5), (b'c', 0x4, 5), (b'e', 0x5, 5), (b'i', 0x6, 5),
    (b'o', 0x7, 5), (b's', 0x8, 5), (b't', 0x9, 5), (b'-', 0x16, 6), (b'3', 0x19, 6), (b'4', 0x1a, 6),
    (b'5', 0x1b, 6), (b'6', 0x1c, 6), (b'7', 0x1d, 6), (b'8', 0x1e, 6), (b'9', 0x1f, 6), (b'=', 0x20, 6),
    (b'b', 0x23, 6), (b'd', 0x24, 6), (b'f', 0x25, 6), (b'g', 0x26, 6), (b'h', 0x27, 6), (b'l', 0x28, 6),
    (b'm', 0x29, 6), (b'n', 0x2a, 6), (b'p', 0x2b, 6), (b'r', 0x2c, 6), (b'u', 0x2d, 6), (b'j', 0x74, 7),
    (b'k', 0x75, 7), (b'q', 0x76, 7), (b'v', 0x77, 7), (b'w', 0x78, 7), (b'x', 0x79, 7), (b'y', 0x7a, 7),
    (b'z', 0x7b, 7), (b',', 0xfa, 8),
];

impl HpackString<'_> {
    /// The decoded string.
    pub(crate) fn read(self) -> anyhow::Result<String> {
        if !self.is_huffman {
            return Ok(String::from_utf8_lossy(self.bytes).into_owned());
        }
        let (mut read, mut code, mut length) = (String::new(), 0, 0);
        for bit in self.bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| u32::from(byte >> bit & 1))) {
            (code, length) = (code << 1 | bit, length + 1);
            if let Some((character, ..)) = HUFFMAN_CODES.iter().find(|(_, its, bits)| (*its, *bits) == (code, length)) {
                read.push(char::from(*character));
                (code, length) = (0, 0);
            }
        }
        // The last byte is padded with ones.
        ensure!(length < 8 && code == (1 << length) - 1, "a header has a character that is not expected in it");
        Ok(read)
    }
}

/// A header's name, plain and Huffman-coded: a server may send either.
#[derive(Debug, Clone)]
pub(crate) struct HeaderName {
    plain: &'static str,
    coded: Vec<u8>,
}

impl HeaderName {
    /// The name `plain`, of characters in [`HUFFMAN_CODES`].
    pub(crate) fn new(plain: &'static str) -> Self {
        let (mut coded, mut open, mut free) = (Vec::new(), 0_u8, 8);
        for character in plain.bytes() {
            let (_, code, length) =
                HUFFMAN_CODES.iter().find(|(its, ..)| *its == character).expect("a character with a code");
            for bit in (0..*length).rev() {
                free -= 1;
                open |= ((code >> bit & 1) as u8) << free;
                if free == 0 {
                    coded.push(open);
                    (open, free) = (0, 8);
                }
            }
        }
        if free < 8 {
            coded.push(open | ((1 << free) - 1) as u8);
        }
        Self { plain, coded }
    }

    fn is(&self, text: HpackString<'_>) -> bool {
        text.bytes == if text.is_huffman { &self.coded } else { self.plain.as_bytes() }
    }
}

fn unless_it_blocks(done: io::Result<usize>) -> io::Result<Option<usize>> {
    match done {
        Ok(count) => Ok(Some(count)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7541, C.4.1 and C.4.3. `www.example.com` has characters that [`HUFFMAN_CODES`] lacks.
    #[test]
    fn strings_are_decoded_as_the_standard_codes_them() {
        let coded = |bytes| HpackString { bytes, is_huffman: true };
        let key = [0x25, 0xa8, 0x49, 0xe9, 0x5b, 0xa9, 0x7d, 0x7f];
        assert_eq!(coded(&key).read().unwrap(), "custom-key");
        assert_eq!(HeaderName::new("custom-key").coded, key);
        let value = [0x25, 0xa8, 0x49, 0xe9, 0x5b, 0xb8, 0xe8, 0xb4, 0xbf];
        assert_eq!(coded(&value).read().unwrap(), "custom-value");
        let other = [0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff];
        assert!(coded(&other).read().is_err());
        let batch = HeaderName::new("lru=3,redis=512,generated=86");
        assert_eq!(coded(&batch.coded).read().unwrap(), batch.plain);
    }

    /// `:status: 200` and `cache-control: private` as in RFC 7541, C.6.1, then literals in both forms.
    #[test]
    fn a_header_is_found_among_others() {
        let mut block = vec![0x20, 0x88, 0x58, 0x85, 0xae, 0xc3, 0x77, 0x1a, 0x4b];
        block.extend([0x40, 0x88, 0x25, 0xa8, 0x49, 0xe9, 0x5b, 0xa9, 0x7d, 0x7f, 0x03]);
        block.extend(b"lru\x00\x0bgrpc-status\x0217");
        let found = |name| HeaderBlock(&block).get(&HeaderName::new(name)).unwrap().map(|text| text.read().unwrap());
        assert_eq!(found("custom-key").as_deref(), Some("lru"));
        assert_eq!(found("grpc-status").as_deref(), Some("17"));
        assert_eq!(found("floor-served-by"), None);
        assert!(HeaderBlock(&block[..block.len() - 1]).get(&HeaderName::new("absent")).is_err());
    }
}
