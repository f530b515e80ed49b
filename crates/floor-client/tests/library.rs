//! Tests the client library against a scripted server: requests, metadata, retries and invalid responses.

#![allow(clippy::unwrap_used)]

mod scripted;

use std::time::{Duration, Instant};

use floor_client::{
    CallOptions, ClientError, FloorClient, FloorSpec, InvalidFloor,
    v1::{Floor, Point, SearchFloorsRequest, StartClimbRequest, Terrain},
};
use floor_proto::grid;
use tokio::net::TcpSocket;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};

use crate::scripted::{ScriptedServer, floor, with_content_hash};

fn spec(number: u32) -> FloorSpec {
    FloorSpec { seed: 42, number, ..FloorSpec::default() }
}

fn busy(wait: Option<Duration>) -> Status {
    let details = wait.map_or_else(ErrorDetails::new, |wait| ErrorDetails::with_retry_info(Some(wait)));
    Status::with_error_details(Code::ResourceExhausted, "the generation queue is full", details)
}

#[tokio::test]
async fn a_floor_is_returned_with_its_response_metadata() {
    let (_, client) = ScriptedServer::serve([Ok(vec![floor(7)])]).await;
    let answer = client.get(spec(7)).await.unwrap();
    assert_eq!(
        answer.value.spec(),
        &FloorSpec { seed: 42, number: 7, width: 16, height: 16, kind: 1, ..FloorSpec::default() }
    );
    assert_eq!(answer.value.terrain_at(1, 1), Some(Terrain::Floor));
    assert_eq!(answer.value.terrain_at(16, 0), None);
    assert_eq!(answer.value.room_at(3, 3).map(|room| room.id), Some(0));
    assert!(answer.value.passable(14, 14) && !answer.value.passable(0, 0));
    assert_eq!(answer.value.wire(), &floor(7));
    assert_eq!(answer.served.by.to_string(), "lmdb");
    assert_eq!(answer.served.coalesced, 1);
    assert_eq!(answer.served.server_time, Some(Duration::from_micros(9)));
    assert_eq!(answer.served.trace.len(), 2);
}

#[tokio::test]
async fn options_are_sent_as_metadata() {
    let (server, client) = ScriptedServer::serve([Ok(vec![floor(1)]), Ok(vec![floor(1)])]).await;
    client.get(spec(1)).await.unwrap();
    let options =
        CallOptions::default().no_cache(true).trace(true).generator_version(3).deadline(Duration::from_secs(30));
    client.with_options(options).get(spec(1)).await.unwrap();
    let requests = server.requests.lock().unwrap();
    let text = |call: usize, key: &str| requests[call].get(key).map(|value| value.to_str().unwrap().to_owned());
    for key in ["cache-control", "floor-trace", "floor-generator-version"] {
        assert_eq!(text(0, key), None, "{key}");
    }
    assert_eq!(text(1, "cache-control").as_deref(), Some("no-cache"));
    assert_eq!(text(1, "floor-trace").as_deref(), Some("1"));
    assert_eq!(text(1, "floor-generator-version").as_deref(), Some("3"));
    assert!(text(1, "grpc-timeout").is_some());
}

#[tokio::test]
async fn a_status_error_has_its_details() {
    let mut details = ErrorDetails::with_bad_request_violation("spec.number", "floor number 0 is not in 1 ..= 1000000");
    details.set_retry_info(Some(Duration::from_millis(70)));
    let status = Status::with_error_details(Code::InvalidArgument, "no such floor", details);
    let (server, client) = ScriptedServer::serve([Err(status)]).await;
    let error = client.with_options(CallOptions::default().retries(5)).get(spec(0)).await.unwrap_err();
    assert_eq!(error.to_string(), "INVALID_ARGUMENT: no such floor");
    assert_eq!(error.retry_after(), Some(Duration::from_millis(70)));
    let ClientError::Status(status) = error else { panic!("{error}") };
    assert_eq!(status.violations[0].field, "spec.number");
    assert_eq!(server.calls(), 1, "an invalid request is not retried");
}

#[tokio::test]
async fn what_may_be_repeated_is_retried_four_times_by_default() {
    let busy_now = || Err(busy(Some(Duration::from_millis(1))));
    let (server, client) = ScriptedServer::serve((0..5).map(|_| busy_now()).chain([Ok(vec![floor(1)])])).await;
    let error = client.get(spec(1)).await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    assert_eq!(server.calls(), 5);
}

#[tokio::test]
async fn a_refusal_that_names_no_wait_is_not_repeated() {
    let (server, client) = ScriptedServer::serve([Err(busy(None)), Ok(vec![floor(1)])]).await;
    let error = client.get(spec(1)).await.unwrap_err();
    assert!(!error.is_transient(), "{error}");
    assert_eq!(server.calls(), 1);
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_resumed_after_its_last_floor() {
    let replies = [Ok(vec![floor(5), floor(6)]), Err(Status::unavailable("draining")), Ok(vec![floor(7)])];
    let (server, client) = ScriptedServer::serve(replies).await;
    *server.break_off.lock().unwrap() = Some(Status::unavailable("draining"));
    let mut stream = client.stream(spec(5), 3).await.unwrap();
    for number in 5..8 {
        assert_eq!(stream.next().await.unwrap().unwrap().spec().number, number);
    }
    assert!(stream.next().await.unwrap().is_none());
    assert_eq!(server.calls(), 3);
}

#[tokio::test]
async fn a_stream_without_retries_ends_where_it_breaks_off() {
    let (server, client) = ScriptedServer::serve([Ok(vec![floor(5)]), Ok(vec![floor(6)])]).await;
    *server.break_off.lock().unwrap() = Some(Status::unavailable("draining"));
    let mut stream = client.with_options(CallOptions::default().retries(0)).stream(spec(5), 2).await.unwrap();
    stream.next().await.unwrap();
    assert!(stream.next().await.unwrap_err().is_transient());
    assert_eq!(server.calls(), 1);
}

/// Of `count` floors from 5 on.
fn search(count: u32) -> SearchFloorsRequest {
    SearchFloorsRequest { first: Some(spec(5)), count, condition: "rooms > 0".to_owned(), ..Default::default() }
}

#[tokio::test]
async fn a_search_goes_on_where_the_server_says() {
    let busy = Err(busy(Some(Duration::from_millis(1))));
    let (server, client) = ScriptedServer::serve([Ok(vec![floor(5), floor(6)]), busy, Ok(vec![floor(9)])]).await;
    let mut search = client.search(search(5));
    for number in [5, 6, 9] {
        assert_eq!(search.next().await.unwrap().unwrap().spec.unwrap().number, number);
    }
    assert!(search.next().await.unwrap().is_none());
    assert_eq!(server.calls(), 3);
}

#[tokio::test]
async fn a_search_ends_at_its_limit_or_an_answer_that_cannot_be() {
    let (server, client) = ScriptedServer::serve([Ok(vec![floor(5)]), Ok(vec![floor(6)]), Ok(vec![])]).await;
    let mut two = client.search(SearchFloorsRequest { limit: 2, ..search(5) });
    assert!(two.next().await.unwrap().is_some());
    let error = two.next().await.unwrap_err().to_string();
    assert!(error.contains("after 2 floors it goes on at 1"), "{error}");
    assert_eq!(server.calls(), 2);

    let (server, client) = ScriptedServer::serve([Ok(vec![floor(5), floor(6)]), Ok(vec![])]).await;
    let mut two = client.search(SearchFloorsRequest { limit: 2, ..search(5) });
    assert!(two.next().await.unwrap().is_some() && two.next().await.unwrap().is_some());
    assert!(two.next().await.unwrap().is_none());
    assert_eq!(server.calls(), 1);

    for outside in [4, 10] {
        let (_, client) = ScriptedServer::serve([Ok(vec![floor(outside)])]).await;
        let error = client.search(search(5)).next().await.unwrap_err();
        assert!(error.to_string().contains("outside the range"), "{error}");
    }
}

#[tokio::test]
async fn retries_wait_as_long_as_the_server_asks() {
    let wait = Duration::from_millis(120);
    let replies = [Err(busy(Some(wait))), Err(Status::unavailable("draining")), Ok(vec![floor(1)])];
    let (server, client) = ScriptedServer::serve(replies).await;
    let started = Instant::now();
    client.with_options(CallOptions::default().retries(2)).get(spec(1)).await.unwrap();
    assert_eq!(server.calls(), 3);
    assert!(started.elapsed() >= wait, "only {:?}", started.elapsed());
}

#[tokio::test]
async fn retries_end() {
    let busy_now = || Err(busy(Some(Duration::from_millis(1))));
    let (server, client) = ScriptedServer::serve([busy_now(), busy_now(), busy_now()]).await;
    let error = client.with_options(CallOptions::default().retries(2)).get(spec(1)).await.unwrap_err();
    assert!(error.to_string().starts_with("RESOURCE_EXHAUSTED"), "{error}");
    assert_eq!(server.calls(), 3);
}

#[tokio::test]
async fn no_retry_waits_beyond_the_deadline() {
    let (server, client) = ScriptedServer::serve([Err(busy(Some(Duration::from_secs(3600))))]).await;
    let options = CallOptions::default().retries(9).deadline(Duration::from_secs(5));
    let error = client.with_options(options).get(spec(1)).await.unwrap_err();
    assert!(error.to_string().starts_with("RESOURCE_EXHAUSTED"), "{error}");
    assert_eq!(server.calls(), 1);
}

#[tokio::test]
async fn a_deadline_ends_a_call_that_is_never_answered() {
    let (_, client) = ScriptedServer::serve([]).await;
    let options = CallOptions::default().deadline(Duration::from_millis(50));
    let error = client.with_options(options).get(spec(1)).await.unwrap_err();
    assert!(error.to_string().starts_with("DEADLINE_EXCEEDED"), "{error}");
}

#[tokio::test]
async fn invalid_floors_are_rejected() {
    let forged = Floor { generator_version: 9, ..floor(1) };
    let outside = with_content_hash(Floor { entry: Some(Point { x: 16, y: 0 }), ..floor(1) });
    let fallen = with_content_hash(Floor { landing: Some(Point { x: 3, y: 16 }), ..floor(1) });
    let no_grid = with_content_hash(Floor { region: None, ..floor(1) });
    let small = with_content_hash(Floor { region: Some(grid::encode(1, 1, &[0])), ..floor(1) });
    let terrain = with_content_hash(Floor { terrain: Some(grid::encode(16, 16, &[0; 256])), ..floor(1) });
    let replies = [forged, outside, fallen, no_grid, small, terrain, floor(2)];
    let (_, client) = ScriptedServer::serve(replies.map(|floor| Ok(vec![floor]))).await;
    let mut errors = Vec::new();
    for _ in 0..7 {
        let error = client.get(spec(1)).await.unwrap_err();
        let ClientError::Invalid { spec: requested, source } = error else { panic!("{error}") };
        assert_eq!(*requested, spec(1));
        errors.push(*source);
    }
    assert!(
        matches!(
            errors.as_slice(),
            [
                InvalidFloor::Hash(_),
                InvalidFloor::Outside { what: "entry", x: 16, y: 0 },
                InvalidFloor::Outside { what: "landing", x: 3, y: 16 },
                InvalidFloor::Missing("region"),
                InvalidFloor::Grid { grid: "region", .. },
                InvalidFloor::Terrain { x: 0, y: 0 },
                InvalidFloor::SpecMismatch { .. },
            ]
        ),
        "{errors:?}"
    );
}

#[tokio::test]
async fn a_batch_has_a_floor_for_each_spec() {
    let (_, client) = ScriptedServer::serve([Ok(vec![floor(1), floor(2)]), Ok(vec![floor(1)])]).await;
    let specs = [spec(1), spec(2)];
    let floors = client.batch(&specs).await.unwrap().value;
    assert_eq!(floors.iter().map(|floor| floor.spec().number).collect::<Vec<_>>(), [1, 2]);
    let error = client.batch(&specs).await.unwrap_err();
    assert_eq!(error.to_string(), "the answer to BatchGetFloors is malformed: 1 floors for 2 specs");
}

#[tokio::test]
async fn a_stream_is_whole_or_an_error() {
    let replies = [vec![floor(5), floor(6)], vec![floor(5)], vec![floor(5), floor(7)], vec![floor(5), floor(6)]];
    let (_, client) = ScriptedServer::serve(replies.map(Ok)).await;
    let mut whole = client.stream(spec(5), 2).await.unwrap();
    assert_eq!(whole.next().await.unwrap().unwrap().spec().number, 5);
    assert_eq!(whole.next().await.unwrap().unwrap().spec().number, 6);
    assert!(whole.next().await.unwrap().is_none());

    let mut short = client.stream(spec(5), 2).await.unwrap();
    short.next().await.unwrap();
    assert!(short.next().await.unwrap_err().to_string().contains("1 floors early"));

    let mut gap = client.stream(spec(5), 2).await.unwrap();
    gap.next().await.unwrap();
    assert!(matches!(gap.next().await, Err(ClientError::Invalid { .. })));

    let mut long = client.stream(spec(5), 1).await.unwrap();
    long.next().await.unwrap();
    assert!(long.next().await.unwrap_err().to_string().contains("more floors"));
}

#[tokio::test]
async fn a_stream_that_fails_at_its_first_message_is_retried() {
    let replies = [Err(busy(Some(Duration::from_millis(1)))), Ok(vec![floor(5)])];
    let (server, client) = ScriptedServer::serve(replies).await;
    let mut stream = client.with_options(CallOptions::default().retries(1)).stream(spec(5), 1).await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap().spec().number, 5);
    assert!(stream.next().await.unwrap().is_none());
    assert_eq!(server.calls(), 2);
}

#[tokio::test]
async fn unknown_terrain_is_unspecified_and_impassable() {
    let mut cells = [Terrain::Wall as u8; 256];
    cells[17] = 99;
    let newer = with_content_hash(Floor { terrain: Some(grid::encode(16, 16, &cells)), ..floor(1) });
    let (_, client) = ScriptedServer::serve([Ok(vec![newer])]).await;
    let floor = client.get(spec(1)).await.unwrap().value;
    assert_eq!(floor.terrain_at(1, 1), Some(Terrain::Unspecified));
    assert!(!floor.passable(1, 1), "unknown terrain is impassable");
}

#[tokio::test]
async fn the_landing_is_the_entry_where_a_floor_has_none() {
    let at = Point { x: 5, y: 6 };
    let newer = with_content_hash(Floor { landing: Some(at), ..floor(1) });
    let (_, client) = ScriptedServer::serve([Ok(vec![newer]), Ok(vec![floor(1)])]).await;
    assert_eq!(client.get(spec(1)).await.unwrap().value.landing(), at);
    let older = client.get(spec(1)).await.unwrap().value;
    assert_eq!(older.landing(), older.entry());
}

#[tokio::test]
async fn server_info_decodes() {
    let (_, client) = ScriptedServer::serve([Ok(Vec::new())]).await;
    assert_eq!(client.server_info().await.unwrap().version, "1.2.3");
}

#[tokio::test]
async fn the_files_of_a_pack_are_checked_against_its_hash() {
    let (_, client) = ScriptedServer::serve([Ok(Vec::new()), Ok(Vec::new())]).await;
    assert_eq!(client.packs().await.unwrap()[0].name, "mine");
    let error = client.pack("mine").await.unwrap_err();
    assert!(matches!(error, ClientError::Malformed { rpc: "GetPack", .. }), "{error}");
}

/// A floor of a sealed tower.
fn sealed(number: u32) -> Floor {
    with_content_hash(Floor { spec: Some(FloorSpec { seed: 0, ..floor(number).spec.unwrap() }), ..floor(number) })
}

#[tokio::test]
async fn a_climb_goes_from_floor_to_floor_with_its_receipts() {
    let busy = Err(busy(Some(Duration::from_millis(1))));
    let (server, client) = ScriptedServer::serve([Ok(vec![sealed(1)]), busy, Ok(vec![sealed(2)])]).await;
    let request = StartClimbRequest { tower: "spire".to_owned(), ..Default::default() };
    let first = client.start_climb(&request).await.unwrap().value;
    assert_eq!(first.floor.unwrap().wire(), &sealed(1));
    assert_eq!((first.climb.tower.as_str(), first.climb.floor), ("spire", 1));
    assert_eq!(first.rolls, u128::from_le_bytes([1; 16]));
    let second = client.submit_floor(&first.receipt, b"acts").await.unwrap().value;
    assert_eq!((second.climb.floor, second.floor.unwrap().spec().number), (2, 2));
    assert_eq!(server.calls(), 3);
}

#[tokio::test]
async fn a_revealed_floor_is_the_one_that_was_earned() {
    let forged = Floor { generator_version: 9, ..sealed(1) };
    let replies = [vec![], vec![forged], vec![floor(1)], vec![sealed(2)], vec![sealed(1)], vec![sealed(3)]];
    let (_, client) = ScriptedServer::serve(replies.map(Ok)).await;
    let request = StartClimbRequest { tower: "spire".to_owned(), ..Default::default() };
    let error = client.start_climb(&request).await.unwrap_err();
    assert_eq!(error.to_string(), "the answer to StartClimb is malformed: it has no floor");
    for part in ["content hash", "floor 1 of tower 0: ", "floor 2 of spire instead of floor 1 of spire"] {
        let error = client.start_climb(&request).await.unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    let first = client.start_climb(&request).await.unwrap().value;
    let error = client.submit_floor(&first.receipt, b"acts").await.unwrap_err().to_string();
    assert!(error.contains("floor 3 of spire instead of floor 2 of spire"), "{error}");
}

#[tokio::test]
async fn the_tower_of_the_day_has_the_name_of_a_tower() {
    let named = |tower: &str| Ok(vec![Floor { theme: tower.to_owned(), ..floor(1) }]);
    let (_, client) = ScriptedServer::serve([named("2026-11-29-ab"), named("../ab"), named("")]).await;
    assert_eq!(client.get_daily().await.unwrap().tower, "2026-11-29-ab");
    for _ in 0..2 {
        let error = client.get_daily().await.unwrap_err();
        assert!(matches!(error, ClientError::Malformed { rpc: "GetDaily", .. }), "{error}");
    }
}

/// A port that is bound and has no listener: connections are refused, and no other process gets the port.
fn closed_port() -> (TcpSocket, String) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = format!("http://{}", socket.local_addr().unwrap());
    (socket, address)
}

#[tokio::test]
async fn a_server_that_restarts_is_awaited() {
    let (socket, address) = closed_port();
    let client = FloorClient::connect_lazily(&address).unwrap().with_options(CallOptions::default().retries(1));
    let call = tokio::spawn(async move { client.get(spec(1)).await });
    // Longer than the first wait: the second attempt is refused, too, and does not count.
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(!call.is_finished());
    let replies = [Err(Status::unavailable("draining")), Ok(vec![floor(1)])];
    ScriptedServer::accept(socket.listen(8).unwrap(), replies, None);
    call.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unreachable() {
    let (_socket, address) = closed_port();
    let eager = FloorClient::connect(&address).await.unwrap_err();
    let client = FloorClient::connect_lazily(&address).unwrap();
    let lazy = client.with_options(CallOptions::default().retries(0)).get(spec(1)).await.unwrap_err();
    for error in [eager, lazy] {
        let ClientError::Unreachable { server, reason, .. } = &error else { panic!("{error:?}") };
        assert_eq!(server, &address);
        assert!(reason.contains("refused"), "{reason}");
        assert!(error.is_transient());
    }
}

#[tokio::test]
async fn an_address_of_another_scheme_is_refused() {
    for address in ["ftp://floors", "http://", ""] {
        let error = FloorClient::connect(address).await.unwrap_err();
        assert!(matches!(error, ClientError::Address { .. }), "{error}");
        assert!(error.to_string().contains("write http://host:port or https://host:port"), "{error}");
    }
}
