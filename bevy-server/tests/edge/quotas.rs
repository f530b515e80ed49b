//! Small requests for much work.

use floor_proto::v1::{SearchFloorsRequest, StreamFloorsRequest};
use serde_json::{Value, json};
use tempfile::TempDir;
use test_support::{Server, Setup, wait_until};

use crate::{OTHER_ADDRESS, assert_tells_when_to_retry, get, large};

/// The floors of 512x512 that a client gets at once after a pause.
const BURST_FLOORS: u32 = 16;

/// A server whose clients get a burst and practically nothing after it.
fn start(data: &TempDir) -> Server {
    Setup::new(data)
        .with("LIMITS__CELLS_PER_SECOND", "1")
        .with("CACHE__CHAIN", r#"["lru"]"#)
        .with("GENERATION__PREFETCH", "false")
        .start()
}

#[tokio::test]
async fn a_stream_of_ten_thousand_large_floors_ends_after_the_burst() {
    let data = TempDir::new().unwrap();
    let server = start(&data);
    let mut client = server.client().await;
    let request = |count| StreamFloorsRequest { first: Some(large(1, 1)), count };
    let mut stream = client.stream_floors(request(10_000)).await.unwrap().into_inner();
    for _ in 0..BURST_FLOORS {
        stream.message().await.unwrap().expect("a floor of the burst");
    }
    assert_tells_when_to_retry(&stream.message().await.expect_err("the quota is used up"));
    assert_eq!(server.generations(), f64::from(BURST_FLOORS));

    let mut cached = client.stream_floors(request(BURST_FLOORS)).await.unwrap().into_inner();
    for _ in 0..BURST_FLOORS {
        cached.message().await.unwrap().expect("a cached floor is free");
    }
    assert!(cached.message().await.unwrap().is_none());

    assert_tells_when_to_retry(&client.get_floor(get(2, 1)).await.expect_err("the quota is used up"));
    assert!(server.refusals("generation") >= 1.0);
    assert!(server.metric("floors_generation_refusals_total{client=\"other\",reason=\"quota\"}") >= 1.0);
    assert_eq!(server.metric("floors_generation_refusals_total{client=\"other\",reason=\"queue\"}"), 0.0);
    let mut other = server.client_from(OTHER_ADDRESS).await;
    other.get_floor(get(2, 1)).await.expect("another client has its own quota");
    let warning = "a floor was refused client=\"127.0.0.1\" reason=\"quota\"";
    assert!(server.log().contains(warning), "{}", server.log());
    let (status, body) = server.page("/clients");
    let shown: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(status, 200);
    let [first, second] = &shown["clients"].as_array().unwrap()[..] else { panic!("{shown}") };
    assert_eq!((&first["name"], &first["floors"]), (&json!("127.0.0.1"), &json!(BURST_FLOORS)), "{shown}");
    assert_eq!(first["cells"], BURST_FLOORS * 512 * 512, "{shown}");
    assert!(first["refusals"].as_u64().unwrap() >= 2, "{shown}");
    assert_eq!(*second, json!({"name": OTHER_ADDRESS, "floors": 1, "cells": 10_000, "refusals": 0, "offloadedMs": 0}));
    assert_eq!(server.page("/readyz").0, 200);
}

#[tokio::test]
async fn a_search_is_paid_for_and_says_how_far_it_came() {
    let data = TempDir::new().unwrap();
    let server = start(&data);
    let mut client = server.client().await;
    let condition = "rooms == 0".to_owned();
    let mut request = SearchFloorsRequest { first: Some(large(1, 1)), count: 100, condition, ..Default::default() };
    let answer = client.search_floors(request.clone()).await.unwrap().into_inner();
    assert_eq!((answer.matches.len(), answer.next), (0, u64::from(BURST_FLOORS)));
    request.skip = answer.next;
    assert_tells_when_to_retry(&client.search_floors(request).await.expect_err("the quota is used up"));
    assert_eq!(server.generations(), f64::from(BURST_FLOORS));
}

/// A client that climbs makes the server generate the floors above it, and pays for them.
#[tokio::test]
async fn floors_made_ahead_are_charged_to_who_climbs() {
    /// Floors of 100x100 in the burst.
    const FLOORS: u64 = BURST_FLOORS as u64 * 512 * 512 / 10_000;
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("LIMITS__CELLS_PER_SECOND", "1").with("CACHE__CHAIN", r#"["lru"]"#).start();
    let mut client = server.client().await;
    let mut climbed = 0;
    while client.get_floor(get(5, 20 + climbed)).await.is_ok() {
        climbed += 1;
        assert!(u64::from(climbed) <= FLOORS, "the quota holds");
    }
    wait_until("the burst is used up", || server.generations() == FLOORS as f64);
    assert!(u64::from(climbed) <= FLOORS, "{climbed}");
    let (_, body) = server.page("/clients");
    let shown: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&shown["clients"][0]["name"], &shown["clients"][0]["floors"]), (&json!("127.0.0.1"), &json!(FLOORS)));
}
