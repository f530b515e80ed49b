//! Calls at a steady pace, each on time: one thread that never sleeps, and HTTP/2 frames laid out beforehand.
//!
//! How long a caller waits is the time from when its call was due to the last byte of its answer. A runtime's timer
//! rounds to a millisecond and so sends in bursts, and an HTTP library spends more on a call than the servers here do:
//! with either, the client would be measured. This spins over sockets that do not block, and knows of HTTP/2 (RFC 9113)
//! just enough to send requests and to see where each answer ends.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use bytes::Bytes;
use hdrhistogram::Histogram;

use crate::load::{Method, latencies};

/// Calls that may be open on a connection: fewer than any server here allows. A call beyond waits, and is charged for it.
const MOST_OPEN: usize = 100;

/// How long the last answers may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is asked, how often, and what must come back.
#[derive(Debug, Clone)]
pub struct Paced {
    /// Whom.
    pub server: SocketAddr,
    /// Which method.
    pub method: Method,
    /// The requests' messages with their frame prefixes, taken in turn.
    pub messages: Arc<[Bytes]>,
    /// Bytes of every answer's message, its frame prefix included; `None` where answers differ. An error has none.
    pub answer_bytes: Option<u64>,
    /// TCP connections, taken in turn.
    pub connections: usize,
    /// Calls in all.
    pub calls: u64,
    /// Calls a second, evenly spaced.
    pub pace: f64,
}

/// How long calls took, in nanoseconds.
#[derive(Debug)]
pub struct Waits {
    /// From when a call was due to the last byte of its answer.
    pub latency: Histogram<u64>,
    /// From when a call was due until it was queued for sending. This side's fault, unless so many calls are open that it has
    /// to wait for answers.
    pub lateness: Histogram<u64>,
}

impl Paced {
    /// Makes the calls.
    ///
    /// # Errors
    /// When a connection breaks, an answer has another length than it should or no message, or one does not come.
    pub fn run(&self) -> anyhow::Result<Waits> {
        let lines = (0..self.connections).map(|_| Line::open(self)).collect::<anyhow::Result<Vec<_>>>();
        let mut lines = lines?;
        let mut waits = Waits { latency: latencies(), lateness: latencies() };
        let (mut sent, started) = (0, Instant::now());
        while waits.latency.len() < self.calls {
            let now = started.elapsed();
            while sent < self.calls && self.due(sent) <= now {
                let line = &mut lines[sent as usize % self.connections];
                if line.open == MOST_OPEN {
                    break;
                }
                line.ask(self.due(sent), &self.messages[sent as usize % self.messages.len()]);
                waits.lateness.saturating_record(nanos(started.elapsed().saturating_sub(self.due(sent))));
                sent += 1;
            }
            for line in &mut lines {
                line.advance(self.answer_bytes, started, &mut waits.latency)?;
            }
            ensure!(now < self.due(self.calls) + PATIENCE, "{} answers to {} calls", waits.latency.len(), self.calls);
        }
        Ok(waits)
    }

    /// The same moments waited for in the same way, and nobody asked: how late a thread of this machine is that only
    /// looks at the clock. No wait of a caller can be told from it.
    #[must_use]
    pub fn clock_alone(&self) -> Histogram<u64> {
        let (mut lateness, started) = (latencies(), Instant::now());
        for call in 0..self.calls {
            let due = self.due(call);
            let now = loop {
                let now = started.elapsed();
                if now >= due {
                    break now;
                }
                std::hint::spin_loop();
            };
            lateness.saturating_record(nanos(now - due));
        }
        lateness
    }

    fn due(&self, call: u64) -> Duration {
        Duration::from_secs_f64(call as f64 / self.pace)
    }
}

/// A connection, and the calls that it has carried.
struct Line {
    stream: TcpStream,
    /// Every request's headers, compressed.
    headers: Vec<u8>,
    /// By stream: when it was due, and the bytes of its answer so far.
    calls: Vec<(Duration, u64)>,
    open: usize,
    out: Vec<u8>,
    input: Box<[u8]>,
    /// Bytes of `input` that are the beginning of a frame.
    held: usize,
    /// Bytes received since the server was last told that it may send more.
    uncredited: u32,
}

/// Kinds of frame.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;

/// Flags of frames.
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// Bytes in front of a frame: length, kind, flags, stream.
const FRAME_HEADER: usize = 9;

/// The widest flow-control window, and the one that a connection has to begin with.
const WIDEST: u32 = (1 << 31) - 1;
const FIRST_WINDOW: u32 = (1 << 16) - 1;

/// So many bytes are received before the server gets credit for them: a small part of the window.
const CREDIT: u32 = 1 << 26;

/// Room for what is read at once: some fifty floors, and more than the 16 KiB that a frame may have.
const READ: usize = 256 << 10;

impl Line {
    fn open(load: &Paced) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(load.server).with_context(|| format!("cannot connect to {}", load.server))?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        // SETTINGS_HEADER_TABLE_SIZE = 0, SETTINGS_ENABLE_PUSH = 0, SETTINGS_INITIAL_WINDOW_SIZE = the widest.
        let settings = [(1_u16, 0_u32), (2, 0), (4, WIDEST)]
            .map(|(name, value)| [&name.to_be_bytes()[..], &value.to_be_bytes()[..]].concat())
            .concat();
        let mut out = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        put_frame(&mut out, SETTINGS, 0, 0, &settings);
        put_frame(&mut out, WINDOW_UPDATE, 0, 0, &(WIDEST - FIRST_WINDOW).to_be_bytes());
        let headers = headers(load.method, &load.server.to_string());
        let calls = Vec::with_capacity(load.calls as usize / load.connections + 1);
        let input = vec![0; READ].into_boxed_slice();
        Ok(Self { stream, headers, calls, open: 0, out, input, held: 0, uncredited: 0 })
    }

    /// Queues a call. Streams are numbered 1, 3, 5 and so on.
    fn ask(&mut self, due: Duration, message: &[u8]) {
        let stream = self.calls.len() as u32 * 2 + 1;
        put_frame(&mut self.out, HEADERS, END_HEADERS, stream, &self.headers);
        put_frame(&mut self.out, DATA, END_STREAM, stream, message);
        self.calls.push((due, 0));
        self.open += 1;
    }

    /// Sends what is queued and reads what has come, as far as that goes without waiting.
    fn advance(
        &mut self,
        answer_bytes: Option<u64>,
        started: Instant,
        latency: &mut Histogram<u64>,
    ) -> anyhow::Result<()> {
        if !self.out.is_empty()
            && let Some(sent) = unless_it_blocks(self.stream.write(&self.out))?
        {
            self.out.drain(..sent);
        }
        let Some(read) = unless_it_blocks(self.stream.read(&mut self.input[self.held..]))? else { return Ok(()) };
        ensure!(read > 0, "the server closed the connection");
        self.held += read;
        let mut at = 0;
        while let Some(frame) = Frame::first(&self.input[at..self.held]) {
            at += FRAME_HEADER + frame.payload.len();
            let ended = matches!(frame.kind, DATA | HEADERS) && frame.flags & END_STREAM != 0;
            match frame.kind {
                DATA => {
                    self.calls[frame.call()].1 += frame.payload.len() as u64;
                    self.uncredited += frame.payload.len() as u32;
                }
                RST_STREAM | GOAWAY => bail!("the server refused: frame {} {:?}", frame.kind, frame.payload),
                SETTINGS if frame.flags & ACK == 0 => put_frame(&mut self.out, SETTINGS, ACK, 0, &[]),
                PING if frame.flags & ACK == 0 => put_frame(&mut self.out, PING, ACK, 0, frame.payload),
                _ => {}
            }
            if ended {
                let (due, bytes) = self.calls[frame.call()];
                if let Some(expected) = answer_bytes {
                    ensure!(bytes == expected, "an answer of {bytes} bytes instead of {expected}");
                }
                ensure!(bytes > 0, "an answer without a message");
                latency.saturating_record(nanos(started.elapsed() - due));
                self.open -= 1;
            }
        }
        self.input.copy_within(at..self.held, 0);
        self.held -= at;
        if self.uncredited > CREDIT {
            put_frame(&mut self.out, WINDOW_UPDATE, 0, 0, &self.uncredited.to_be_bytes());
            self.uncredited = 0;
        }
        Ok(())
    }
}

/// A frame that has come whole.
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

    /// Which of the connection's calls it belongs to.
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

/// A request's headers in HPACK (RFC 7541): indexed where the static table has the whole line, else literal and not kept,
/// so that every call's are the same bytes.
fn headers(method: Method, authority: &str) -> Vec<u8> {
    // :method POST and :scheme http, of the static table.
    let mut out = vec![0x83, 0x86];
    // Names of the static table: :path is 4, :authority 1, content-type 31, written as 15 and 16 more.
    for (name, value) in [(&[0x04][..], method.path()), (&[0x01], authority), (&[0x0f, 0x10], "application/grpc")] {
        out.extend_from_slice(name);
        put_text(&mut out, value);
    }
    out.push(0);
    put_text(&mut out, "te");
    put_text(&mut out, "trailers");
    out
}

/// Lengths below 127 take one byte, whose first bit says that the text is not compressed.
fn put_text(out: &mut Vec<u8>, text: &str) {
    assert!(text.len() < 127, "{text:?} is too long for one byte of length");
    out.push(text.len() as u8);
    out.extend_from_slice(text.as_bytes());
}

fn unless_it_blocks(done: io::Result<usize>) -> io::Result<Option<usize>> {
    match done {
        Ok(count) => Ok(Some(count)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

fn nanos(took: Duration) -> u64 {
    u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{load, peers::servers::Rival, server::free_address};

    #[test]
    fn every_call_is_answered_and_its_bytes_are_counted() {
        let address = free_address().unwrap();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.spawn(Rival::BareHyper.serve(address));
        let message = load::framed(&floor_proto::v1::GetFloorRequest::default());
        let asked = || runtime.block_on(load::ask(address, Method::GetFloor, message.clone()));
        let started = Instant::now();
        let answer = loop {
            match asked() {
                Ok(answer) => break answer,
                Err(error) => assert!(started.elapsed() < PATIENCE, "{error:#}"),
            }
        };
        let mut load = Paced {
            server: address,
            method: Method::GetFloor,
            messages: Arc::new([message]),
            answer_bytes: Some((answer.len() + floor_proto::FRAME_PREFIX_BYTES) as u64),
            connections: 3,
            calls: 500,
            pace: 2000.0,
        };
        let waits = load.run().unwrap();
        assert_eq!((waits.latency.len(), waits.lateness.len()), (500, 500));
        assert!(started.elapsed() >= Duration::from_millis(249), "the last call was due after 249.5 ms");
        load.answer_bytes = load.answer_bytes.map(|bytes| bytes + 1);
        assert!(load.run().unwrap_err().to_string().contains("instead of"));
    }
}
