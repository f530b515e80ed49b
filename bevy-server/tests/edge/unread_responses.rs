//! Clients that ask for large responses and do not read them.

use std::time::Duration;

use bytes::Bytes;
use floor_proto::v1::BatchGetFloorsRequest;
use futures_util::future::join_all;
use http::Response;
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, client::conn::http2::SendRequest};
use prost::Message;
use tempfile::TempDir;
use test_support::{Server, Setup, framed, http2::connect, spec};
use tonic::Status;

use crate::{OTHER_ADDRESS, assert_tells_when_to_retry};

/// Batches that each connection asks for, fewer than it may have calls.
const BATCHES: usize = 90;
/// Bytes of answers that may wait.
const UNSENT_BYTES: usize = 64 << 20;

/// Calls whose responses cannot be sent, because the client gives them no window.
struct UnreadCalls {
    /// The connections, which stay open.
    peers: Vec<SendRequest<Full<Bytes>>>,
    granted: Vec<Response<Incoming>>,
    refused: Vec<Status>,
}

/// As many floors as a batch may have, all the same.
fn batch() -> BatchGetFloorsRequest {
    BatchGetFloorsRequest { specs: vec![spec(7, 1); 256] }
}

async fn call_without_reading(server: &Server, connections: usize, headers: &[(&str, &str)]) -> UnreadCalls {
    let mut calls = UnreadCalls { peers: Vec::new(), granted: Vec::new(), refused: Vec::new() };
    for _ in 0..connections {
        let (peer, switch) = connect(server, 0).await;
        switch.allow_reads();
        let responses = (0..BATCHES).map(|_| {
            let mut peer = peer.clone();
            let request = server.request("BatchGetFloors", headers).body(framed(&batch())).unwrap();
            async move { peer.send_request(request).await.unwrap() }
        });
        for response in join_all(responses).await {
            match Status::from_header_map(response.headers()) {
                None => calls.granted.push(response),
                Some(status) => calls.refused.push(status),
            }
        }
        calls.peers.push(peer);
    }
    calls
}

#[tokio::test(flavor = "multi_thread")]
async fn unread_responses_take_bounded_memory_and_leave_some_for_other_clients() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let response = server.raw("BatchGetFloors", Bytes::from(batch().encode_to_vec())).await.unwrap();
    let response_bytes = response.into_inner().len();
    let before = server.resident_bytes();
    let calls = call_without_reading(&server, 4, &[]).await;
    assert!(!calls.granted.is_empty() && !calls.refused.is_empty(), "{} granted", calls.granted.len());
    assert!(calls.granted.len() * response_bytes <= UNSENT_BYTES, "{} granted", calls.granted.len());
    calls.refused.iter().for_each(assert_tells_when_to_retry);
    assert_eq!(server.refusals("unsent"), calls.refused.len() as f64);

    let mut other = server.client_from(OTHER_ADDRESS).await;
    for _ in 0..10 {
        let response = other.batch_get_floors(batch()).await.expect("another client is served");
        assert_eq!(response.into_inner().floors.len(), 256);
    }
    let grown = server.resident_bytes().saturating_sub(before);
    assert!(grown < 100 << 20, "the server grew by {} MiB", grown >> 20);
    drop(calls);
}

/// Expects that responses to calls with these headers are reset, and that nothing of them is left.
async fn assert_unread_responses_are_reset(setup: Setup, headers: &[(&str, &str)]) {
    let server = setup.start();
    let mut client = server.client().await;
    client.batch_get_floors(batch()).await.unwrap();
    let UnreadCalls { peers, granted, .. } = call_without_reading(&server, 1, headers).await;
    assert!(!granted.is_empty());
    let bodies = granted.into_iter().map(|response| response.into_body().collect());
    let ends = tokio::time::timeout(Duration::from_secs(45), join_all(bodies)).await;
    for end in ends.expect("unread responses are reset") {
        assert!(!end.is_ok_and(|body| body.trailers().is_some()), "a response that was not read is not complete");
    }
    for _ in 0..10 {
        client.batch_get_floors(batch()).await.expect("the memory is free again");
    }
    server.signal("-TERM");
    // No call is in flight.
    server.assert_ended("complete=true");
    drop(peers);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unread_response_is_reset_after_the_stall_timeout() {
    let data = TempDir::new().unwrap();
    assert_unread_responses_are_reset(Setup::new(&data), &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unread_response_is_reset_at_the_deadline_of_its_call() {
    let data = TempDir::new().unwrap();
    assert_unread_responses_are_reset(Setup::new(&data), &[("grpc-timeout", "1S")]).await;
}
