//! Attacks on the gRPC port of the real server, and what must hold during each: memory stays bounded, other clients are
//! served, and the server stays ready.
//!
//! On Linux only: there a test may call from any address in 127.0.0.0/8, and read the memory of the server.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

mod abandoned_calls;
mod budgets;
mod connection_limits;
mod decoding;
mod draining;
mod fairness;
mod held_calls;
mod inline_cost;
mod kinds;
mod no_cache;
mod quotas;
mod reset_budgets;
mod slow_senders;
mod tls;
mod tokens;
mod traced_calls;
mod unread_responses;

use floor_proto::v1::{BatchGetFloorsRequest, FloorSpec, GetFloorRequest};
use test_support::spec;
use tonic::{Code, Status};
use tonic_types::StatusExt;

/// An address other than 127.0.0.1, and so another client.
const OTHER_ADDRESS: &str = "127.0.0.2";

/// A floor of the default size.
fn get(seed: u64, number: u32) -> GetFloorRequest {
    GetFloorRequest { spec: Some(spec(seed, number)) }
}

/// A floor of the largest size.
fn get_large(seed: u64, number: u32) -> GetFloorRequest {
    GetFloorRequest { spec: Some(large(seed, number)) }
}

fn large(seed: u64, number: u32) -> FloorSpec {
    FloorSpec { width: 512, height: 512, ..spec(seed, number) }
}

/// All that a client with a quota gets at once: 16 floors of the largest size, from `first` on.
fn burst(seed: u64, first: u32) -> BatchGetFloorsRequest {
    BatchGetFloorsRequest { specs: (first..first + 16).map(|number| large(seed, number)).collect() }
}

/// Checks that a status is RESOURCE_EXHAUSTED and tells when to retry.
fn assert_tells_when_to_retry(status: &Status) {
    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
    let details = status.get_error_details();
    let delay = details.retry_info().and_then(|retry| retry.retry_delay);
    assert!(delay.is_some_and(|delay| !delay.is_zero()), "{status:?}");
}
