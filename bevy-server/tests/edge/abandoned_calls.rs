//! Calls that their clients give up: by a reset or by a deadline.

use std::collections::HashSet;

use tempfile::TempDir;
use test_support::{Server, Setup, http2::RawHttp2, wait_until};

use crate::{get, get_large};

/// Calls that are given up.
const CALLS: u32 = 1000;
/// Calls that are sent at once, fewer than a connection may have.
const GROUP: u32 = 100;
/// The floors that may be generated for them.
const MAX_GENERATED: f64 = 100.0;

fn start(data: &TempDir) -> Server {
    Setup::new(data).with("GENERATION__THREADS", "2").with("GENERATION__PREFETCH", "false").start()
}

/// The numbers of the floors of each group.
fn groups() -> impl Iterator<Item = std::ops::Range<u32>> {
    (0..CALLS / GROUP).map(|group| 1 + group * GROUP..1 + (group + 1) * GROUP)
}

/// The stream of the call for a floor.
const fn stream_of(number: u32) -> u32 {
    2 * number + 1
}

async fn assert_little_was_generated(server: &Server) {
    wait_until("no floor waits to be generated", || server.metric("floors_generation_queue") == 0.0);
    let generated = server.generations();
    println!("{generated} floors were generated for calls that were given up");
    assert!(generated <= MAX_GENERATED, "{generated} floors were generated");
    assert_eq!(server.page("/readyz").0, 200);
    server.client().await.get_floor(get(2, 1)).await.expect("the server keeps serving");
}

#[tokio::test(flavor = "multi_thread")]
async fn floors_of_reset_calls_are_not_generated() {
    let data = TempDir::new().unwrap();
    let server = start(&data);
    let mut peer = RawHttp2::connect(&server);
    for numbers in groups() {
        let calls = numbers
            .clone()
            .flat_map(|number| RawHttp2::call("GetFloor", stream_of(number), &[], &get_large(1, number)));
        // The transport limits resets of calls that the server has not accepted yet.
        peer.send_and_wait(calls.collect());
        peer.send_and_wait(numbers.flat_map(|number| RawHttp2::reset(stream_of(number))).collect());
    }
    assert_little_was_generated(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn floors_of_calls_past_their_deadline_are_not_generated() {
    let data = TempDir::new().unwrap();
    let server = start(&data);
    let mut peer = RawHttp2::connect(&server);
    for numbers in groups() {
        let calls: Vec<u8> = numbers
            .clone()
            .flat_map(|number| {
                let deadline = [("grpc-timeout", "1m")];
                RawHttp2::call("GetFloor", stream_of(number), &deadline, &get_large(1, number))
            })
            .collect();
        peer.send(&calls);
        let mut open: HashSet<_> = numbers.map(stream_of).collect();
        while !open.is_empty() {
            let frame = peer.next_frame().expect("the connection is open");
            assert_ne!(frame.kind, RawHttp2::GO_AWAY, "{frame:?}");
            if frame.ends_stream() || frame.kind == RawHttp2::RESET {
                open.remove(&frame.stream);
            }
        }
    }
    assert_little_was_generated(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rapid_resets_end_only_their_connection() {
    let data = TempDir::new().unwrap();
    let server = start(&data);
    let mut client = server.client().await;
    client.get_floor(get(2, 2)).await.unwrap();
    let mut peer = RawHttp2::connect(&server);
    let frames: Vec<u8> = (1..=10_000)
        .flat_map(|number| {
            let call = RawHttp2::call("GetFloor", stream_of(number), &[], &get_large(1, number));
            [call, RawHttp2::reset(stream_of(number))].concat()
        })
        .collect();
    // Fails when the server closes the connection meanwhile.
    let _ = std::io::Write::write_all(&mut peer.stream, &frames);
    // Fails if the connection stays open.
    peer.read_to_end();
    for _ in 0..100 {
        client.get_floor(get(2, 2)).await.expect("other connections are served");
    }
    wait_until("one connection is left", || server.metric("floors_connections") == 1.0);
    assert_little_was_generated(&server).await;
}
