//! Calls that never end: whatever a client makes the server hold, the process grows by little.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use super::get;
use crate::harness::{Server, TIMEOUT, frame, http2::RawHttp2};

/// Connections of the attacker. It may have 256, and what one call holds is refused long before.
const CONNECTIONS: usize = 60;
/// The most calls that a connection may have open.
const STREAMS: u32 = 128;
/// By how much one address may make the process grow.
const MAX_GROWTH: u64 = 64 << 20;
/// What may be left of it, and for how long.
const MAX_REST: u64 = 32 << 20;
const REST_TIMEOUT: Duration = Duration::from_secs(10);
/// References to one entry of the HPACK table: a byte each on the wire, and over a hundred in memory.
const REFERENCES: usize = 400;

const GET_FLOOR: &str = "/floors.v1.FloorService/GetFloor";

/// A call that is held open: its head, and the data that follow it.
struct Held {
    what: &'static str,
    path: &'static str,
    content_type: &'static str,
    data: Vec<u8>,
    ends: bool,
}

/// The head of a call, in whose memory the references take most.
fn head(held: &Held, stream: u32) -> Vec<u8> {
    let text = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    // HPACK: POST and http, then path, authority and content type as literals that are not indexed.
    let mut block = [&[0x83, 0x86, 0x04][..], &text(held.path), &[0x01], &text("floors"), &[0x0f, 0x10]].concat();
    block.extend(text(held.content_type));
    if stream == 1 {
        // A literal that becomes entry 62 of the table.
        block.extend([0x40, 1, b'x', 1, b'y']);
    }
    block.extend([0xbe; REFERENCES]);
    RawHttp2::frame(RawHttp2::HEADERS, 4, stream, &block)
}

/// Opens connections full of such calls, and waits until the server has handled all frames.
fn hold(server: &Server, held: &Held) -> Vec<RawHttp2> {
    let open = |_| {
        let mut peer = RawHttp2::connect(server);
        let mut frames = Vec::new();
        for stream in (0..STREAMS).map(|number| 2 * number + 1) {
            frames.extend(head(held, stream));
            let flags = if held.ends { RawHttp2::LAST } else { 0 };
            if held.ends || !held.data.is_empty() {
                frames.extend(RawHttp2::frame(RawHttp2::DATA, flags, stream, &held.data));
            }
        }
        peer.send(&[frames, RawHttp2::ping()].concat());
        peer
    };
    let mut peers: Vec<_> = (0..CONNECTIONS).map(open).collect();
    for peer in &mut peers {
        // Calls beyond the budget are answered and reset.
        while let Some(frame) = peer.next_frame() {
            assert_ne!(frame.kind, RawHttp2::GO_AWAY, "{}: {frame:?}", held.what);
            if (frame.kind, frame.flags) == (RawHttp2::PING, RawHttp2::LAST) {
                break;
            }
        }
    }
    peers
}

fn assert_growth(server: &Server, idle: u64, what: &str) {
    let growth = server.resident_bytes().saturating_sub(idle);
    eprintln!("{what}: {} MiB", growth >> 20);
    assert!(growth <= MAX_GROWTH, "{what}: the process has grown by {} MiB", growth >> 20);
    let other = TcpStream::connect(&server.grpc).is_ok() && server.page("/readyz").0 == 200;
    assert!(other, "{what}: the server does not serve others");
}

fn assert_rest(server: &Server, idle: u64, what: &str) {
    let closed = Instant::now();
    while server.resident_bytes().saturating_sub(idle) > MAX_REST {
        let rest = server.resident_bytes().saturating_sub(idle) >> 20;
        assert!(closed.elapsed() < REST_TIMEOUT, "{what}: {rest} MiB are left");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn calls_that_never_end_take_bounded_memory() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let whole = frame(&get(1, 1));
    let part = [&[0, 0, 0, 0x10, 0][..], &[0; 1900]].concat();
    let grpc = "application/grpc";
    let kinds = [
        ("a head", GET_FLOOR, grpc, Vec::new(), false),
        ("a part of a message", GET_FLOOR, grpc, part.clone(), false),
        ("a whole message", GET_FLOOR, grpc, whole.clone(), false),
        ("a health check", "/grpc.health.v1.Health/Check", grpc, part.clone(), false),
        ("a watch", "/grpc.health.v1.Health/Watch", grpc, vec![0; 5], true),
        ("reflection", "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", grpc, part.clone(), false),
        ("gRPC-Web", GET_FLOOR, "application/grpc-web+proto", part.clone(), false),
        ("Connect", GET_FLOOR, "application/proto", part.clone(), false),
        ("a stream of Connect", "/floors.v1.FloorService/StreamFloors", "application/connect+proto", part, false),
        ("JSON", GET_FLOOR, "application/json", vec![b' '; 1900], false),
        ("a path that nothing serves", "/nothing", "text/plain", vec![b' '; 1900], false),
    ];
    // What a first call allocates once.
    let idle = {
        let mut peer = RawHttp2::connect(&server);
        peer.send_and_wait(RawHttp2::call("GetFloor", 1, &[], &get(1, 1)));
        server.resident_bytes()
    };
    for (what, path, content_type, data, ends) in kinds {
        let peers = hold(&server, &Held { what, path, content_type, data, ends });
        assert_growth(&server, idle, what);
        drop(peers);
        assert_rest(&server, idle, what);
    }
    assert!(server.refusals("receiving") > 0.0);
}

#[test]
fn half_sent_requests_over_http1_take_bounded_memory() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let idle = server.resident_bytes();
    let head = format!("POST {GET_FLOOR} HTTP/1.1\r\nhost: floors\r\n");
    let kinds = [
        ("a head", format!("{head}x: {}", "y".repeat(7 << 10))),
        ("many fields", head.clone() + &"x:y\r\n".repeat(90)),
        (
            "a body",
            format!("{head}content-type: application/proto\r\ncontent-length: 4000000\r\n\r\n{}", "x".repeat(60_000)),
        ),
    ];
    for (what, half) in kinds {
        let open = |_| {
            let mut peer = TcpStream::connect(&server.grpc).unwrap();
            peer.set_write_timeout(Some(TIMEOUT)).unwrap();
            // The server may have refused it.
            let _ = peer.write_all(half.as_bytes());
            peer
        };
        let mut peers: Vec<_> = (0..250).map(open).collect();
        assert_growth(&server, idle, what);
        // The limit of time ends them all.
        for peer in &mut peers {
            peer.set_read_timeout(Some(TIMEOUT)).unwrap();
            let _ = peer.read_to_end(&mut Vec::new());
        }
        drop(peers);
        assert_rest(&server, idle, what);
    }
}
