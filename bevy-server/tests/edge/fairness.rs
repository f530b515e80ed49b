//! A client that asks for much more than the workers can generate, and another that asks for little.

use std::time::{Duration, Instant};

use floor_proto::v1::Floor;
use tempfile::TempDir;
use test_support::{Server, Setup, wait_until};
use tokio::task::JoinHandle;
use tonic::{Response, Status};

use crate::{OTHER_ADDRESS, get, get_large};

/// Limit for the median time of a small floor. A floor takes a few milliseconds, and waits for at most one large floor
/// for each worker; in a queue without fairness it would wait for hundreds.
const MAX_MEDIAN: Duration = Duration::from_millis(500);

/// Starts a server with two workers that stores nothing on a disk.
fn start(data: &TempDir) -> Server {
    let setup = Setup::new(data).with("GENERATION__THREADS", "2").with("GENERATION__PREFETCH", "false");
    setup.with("CACHE__CHAIN", r#"["lru"]"#).start()
}

/// Calls of `GetFloor` in a flood.
const FLOOD: u32 = 500;

/// Calls of `GetFloor` that the server has received.
fn received(server: &Server) -> f64 {
    let page = server.page("/metrics").1;
    let is_counted = |name: &str| {
        name == "floors_calls_in_flight" || (name.starts_with("floors_requests_total{") && name.contains("GetFloor"))
    };
    let lines = page.lines().filter_map(|line| line.rsplit_once(' '));
    lines.filter(|(name, _)| is_counted(name)).map(|(_, count)| count.parse::<f64>().unwrap()).sum()
}

/// [`FLOOD`] calls of another client for large floors, and waits until most of them are queued.
async fn flood(server: &Server) -> Vec<JoinHandle<Result<Response<Floor>, Status>>> {
    let mut flood = Vec::new();
    for seed in 1..=5 {
        let flooder = server.client_from(OTHER_ADDRESS).await;
        for number in 1..=100 {
            let mut flooder = flooder.clone();
            flood.push(tokio::spawn(async move { flooder.get_floor(get_large(seed, number)).await }));
        }
    }
    wait_until("the flood has arrived", || received(server) >= f64::from(FLOOD));
    assert!(server.metric("floors_generation_queue") > 100.0, "the flood waits for workers");
    flood
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_one_client_does_not_delay_the_floors_of_another() {
    let data = TempDir::new().unwrap();
    let server = start(&data);
    let mut client = server.client().await;
    let flood = flood(&server).await;
    let mut times = Vec::new();
    for seed in 101..=112 {
        assert_eq!(server.page("/readyz").0, 200);
        let started = Instant::now();
        client.get_floor(get(seed, 1)).await.expect("a small floor is served");
        times.push(started.elapsed());
    }
    assert_eq!(server.page("/readyz").0, 200);
    assert_served_soon(times);
    flood.iter().for_each(JoinHandle::abort);
}

/// Checks the times of small floors.
fn assert_served_soon(mut times: Vec<Duration>) {
    times.sort_unstable();
    let median = times[times.len() / 2];
    println!("the median time of a small floor is {median:?}, the longest {:?}", times[times.len() - 1]);
    assert!(median < MAX_MEDIAN, "{times:?}");
}

/// Else a client that fills the queue with its own floors could hold up any floor that others will ask for.
#[tokio::test(flavor = "multi_thread")]
async fn a_floor_that_waits_behind_a_flood_is_served_in_the_place_of_another_client_that_asks_for_it() {
    const FLOORS: u32 = 12;
    let data = TempDir::new().unwrap();
    let server = start(&data);
    let mut client = server.client().await;
    let mut flood = flood(&server).await;
    let flooder = server.client_from(OTHER_ADDRESS).await;
    for number in 1..=FLOORS {
        let mut flooder = flooder.clone();
        flood.push(tokio::spawn(async move { flooder.get_floor(get(7, number)).await }));
    }
    wait_until("the flooder's small floors wait too", || received(&server) >= f64::from(FLOOD + FLOORS));
    let (mut times, mut coalesced) = (Vec::new(), 0);
    for number in 1..=FLOORS {
        let started = Instant::now();
        let answer = client.get_floor(get(7, number)).await.expect("a small floor is served");
        times.push(started.elapsed());
        coalesced += usize::from(answer.metadata().contains_key("floor-coalesced"));
    }
    assert_served_soon(times);
    assert!(coalesced > 0, "the client joined floors that the flooder had asked for");
    flood.iter().for_each(JoinHandle::abort);
}
