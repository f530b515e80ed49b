//! Logs: their forms, their filter while the server runs, the access log, and what a failing tier logs.
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

mod harness;

use std::{fs, net::TcpListener};

use floor_proto::v1::GetFloorRequest;
use harness::{Server, Setup, spec, wait_until};
use serde_json::Value;
use tempfile::TempDir;
use tonic::Code;

/// Asks for floor 0, which is refused and logged at debug.
async fn refused_call(server: &Server) {
    let status = server.client().await.get_floor(GetFloorRequest { spec: Some(spec(1, 0)) }).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
}

async fn call(server: &Server, number: u32) {
    server.client().await.get_floor(GetFloorRequest { spec: Some(spec(1, number)) }).await.unwrap();
}

fn refusals(server: &Server) -> usize {
    server.log().lines().filter(|line| line.contains(" refused ")).count()
}

/// The lines of a log in JSON.
fn json_lines(log: &str) -> Vec<Value> {
    log.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

/// The lines of the access log in a log in JSON.
fn access_lines(log: &str) -> Vec<Value> {
    json_lines(log).into_iter().filter(|line| line["target"] == "floors::access").collect()
}

#[tokio::test]
async fn json_lines_have_flat_fields() {
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("LOG__FORMAT", "json").start();
    call(&server, 1).await;
    let log = server.stop();
    let lines = json_lines(&log);
    for line in &lines {
        for field in ["timestamp", "level", "target", "message"] {
            assert!(line[field].is_string(), "{field}: {line}");
        }
    }
    let start = lines.iter().find(|line| line["message"] == "floor server starts").unwrap();
    assert_eq!(start["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(start["chain"], "lru,lmdb");
    for port in ["grpc", "ops"] {
        assert!(start[port].as_str().unwrap().starts_with("127.0.0.1:"), "{start}");
    }
    assert!(lines.iter().any(|line| line["message"] == "stopped" && line["complete"] == true), "{log}");
}

#[tokio::test]
async fn an_operator_changes_the_filter_of_a_running_server() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    refused_call(&server).await;
    let (status, body) = server.post("/log-level?filter=info,bevy_server=debug", "");
    assert_eq!((status, body.trim()), (200, r#"{"filter":"info,bevy_server=debug"}"#));
    refused_call(&server).await;
    wait_until("the refusal is logged", || refusals(&server) == 1);
    assert_eq!(server.post("/log-level?filter=", "").0, 200);
    refused_call(&server).await;
    for (query, expected) in
        [("", "write ?filter="), ("?filter=inof", "\"inof\" is no level"), ("?level=debug", "?filter=")]
    {
        let (status, body) = server.post(&format!("/log-level{query}"), "");
        assert_eq!((status, body.contains(expected)), (400, true), "{query}: {body}");
    }
    assert_eq!(server.page("/log-level?filter=off").0, 405);
    assert_eq!(server.post("/log-level?filter=off", "origin: http://elsewhere.example\r\n").0, 403);
    let log = server.stop();
    assert_eq!(log.lines().filter(|line| line.contains(" refused ")).count(), 1, "{log}");
}

#[tokio::test]
async fn sighup_changes_the_filter() {
    let data = TempDir::new().unwrap();
    let file = data.path().join("floors.toml");
    fs::write(&file, "[log]\nlevel = \"info\"\n").unwrap();
    let server = Setup::new(&data).arg("--config").arg(&file).start();
    fs::write(&file, "[log]\nlevel = \"info,bevy_server::grpc=debug\"\n").unwrap();
    server.signal("-HUP");
    wait_until("the reload is logged", || server.log().contains("applied=log.level"));
    refused_call(&server).await;
    wait_until("the refusal is logged", || refusals(&server) == 1);
}

#[tokio::test]
async fn the_environment_wins_over_the_configuration() {
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("LOG__LEVEL", "debug").env("RUST_LOG", "info").start();
    refused_call(&server).await;
    server.signal("-HUP");
    wait_until("the reload is logged", || server.log().contains("the configuration was reloaded"));
    refused_call(&server).await;
    let log = server.stop();
    assert!(!log.contains(" refused "), "{log}");
    let server = Setup::new(&data).with("LOG__LEVEL", "bevy_server=debug").env("RUST_LOG", "inof").start();
    assert!(server.log().contains("RUST_LOG is wrong"), "{}", server.log());
}

#[tokio::test]
async fn the_access_log_has_calls_that_were_answered_and_those_that_failed() {
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("LOG__FORMAT", "json").with("LOG__ACCESS", "1").start();
    call(&server, 1).await;
    refused_call(&server).await;
    let log = server.stop();
    let lines = access_lines(&log);
    assert_eq!(lines.len(), 2, "{log}");
    let answered = &lines[0];
    for (field, expected) in [
        ("rpc", "GetFloor"),
        ("code", "OK"),
        ("client", "127.0.0.1"),
        ("served_by", "generated"),
        ("reason", "sampled"),
    ] {
        assert_eq!(answered[field], expected, "{field}");
    }
    assert_eq!(answered["floors"], 1);
    assert!(answered["bytes"].as_u64().unwrap() > 100 && answered["duration_us"].is_u64(), "{answered}");
    let failed = &lines[1];
    for (field, expected) in [("code", "INVALID_ARGUMENT"), ("served_by", ""), ("reason", "failed")] {
        assert_eq!(failed[field], expected, "{field}");
    }
    assert!(failed["floors"] == 0 && failed["bytes"] == 0, "{failed}");
}

#[tokio::test]
async fn the_access_log_is_a_sample_and_off_by_default() {
    let data = TempDir::new().unwrap();
    for (access, lines) in [("0", 0..1), ("1000000", 1..2)] {
        let server = Setup::new(&data).with("LOG__FORMAT", "json").with("LOG__ACCESS", access).start();
        for number in 1..=20 {
            call(&server, number).await;
        }
        refused_call(&server).await;
        let log = server.stop();
        assert!(lines.contains(&access_lines(&log).len()), "{access}: {log}");
    }
}

#[tokio::test]
async fn the_warning_of_a_breaker_has_the_last_error() {
    let data = TempDir::new().unwrap();
    // Closed when the listener is dropped, so that connections are refused.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = Setup::new(&data)
        .with("CACHE__CHAIN", "[\"lru\", \"redis\"]")
        .with("CACHE__REDIS__URL", &format!("redis://{closed}"))
        .with("CACHE__BYPASS", "off")
        .with("PREFETCH__AHEAD", "0")
        .start();
    for number in 1..=20 {
        call(&server, number).await;
    }
    let warning = |server: &Server| {
        let log = server.log();
        log.lines().find(|line| line.contains("the tier keeps failing")).map(str::to_owned)
    };
    wait_until("the breaker opens", || warning(&server).is_some());
    let warning = warning(&server).unwrap();
    assert!(warning.contains("tier=\"redis") && warning.contains("error="), "{warning}");
}
