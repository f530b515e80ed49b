//! Floors made ahead of those who climb a tower.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod harness;

use floor_proto::v1::{FloorKind, FloorSpec, GetFloorRequest};
use harness::{Server, Setup, spec, wait_until};
use tempfile::TempDir;
use tonic::Response;

fn get(seed: u64, number: u32) -> GetFloorRequest {
    GetFloorRequest { spec: Some(spec(seed, number)) }
}

fn served_by<T>(response: &Response<T>) -> &str {
    response.metadata().get("floor-served-by").expect("every answer says who served it").to_str().unwrap()
}

#[tokio::test]
async fn a_climber_gets_prefetched_floors() {
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("PREFETCH__AHEAD", "1").start();
    let mut client = server.client().await;
    let outcome = |outcome: &str| server.metric(&format!("floors_prefetches_total{{outcome=\"{outcome}\"}}"));
    assert_eq!(served_by(&client.get_floor(get(5, 20)).await.unwrap()), "generated");
    assert_eq!(served_by(&client.get_floor(get(5, 21)).await.unwrap()), "generated", "one floor makes no climb");
    for number in 22..=30 {
        // Somebody else climbs the same tower, elsewhere.
        client.get_floor(get(5, number + 500)).await.unwrap();
        let warm = f64::from(number - 21) + f64::from(number.saturating_sub(22));
        wait_until("the floors above both are warm", || outcome("prefetched") == warm);
        assert_eq!(served_by(&client.get_floor(get(5, number)).await.unwrap()), "lru", "floor {number}");
    }
    wait_until("every floor but each one's last is used", || outcome("used") == 9.0 + 8.0 - 1.0);
    assert_eq!(outcome("wasted"), 0.0, "nobody has lapsed yet");
}

#[tokio::test]
async fn nothing_is_prefetched_without_a_climb_or_when_prefetch_is_off() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let mut client = server.client().await;
    for number in (1..=40).map(|i| i * 7) {
        client.get_floor(get(6, number)).await.unwrap();
    }
    let elsewhere = TempDir::new().unwrap();
    let off = Setup::new(&elsewhere).with("PREFETCH__AHEAD", "0").start();
    let mut climber = off.client().await;
    for number in 1..=10 {
        climber.get_floor(get(7, number)).await.unwrap();
    }
    assert_eq!(server.metric("floors_prefetches_total{outcome=\"prefetched\"}"), 0.0);
    assert!(!off.page("/metrics").1.contains("floors_prefetches_total"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prefetch_delayed_by_callers_runs_after_them() {
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("GENERATION__THREADS", "1").with("PREFETCH__AHEAD", "1").start();
    let mut client = server.client().await;
    client.get_floor(get(5, 20)).await.unwrap();
    // By their kind's name, so that they are nobody's climb.
    let others: Vec<_> = (1..=100)
        .map(|number| {
            let mut client = client.clone();
            let wanted = FloorSpec { width: 512, height: 512, kind: FloorKind::Standard.into(), ..spec(9, number) };
            tokio::spawn(async move { client.get_floor(GetFloorRequest { spec: Some(wanted) }).await })
        })
        .collect();
    wait_until("callers wait for generation", || server.metric("floors_generation_queue") > 50.0);
    client.get_floor(get(5, 21)).await.unwrap();
    for other in others {
        other.await.unwrap().unwrap();
    }
    let made = || server.metric("floors_prefetches_total{outcome=\"prefetched\"}") == 1.0;
    wait_until("the floor above is made, although nobody steps on", made);
}
