//! What a client that renews the keys of its TLS connections without a pause does to the latency of another one.

use std::{
    io::Write as _,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;
use floor_proto::v1::GetFloorRequest;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http2::SendRequest;
use rustix::{process::setpriority_process, thread::gettid};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::{
    harness::{
        Server, Setup, framed,
        http2::{LARGE_WINDOW, RawHttp2},
        spec,
        tls::{Authority, TlsClient},
    },
    in_memory,
    neighbour::{PACE, percentile, report, turn},
};

/// Connections over which keys are renewed at once.
const CONNECTIONS: usize = 4;
/// Renewals that are sent in one write: 28 bytes each.
const AT_ONCE: usize = 500;

/// As `another_client_is_answered_beside_every_input`.
#[test]
fn another_client_is_answered_beside_renewals_of_tls_keys() {
    let (data, authority) = (TempDir::new().unwrap(), Authority::new());
    let server = in_memory(Setup::new(&data)).with_tls(&authority.certify("server")).start();
    let client = TlsClient::new(&authority, None);
    // The other client, and its runtime.
    let runtime = Runtime::new().unwrap();
    let mut other = runtime.block_on(client.http2(&server));
    let mut p99 = || runtime.block_on(p99(&mut other, &server, turn()));
    let alone = p99();
    let (is_over, renewals) = (AtomicBool::new(false), AtomicU64::new(0));
    let (beside, rate) = thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(|| renew_keys(&client, &server, &is_over, &renewals));
        }
        thread::sleep(turn() / 10);
        let (before, started) = (renewals.load(Relaxed), Instant::now());
        let beside = p99();
        let rate = (renewals.load(Relaxed) - before) as f64 / started.elapsed().as_secs_f64();
        is_over.store(true, Relaxed);
        (beside, rate as u64)
    });
    report(&format!("TLS: KeyUpdate, {CONNECTIONS} connections"), alone, beside, rate);
}

/// Renews keys until `is_over`.
fn renew_keys(client: &TlsClient, server: &Server, is_over: &AtomicBool, renewals: &AtomicU64) {
    setpriority_process(Some(gettid()), 19).unwrap();
    let runtime = Runtime::new().unwrap();
    let (stream, mut tls) = runtime.block_on(client.connect(server)).unwrap().into_inner();
    let mut stream = stream.into_std().unwrap();
    stream.set_nonblocking(false).unwrap();
    tls.writer().write_all(&RawHttp2::preface(LARGE_WINDOW)).unwrap();
    while !is_over.load(Relaxed) {
        (0..AT_ONCE).for_each(|_| tls.refresh_traffic_keys().unwrap());
        while tls.wants_write() {
            tls.write_tls(&mut stream).unwrap();
        }
        renewals.fetch_add(AT_ONCE as u64, Relaxed);
    }
}

/// The 99th percentile of the latencies of calls for a floor in memory, over `time`.
async fn p99(client: &mut SendRequest<Full<Bytes>>, server: &Server, time: Duration) -> Duration {
    let (mut latencies, started) = (Vec::new(), Instant::now());
    while started.elapsed() < time {
        tokio::time::sleep(PACE).await;
        let request =
            server.request("GetFloor", &[]).body(framed(&GetFloorRequest { spec: Some(spec(42, 1)) })).unwrap();
        let sent = Instant::now();
        let response = client.send_request(request).await.unwrap();
        let body = response.into_body().collect().await.unwrap();
        latencies.push(sent.elapsed());
        assert!(!body.to_bytes().is_empty());
    }
    percentile(&mut latencies)
}
