//! Prefetching for climbers.
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

use floor_proto::v1::{FloorKind, FloorSpec, GetFloorRequest};
use tempfile::TempDir;
use test_support::{Server, Setup, spec, wait_until};
use tonic::Response;

fn get(seed: u64, number: u32) -> GetFloorRequest {
    GetFloorRequest { spec: Some(spec(seed, number)) }
}

fn served_by<T>(response: &Response<T>) -> &str {
    response.metadata().get("floor-served-by").expect("every response names its tier").to_str().unwrap()
}

#[tokio::test]
async fn a_climber_gets_prefetched_floors() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let mut client = server.client().await;
    let outcome = |outcome: &str| server.figure(&format!("prefetched floors, {outcome}"));
    assert_eq!(served_by(&client.get_floor(get(5, 20)).await.unwrap()), "generated");
    assert_eq!(served_by(&client.get_floor(get(5, 21)).await.unwrap()), "generated", "one step is no climb");
    for number in 22..=30 {
        // A second climber in the same tower.
        client.get_floor(get(5, number + 500)).await.unwrap();
        // One floor after the first step of a climber, then two ahead of it.
        let of = |steps: u32| f64::from(steps + u32::from(steps > 1));
        let expected = of(number - 21) + of(number.saturating_sub(22));
        wait_until("the floors above both climbers are prefetched", || outcome("all") == expected);
        assert_eq!(served_by(&client.get_floor(get(5, number)).await.unwrap()), "lru", "floor {number}");
    }
    wait_until("the floors that were reached are used", || outcome("used") == 9.0 + 8.0 - 1.0);
    assert_eq!(outcome("wasted"), 0.0, "no climber has timed out");
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
    let off = Setup::new(&elsewhere).with("GENERATION__PREFETCH", "false").start();
    let mut climber = off.client().await;
    for number in 1..=10 {
        climber.get_floor(get(7, number)).await.unwrap();
    }
    assert_eq!(server.figure("prefetched floors, all"), 0.0);
    assert!(!off.page("/status").1.contains("prefetched floors"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prefetch_delayed_by_callers_runs_after_them() {
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("GENERATION__THREADS", "1").start();
    let mut client = server.client().await;
    client.get_floor(get(5, 20)).await.unwrap();
    // Requested by kind, so that they are no steps of a climb.
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
    let is_prefetched = || server.figure("prefetched floors, all") == 1.0;
    wait_until("the floor above is prefetched without another step", is_prefetched);
}
