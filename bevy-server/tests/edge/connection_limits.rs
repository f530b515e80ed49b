//! Many connections, connections that do nothing, and many calls on one connection.

use std::{
    io::{ErrorKind, Read},
    net::TcpStream,
    time::{Duration, Instant},
};

use floor_proto::v1::StreamFloorsRequest;
use tempfile::TempDir;
use test_support::{
    Server, Setup, frame,
    http2::{RawFrame, RawHttp2},
    spec, wait_until,
};

use crate::{OTHER_ADDRESS, get};

fn open_connections(server: &Server) -> f64 {
    server.metric("floors_connections")
}

/// Whether the server closes a new connection at once, and not only after the time for a preface.
fn is_refused(server: &Server) -> bool {
    let mut peer = TcpStream::connect(&server.grpc).unwrap();
    peer.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    match peer.read(&mut [0; 64]) {
        Ok(read) => read == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

/// Whether a frame is a GOAWAY without an error.
fn is_go_away(frame: &RawFrame) -> bool {
    // After the last stream stands the error.
    frame.kind == RawHttp2::GO_AWAY && frame.payload[4..8] == [0; 4]
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_beyond_the_limit_are_closed_and_counted() {
    let data = TempDir::new().unwrap();
    let server =
        Setup::new(&data).with("GRPC__MAX_CONNECTIONS", "20").with("GRPC__MAX_CONNECTIONS_PER_IP", "0").start();
    let mut peers: Vec<_> = (0..20).map(|_| RawHttp2::connect(&server)).collect();
    wait_until("all connections are accepted", || open_connections(&server) == 20.0);
    assert!(is_refused(&server));
    assert_eq!((server.refusals("connections"), open_connections(&server)), (1.0, 20.0));
    assert_eq!(server.page("/healthz").0, 200);
    peers.truncate(17);
    wait_until("three connections have ended", || open_connections(&server) == 17.0);
    server.client().await.get_floor(get(1, 1)).await.expect("a new connection is accepted");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_address_does_not_take_the_connections_of_others() {
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("GRPC__MAX_CONNECTIONS_PER_IP", "5").start();
    let _peers: Vec<_> = (0..5).map(|_| RawHttp2::connect(&server)).collect();
    wait_until("all connections are accepted", || open_connections(&server) == 5.0);
    assert!(is_refused(&server));
    assert_eq!(server.refusals("connections_per_ip"), 1.0);
    let mut other = server.client_from(OTHER_ADDRESS).await;
    other.get_floor(get(1, 1)).await.expect("another address may connect");
    assert_eq!(open_connections(&server), 6.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_address_takes_at_most_half_of_few_connections() {
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("GRPC__MAX_CONNECTIONS", "10").start();
    let _peers: Vec<_> = (0..5).map(|_| RawHttp2::connect(&server)).collect();
    wait_until("all connections are accepted", || open_connections(&server) == 5.0);
    assert!(is_refused(&server));
    let mut other = server.client_from(OTHER_ADDRESS).await;
    other.get_floor(get(1, 1)).await.expect("another address may connect");
}

#[test]
fn more_connections_than_descriptors_leave_the_operations_port_and_the_log_usable() {
    const DESCRIPTORS: u32 = 256;
    const CONNECTIONS: u32 = 370;
    let data = TempDir::new().unwrap();
    let server = Setup::with_descriptors(DESCRIPTORS, &data).with("GRPC__MAX_CONNECTIONS_PER_IP", "0").start();
    let started = Instant::now();
    let _peers: Vec<_> = (0..CONNECTIONS).map(|_| TcpStream::connect(&server.grpc).unwrap()).collect();
    wait_until("the server has refused what it has no descriptors for", || {
        server.refusals("connections") >= f64::from(CONNECTIONS - DESCRIPTORS)
    });
    assert!(open_connections(&server) < f64::from(DESCRIPTORS));
    assert_eq!(server.page("/healthz").0, 200);
    let log = server.log();
    let warnings = log.lines().filter(|line| line.contains("WARN")).count() as u64;
    assert!((1..=3 + 2 * started.elapsed().as_secs()).contains(&warnings), "{log}");
    assert!(!log.contains("could not be accepted"), "{log}");
}

#[test]
fn an_old_connection_is_told_to_go_away_and_its_open_stream_completes() {
    const FLOORS: u32 = 20;
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("GRPC__MAX_CONNECTION_AGE", "1s").start();
    let mut peer = RawHttp2::connect_with_window(&server, 0);
    let wanted = StreamFloorsRequest { first: Some(spec(1, 1)), count: FLOORS };
    peer.send(&RawHttp2::call("StreamFloors", 1, &[], &wanted));
    while !is_go_away(&peer.next_frame().expect("the connection is open")) {}
    assert_eq!(peer.responses, 0);
    peer.send(&RawHttp2::window_update(1));
    let frames = peer.read_to_end();
    assert!(frames.iter().any(|frame| frame.stream == 1 && frame.ends_stream()), "the stream ends");
    let body = frames.into_iter().filter(|frame| frame.kind == RawHttp2::DATA).flat_map(|frame| frame.payload);
    let body: Vec<u8> = body.collect();
    let mut rest = &body[..];
    let mut floors = 0;
    while let Some((prefix, after)) = rest.split_at_checked(5) {
        rest = &after[u32::from_be_bytes(prefix[1..].try_into().unwrap()) as usize..];
        floors += 1;
    }
    assert_eq!((floors, rest.len()), (FLOORS, 0));
    wait_until("the connection is not counted any more", || open_connections(&server) == 0.0);
    wait_until("the stream is counted", || server.calls("StreamFloors", "OK") == 1.0);
}

#[test]
fn a_connection_has_as_many_open_calls_as_it_was_told() {
    const STREAMS: u32 = 128;
    const REFUSED_STREAM: u32 = 7;
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let mut peer = RawHttp2::connect(&server);
    let settings = std::iter::from_fn(|| peer.next_frame()).find(|frame| frame.kind == RawHttp2::SETTINGS).unwrap();
    let announced = settings.payload.chunks(6).find(|setting| setting[..2] == RawHttp2::MAX_STREAMS.to_be_bytes());
    assert_eq!(announced.expect("a limit is announced")[2..], STREAMS.to_be_bytes());

    // Calls whose message is missing stay open.
    let stream_of = |call: u32| 2 * call + 1;
    let path = "/floors.v1.FloorService/GetFloor";
    let calls: Vec<u8> = (0..=STREAMS).flat_map(|call| RawHttp2::headers(path, stream_of(call), &[])).collect();
    peer.send(&calls);
    let refused = std::iter::from_fn(|| peer.next_frame()).find(|frame| frame.kind == RawHttp2::RESET).unwrap();
    assert_eq!((refused.stream, &refused.payload[..]), (stream_of(STREAMS), &REFUSED_STREAM.to_be_bytes()[..]));
    let messages = (0..STREAMS)
        .flat_map(|call| RawHttp2::frame(RawHttp2::DATA, RawHttp2::LAST, stream_of(call), &frame(&get(1, 1))));
    peer.send(&messages.collect::<Vec<u8>>());
    while peer.responses < STREAMS {
        peer.read_frame();
    }
    assert_eq!(server.calls("GetFloor", "OK"), f64::from(STREAMS));
}
