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
        (&["batch", "--numbers", "5-2"], "write 2-5"),
        (&["render", "--plain", "--png", "x.png"], "cannot be used with"),
        (&["warm", "--deadline", "soon"], "--deadline"),
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
    for command in ["get", "batch", "stream", "render", "info", "tiers", "warm", "verify", "bench", "completions"] {
        let (code, stdout, _) = run(&[command, "--help"]);
        assert_eq!(code, Some(0), "{command}");
        assert!(stdout.contains(&format!("  floorctl {command}")), "{command} shows no example:\n{stdout}");
    }
}
