//! A client that sends an input and checks what the server makes of it.

use std::{
    io::{self, BufReader, Read, Write},
    net::{Shutdown, TcpStream},
    thread,
};

use test_support::{Server, TIMEOUT, connect_from, http2::RawHttp2};

use crate::inputs::{End, Input, Step};

/// The payload of the pings behind which the server has taken all that was sent.
const PAYLOAD: [u8; 8] = *b"all read";

/// A connection that has sent what comes before an input.
pub(crate) struct Connection<'a> {
    input: &'a Input,
    client: RawHttp2,
}

impl<'a> Connection<'a> {
    pub(crate) fn open(input: &'a Input, source: &str, server: &Server) -> Self {
        let stream = connect_from(source, &server.grpc);
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let mut connection = Self { input, client: RawHttp2 { stream, responses: 0 } };
        if !input.is_http1() {
            connection.take(&input.before);
        }
        connection
    }

    /// Sends the input, and waits until the server has done what it does.
    pub(crate) fn send(&mut self) {
        let Input { name, steps, end, .. } = self.input;
        match *end {
            End::Open => steps.iter().for_each(|step| self.take(step)),
            End::Closed => {
                self.client.send(&steps[0].bytes);
                assert!(self.client.read_to_end().iter().any(|frame| frame.kind == RawHttp2::GO_AWAY), "{name}");
            }
            End::Http1 { answers, status } => {
                let mut answer = Vec::new();
                exchange(&mut self.client.stream, &steps[0].bytes, |part| answer.extend_from_slice(part));
                let status = format!("HTTP/1.1 {status}");
                let found = answer.windows(status.len()).filter(|part| *part == status.as_bytes()).count();
                assert_eq!(found, answers, "{name}: {}", String::from_utf8_lossy(&answer[..answer.len().min(500)]));
            }
        }
    }

    /// Sends the bytes of a step, and reads what it leads to.
    fn take(&mut self, step: &Step) {
        let ping = RawHttp2::frame(RawHttp2::PING, 0, 0, &PAYLOAD);
        self.client.send(&[&step.bytes[..], &ping].concat());
        let (mut is_read, mut heads, mut data, before) = (false, 0, 0, self.client.responses);
        while !is_read || heads < step.heads || data < step.data || self.client.responses - before < step.answers {
            let name = self.input.name;
            let frame = self.client.next_frame().unwrap_or_else(|| panic!("{name}: the server has closed"));
            match frame.kind {
                RawHttp2::PING => is_read |= frame.payload == PAYLOAD,
                RawHttp2::HEADERS => heads += 1,
                RawHttp2::DATA => data += frame.payload.len(),
                RawHttp2::GO_AWAY => panic!("{name}: {}", String::from_utf8_lossy(&frame.payload)),
                _ => {}
            }
        }
    }
}

/// All bytes of an input, and a ping.
pub(crate) fn all_bytes(input: &Input) -> Vec<u8> {
    let steps = [&input.before].into_iter().chain(&input.steps);
    let bytes = steps.map(|step| &step.bytes[..]).collect::<Vec<_>>().concat();
    if input.is_http1() { bytes } else { [bytes, RawHttp2::frame(RawHttp2::PING, 0, 0, &PAYLOAD)].concat() }
}

/// Sends all bytes of an input at once, and waits until the server has taken them or has closed.
pub(crate) fn flood(input: &Input, bytes: &[u8], source: &str, server: &Server) {
    let mut stream = connect_from(source, &server.grpc);
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    if input.is_http1() {
        return exchange(&mut stream, bytes, |_| {});
    }
    let mut writer = stream.try_clone().unwrap();
    let mut reader = BufReader::with_capacity(256 << 10, stream);
    thread::scope(|scope| {
        // Fails if the server closes earlier.
        scope.spawn(move || writer.write_all(bytes));
        let mut head = [0; 9];
        while reader.read_exact(&mut head).is_ok() {
            let [a, b, c, kind, flags, ..] = head;
            let length = u64::from(u32::from_be_bytes([0, a, b, c]));
            if (kind, flags) == (RawHttp2::PING, RawHttp2::LAST) || discard(&mut reader, length).is_err() {
                break;
            }
        }
        let _ = reader.get_ref().shutdown(Shutdown::Both);
    });
}

/// Sends `bytes` and reads until the server closes, at the same time: it may answer before it has read everything.
fn exchange(stream: &mut TcpStream, bytes: &[u8], mut take: impl FnMut(&[u8])) {
    let mut writer = stream.try_clone().unwrap();
    thread::scope(|scope| {
        // Fails if the server closes earlier.
        scope.spawn(move || writer.write_all(bytes));
        let mut buffer = vec![0; 64 << 10];
        while let Ok(length @ 1..) = stream.read(&mut buffer) {
            take(&buffer[..length]);
        }
    });
}

fn discard(reader: &mut impl Read, length: u64) -> io::Result<u64> {
    io::copy(&mut reader.take(length), &mut io::sink())
}
