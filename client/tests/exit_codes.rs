//! What floorctl says, and how it exits, without a server.

#![allow(clippy::unwrap_used)]

use std::{
    io::{BufRead as _, BufReader},
    net::TcpListener,
    process::{Command, Output, Stdio},
};

fn floorctl() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_floorctl"));
    command.env_remove("FLOORCTL_SERVER");
    command
}

fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = floorctl().args(arguments).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// An address where nothing listens: a port that was just free.
fn nowhere() -> String {
    format!("http://{}", TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap())
}

#[test]
fn usage_errors_exit_with_2() {
    for (arguments, said) in [
        (&["get", "--number", "seven"][..], "--number"),
        (&["get", "--size", "64"], "64x48"),
        (&["get", "--size", "64x64", "--width", "64"], "cannot be used with"),
        (&["get", "--kind", "dungeon"], "standard, keep, halls"),
        (&["batch"], "--numbers"),
        (&["purge"], "<FLOOR>"),
        (&["purge", "42/7", "--numbers", "1-2"], "cannot be used with"),
        (&["stats", "--ops", "https://127.0.0.1:50052"], "https://127.0.0.1:50052"),
        (&["batch", "--numbers", "5-2"], "write 2-5"),
        (&["render", "--plain", "--png", "x.png"], "cannot be used with"),
        (&["warm", "--deadline", "soon"], "--deadline"),
        (&["get", "42/7", "--number", "7"], "cannot be used with"),
        (&["get", "42"], "SEED/NUMBER"),
        (&["explain", "42/7:hut"], "\"hut\""),
        (&["explain", "42/0"], "floor number 0"),
        (&["explain", "42/7", "--runs", "0"], "--runs"),
        (&["search"], "--where"),
        (&["search", "--where", "loops > 1", "--seed", "1", "--seeds", "1-2"], "cannot be used with"),
        (&["search", "--where", "loops > 1", "--numbers", "0-9"], "floor number 0"),
        (&["search", "--where", "kind == cavrn"], "column 9: nothing is called `cavrn`; did you mean `cavern`?"),
        (&["search", "--where", "kind == cavrn"], "\n  kind == cavrn\n          ^^^^^\n"),
        (&["climb"], "climb"),
        (&[], "Usage"),
    ] {
        let (code, stdout, stderr) = run(arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(said), "{arguments:?} said: {stderr}");
        assert_eq!(stdout, "", "{arguments:?}");
    }
}

#[test]
fn an_address_that_is_none_is_a_usage_error() {
    for address in ["https://127.0.0.1:50051", "http://", "ftp://floors"] {
        let (code, _, stderr) = run(&["--server", address, "info"]);
        assert_eq!(code, Some(2), "{address}: {stderr}");
        assert!(stderr.contains(address), "{stderr}");
    }
}

#[test]
fn every_command_of_an_operator_exits_with_3_when_nothing_listens() {
    let ops = nowhere();
    for command in [&["purge", "42/7"][..], &["contains", "42/7"], &["stats"], &["compact"]] {
        let (code, stdout, stderr) = run(&[command, &["--ops", ops.as_str()][..]].concat());
        assert_eq!(code, Some(3), "{command:?}: {stderr}");
        assert!(stderr.contains(&ops) && stderr.contains("operations port"), "{stderr}");
        assert_eq!(stdout, "", "{command:?}");
    }
}

#[test]
fn every_command_that_connects_exits_with_3_when_nothing_listens() {
    let server = nowhere();
    for command in [
        &["get"][..],
        &["batch", "--numbers", "1"],
        &["stream"],
        &["render"],
        &["info"],
        &["tiers"],
        &["warm"],
        &["verify"],
        &["bench"],
    ] {
        let (code, stdout, stderr) = run(&[&["--server", &server], command].concat());
        assert_eq!(code, Some(3), "{command:?}: {stderr}");
        assert!(stderr.contains(&server) && stderr.contains("refused"), "{command:?} said: {stderr}");
        assert!(stderr.contains("cargo run --release"), "{command:?} said: {stderr}");
        assert_eq!(stdout, "", "{command:?}");
    }
}

#[test]
fn the_server_may_stand_in_the_environment() {
    let server = nowhere();
    let output = floorctl().arg("info").env("FLOORCTL_SERVER", &server).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8(output.stderr).unwrap().contains(&server));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child =
        floorctl().args(["completions", "bash"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    let mut reader = BufReader::with_capacity(64, child.stdout.take().unwrap());
    reader.read_line(&mut first).unwrap();
    drop(reader);
    let output = child.wait_with_output().unwrap();
    assert_eq!(first, "_floorctl() {\n");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn every_command_has_help_with_an_example() {
    for command in [
        "get",
        "batch",
        "stream",
        "render",
        "info",
        "tiers",
        "warm",
        "verify",
        "bench",
        "completions",
        "diff",
        "explain",
        "search",
    ] {
        let (code, stdout, _) = run(&[command, "--help"]);
        assert_eq!(code, Some(0), "{command}");
        assert!(stdout.contains(&format!("  floorctl {command}")), "{command} shows no example:\n{stdout}");
    }
}

#[test]
fn explain_needs_no_server() {
    let server = nowhere();
    let (code, stdout, stderr) = run(&["--server", &server, "explain", "42/7:standard@48x48", "--runs", "1"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert!(stdout.starts_with("42/7:standard@48x48: "), "{stdout}");
    for part in ["attempt 1", "\n monsters ", "lock 1 at (", "valid: every rule holds"] {
        assert!(stdout.contains(part), "no {part:?} in:\n{stdout}");
    }
    let (code, stdout, _) = run(&["--server", &server, "explain", "42/7:standard@48x48", "--json"]);
    assert_eq!(code, Some(0));
    assert!(stdout.contains("\"server_generator_version\": null"), "{stdout}");
}

#[test]
fn search_prints_matches_in_order_and_stops_at_the_limit() {
    let search = ["search", "--size", "32x32", "--kind", "standard", "--numbers", "1-40", "--where"];
    let (code, all, stderr) = run(&[&search[..], &["rooms >= 2 && number % 3 == 0"]].concat());
    assert_eq!(code, Some(0), "{stderr}");
    let numbers = all.lines().map(|line| line.split(['/', ':']).nth(1).unwrap().parse::<u32>().unwrap());
    assert_eq!(numbers.collect::<Vec<_>>(), (1..=40).filter(|number| number % 3 == 0).collect::<Vec<_>>(), "{all}");
    assert!(all.starts_with("0/3:standard@32x32  number 3  rooms "), "{all}");
    assert!(stderr.starts_with("13 matches in 40 floors, 40 of them generated, in "), "{stderr}");
    let (_, two, _) = run(&[&search[..], &["rooms >= 2 && number % 3 == 0", "--limit", "2"]].concat());
    assert_eq!(two, all.lines().take(2).map(|line| format!("{line}\n")).collect::<String>());
}

#[test]
fn a_search_that_finds_nothing_exits_with_1() {
    let (code, stdout, stderr) = run(&["search", "--kind", "maze", "--where", "kind == cavern && loops > 0"]);
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert!(stderr.starts_with("0 matches in 1,000 floors, 0 of them generated"), "{stderr}");
}

#[test]
fn search_as_json_tells_every_fact() {
    let (code, stdout, _) = run(&["search", "--seeds", "7-9", "--size", "32x32", "--where", "seed == 8", "--json"]);
    assert_eq!(code, Some(0));
    let start = "{\"floor\":\"8/1:";
    assert!(stdout.starts_with(start) && stdout.lines().count() == 1, "{stdout}");
    for part in ["\"seed\":\"8\"", "\"number\":1,", "\"theme\":\"crypt\"", "\"difficulty\":"] {
        assert!(stdout.contains(part), "no {part} in {stdout}");
    }
}
