//! Logs: their forms, their filter while the server runs, the access log, its limit and that of libraries, and what a
//! failing tier logs.
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

use std::{
    env, fs,
    net::TcpListener,
    process::Command,
    time::{Duration, Instant},
};

use bevy_server::{config::Config, logging};
use floor_proto::v1::{BatchGetFloorsRequest, GetFloorRequest};
use serde_json::Value;
use tempfile::TempDir;
use test_support::{Server, Setup, TIMEOUT, http2::RawHttp2, spec, wait_until};
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
    let limits = lines.iter().find(|line| line["message"] == "limits of the gRPC port").unwrap();
    assert_eq!(limits["per_address"], 256);
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
async fn sighup_changes_the_access_log() {
    let data = TempDir::new().unwrap();
    let file = data.path().join("floors.toml");
    fs::write(&file, "").unwrap();
    let server = Setup::new(&data).with("LOG__FORMAT", "json").arg("--config").arg(&file).start();
    refused_call(&server).await;
    for (reloads, text) in [(1, "[log]\naccess = 1000000\n"), (2, "")] {
        fs::write(&file, text).unwrap();
        server.signal("-HUP");
        let applied = "\"applied\":\"log.access\"";
        wait_until("the reload is logged", || server.log().matches(applied).count() == reloads);
        refused_call(&server).await;
    }
    let log = server.stop();
    assert_eq!(access_lines(&log).len(), 1, "{log}");
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

/// The lines a second that the access log has for failed calls.
const FAILED_LINES: u64 = 100;

#[test]
fn a_client_that_calls_wrongly_all_the_time_does_not_fill_the_access_log() {
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("LOG__FORMAT", "json").with("LOG__ACCESS", "1").start();
    let wrong = GetFloorRequest { spec: Some(spec(1, 0)) };
    let started = Instant::now();
    let mut peer = RawHttp2::connect(&server);
    let (mut calls, mut suppressed) = (0_u32, 0_u64);
    // The first line of a second says how many calls the one before has suppressed.
    while suppressed == 0 {
        assert!(started.elapsed() < TIMEOUT, "no line says that calls were suppressed, after {calls} calls");
        let frames = (calls..calls + 100).map(|call| RawHttp2::call("GetFloor", 2 * call + 1, &[], &wrong));
        peer.send(&frames.collect::<Vec<_>>().concat());
        calls += 100;
        while peer.responses < calls {
            peer.read_frame();
        }
        suppressed = access_lines(&server.log()).iter().filter_map(|line| line["suppressed"].as_u64()).sum();
    }
    let log = server.stop();
    let lines = access_lines(&log).len() as u64;
    // As many windows as began meanwhile.
    let most = FAILED_LINES * (started.elapsed() + Duration::from_secs(2)).as_secs();
    assert!((FAILED_LINES..=most).contains(&lines), "{lines} lines for {calls} calls");
}

/// Set in the child process that logs as a library does.
const NOISY: &str = "FLOORS_TEST_NOISY";

/// The child process: it logs as a library and as the server.
#[test]
fn the_noisy_process() {
    if env::var_os(NOISY).is_none() {
        return;
    }
    let _log = logging::install(&Config::from_toml("").unwrap().log);
    for _ in 0..1000 {
        tracing::warn!(target: "noisy::connection", "a library warns");
        tracing::warn!(target: "bevy_server::noisy", "the server warns");
    }
}

#[test]
fn a_library_that_warns_all_the_time_does_not_fill_the_log() {
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["--exact", "the_noisy_process"]).env(NOISY, "yes").env("NO_COLOR", "1").env_remove("RUST_LOG");
    let output = child.output().unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    let count = |text: &str| log.lines().filter(|line| line.contains(text)).count();
    assert!(output.status.success(), "{log}");
    assert_eq!(count("the server warns"), 1000, "only libraries are limited");
    // A machine that is stopped meanwhile needs a second window.
    assert!([10, 20].contains(&count("a library warns")), "{log}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_tier_whose_writes_fail_is_warned_of_once() {
    const WARNING: &str = "writes to the tier fail; it does not store new values";
    const BATCH: u32 = 100;
    let data = TempDir::new().unwrap();
    let server =
        Setup::with_file_size(1024, &data).with("CACHE__BYPASS", "off").with("GENERATION__PREFETCH", "false").start();
    let mut client = server.client().await;
    let mut numbers = 1..=50 * BATCH;
    while !server.log().contains(WARNING) {
        let specs: Vec<_> = numbers.by_ref().take(BATCH as usize).map(|number| spec(1, number)).collect();
        assert!(!specs.is_empty(), "the file has room for all: {}", server.log());
        client.batch_get_floors(BatchGetFloorsRequest { specs }).await.expect("calls are answered all the same");
    }
    let log = server.stop();
    let warnings: Vec<_> = log.lines().filter(|line| line.contains(WARNING)).collect();
    let [warning] = warnings[..] else { panic!("{log}") };
    assert!(warning.contains("tier=\"lmdb\"") && warning.contains("error="), "{warning}");
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
        .with("GENERATION__PREFETCH", "false")
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
