//! Budgets of memory under 200 addresses that hold what they can: callers with a token get all of their calls, and no
//! stranger is shut out.

use std::iter;

use floor_proto::v1::BatchGetFloorsRequest;
use futures_util::future::try_join_all;
use tempfile::TempDir;
use test_support::{Server, Setup, http2::RawHttp2, spec};
use tokio::task::block_in_place;
use tonic::Request;

use super::{
    get,
    held_calls::Held,
    kinds::{BATCH, CHECK, GET_FLOOR, GRPC, WATCH, body},
    tokens::{GAME, entry, write_tokens},
};

const ADDRESSES: u8 = 200;
/// Calls of a gateway that wait for new floors at once.
const CALLS: u32 = 200;

/// A connection of each address, full of calls of the next kind.
fn hold(server: &Server, kinds: &[Held]) -> Vec<RawHttp2> {
    let sources = (1..=ADDRESSES).map(|last| format!("127.0.2.{last}"));
    let held = sources.zip(kinds.iter().cycle());
    block_in_place(|| held.map(|(source, held)| held.hold(server, &source, None)).collect())
}

fn start(data: &TempDir) -> Setup {
    Setup::new(data).with("GENERATION__PREFETCH", "false").with("GENERATION__THREADS", "1")
}

/// `message`, from a caller with the token.
fn with_token<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("authorization", format!("Bearer {GAME}").parse().unwrap());
    request
}

/// Expects that a client of its own is told about the server's health.
fn assert_checks(server: &Server) {
    let mut peer = block_in_place(|| RawHttp2::connect_from("127.0.3.1", server, 1 << 16));
    let message = RawHttp2::frame(RawHttp2::DATA, RawHttp2::LAST, 1, &body(GRPC, CHECK));
    peer.send(&[RawHttp2::headers(CHECK, 1, &[]), message].concat());
    let frames = iter::from_fn(|| (peer.responses == 0).then(|| peer.read_frame()));
    // An error has no data.
    assert!(frames.into_iter().any(|frame| frame.kind == RawHttp2::DATA), "a stranger's check is refused");
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_with_a_token_get_all_calls_whatever_strangers_hold() {
    let data = TempDir::new().unwrap();
    let tokens = write_tokens(&data, &entry("game", GAME, ""));
    let server = start(&data).with("AUTH__TOKENS_FILE", &tokens.display().to_string()).start();
    let held = hold(
        &server,
        &[
            Held::unread((WATCH, GRPC)),
            Held::unread((CHECK, GRPC)),
            Held::new("a head", (GET_FLOOR, GRPC), Vec::new()),
            Held::new("what nothing serves", ("/nothing", "text/plain"), vec![b' '; 1000]),
        ],
    );
    assert!(server.refusals("watches") > 0.0, "the pool of watches is full");
    let client = server.client().await;
    let call = |number| {
        let mut client = client.clone();
        async move { client.get_floor(with_token(get(1, number))).await }
    };
    try_join_all((1..=CALLS).map(call)).await.expect("every call of the gateway is answered");
    let specs = (1..=100).map(|number| spec(1, number)).collect();
    client.clone().batch_get_floors(with_token(BatchGetFloorsRequest { specs })).await.expect("a batch of hits");
    assert_checks(&server);
    drop(held);
}

#[tokio::test(flavor = "multi_thread")]
async fn watches_take_nothing_from_calls_that_wait_for_floors() {
    let data = TempDir::new().unwrap();
    let server = start(&data).start();
    let held = hold(&server, &[Held::unread((WATCH, GRPC))]);
    assert!(server.refusals("watches") > 0.0, "the pool of watches is full");
    let client = server.client().await;
    let call = |number| {
        let mut client = client.clone();
        async move { client.get_floor(get(1, number)).await }
    };
    try_join_all((1..=CALLS).map(call)).await.expect("every call of the gateway is answered");
    assert_checks(&server);
    drop(held);
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_nobody_reads_shut_out_no_single_call() {
    let data = TempDir::new().unwrap();
    let server = start(&data).start();
    let held = hold(&server, &[Held::unread((GET_FLOOR, GRPC)), Held::unread((BATCH, GRPC))]);
    assert!(server.refusals("unsent") > 0.0, "the budget is used up");
    let mut client = server.client_from("127.0.3.2").await;
    for number in 1..=50 {
        client.get_floor(get(1, number)).await.expect("a single call is answered");
    }
    drop(held);
}
