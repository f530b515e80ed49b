//! A minimal HTTP/2 server that answers one call with headers and part of a body, and then sends nothing. Server
//! libraries do not offer this behaviour.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener},
    thread,
};

/// Length of the client connection preface.
const PREFACE_BYTES: usize = 24;
/// Frame types.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
/// Flag: the stream ends with this frame.
const END_STREAM: u8 = 1;
/// Flag: no continuation of the headers follows.
const END_HEADERS: u8 = 4;

/// `:status: 200`, and `content-type: application/grpc` as a literal.
#[allow(dead_code, reason = "each test uses one of the two constants")]
pub(crate) const GRPC: &[u8] = b"\x88\x0f\x10\x10application/grpc";
/// `:status: 404`.
#[allow(dead_code, reason = "each test uses one of the two constants")]
pub(crate) const NOT_FOUND: &[u8] = b"\x8d";

/// Answers one call on one connection with `headers` and `body`. If `ends` is false, the response never completes.
pub(crate) fn answer(headers: &'static [u8], body: Vec<u8>, ends: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0; PREFACE_BYTES]).unwrap();
        stream.write_all(&frame(SETTINGS, 0, 0, &[])).unwrap();
        let mut head = [0; 9];
        while head[3] != HEADERS {
            stream.read_exact(&mut head).unwrap();
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            stream.read_exact(&mut vec![0; length as usize]).unwrap();
        }
        stream.write_all(&frame(HEADERS, END_HEADERS, 1, headers)).unwrap();
        stream.write_all(&frame(DATA, if ends { END_STREAM } else { 0 }, 1, &body)).unwrap();
        // Reads until the client disconnects.
        while stream.read(&mut [0; 1024]).is_ok_and(|read| read > 0) {}
    });
    address
}

fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags, 0, 0, 0, stream], payload].concat()
}
