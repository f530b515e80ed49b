//! Tokens: who may call, which client a token names, and what a reload changes on open connections.

use std::{fs, path::PathBuf, time::Duration};

use floor_proto::v1::{
    BatchGetFloorsRequest, FloorSpec, GetFloorRequest, GetPackRequest, GetServerInfoRequest, ListPacksRequest,
    SearchFloorsRequest, StreamFloorsRequest, View, floor_service_client::FloorServiceClient,
};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use test_support::{Server, Setup, TIMEOUT, frame, http1, spec, wait_until, web};
use tokio::time::{sleep, timeout};
use tonic::{Code, Request, Status, transport::Channel};
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};
use tonic_reflection::pb::v1::{
    ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
    server_reflection_request::MessageRequest,
};

use crate::{assert_tells_when_to_retry, burst, get, get_large};

pub(crate) const GAME: &str = "1fd5f5a768d30b9b6651dc6e35f6702a918fa8c2d2bbdc7826e975156cf1c401";
pub(crate) const OTHER: &str = "1c55d9b826e8dfa994370e306ae8dc2e849f3e003381dc848a0b95f782c0c0e3";
const OPERATOR: &str = "b4da21734593fc93dc34923a2ee7297ba2a02517e475f81c2ed95cce4aa66c18";

/// An entry of a tokens file.
pub(crate) fn entry(name: &str, secret: &str, rest: &str) -> String {
    let digest: String = Sha256::digest(secret).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("[[token]]\nname = \"{name}\"\nsha256 = \"{digest}\"\n{rest}\n")
}

/// Puts a tokens file in its place, as a whole.
pub(crate) fn write_tokens(data: &TempDir, text: &str) -> PathBuf {
    let (new, path) = (data.path().join("tokens.new"), data.path().join("tokens.toml"));
    fs::write(&new, text).unwrap();
    fs::rename(&new, &path).unwrap();
    path
}

/// A server whose callers need one of these tokens.
fn setup(data: &TempDir, text: &str) -> Setup {
    let path = write_tokens(data, text);
    Setup::new(data).with("GENERATION__PREFETCH", "false").with("AUTH__TOKENS_FILE", &path.display().to_string())
}

/// The players' token and the operators'.
fn two_tokens() -> String {
    entry("game", GAME, "") + &entry("operator", OPERATOR, "scopes = [\"operate\"]")
}

fn bearer(secret: &str) -> String {
    format!("Bearer {secret}")
}

fn with_token<T>(message: T, secret: &str) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("authorization", bearer(secret).parse().unwrap());
    request
}

async fn call(client: &mut FloorServiceClient<Channel>, secret: &str, wanted: GetFloorRequest) -> Result<(), Status> {
    client.get_floor(with_token(wanted, secret)).await.map(|_| ())
}

/// Waits until a call with this token ends with `code`.
async fn wait_for_code(client: &mut FloorServiceClient<Channel>, secret: &str, code: Code) {
    let reached = async {
        while call(client, secret, get(1, 1)).await.map_or_else(|status| status.code(), |()| Code::Ok) != code {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(TIMEOUT, reached).await.unwrap_or_else(|_| panic!("no call ends with {code:?}"));
}

#[tokio::test]
async fn a_token_of_the_scope_player_gets_that_view_alone() {
    let data = TempDir::new().unwrap();
    let server = setup(&data, &entry("game", GAME, "scopes = [\"player\"]")).start();
    let mut client = server.client().await;
    let in_view = |view: View, number| FloorSpec { view: view.into(), ..spec(1, number) };
    let wanted = |view| GetFloorRequest { spec: Some(in_view(view, 1)) };
    call(&mut client, GAME, wanted(View::Player)).await.unwrap();
    let specs = vec![in_view(View::Player, 1), in_view(View::Unspecified, 2)];
    let batch = client.batch_get_floors(with_token(BatchGetFloorsRequest { specs }, GAME)).await.unwrap_err();
    let first = Some(in_view(View::Unspecified, 1));
    let stream = client.stream_floors(with_token(StreamFloorsRequest { first, count: 2 }, GAME)).await.unwrap_err();
    let one = call(&mut client, GAME, wanted(View::Unspecified)).await.unwrap_err();
    let condition = "secrets > 0".to_owned();
    let whole =
        SearchFloorsRequest { first: Some(in_view(View::Unspecified, 1)), count: 9, condition, ..Default::default() };
    let search = client.search_floors(with_token(whole, GAME)).await.unwrap_err();
    for (refused, field) in [(one, "spec"), (batch, "specs[1]"), (stream, "first"), (search, "first")] {
        assert_eq!(refused.code(), Code::PermissionDenied);
        assert!(refused.message().contains(&format!("set {field}.view to VIEW_PLAYER")), "{}", refused.message());
    }
    let files = client.get_pack(with_token(GetPackRequest { pack: String::new() }, GAME)).await.unwrap_err();
    assert_eq!(files.code(), Code::PermissionDenied);
    client.list_packs(with_token(ListPacksRequest {}, GAME)).await.unwrap();
}

#[tokio::test]
async fn a_call_needs_a_valid_token_with_the_scope_and_no_log_shows_one() {
    let data = TempDir::new().unwrap();
    let server = setup(&data, &two_tokens()).env("RUST_LOG", "debug").start();
    let almost = &GAME[..GAME.len() - 1];
    for (authorization, status, challenge) in [
        (None, "16", Some("Bearer")),
        (Some(format!("Basic {GAME}")), "16", Some("Bearer")),
        (Some("Bearer".to_owned()), "16", Some("Bearer")),
        (Some(bearer(almost)), "16", Some("Bearer error=\"invalid_token\"")),
        (Some(bearer(&"x".repeat(8000))), "16", Some("Bearer error=\"invalid_token\"")),
        (Some(bearer(OPERATOR)), "7", Some("Bearer error=\"insufficient_scope\", scope=\"floors\"")),
        (Some(bearer(GAME)), "0", None),
        (Some(format!("bearer {GAME}")), "0", None),
    ] {
        let headers: Vec<_> = authorization.iter().map(|value| ("authorization", value.as_str())).collect();
        let answer = server.http2("GetFloor", &headers, &get(1, 1)).await;
        let shown = format!("{answer:?}");
        assert_eq!(answer["grpc-status"], status, "{shown}");
        assert_eq!(answer.get("www-authenticate").map(|value| value.to_str().unwrap()), challenge, "{shown}");
        assert!(!shown.contains(almost) && !shown.contains(OPERATOR), "{shown}");
    }
    assert_eq!((server.refusals("unauthenticated"), server.refusals("scope")), (5.0, 1.0));
    assert_eq!(server.calls("GetFloor", "UNAUTHENTICATED"), 5.0);
    assert_eq!(server.calls("GetFloor", "PERMISSION_DENIED"), 1.0);

    let first = Some(spec(1, 1));
    for answer in [
        server.http2("BatchGetFloors", &[], &BatchGetFloorsRequest { specs: vec![spec(1, 1)] }).await,
        server.http2("StreamFloors", &[], &StreamFloorsRequest { first, count: 1 }).await,
        server.http2("GetServerInfo", &[], &GetServerInfoRequest {}).await,
    ] {
        assert_eq!(answer["grpc-status"], "16", "every method needs a token: {answer:?}");
    }
    let info = server.client().await.get_server_info(with_token(GetServerInfoRequest {}, GAME)).await.unwrap();
    assert!(!info.into_inner().tiers.is_empty());

    let metrics = server.page("/metrics").1;
    let log = server.stop();
    assert!(log.contains("a call was refused: it has no token") && log.contains("address=127.0.0.1"), "{log}");
    for secret in [almost, OPERATOR] {
        assert!(!log.contains(secret) && !metrics.contains(secret), "a token is shown");
    }
}

#[tokio::test]
async fn the_access_log_has_the_name_of_the_token() {
    let data = TempDir::new().unwrap();
    let server = setup(&data, &two_tokens()).with("LOG__ACCESS", "1").with("LOG__FORMAT", "json").start();
    let mut client = server.client().await;
    call(&mut client, GAME, get(1, 1)).await.unwrap();
    call(&mut client, "unknown", get(1, 1)).await.unwrap_err();
    let log = server.stop();
    let lines = log.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let calls: Vec<_> = lines.filter(|line| line["target"] == "floors::access").collect();
    let [named, refused] = &calls[..] else { panic!("{log}") };
    assert_eq!((named["name"].as_str(), named["client"].as_str()), (Some("game"), Some("127.0.0.1")));
    assert!(refused.get("name").is_none() && refused["client"] == "127.0.0.1", "it proved no name: {refused}");
}

#[tokio::test]
async fn health_needs_no_token_and_reflection_does() {
    let data = TempDir::new().unwrap();
    let server = setup(&data, &two_tokens()).start();
    let channel = server.channel().await;
    let health = HealthClient::new(channel.clone()).check(HealthCheckRequest::default()).await.unwrap().into_inner();
    assert_eq!(health.status(), ServingStatus::Serving);

    let list = || {
        let message_request = Some(MessageRequest::ListServices(String::new()));
        futures_util::stream::iter([ServerReflectionRequest { message_request, ..Default::default() }])
    };
    let mut reflection = ServerReflectionClient::new(channel);
    let refused = reflection.server_reflection_info(list()).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated, "{refused:?}");
    let mut answers = reflection.server_reflection_info(with_token(list(), GAME)).await.unwrap().into_inner();
    assert!(answers.message().await.unwrap().is_some());
}

#[tokio::test]
async fn grpc_web_needs_a_token_and_a_preflight_does_not() {
    let data = TempDir::new().unwrap();
    let server = setup(&data, &two_tokens()).start();
    let preflight = "OPTIONS /floors.v1.FloorService/GetFloor HTTP/1.1\r\nhost: floors\r\n\
         origin: http://game.example\r\naccess-control-request-method: POST\r\n\
         access-control-request-headers: authorization,content-type\r\nconnection: close\r\n\r\n";
    let (status, head, _) = http1(&server.grpc, preflight, &[]);
    assert_eq!(status, 200);
    assert!(head.contains("access-control-allow-headers: authorization,content-type"), "{head}");
    assert_eq!(server.refusals("unauthenticated"), 0.0);

    let body = frame(&get(1, 1));
    let call = |headers: &str| http1(&server.grpc, &web("GetFloor", headers, body.len()), &body);
    let (status, head, _) = call("connection: close\r\n");
    assert_eq!((status, head.contains("grpc-status: 16")), (200, true), "{head}");
    assert!(head.contains("access-control-allow-origin: *"), "the page can read the status: {head}");
    let (status, head, _) = call(&format!("connection: close\r\nauthorization: {}\r\n", bearer(GAME)));
    assert_eq!((status, head.contains("floor-served-by: generated")), (200, true), "{head}");
    assert_eq!(server.refusals("unauthenticated"), 1.0);
}

#[tokio::test]
async fn a_reload_applies_to_connections_that_are_open() {
    let data = TempDir::new().unwrap();
    let server = setup(&data, &entry("game", GAME, "")).start();
    let mut client = server.client().await;
    call(&mut client, GAME, get(1, 1)).await.unwrap();
    assert_eq!(call(&mut client, OTHER, get(1, 1)).await.unwrap_err().code(), Code::Unauthenticated);

    write_tokens(&data, &entry("other", OTHER, ""));
    wait_for_code(&mut client, OTHER, Code::Ok).await;
    assert_eq!(call(&mut client, GAME, get(1, 1)).await.unwrap_err().code(), Code::Unauthenticated);

    write_tokens(&data, &format!("[[token]]\nname = \"wrong\"\nsha256 = \"{GAME}0\"\n"));
    wait_until("the wrong file is reported", || {
        server.log().contains("the tokens were not reloaded; the old ones stay in use")
    });
    assert!(server.log().contains("line 3: sha256 is wrong; write 64 hexadecimal digits"), "{}", server.log());
    call(&mut client, OTHER, get(1, 1)).await.expect("the old tokens stay");
    let reloaded = "floors_reload_success{what=\"tokens\"}";
    assert_eq!(server.metric(reloaded), 0.0);

    write_tokens(&data, &entry("other", OTHER, ""));
    wait_until("the end of the error is logged, although no token has changed", || {
        server.log().contains("the tokens file is right again and in use")
    });
    assert_eq!(server.metric(reloaded), 1.0);

    write_tokens(&data, &two_tokens());
    server.signal("-HUP");
    wait_for_code(&mut client, GAME, Code::Ok).await;
    assert_eq!(server.metric(reloaded), 1.0);
    assert_eq!(call(&mut client, OTHER, get(1, 1)).await.unwrap_err().code(), Code::Unauthenticated);
    wait_until("the reload is logged", || server.log().contains("the configuration was reloaded"));
    let log = server.stop();
    assert!([GAME, OTHER, OPERATOR].iter().all(|secret| !log.contains(secret)), "a token is shown: {log}");
}

/// Asks for as many floors as the token gets at once, and checks that it gets no other.
async fn use_up(client: &mut FloorServiceClient<Channel>, secret: &str, seed: u64) {
    client.batch_get_floors(with_token(burst(seed, 1), secret)).await.expect("the burst");
    assert_tells_when_to_retry(&call(client, secret, get_large(seed, 17)).await.unwrap_err());
    call(client, secret, get_large(seed, 1)).await.expect("a cached floor is free");
}

#[tokio::test]
async fn a_token_has_a_quota_of_its_own_from_any_address() {
    let data = TempDir::new().unwrap();
    let tokens =
        entry("game", GAME, "") + &entry("other", OTHER, "") + &entry("trusted", OPERATOR, "cells_per_second = 0");
    let server = setup(&data, &tokens).with("LIMITS__CELLS_PER_SECOND", "1").with("CACHE__CHAIN", r#"["lru"]"#).start();
    let mut client = server.client().await;
    use_up(&mut client, GAME, 1).await;
    use_up(&mut client, OTHER, 2).await;
    let mut elsewhere = server.client_from(crate::OTHER_ADDRESS).await;
    assert_tells_when_to_retry(&call(&mut elsewhere, GAME, get(3, 1)).await.unwrap_err());
    for number in 1..=3 {
        call(&mut client, OPERATOR, get_large(4, number)).await.expect("this token has no limit");
    }
    assert!(server.refusals("generation") >= 3.0);
    assert!(server.log().contains("a floor was refused client=\"game\""), "{}", server.log());
    assert!(server.metric("floors_generation_refusals_total{client=\"game\",reason=\"quota\"}") >= 2.0);
    let shown = server.page("/clients").1;
    assert!(["game", "other", "trusted"].iter().all(|name| shown.contains(&format!("\"name\":\"{name}\""))), "{shown}");
    assert!(!shown.contains("127.0.0."), "a client with a name has no address: {shown}");
}

#[tokio::test]
async fn a_quota_of_a_token_holds_without_a_common_one_and_changes_with_the_file() {
    let data = TempDir::new().unwrap();
    let server = setup(&data, &entry("game", GAME, "cells_per_second = 1")).with("CACHE__CHAIN", r#"["lru"]"#).start();
    let mut client = server.client().await;
    use_up(&mut client, GAME, 1).await;
    write_tokens(&data, &entry("game", GAME, ""));
    wait_until("the tokens are reloaded", || server.log().contains("the tokens were reloaded"));
    call(&mut client, GAME, get_large(1, 17)).await.expect("no limit any more");
}

#[tokio::test]
async fn behind_a_trusted_proxy_the_token_names_the_client() {
    let data = TempDir::new().unwrap();
    let tokens = entry("game", GAME, "cells_per_second = 1") + &entry("other", OTHER, "cells_per_second = 1");
    let server = setup(&data, &tokens)
        .with("GRPC__TRUSTED_PROXIES", r#"["127.0.0.1"]"#)
        .with("CACHE__CHAIN", r#"["lru"]"#)
        .start();
    let client = server.client().await;
    let from = async |address: &str, secret: &str, seed| {
        let mut request = with_token(burst(seed, 1), secret);
        request.metadata_mut().insert("x-forwarded-for", address.parse().unwrap());
        client.clone().batch_get_floors(request).await.map(|_| ()).map_err(|status| status.code())
    };
    assert_eq!(from("198.51.100.1", GAME, 1).await, Ok(()));
    assert_eq!(from("198.51.100.2", GAME, 2).await, Err(Code::ResourceExhausted), "the same client elsewhere");
    assert_eq!(from("198.51.100.1", OTHER, 3).await, Ok(()), "another client at the same address");
    assert_eq!(from("198.51.100.1", GAME, 4).await, Err(Code::ResourceExhausted));
    assert_eq!(from("198.51.100.1", OPERATOR, 5).await, Err(Code::Unauthenticated));
    wait_until("the refusal is logged with the address that the proxy names", || {
        server.log().lines().any(|line| line.contains("a call was refused") && line.contains("address=198.51.100.1"))
    });
}

#[tokio::test]
async fn a_client_with_a_token_may_skip_the_cache_if_authenticated_ones_may() {
    let data = TempDir::new().unwrap();
    let server = setup(&data, &two_tokens()).with("GRPC__NO_CACHE", "authenticated").start();
    let mut request = with_token(get(1, 1), GAME);
    request.metadata_mut().insert("cache-control", "no-cache".parse().unwrap());
    server.client().await.get_floor(request).await.expect("the client is authenticated");
    server.stop();

    let server = Setup::new(&data).with("GRPC__NO_CACHE", "authenticated").start();
    let mut request = with_token(get(1, 1), GAME);
    request.metadata_mut().insert("cache-control", "no-cache".parse().unwrap());
    let refused = server.client().await.get_floor(request).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied, "a server without tokens authenticates nobody: {refused:?}");
}

#[test]
fn operators_use_a_token_with_their_scope_or_their_own_file() {
    let data = TempDir::new().unwrap();
    let own = data.path().join("own");
    fs::write(&own, "hush\n").unwrap();
    let post =
        |server: &Server, secret: &str| server.post("/compact", &format!("authorization: {}\r\n", bearer(secret)));
    for own_file in [false, true] {
        let setup = setup(&data, &two_tokens());
        let setup = if own_file { setup.with("OPS__TOKEN_FILE", &own.display().to_string()) } else { setup };
        let server = setup.start();
        let (status, body) = server.post("/compact", "");
        assert_eq!((status, body.contains("auth.tokens_file")), (401, true), "on loopback too: {body}");
        assert_eq!(post(&server, OTHER).0, 401);
        let (status, body) = post(&server, GAME);
        assert_eq!((status, body.contains("the scope operate")), (403, true), "{body}");
        assert_eq!(post(&server, OPERATOR).0, 200);
        assert_eq!(post(&server, "hush").0, if own_file { 200 } else { 401 });
        assert_eq!(server.page("/stats").0, 200, "reading needs no token");
        assert_eq!(server.refusals("scope"), 1.0);
        assert_eq!(server.refusals("unauthenticated"), if own_file { 2.0 } else { 3.0 });
        let log = server.stop();
        assert!(!log.contains(OPERATOR) && !log.contains("hush"), "{log}");
        assert!(log.contains("operation operator=\"operator\" address=127.0.0.1 page=\"/compact\""), "{log}");
    }
}

#[test]
fn a_wrong_file_stops_the_start_and_the_check() {
    let data = TempDir::new().unwrap();
    let twice = entry("game", GAME, "") + &entry("game", OTHER, "scope = []");
    for check in [false, true] {
        let setup = setup(&data, &twice);
        let setup = if check { setup.arg("--check-config") } else { setup };
        let (code, _, errors) = setup.run();
        assert_eq!(code, Some(1), "{errors}");
        for expected in [
            "tokens.toml is wrong in 2 places:",
            "line 6: \"game\" is the name of another token (line 2) too",
            "line 8: scope is no key; the nearest is scopes",
        ] {
            assert!(errors.contains(expected), "{expected} is not in\n{errors}");
        }
    }
    let missing = Setup::new(&data).with("AUTH__TOKENS_FILE", "nowhere").arg("--check-config").run();
    assert!(missing.0 == Some(1) && missing.2.contains("auth.tokens_file: nowhere cannot be used"), "{}", missing.2);
    let (code, shown, warning) = setup(&data, "# nobody\n").arg("--check-config").run();
    assert_eq!(code, Some(0), "{warning}");
    assert!(shown.contains("[auth]\ntokens_file = \""), "{shown}");
    assert!(warning.contains("every call is refused"), "{warning}");
}

#[tokio::test]
async fn with_an_empty_file_nobody_may_call() {
    let data = TempDir::new().unwrap();
    let server = setup(&data, "").start();
    assert_eq!(call(&mut server.client().await, GAME, get(1, 1)).await.unwrap_err().code(), Code::Unauthenticated);
    assert!(server.log().contains("the tokens file has no token"), "{}", server.log());
    assert_eq!(server.page("/readyz").0, 200);
}
