//! The deadline of a call bounds all of it: connecting, waiting, and receiving the answer.

#![allow(clippy::unwrap_used)]

#[expect(dead_code, reason = "of the scripted server, only its floor is wanted here")]
mod scripted;

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
    time::Duration,
};

use floor_client::{CallOptions, ClientError, FloorClient, FloorSpec};
use prost::Message as _;
use tokio::net::TcpSocket;

use crate::scripted::floor;

/// Well below the time that a connection may take, so that what ends a call is this.
const DEADLINE: Duration = Duration::from_millis(500);

fn spec(number: u32) -> FloorSpec {
    FloorSpec { seed: 42, number, ..FloorSpec::default() }
}

fn client(address: SocketAddr) -> FloorClient {
    let client = FloorClient::connect_lazily(&address.to_string()).unwrap();
    client.with_options(CallOptions::default().deadline(DEADLINE).retries(1000))
}

#[track_caller]
fn assert_deadline<T>(answer: Result<T, ClientError>) {
    let error = answer.err().expect("nobody answered");
    assert!(error.to_string().starts_with("DEADLINE_EXCEEDED"), "{error}");
}

/// A listener that accepts nobody and whose queue of connections is full, so that the next one is never made; and what
/// fills the queue.
fn black_hole() -> (tokio::net::TcpListener, Vec<TcpStream>) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut queued = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
        queued.push(stream);
    }
    (listener, queued)
}

#[tokio::test]
async fn a_host_that_swallows_connections_is_given_up_on() {
    let (listener, _queued) = black_hole();
    let client = client(listener.local_addr().unwrap());
    assert_deadline(client.get(spec(1)).await);
    assert_deadline(client.stream(spec(1), 2).await);
}

#[tokio::test]
async fn a_listener_that_never_accepts_is_given_up_on() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = client(listener.local_addr().unwrap());
    assert_deadline(client.get(spec(1)).await);
    assert_deadline(client.server_info().await);
    assert_deadline(client.stream(spec(1), 2).await);
}

/// The parts of HTTP/2 that it takes to answer a call by headers and some bytes of a body, and then to fall silent.
mod http2 {
    pub(super) const PREFACE: usize = 24;
    pub(super) const DATA: u8 = 0;
    pub(super) const HEADERS: u8 = 1;
    pub(super) const SETTINGS: u8 = 4;
    pub(super) const END_HEADERS: u8 = 4;
    /// `:status: 200`, and `content-type: application/grpc` written out.
    pub(super) const ANSWER: &[u8] = b"\x88\x0f\x10\x10application/grpc";

    pub(super) fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        [&length[1..], &[kind, flags, 0, 0, 0, stream], payload].concat()
    }
}

/// Answers the one call of one connection by `body`, and never ends it.
fn begin_to_answer(body: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0; http2::PREFACE]).unwrap();
        stream.write_all(&http2::frame(http2::SETTINGS, 0, 0, &[])).unwrap();
        let mut head = [0; 9];
        while head[3] != http2::HEADERS {
            stream.read_exact(&mut head).unwrap();
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            stream.read_exact(&mut vec![0; length as usize]).unwrap();
        }
        stream.write_all(&http2::frame(http2::HEADERS, http2::END_HEADERS, 1, http2::ANSWER)).unwrap();
        stream.write_all(&http2::frame(http2::DATA, 0, 1, &body)).unwrap();
        // Reads on until the client has gone.
        while stream.read(&mut [0; 1024]).is_ok_and(|read| read > 0) {}
    });
    address
}

/// A message with its gRPC prefix.
fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    [&[0], &length[..], message].concat()
}

#[tokio::test]
async fn an_answer_that_stops_half_way_is_given_up_on() {
    let mut half = framed(&floor(1).encode_to_vec());
    half.truncate(half.len() / 2);
    assert_deadline(client(begin_to_answer(half)).get(spec(1)).await);
}

#[tokio::test]
async fn a_stream_that_stops_half_way_is_given_up_on() {
    let (first, second) = (framed(&floor(1).encode_to_vec()), framed(&floor(2).encode_to_vec()));
    let body = || [&first[..], &second[..second.len() / 2]].concat();
    let mut stream = client(begin_to_answer(body())).stream(spec(1), 2).await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap().spec().number, 1);
    assert_deadline(stream.next().await);
    assert!(stream.next().await.unwrap().is_none(), "told once");

    let stream = client(begin_to_answer(body())).stream(spec(1), 2).await.unwrap();
    assert_deadline(stream.served().await);
}
