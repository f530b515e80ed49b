//! Callers that ask for a trace with every call.

use std::{net::TcpListener, time::Instant};

use tempfile::TempDir;
use test_support::Setup;
use tonic::Request;

use crate::get;

const CALLS: u32 = 3000;
/// Calls that are traced in a second.
const TRACED: u32 = 100;

#[tokio::test]
async fn a_caller_cannot_have_every_call_traced() {
    let data = TempDir::new().unwrap();
    // Closed when the listener is dropped, so that no trace is taken.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server =
        Setup::new(&data).with("TRACE__ENDPOINT", &format!("http://{closed}")).with("TRACE__SAMPLE", "0").start();
    let mut client = server.client().await;
    // Longer than what is kept of it.
    let state = format!("vendor={}", "x".repeat(8000));
    let started = Instant::now();
    for call in 1..=CALLS {
        let mut request = Request::new(get(1, 1));
        // Another trace each time.
        let parent = format!("00-{call:032x}-b7ad6b7169203331-01");
        request.metadata_mut().insert("traceparent", parent.parse().unwrap());
        request.metadata_mut().insert("tracestate", state.parse().unwrap());
        client.get_floor(request).await.expect("the call itself is answered");
    }
    // The windows that can have begun meanwhile, and one for the rest of a second.
    let windows = u32::try_from(started.elapsed().as_secs()).unwrap() + 2;
    let limited = server.figure("traced calls, limited");
    let most = f64::from(windows * TRACED);
    assert!(
        limited < f64::from(CALLS) && limited >= f64::from(CALLS) - most,
        "{limited} were not traced, {most} may be"
    );
    server.stop();
}
