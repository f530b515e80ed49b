//! Tests that the deadline of a call covers connecting, waiting and receiving the response.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod http2;
#[expect(dead_code, reason = "this test uses only the floor of the scripted server")]
mod scripted;

use std::{
    net::{SocketAddr, TcpListener, TcpStream},
    time::Duration,
};

use floor_client::{CallOptions, ClientError, FloorClient, FloorSpec};
use prost::Message as _;
use tokio::net::TcpSocket;

use crate::scripted::floor;

/// Far below the connect timeout, so that this deadline ends the call.
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
    let error = answer.err().expect("the server never answers");
    assert!(error.to_string().starts_with("DEADLINE_EXCEEDED"), "{error}");
}

/// A listener that never accepts and whose backlog is full, so that further connections are never established. The
/// streams fill the backlog.
fn full_backlog() -> (tokio::net::TcpListener, Vec<TcpStream>) {
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
async fn a_call_to_a_full_backlog_times_out() {
    let (listener, _queued) = full_backlog();
    let client = client(listener.local_addr().unwrap());
    assert_deadline(client.get(spec(1)).await);
    assert_deadline(client.stream(spec(1), 2).await);
}

#[tokio::test]
async fn a_call_that_is_never_accepted_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = client(listener.local_addr().unwrap());
    assert_deadline(client.get(spec(1)).await);
    assert_deadline(client.server_info().await);
    assert_deadline(client.stream(spec(1), 2).await);
}

/// The message after its gRPC prefix.
fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    [&[0], &length[..], message].concat()
}

#[tokio::test]
async fn an_incomplete_answer_times_out() {
    let mut half = framed(&floor(1).encode_to_vec());
    half.truncate(half.len() / 2);
    assert_deadline(client(http2::answer(http2::GRPC, half, false)).get(spec(1)).await);
}

#[tokio::test]
async fn an_incomplete_stream_times_out() {
    let (first, second) = (framed(&floor(1).encode_to_vec()), framed(&floor(2).encode_to_vec()));
    let body = || [&first[..], &second[..second.len() / 2]].concat();
    let mut stream = client(http2::answer(http2::GRPC, body(), false)).stream(spec(1), 2).await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap().spec().number, 1);
    assert_deadline(stream.next().await);
    assert!(stream.next().await.unwrap().is_none(), "the error is returned once");

    let stream = client(http2::answer(http2::GRPC, body(), false)).stream(spec(1), 2).await.unwrap();
    assert_deadline(stream.served().await);
}
