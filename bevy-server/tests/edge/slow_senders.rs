//! Clients that send half of something and then nothing, or little.

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use tempfile::TempDir;
use test_support::{Server, TIMEOUT, http2::RawHttp2, web_of};

use crate::kinds::{CALLS, GET_FLOOR, OLD_REFLECTION, REFLECTION, speaks_http1};

/// The server's limit for a whole request, and how much later it may end one here.
const LIMIT: Duration = Duration::from_secs(10);
const TOLERANCE: Duration = Duration::from_secs(5);
/// The pause of a client that sends a byte at a time.
const PAUSE: Duration = Duration::from_millis(500);
/// A content type that is refused, after the request.
const REFUSED: (&str, &str) = (GET_FLOOR, "text/plain");

/// What a client sends after the head of its request.
#[derive(Debug, Clone, Copy)]
enum Sends {
    Nothing,
    /// A byte after each [`PAUSE`].
    Slowly,
}

/// Whether a byte ends the limit for the first message. A stream of requests may pause for longer.
fn is_request_stream(path: &str) -> bool {
    [REFLECTION, OLD_REFLECTION].contains(&path)
}

/// A byte with which a message may begin and go on.
fn filler(content_type: &str) -> u8 {
    match content_type {
        "application/json" => b' ',
        text if text.contains("text") => b'A',
        _ => 0,
    }
}

/// Sends a byte after each pause until the client is answered.
fn send_slowly(peer: &mut TcpStream, bytes: &[u8], sends: Sends) {
    peer.set_read_timeout(Some(PAUSE)).unwrap();
    let started = Instant::now();
    loop {
        match peer.peek(&mut [0]) {
            Ok(_) => return,
            Err(error) if error.kind() == ErrorKind::WouldBlock && started.elapsed() < LIMIT + TOLERANCE => {}
            Err(error) => panic!("{error}"),
        }
        if let Sends::Slowly = sends {
            // Fails if the server has just closed the connection.
            let _ = peer.write_all(bytes);
        }
    }
}

fn call_over_http2(server: &Server, (path, content_type): (&str, &str), sends: Sends) {
    let mut peer = RawHttp2::connect(server);
    // Reads what the server sends first.
    peer.send_and_wait(RawHttp2::headers_of(path, content_type, 1, &[]));
    let byte = RawHttp2::frame(RawHttp2::DATA, 0, 1, &[filler(content_type)]);
    send_slowly(&mut peer.stream, &byte, sends);
    peer.stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    while peer.responses == 0 {
        peer.next_frame().expect("a status ends the call");
    }
}

fn call_over_http1(server: &Server, (path, content_type): (&str, &str), sends: Sends) {
    let mut peer = TcpStream::connect(&server.grpc).unwrap();
    peer.write_all(web_of(path, content_type, "content-length: 99\r\n").as_bytes()).unwrap();
    send_slowly(&mut peer, &[filler(content_type)], sends);
    let mut answer = [0; 8];
    peer.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1");
}

/// Half of a head, or of a preface.
fn send_half(server: &Server, half: &str) {
    let mut peer = TcpStream::connect(&server.grpc).unwrap();
    peer.set_read_timeout(Some(TIMEOUT)).unwrap();
    peer.write_all(half.as_bytes()).unwrap();
    peer.read_to_end(&mut Vec::new()).unwrap();
}

/// Runs `request`, which the server must end at the limit.
fn assert_ends_at_limit(what: &str, request: impl FnOnce()) {
    let started = Instant::now();
    request();
    let took = started.elapsed();
    // The server's clock for a request begins with its head.
    let expected = LIMIT - Duration::from_secs(1)..LIMIT + TOLERANCE;
    assert!(expected.contains(&took), "{what}: {took:?}");
}

#[test]
fn the_limit_for_a_request_is_the_same_for_every_service_protocol_and_transport() {
    let data = TempDir::new().unwrap();
    let server = &Server::start(&data);
    std::thread::scope(|threads| {
        for half in
            ["PRI * HTTP/2.0\r\n", "POST /floors.v1.FloorService/GetFloor HTTP/1.1\r\nhost: floors\r\ncontent-l"]
        {
            threads.spawn(move || assert_ends_at_limit(half, || send_half(server, half)));
        }
        for call in CALLS.into_iter().chain([REFUSED]) {
            for sends in [Sends::Nothing, Sends::Slowly] {
                if matches!(sends, Sends::Slowly) && is_request_stream(call.0) {
                    continue;
                }
                let what = format!("{call:?}, {sends:?}");
                threads.spawn({
                    let what = format!("HTTP/2, {what}");
                    move || assert_ends_at_limit(&what, || call_over_http2(server, call, sends))
                });
                if speaks_http1(call.1) {
                    let what = format!("HTTP/1, {what}");
                    threads.spawn(move || assert_ends_at_limit(&what, || call_over_http1(server, call, sends)));
                }
            }
        }
        // The rest of a request that is answered early.
        threads.spawn(|| {
            let mut peer = TcpStream::connect(&server.grpc).unwrap();
            peer.set_read_timeout(Some(TIMEOUT)).unwrap();
            let head = "POST /nothing HTTP/1.1\r\nhost: floors\r\ncontent-type: application/grpc-web\r\n\
                transfer-encoding: chunked\r\n\r\n4\r\nAA";
            peer.write_all(head.as_bytes()).unwrap();
            let mut answer = Vec::new();
            peer.read_to_end(&mut answer).unwrap();
            assert!(String::from_utf8_lossy(&answer).contains("grpc-status: 12"), "an answer before the end");
        });
    });
    assert_eq!(server.page("/readyz").0, 200);
}
