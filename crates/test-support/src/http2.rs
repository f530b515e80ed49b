//! HTTP/2 clients that choose what they read, and which frames they send in which order.

use std::{
    io::{ErrorKind, Read, Write},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use http_body::Body;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

#[cfg(target_os = "linux")]
use crate::connect_from;
use crate::{Server, TIMEOUT, frame};

/// The initial window size of HTTP/2.
pub const SMALL_WINDOW: u32 = 65_535;
/// A window that never fills.
pub const LARGE_WINDOW: u32 = 1 << 30;
/// Limit for the headers of a response, which may hold the details of an error.
const MAX_HEADER_BYTES: u32 = 64 << 10;

/// A client that does not read from its socket until it is allowed to.
struct PausedReader {
    stream: TcpStream,
    switch: Arc<ReadSwitch>,
}

/// Allows a connection to read.
#[derive(Default)]
pub struct ReadSwitch {
    reads_allowed: AtomicBool,
    waker: AtomicWaker,
}

impl ReadSwitch {
    /// The connection reads from now on.
    pub fn allow_reads(&self) {
        self.reads_allowed.store(true, Ordering::SeqCst);
        self.waker.wake();
    }
}

impl AsyncRead for PausedReader {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
        self.switch.waker.register(cx.waker());
        if !self.switch.reads_allowed.load(Ordering::SeqCst) {
            return Poll::Pending;
        }
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl AsyncWrite for PausedReader {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// A connection with this window size, and the switch that allows it to read.
pub async fn connect<B>(server: &Server, window: u32) -> (SendRequest<B>, Arc<ReadSwitch>)
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let stream = TcpStream::connect(&server.grpc).await.unwrap();
    let switch = Arc::new(ReadSwitch::default());
    let reader = PausedReader { stream, switch: Arc::clone(&switch) };
    let mut peer = http2::Builder::new(TokioExecutor::new());
    peer.initial_stream_window_size(window).initial_connection_window_size(window);
    peer.max_header_list_size(MAX_HEADER_BYTES);
    let (sender, connection) = peer.handshake(TokioIo::new(reader)).await.unwrap();
    tokio::spawn(connection);
    (sender, switch)
}

/// An HTTP/2 client that chooses the order of its frames. It answers pings by itself.
pub struct RawHttp2 {
    /// The socket.
    pub stream: std::net::TcpStream,
    /// Complete responses.
    pub responses: u32,
}

/// A frame of the server.
#[derive(Debug)]
pub struct RawFrame {
    /// Its type, such as [`RawHttp2::DATA`].
    pub kind: u8,
    /// Its flags, such as [`RawHttp2::LAST`].
    pub flags: u8,
    /// The stream, or 0 for the connection.
    pub stream: u32,
    /// What follows the head of the frame.
    pub payload: Vec<u8>,
}

impl RawHttp2 {
    /// The type of DATA frames.
    pub const DATA: u8 = 0;
    /// The type of HEADERS frames.
    pub const HEADERS: u8 = 1;
    /// The type of RST_STREAM frames.
    pub const RESET: u8 = 3;
    /// The type of SETTINGS frames.
    pub const SETTINGS: u8 = 4;
    /// The type of PING frames.
    pub const PING: u8 = 6;
    /// The type of GOAWAY frames.
    pub const GO_AWAY: u8 = 7;
    /// The type of WINDOW_UPDATE frames.
    pub const WINDOW_UPDATE: u8 = 8;
    const CONTINUATION: u8 = 9;
    /// END_STREAM, or the ACK of a ping.
    pub const LAST: u8 = 1;
    const END_HEADERS: u8 = 4;
    /// The setting SETTINGS_MAX_CONCURRENT_STREAMS.
    pub const MAX_STREAMS: u16 = 3;
    /// The setting SETTINGS_INITIAL_WINDOW_SIZE.
    const STREAM_WINDOW: u16 = 4;

    /// A connection with windows that never fill.
    pub fn connect(server: &Server) -> Self {
        Self::connect_with_window(server, LARGE_WINDOW)
    }

    /// A connection on which each response may have so many bytes at first.
    pub fn connect_with_window(server: &Server, stream_window: u32) -> Self {
        Self::over(std::net::TcpStream::connect(&server.grpc).unwrap(), stream_window)
    }

    /// As [`connect_with_window`](Self::connect_with_window), from another loopback address.
    #[cfg(target_os = "linux")]
    pub fn connect_from(source: &str, server: &Server, stream_window: u32) -> Self {
        Self::over(connect_from(source, &server.grpc), stream_window)
    }

    fn over(stream: std::net::TcpStream, stream_window: u32) -> Self {
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.set_write_timeout(Some(TIMEOUT)).unwrap();
        let mut peer = Self { stream, responses: 0 };
        peer.send(&Self::preface(stream_window));
        peer
    }

    /// What a client sends first, if each response may have so many bytes at first.
    pub fn preface(stream_window: u32) -> Vec<u8> {
        let settings = [&Self::STREAM_WINDOW.to_be_bytes()[..], &stream_window.to_be_bytes()].concat();
        let settings = Self::frame(Self::SETTINGS, 0, 0, &settings);
        [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &settings, &Self::window_update(0)].concat()
    }

    /// A frame.
    pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
    }

    /// Adds [`LARGE_WINDOW`] to the window of a stream, or of the connection, which is 0.
    pub fn window_update(stream: u32) -> Vec<u8> {
        Self::frame(Self::WINDOW_UPDATE, 0, stream, &LARGE_WINDOW.to_be_bytes())
    }

    /// A ping without data.
    pub fn ping() -> Vec<u8> {
        Self::frame(Self::PING, 0, 0, &[0; 8])
    }

    /// Resets a stream with CANCEL.
    pub fn reset(stream: u32) -> Vec<u8> {
        Self::frame(Self::RESET, 0, stream, &8u32.to_be_bytes())
    }

    /// The headers of a call to `path`, with these additional ones, and without END_STREAM.
    pub fn headers(path: &str, stream: u32, additional: &[(&str, &str)]) -> Vec<u8> {
        Self::headers_of(path, "application/grpc", stream, additional)
    }

    /// As [`headers`](Self::headers), with another content type.
    pub fn headers_of(path: &str, content_type: &str, stream: u32, additional: &[(&str, &str)]) -> Vec<u8> {
        let text = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
        // HPACK: POST and http, then path, authority and content type as literals that are not indexed.
        let fields =
            [&[0x83, 0x86, 0x04][..], &text(path), &[0x01], &text("floors"), &[0x0f, 0x10], &text(content_type)];
        let literals = additional.iter().flat_map(|&(name, value)| [vec![0x00], text(name), text(value)].concat());
        let fields: Vec<u8> = fields.concat().into_iter().chain(literals).collect();
        Self::frame(Self::HEADERS, Self::END_HEADERS, stream, &fields)
    }

    /// A `GET` whose path begins with `path` and has `length` bytes, in as many frames as it needs.
    pub fn get(path: &str, length: usize) -> Vec<u8> {
        // HPACK: GET and http, then the path as a literal. Its length continues in groups of 7 bits.
        let mut block = vec![0x82, 0x86, 0x04, 0x7f];
        let mut rest = length - 0x7f;
        while rest >= 0x80 {
            block.push(u8::try_from(rest & 0x7f).unwrap() | 0x80);
            rest >>= 7;
        }
        block.push(u8::try_from(rest).unwrap());
        block.extend_from_slice(path.as_bytes());
        block.resize(block.len() + length - path.len(), b'A');
        let parts = block.chunks(16_384);
        let count = parts.len();
        let frames = parts.enumerate().map(|(i, part)| {
            let flags = if i + 1 == count { Self::END_HEADERS } else { 0 };
            match i {
                0 => Self::frame(Self::HEADERS, flags | Self::LAST, 1, part),
                _ => Self::frame(Self::CONTINUATION, flags, 1, part),
            }
        });
        frames.flatten().collect()
    }

    /// A whole call of the floor service.
    pub fn call(method: &str, stream: u32, headers: &[(&str, &str)], message: &impl Message) -> Vec<u8> {
        let head = Self::headers(&format!("/floors.v1.FloorService/{method}"), stream, headers);
        [head, Self::frame(Self::DATA, Self::LAST, stream, &frame(message))].concat()
    }

    /// Sends these frames.
    pub fn send(&mut self, frames: &[u8]) {
        self.stream.write_all(frames).unwrap();
    }

    /// Reads until the server answers a ping that was sent, or closes the connection. Calls may be refused and reset.
    pub fn await_ping(&mut self) {
        while let Some(frame) = self.next_frame() {
            if (frame.kind, frame.flags) == (Self::PING, Self::LAST) {
                break;
            }
        }
    }

    /// Sends `frames` and a ping, and waits until the server answers the ping. It has then handled the frames.
    pub fn send_and_wait(&mut self, frames: Vec<u8>) {
        self.send(&[frames, Self::ping()].concat());
        loop {
            let frame = self.read_frame();
            if (frame.kind, frame.flags) == (Self::PING, Self::LAST) {
                return;
            }
        }
    }

    /// Reads a frame that neither resets a stream nor ends the connection.
    pub fn read_frame(&mut self) -> RawFrame {
        let frame = self.next_frame().expect("the connection is open");
        let refused = [Self::RESET, Self::GO_AWAY].contains(&frame.kind);
        assert!(!refused, "{} responses, then {frame:?} {}", self.responses, String::from_utf8_lossy(&frame.payload));
        frame
    }

    /// Reads a frame. `None` if the server has closed the connection.
    pub fn next_frame(&mut self) -> Option<RawFrame> {
        let frame = match self.receive() {
            Ok(frame) => frame,
            Err(error) if [ErrorKind::UnexpectedEof, ErrorKind::ConnectionReset].contains(&error.kind()) => {
                return None;
            }
            Err(error) => panic!("{} responses, then {error}", self.responses),
        };
        if frame.kind == Self::PING && frame.flags & Self::LAST == 0 {
            let _ = self.stream.write_all(&Self::frame(Self::PING, Self::LAST, 0, &frame.payload));
        }
        self.responses += u32::from(frame.ends_stream());
        Some(frame)
    }

    /// Reads until the server closes the connection.
    pub fn read_to_end(&mut self) -> Vec<RawFrame> {
        std::iter::from_fn(|| self.next_frame()).collect()
    }

    fn receive(&mut self) -> std::io::Result<RawFrame> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head)?;
        let [a, b, c, kind, flags, stream @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        self.stream.read_exact(&mut payload)?;
        Ok(RawFrame { kind, flags, stream: u32::from_be_bytes(stream), payload })
    }
}

impl RawFrame {
    /// Whether it is the last frame of a response.
    pub fn ends_stream(&self) -> bool {
        [RawHttp2::HEADERS, RawHttp2::DATA].contains(&self.kind) && self.flags & RawHttp2::LAST != 0
    }
}
