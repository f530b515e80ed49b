//! Messages that are small on the wire and large in memory.

use bytes::Bytes;
use floor_proto::limits::DEFAULT_MESSAGE_BYTES;
use futures_util::future::join_all;
use tempfile::TempDir;
use test_support::{Server, http1, invalid_fields};
use tonic::Code;
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

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

#[test]
fn long_json_waits_in_bounded_memory_and_calls_of_others_go_on() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let post = |method: &str, body: &str| {
        let head = format!(
            "POST /floors.v1.FloorService/{method} HTTP/1.1\r\nhost: floors\r\ncontent-type: application/json\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        http1(&server.grpc, &head, body.as_bytes()).0
    };
    // 120 KB, which take long to decode and are no number.
    let escapes = format!(r#"{{"spec":{{"seed":"{}"}}}}"#, r"\u0031".repeat(20_000));
    let before = server.resident_bytes();
    std::thread::scope(|scope| {
        let hostile: Vec<_> = (0..32).map(|_| scope.spawn(|| post("GetFloor", &escapes))).collect();
        assert_eq!(post("GetFloor", r#"{"spec":{"number":1}}"#), 200);
        assert!(hostile.into_iter().all(|client| client.join().unwrap() == 400));
    });
    let grown = server.resident_bytes().saturating_sub(before);
    assert!(grown < 60 << 20, "the server grew by {} MiB", grown >> 20);
    let spec = r#"{"seed":"1","number":1,"width":16,"height":16,"kind":"FLOOR_KIND_STANDARD"}"#;
    assert_eq!(post("BatchGetFloors", &format!(r#"{{"specs":[{}]}}"#, vec![spec; 256].join(","))), 200);
}
