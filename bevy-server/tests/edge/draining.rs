//! A drain behind a balancer that watches readiness.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tempfile::TempDir;
use tokio::time::{sleep, timeout};
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};

use crate::{
    get,
    harness::{Setup, TIMEOUT},
};

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
