//! The client side of HTTP/2 (RFC 9113), reduced to unary calls of gRPC and Connect. The load generators
//! [`open_loop`](crate::open_loop) and [`load`](crate::load) use it: an HTTP library needs more CPU than the servers.

mod headers;

use std::{
    collections::HashMap,
    io::{self, Read, Write},
    net::TcpStream,
    sync::Arc,
};

use anyhow::{Context, bail, ensure};
use floor_proto::rpc::Rpc;
use rustix::event::{PollFd, PollFlags};
use rustls::{ClientConnection, StreamOwned};

pub(crate) use self::headers::Headers;
use self::headers::{HeaderReader, RequestHeaders};
use crate::target::{Protocol, Target};

/// A connection. Its calls are numbered from 0.
#[derive(Debug)]
pub(crate) struct Connection {
    socket: Socket,
    pub(crate) protocol: Protocol,
    request_headers: RequestHeaders,
    response_headers: HeaderReader,
    calls: u32,
    out: Vec<u8>,
    input: Box<[u8]>,
    /// Bytes of `input` that belong to an incomplete frame.
    buffered: usize,
    /// Bytes received since the last WINDOW_UPDATE.
    unacknowledged: u32,
    /// The same for each stream, with the initial windows. Large windows need no updates of streams.
    received: HashMap<u32, u32>,
    has_large_windows: bool,
}

#[derive(Debug)]
enum Socket {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
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
    Headers(&'a Arc<Headers>),
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

/// Bytes received between two WINDOW_UPDATEs: half of the initial window, or a small part of the largest.
const INITIAL_UPDATE_THRESHOLD: u32 = DEFAULT_WINDOW / 2;
const LARGE_UPDATE_THRESHOLD: u32 = 1 << 26;

/// Bytes of the read buffer: about fifty floors, and more than the 16 KiB that a frame may have.
const READ_BUFFER: usize = 256 << 10;

impl Connection {
    /// Connects to `target` for calls of `rpc`. Later reads and writes do not block.
    pub(crate) fn open(target: &Target, rpc: Rpc) -> anyhow::Result<Self> {
        let socket = Socket::connect(target).with_context(|| format!("cannot connect to {}", target.address))?;
        let has_large_windows = target.has_large_windows;
        // SETTINGS_ENABLE_PUSH = 0, SETTINGS_INITIAL_WINDOW_SIZE.
        let window = if has_large_windows { MAX_WINDOW } else { DEFAULT_WINDOW };
        let settings = [(2_u16, 0_u32), (4, window)]
            .map(|(name, value)| [&name.to_be_bytes()[..], &value.to_be_bytes()[..]].concat())
            .concat();
        let mut out = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        put_frame(&mut out, SETTINGS, 0, 0, &settings);
        if has_large_windows {
            put_frame(&mut out, WINDOW_UPDATE, 0, 0, &(MAX_WINDOW - DEFAULT_WINDOW).to_be_bytes());
        }
        let input = vec![0; READ_BUFFER].into_boxed_slice();
        let mut connection = Self {
            socket,
            protocol: target.protocol,
            request_headers: RequestHeaders::new(rpc, target),
            response_headers: HeaderReader::default(),
            calls: 0,
            out,
            input,
            buffered: 0,
            unacknowledged: 0,
            received: HashMap::new(),
            has_large_windows,
        };
        // Sent now: the server closes a connection whose preface does not come in time.
        connection.send()?;
        Ok(connection)
    }

    /// Queues a call with `message`, which with gRPC includes its frame prefix. Returns the number of the call.
    pub(crate) fn queue_call(&mut self, message: &[u8]) -> usize {
        // Streams of a client have odd numbers.
        let stream = self.calls * 2 + 1;
        let headers = self.request_headers.of_call(self.calls);
        if self.protocol.content_type().is_some() {
            put_frame(&mut self.out, HEADERS, END_HEADERS, stream, headers);
            put_frame(&mut self.out, DATA, END_STREAM, stream, message);
        } else {
            put_frame(&mut self.out, HEADERS, END_HEADERS | END_STREAM, stream, headers);
        }
        self.calls += 1;
        self.calls as usize - 1
    }

    /// For `poll`: waits until an answer can be received or queued bytes can be sent.
    pub(crate) fn poll_fd(&self) -> PollFd<'_> {
        let (tcp, holds_bytes) = match &self.socket {
            Socket::Plain(tcp) => (tcp, false),
            Socket::Tls(tls) => (&tls.sock, tls.conn.wants_write()),
        };
        let queued = if self.out.is_empty() && !holds_bytes { PollFlags::empty() } else { PollFlags::OUT };
        PollFd::new(tcp, PollFlags::IN | queued)
    }

    /// Sends queued bytes, as many as the socket takes without blocking.
    pub(crate) fn send(&mut self) -> anyhow::Result<()> {
        if let Socket::Tls(tls) = &mut self.socket
            && tls.conn.wants_write()
        {
            unless_it_blocks(tls.flush().map(|()| 0))?;
        }
        if !self.out.is_empty()
            && let Some(sent) = unless_it_blocks(self.socket.write(&self.out))?
        {
            self.out.drain(..sent);
        }
        Ok(())
    }

    /// Reads without blocking and passes each part of an answer to `take`. Acknowledges SETTINGS and PING frames.
    pub(crate) fn receive(&mut self, mut take: impl FnMut(AnswerPart<'_>) -> anyhow::Result<()>) -> anyhow::Result<()> {
        loop {
            let read = self.socket.read(&mut self.input[self.buffered..]);
            let Some(read) = unless_it_blocks(read)? else { return Ok(()) };
            ensure!(read > 0, "the server closed the connection");
            self.buffered += read;
            self.take_frames(&mut take)?;
            // `poll` does not see what the TLS session has decrypted, so it is read until it is empty.
            if matches!(self.socket, Socket::Plain(_)) {
                return Ok(());
            }
        }
    }

    fn take_frames(&mut self, take: &mut impl FnMut(AnswerPart<'_>) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let mut at = 0;
        while let Some(frame) = Frame::first(&self.input[at..self.buffered]) {
            at += FRAME_HEADER + frame.payload.len();
            let is_last = matches!(frame.kind, DATA | HEADERS) && frame.flags & END_STREAM != 0;
            if is_last {
                self.received.remove(&frame.stream);
            }
            match frame.kind {
                DATA => {
                    let length = frame.payload.len() as u32;
                    self.unacknowledged += length;
                    // A stream that has ended needs no more updates.
                    if !self.has_large_windows && !is_last {
                        let received = self.received.entry(frame.stream).or_default();
                        *received += length;
                        if *received > INITIAL_UPDATE_THRESHOLD {
                            put_frame(&mut self.out, WINDOW_UPDATE, 0, frame.stream, &received.to_be_bytes());
                            *received = 0;
                        }
                    }
                    take(AnswerPart { call: frame.call(), content: Content::Data(frame.payload), is_last })?;
                }
                HEADERS => {
                    ensure!(frame.flags & END_HEADERS != 0, "the server sent headers in several frames");
                    let headers = self.response_headers.read(frame.payload)?;
                    take(AnswerPart { call: frame.call(), content: Content::Headers(&headers), is_last })?;
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
        let threshold = if self.has_large_windows { LARGE_UPDATE_THRESHOLD } else { INITIAL_UPDATE_THRESHOLD };
        if self.unacknowledged > threshold {
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

impl Socket {
    fn connect(target: &Target) -> anyhow::Result<Self> {
        let mut tcp = TcpStream::connect(target.address)?;
        tcp.set_nodelay(true)?;
        let session = match &target.tls {
            None => None,
            Some(config) => {
                let mut session = ClientConnection::new(Arc::clone(config), "localhost".try_into()?)?;
                while session.is_handshaking() {
                    session.complete_io(&mut tcp)?;
                }
                Some(session)
            }
        };
        tcp.set_nonblocking(true)?;
        Ok(match session {
            None => Self::Plain(tcp),
            Some(session) => Self::Tls(Box::new(StreamOwned::new(session, tcp))),
        })
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(tcp) => tcp.read(into),
            Self::Tls(tls) => tls.read(into),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(tcp) => tcp.write(bytes),
            Self::Tls(tls) => tls.write(bytes),
        }
    }
}

fn unless_it_blocks(done: io::Result<usize>) -> io::Result<Option<usize>> {
    match done {
        Ok(count) => Ok(Some(count)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}
