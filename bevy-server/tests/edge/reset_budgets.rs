//! Clients that reset calls, over one connection after another or behind a proxy that shares its connection.

use tempfile::TempDir;
use test_support::{
    Server, Setup,
    http2::{RawFrame, RawHttp2},
};

use crate::{OTHER_ADDRESS, get};

const PATH: &str = "/floors.v1.FloorService/GetFloor";

/// Calls that are reset at once, on streams from `first` on.
fn reset_calls(first: u32, count: u32, headers: &[(&str, &str)]) -> Vec<u8> {
    let streams = (first..).step_by(2).take(count as usize);
    streams.flat_map(|stream| [RawHttp2::headers(PATH, stream, headers), RawHttp2::reset(stream)].concat()).collect()
}

/// Whether the server ends a connection on which a client resets so many calls.
fn is_ended_by(server: &Server, resets: u32) -> bool {
    let mut peer = RawHttp2::connect(server);
    // Fails when the server closes the connection meanwhile.
    let sent = [reset_calls(1, resets, &[]), RawHttp2::ping()].concat();
    let _ = std::io::Write::write_all(&mut peer.stream, &sent);
    let is_answer = |frame: &RawFrame| (frame.kind, frame.flags) == (RawHttp2::PING, RawHttp2::LAST);
    std::iter::from_fn(|| peer.next_frame()).all(|frame| !is_answer(&frame))
}

#[tokio::test(flavor = "multi_thread")]
async fn reconnecting_does_not_renew_the_budget_for_resets() {
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).start();
    server.client().await.get_floor(get(1, 1)).await.unwrap();
    // Each connection has less than its budget would be.
    let ended = (0..10).filter(|_| is_ended_by(&server, 1900)).count();
    assert!((1..10).contains(&ended), "{ended} of 10 connections were ended");
    server.client().await.get_floor(get(1, 1)).await.expect("calls of the same address are answered");
    let mut other = server.client_from(OTHER_ADDRESS).await;
    other.get_floor(get(1, 1)).await.expect("another address is served");
}

/// Makes a call behind a proxy for `client`. Returns whether a floor was served.
fn is_served(peer: &mut RawHttp2, stream: u32, client: &str) -> bool {
    peer.send(&RawHttp2::call("GetFloor", stream, &[("x-forwarded-for", client)], &get(1, 1)));
    let mut has_data = false;
    loop {
        let frame = peer.next_frame().expect("the connection of the proxy stays open");
        assert_ne!(frame.kind, RawHttp2::GO_AWAY, "{frame:?}");
        has_data |= frame.stream == stream && frame.kind == RawHttp2::DATA;
        if frame.stream == stream && frame.ends_stream() {
            return has_data;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_a_proxy_resets_are_charged_to_the_client_that_made_them() {
    const HOSTILE: &str = "10.0.0.1";
    const OTHER: &str = "10.0.0.2";
    const RESETS: u32 = 500;
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("GRPC__TRUSTED_PROXIES", r#"["127.0.0.1"]"#).start();
    let mut peer = RawHttp2::connect(&server);
    assert!(is_served(&mut peer, 1, HOSTILE) && is_served(&mut peer, 3, OTHER));
    let (mut stream, mut refused) = (5, 0);
    for _ in 0..50 {
        peer.send(&reset_calls(stream, RESETS, &[("x-forwarded-for", HOSTILE)]));
        stream += 2 * RESETS;
        refused += u32::from(!is_served(&mut peer, stream, HOSTILE));
        assert!(is_served(&mut peer, stream + 2, OTHER), "a neighbour on the same connection is served");
        stream += 4;
    }
    assert!((1..50).contains(&refused), "{refused} calls were refused");
    assert!(server.refusals("resets") >= f64::from(refused), "some of those that were reset were refused before");
    assert_eq!(server.metric("floors_connections"), 1.0);
}
