//! Messages that are small on the wire and large in memory.

use bytes::Bytes;
use floor_proto::limits::DEFAULT_MESSAGE_BYTES;
use futures_util::future::join_all;
use tempfile::TempDir;
use tonic::Code;
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

use crate::harness::{Server, invalid_fields};

#[tokio::test(flavor = "multi_thread")]
async fn millions_of_empty_specs_are_refused_without_decoding_them() {
    /// Field 1, length-delimited, with a length of 0.
    const EMPTY_SPEC: [u8; 2] = [1 << 3 | 2, 0];
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let message = Bytes::from(EMPTY_SPEC.repeat(DEFAULT_MESSAGE_BYTES / EMPTY_SPEC.len()));
    let before = server.resident_bytes();
    let answers = join_all((0..8).map(|_| server.raw("BatchGetFloors", message.clone()))).await;
    for answer in answers {
        assert_eq!(invalid_fields(&answer.unwrap_err()), ["specs"]);
    }
    let grown = server.resident_bytes().saturating_sub(before);
    assert!(grown < 60 << 20, "the server grew by {} MiB", grown >> 20);
}

#[tokio::test]
async fn health_refuses_messages_that_are_longer_than_any_name() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let mut health = HealthClient::new(server.channel().await);
    let service = "x".repeat(64 << 10);
    let status = health.check(HealthCheckRequest { service }).await.unwrap_err();
    assert_eq!(status.code(), Code::OutOfRange, "{status:?}");
    health.check(HealthCheckRequest::default()).await.expect("the connection stays usable");
}
