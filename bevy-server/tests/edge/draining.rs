//! A drain: behind a balancer that watches readiness, and with clients that go on calling.

use std::{
    io::Write as _,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use floor_proto::v1::GetServerInfoRequest;
use tempfile::TempDir;
use test_support::{Server, Setup, TIMEOUT, http2::RawHttp2};
use tokio::time::{sleep, timeout};
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};

use crate::get;

/// How often the balancer asks.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

#[tokio::test(flavor = "multi_thread")]
async fn a_balancer_that_stops_when_the_server_is_not_ready_sees_no_failed_call() {
    let data = TempDir::new().unwrap();
    // Longer than a busy machine takes for what follows the signal.
    let server = Setup::new(&data).with("GRPC__DRAIN_DELAY", "4s").start();
    let mut client = server.client().await;
    let mut health = HealthClient::new(server.channel().await);
    let stopped = Arc::new(AtomicBool::new(false));
    let calls = tokio::spawn({
        let (mut client, stopped) = (client.clone(), Arc::clone(&stopped));
        async move {
            let mut answered = 0;
            while !stopped.load(Ordering::SeqCst) {
                client.get_floor(get(1, 1 + answered % 20)).await.expect("no call fails");
                answered += 1;
            }
            answered
        }
    });
    for _ in 0..5 {
        assert_eq!(server.page("/readyz").0, 200);
        sleep(POLL_INTERVAL).await;
    }
    server.signal("-TERM");
    let not_ready = async {
        while server.page("/readyz").0 == 200 {
            sleep(POLL_INTERVAL).await;
        }
    };
    timeout(TIMEOUT, not_ready).await.expect("the server says that it is not ready");
    let not_serving = async {
        let whole_server = || HealthCheckRequest { service: String::new() };
        while health.check(whole_server()).await.unwrap().into_inner().status() != ServingStatus::NotServing {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(TIMEOUT, not_serving).await.expect("health says so too");
    client.get_floor(get(2, 1)).await.expect("calls are accepted during the delay");
    stopped.store(true, Ordering::SeqCst);
    let answered = calls.await.expect("no call fails");
    assert!(answered > 0);
    server.assert_ended("complete=true");
}

#[test]
fn a_call_that_was_sent_before_its_client_heard_of_the_drain_is_answered() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let mut peer = RawHttp2::connect(&server);
    peer.send(&RawHttp2::call("GetFloor", 1, &[], &get(1, 1)));
    while peer.responses < 1 {
        peer.read_frame();
    }
    server.signal("-TERM");
    let last_stream = |payload: &[u8]| u32::from_be_bytes(payload[..4].try_into().unwrap());
    let announced = loop {
        let frame = peer.next_frame().expect("the connection is open");
        if frame.kind == RawHttp2::GO_AWAY {
            break frame;
        }
    };
    assert_eq!(last_stream(&announced.payload), (1 << 31) - 1, "the server does not know what was sent");
    // Sent before the answer to the ping that follows GOAWAY, so before the server can know that the client has heard.
    peer.send(&RawHttp2::call("GetFloor", 3, &[], &get(1, 2)));
    let frames = peer.read_to_end();
    assert_eq!(peer.responses, 2, "{frames:?}");
    let floor = frames.iter().find(|frame| (frame.kind, frame.stream) == (RawHttp2::DATA, 3));
    assert!(floor.is_some_and(|frame| frame.payload.len() > 100), "a floor and no refusal: {frames:?}");
    let end = frames.iter().rfind(|frame| frame.kind == RawHttp2::GO_AWAY).expect("a second GOAWAY");
    assert_eq!(last_stream(&end.payload), 3, "the server says what it has answered");
    drop(peer);
    server.assert_ended("complete=true");
}

#[test]
fn a_client_that_does_not_hear_of_the_drain_cannot_delay_it_for_long() {
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("GRPC__DRAIN", "3s").start();
    let mut peer = RawHttp2::connect(&server);
    server.signal("-TERM");
    let (mut stream, deadline) = (1, Instant::now() + TIMEOUT);
    // It reads nothing, and so answers no ping. Its calls are answered until the server ends the connection.
    while peer.stream.write_all(&RawHttp2::call("GetServerInfo", stream, &[], &GetServerInfoRequest {})).is_ok() {
        assert!(Instant::now() < deadline, "the connection does not end");
        stream += 2;
        thread::sleep(Duration::from_millis(10));
    }
    assert!(stream > 3, "calls were sent");
    server.assert_ended("stopped");
}
