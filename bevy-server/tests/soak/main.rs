//! A soak: honest clients beside hostile ones, connections that are drained all the time, and certificates that are
//! replaced. No honest call may fail, and the memory of the servers stays flat.
//!
//! `FLOORS_SOAK_MINUTES` says for how long. Without it the test takes a few seconds, which shows that it works; memory is
//! compared in runs of ten minutes and more. `FLOORS_TEST_SERVER` names another program than the one of this build.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

mod honest;
mod hostile;
mod target;
mod usage;

use std::{
    fs,
    sync::Arc,
    time::{Duration, Instant},
};

use target::Target;
use tempfile::TempDir;
use test_support::{
    Setup,
    tls::{Authority, Pair, TlsClient},
};
use usage::Samples;

/// The length of a run that only shows that the test works.
const SHORT_RUN: Duration = Duration::from_secs(8);
/// The shortest run whose memory is compared.
const COMPARABLE_RUN: Duration = Duration::from_secs(600);

/// Settings of both servers: connections that live for seconds, and caches that are full before the memory is compared.
fn setup(data: &TempDir) -> Setup {
    Setup::new(data).with("GRPC__MAX_CONNECTION_AGE", "4s").with("CACHE__LRU__CAPACITY", "4MiB")
}

#[tokio::test(flavor = "multi_thread")]
async fn honest_calls_succeed_and_memory_stays_flat() {
    let minutes = std::env::var("FLOORS_SOAK_MINUTES").ok().map(|minutes| minutes.parse().expect("a number"));
    let length = minutes.map_or(SHORT_RUN, |minutes: u64| Duration::from_secs(60 * minutes));
    // So that a short run replaces certificates and prints lines, too.
    let period = Duration::from_secs(60).min(length / 4);
    let end = Instant::now() + length;

    let authority = Authority::new();
    let pair = authority.certify("server");
    let (plain_data, tls_data) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    // Without LMDB, floors that the memory does not hold are generated again.
    let plain = setup(&plain_data).with("CACHE__CHAIN", r#"["lru"]"#).start();
    let tls = setup(&tls_data).with_tls(&pair).start();
    let targets = [
        Arc::new(Target::new("plaintext", plain, None, end)),
        Arc::new(Target::new("TLS", tls, Some(TlsClient::new(&authority, None)), end)),
    ];

    let mut tasks = Vec::new();
    for target in &targets {
        tasks.extend(honest::spawn(target));
        tasks.extend(hostile::spawn(target));
    }
    tasks.push(tokio::spawn(replace_certificates(authority, pair, Arc::clone(&targets[1]), period)));
    let samples = sample(&targets, length, period).await;
    for task in tasks {
        task.await.unwrap();
    }
    for (target, samples) in targets.into_iter().zip(samples) {
        samples.print(target.name);
        target.assert_served();
        if length >= COMPARABLE_RUN {
            samples.assert_flat(target.name);
        }
        let target = Arc::into_inner(target).expect("all clients have ended");
        let log = target.server.stop();
        assert!(!log.contains("panicked") && !log.contains("ERROR"), "{log}");
    }
}

/// Takes a sample of both servers each second, or more often in a short run, and prints a line for each in a period.
async fn sample(targets: &[Arc<Target>; 2], length: Duration, period: Duration) -> [Samples; 2] {
    let started = Instant::now();
    let mut samples = [Samples::default(), Samples::default()];
    let mut ticks = tokio::time::interval(Duration::from_secs(1).min(length / 50));
    let mut printed = started;
    while started.elapsed() < length {
        ticks.tick().await;
        for (target, samples) in targets.iter().zip(&mut samples) {
            samples.take(&target.server);
        }
        if printed.elapsed() >= period {
            printed = Instant::now();
            for (target, samples) in targets.iter().zip(&samples) {
                println!("{:>5} s, {}: {}, {}", started.elapsed().as_secs(), target.name, samples.last(), target);
            }
        }
    }
    samples
}

/// Replaces the files of the certificate once in a period.
async fn replace_certificates(authority: Authority, pair: Pair, target: Arc<Target>, period: Duration) {
    let mut number = 0;
    while target.pause(period).await {
        number += 1;
        let new = authority.certify("new");
        fs::copy(&new.cert, &pair.cert).unwrap();
        fs::copy(&new.key, &pair.key).unwrap();
        target.server.signal("-HUP");
        let client = target.tls.as_ref().unwrap();
        let deadline = Instant::now() + test_support::TIMEOUT;
        while !client.connect(&target.server).await.is_ok_and(|stream| new.is_of(&stream)) {
            assert!(Instant::now() < deadline, "certificate {number} is not used");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        target.count(|counts| &counts.certificates);
    }
}
