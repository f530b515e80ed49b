//! A client that asks for much more than the workers can generate, and another that asks for little.

use std::time::{Duration, Instant};

use tempfile::TempDir;
use test_support::{Setup, wait_until};

use crate::{OTHER_ADDRESS, get, get_large};

/// Limit for the median time of a small floor. A floor takes a few milliseconds, and waits for at most one large floor
/// for each worker; in a queue without fairness it would wait for hundreds.
const MAX_MEDIAN: Duration = Duration::from_millis(500);

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_one_client_does_not_delay_the_floors_of_another() {
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data)
        .with("GENERATION__THREADS", "2")
        .with("CACHE__CHAIN", r#"["lru"]"#)
        .with("PREFETCH__AHEAD", "0")
        .start();
    let mut client = server.client().await;
    let mut flood = Vec::new();
    for seed in 1..=5 {
        let flooder = server.client_from(OTHER_ADDRESS).await;
        for number in 1..=100 {
            let mut flooder = flooder.clone();
            flood.push(tokio::spawn(async move { flooder.get_floor(get_large(seed, number)).await }));
        }
    }
    wait_until("the flood waits for workers", || server.metric("floors_generation_queue") > 100.0);
    let mut times = Vec::new();
    for seed in 101..=112 {
        assert_eq!(server.page("/readyz").0, 200);
        let started = Instant::now();
        client.get_floor(get(seed, 1)).await.expect("a small floor is served");
        times.push(started.elapsed());
    }
    assert_eq!(server.page("/readyz").0, 200);
    times.sort_unstable();
    let median = times[times.len() / 2];
    println!("the median time of a small floor is {median:?}, the longest {:?}", times[times.len() - 1]);
    assert!(median < MAX_MEDIAN, "{times:?}");
    flood.iter().for_each(tokio::task::JoinHandle::abort);
}
