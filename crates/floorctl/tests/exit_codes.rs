//! Tests messages and exit codes of floorctl without a floor server.

#![allow(clippy::unwrap_used)]

#[path = "../../floor-client/tests/authority/mod.rs"]
#[expect(dead_code, reason = "this test signs nothing")]
mod authority;
#[path = "../../floor-client/tests/http2/mod.rs"]
mod http2;

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    process::{Command, Output, Stdio},
    thread,
    time::Duration,
};

use tokio::net::TcpSocket;

use crate::authority::Authority;

fn floorctl() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_floorctl"));
    command.env_remove("CARGO");
    for variable in ["SERVER", "OPS", "OPS_TOKEN_FILE", "CA", "CERT", "KEY", "SERVER_NAME", "TOKEN_FILE"] {
        command.env_remove(format!("FLOORCTL_{variable}"));
    }
    command
}

fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = floorctl().args(arguments).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// Every command, from the help.
fn commands() -> Vec<String> {
    let (_, help, _) = run(&["--help"]);
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).map(str::to_owned);
    let names = names.filter(|name| !name.is_empty() && name != "help").collect::<Vec<_>>();
    assert!(names.len() > 2, "no commands in:\n{help}");
    names
}

/// The commands that use a flag.
fn commands_with(flag: &str) -> Vec<String> {
    let uses = |command: &String| run(&[command, "--help"]).1.contains(&format!("  {flag} <"));
    let commands = commands().into_iter().filter(uses).collect::<Vec<_>>();
    assert!(!commands.is_empty(), "no command uses {flag}");
    commands
}

#[test]
fn no_password_of_a_url_is_printed() {
    const MARKER: &str = "hunter2";
    for url in [
        "http://me:hunter2@127.0.0.1:9",
        "http://me:p#hunter2@127.0.0.1:9",
        "http://me:p/hunter2@127.0.0.1:9",
        "me:hunter2@127.0.0.1:9",
        "http://me:hunter2",
        "http://127.0.0.1:9/?token=hunter2",
    ] {
        for (flag, command) in [("SERVER", &["tiers"][..]), ("OPS", &["stats"]), ("OPS", &["purge", "42/7", "--json"])]
        {
            let name = format!("--{}", flag.to_lowercase());
            let by_flag = [&[name.as_str(), url][..], command].concat();
            let by_variable = || floorctl().env(format!("FLOORCTL_{flag}"), url).args(command).output().unwrap();
            let help =
                || floorctl().env(format!("FLOORCTL_{flag}"), url).args([command[0], "--help"]).output().unwrap();
            for Output { stdout, stderr, .. } in [floorctl().args(&by_flag).output().unwrap(), by_variable(), help()] {
                let printed = [stdout, stderr].map(|text| String::from_utf8(text).unwrap()).concat();
                assert!(!printed.contains(MARKER), "{by_flag:?} prints {printed}");
            }
            let (code, _, error) = run(&by_flag);
            let is_refused = code == Some(2) && error.contains("http://host:port");
            assert!(is_refused || !url.contains(['@', '?']), "{by_flag:?}: {code:?} {error}");
        }
    }
}

/// The arguments without which clap refuses a command.
fn arguments_of(command: &str) -> &'static [&'static str] {
    match command {
        "batch" => &["--numbers", "1"],
        "diff" => &["42/7", "43/7"],
        "pack" => &["list"],
        "receipt" => &["verify", "tests/receipt.json"],
        "purge" | "contains" => &["42/7"],
        "export" => &["--to", "json"],
        "import" => &["Cargo.toml", "--output", "-"],
        "capacity" => &["--players", "10", "--floors-per-minute", "1", "--cached", "0.5"],
        _ => &[],
    }
}

/// An address that refuses connections while the caller keeps the socket. The socket is bound, so no other process gets
/// the port, and it does not listen.
fn closed_port() -> (TcpSocket, String) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = format!("http://{}", socket.local_addr().unwrap());
    (socket, address)
}

/// Files that the test below writes.
const CA: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/usage-ca.pem");
const TOKEN: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/usage-token");

/// Arguments, and what the error says.
const USAGE_ERRORS: &[(&[&str], &str)] = &[
    (&["get", "--number", "seven"], "--number"),
    (&["get", "--size", "64"], "64x48"),
    (&["get", "--size", "64x64", "--width", "64"], "cannot be used with"),
    (&["get", "--kind", "dungeon"], "standard, keep, halls"),
    (&["batch"], "--numbers"),
    (&["purge"], "<FLOOR|--numbers <LIST>|--tower <SEED>|--all|--of-pack <PACK>>"),
    (&["contains"], "<FLOOR|--numbers <LIST>>"),
    (&["warm", "--numbers", "1-2000000"], "2000000 is beyond floor 1,000,000, the last of a tower"),
    (&["verify", "--numbers", "1-2000000"], "'--numbers <LIST>'"),
    (&["search", "--where", "loops > 1", "--numbers", "1-2000000"], "beyond floor 1,000,000"),
    (&["purge", "--numbers", "1-2000000"], "beyond floor 1,000,000"),
    (&["contains", "--numbers", "0-9"], "floor number 0"),
    (&["batch", "--numbers", "1-300"], "a batch holds 1 to 256 floors, not 300"),
    (&["stream", "42/999999", "--count", "3"], "from floor 999,999 there are 2 floors, not 3"),
    (&["stream", "--count", "0"], "--count"),
    (&["get", "42/0"], "floor number 0"),
    (&["get", "--number", "1000001"], "beyond floor 1,000,000"),
    (&["get", "--size", "10x10"], "16 to 512 cells wide and high, not 10"),
    (&["get", "--width", "513"], "16 to 512 cells wide and high, not 513"),
    (&["get", "42/7:cavrn"], "did you mean cavern? The kinds are standard, keep, halls"),
    (&["get", "--seed", "-9223372036854775809"], "a number is -2^63 to 2^64 - 1"),
    (&["get", "--server", ""], "write http://host:port"),
    (&["search", "--where", "monsters > 4"], "did you mean `spawns`"),
    (&["search", "--where", "loops > 1", "--limit", "0"], "1 or more"),
    (&["--server", "http://127.0.0.1:1", "stats"], "--ops"),
    (&["purge", "42/7", "--server", "http://127.0.0.1:1"], "--ops"),
    (&["purge", "42/7", "--numbers", "1-2"], "cannot be used with"),
    (&["purge", "--tower", "42", "--numbers", "1-2"], "cannot be used with"),
    (&["purge", "--all", "--size", "64x64"], "cannot be used with"),
    (&["purge", "--tower", "42", "--pack", "mine"], "cannot be used with"),
    (&["purge", "--of-pack", "mine", "--all"], "cannot be used with"),
    (&["purge", "--of-pack", "Mine"], "a pack is NAME or NAME@HASH"),
    (&["stats", "--ops", "ftp://127.0.0.1:50052"], "ftp://127.0.0.1:50052"),
    (&["--ops", "ftp://127.0.0.1:50052", "stats"], "write http://host:port or https://host:port"),
    (&["info", "--server", "https://floors", "--ca", "/nowhere/ca.pem"], "--ca: /nowhere/ca.pem cannot be read"),
    (&["info", "--server", "https://floors", "--cert", "a.pem"], "--cert and --key go together"),
    (&["info", "--token-file", "/nowhere/token"], "--token-file: /nowhere/token cannot be read"),
    (&["info", "--ca", CA], "write https://host:port"),
    (&["info", "--server", "http://10.0.0.5:50051", "--token-file", TOKEN], "--allow-plaintext-token"),
    (&["compact", "--ops", "http://10.0.0.5:50052", "--ops-token-file", TOKEN], "--allow-plaintext-token"),
    (&["backup", "--tier", "../lmdb"], "write the name of a tier"),
    (&["stats", "--ops", "10.0.0.5:50052", "--token-file", TOKEN], "--allow-plaintext-token"),
    (&["--ops", "http://127.0.0.1:1", "get", "42/7"], "`get` does not ask"),
    (&["search", "--where", "loops > 1", "--ops", "http://127.0.0.1:1"], "`search` does not ask"),
    (&["batch", "--numbers", "5-2"], "write 2-5"),
    (&["render", "--plain", "--png", "x.png"], "cannot be used with"),
    (&["warm", "--deadline", "soon"], "--deadline"),
    (&["tiers", "--interval", "1s"], "--watch"),
    (&["tiers", "--watch", "--interval", "1ms"], "write 100ms or more"),
    (&["bench", "--rate", "0"], "'--rate <CALLS>'"),
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
    (&["receipt", "verify", "nowhere.json"], "there is no such file"),
    (&["receipt", "verify", "tests/receipt.json", "--public-key", "1:abc"], "a key has 64 hexadecimal digits"),
    (&["receipt", "verify", "tests/receipt.json", "--public-key", "256:abc"], "an id is a number of 1 to 255"),
    (&["climb"], "climb"),
    (&[], "Usage"),
];

#[test]
fn usage_errors_exit_with_2() {
    std::fs::write(CA, Authority::new().pem()).unwrap();
    std::fs::write(TOKEN, "hush\n").unwrap();
    for (arguments, expected) in USAGE_ERRORS {
        let (code, stdout, stderr) = run(arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(expected), "{arguments:?} said: {stderr}");
        assert_eq!(stdout, "", "{arguments:?}");
    }
}

#[test]
fn an_invalid_address_is_a_usage_error() {
    for address in ["http://", "https://", "ftp://floors"] {
        let (code, _, stderr) = run(&["--server", address, "info"]);
        assert_eq!(code, Some(2), "{address}: {stderr}");
        assert!(stderr.contains(address), "{stderr}");
    }
}

#[test]
fn every_command_of_an_operator_exits_with_3_when_nothing_listens() {
    let (_socket, ops) = closed_port();
    for command in commands_with("--ops") {
        let (code, stdout, stderr) =
            run(&[&[command.as_str(), "--ops", ops.as_str()][..], arguments_of(&command)].concat());
        assert_eq!(code, Some(3), "{command:?}: {stderr}");
        assert!(stderr.contains(&ops) && stderr.contains("operations port"), "{stderr}");
        assert!(stderr.contains("--ops URL or FLOORCTL_OPS") && !stderr.contains("--server"), "{stderr}");
        assert_eq!(stdout, "", "{command:?}");
    }
}

#[test]
fn capacity_exits_with_3_when_only_the_operations_port_answers() {
    let (_socket, server) = closed_port();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ops = format!("http://{}", listener.local_addr().unwrap());
    let listening = thread::spawn(move || read_request(&listener));
    let ports = ["capacity", "--ops", &ops, "--server", &server];
    let (code, stdout, stderr) = run(&[&ports[..], arguments_of("capacity")].concat());
    assert_eq!((code, stdout.as_str()), (Some(3), ""), "{stderr}");
    assert!(stderr.contains(&server) && stderr.contains("--server URL or FLOORCTL_SERVER"), "{stderr}");
    assert!(listening.join().unwrap().starts_with("GET /stats "));
}

#[test]
fn capacity_refuses_loads_that_cannot_be() {
    for (flag, value, expected) in [
        ("--cached", "1.5", "write a share from 0 to 1, e.g. 0.9, not \"1.5\""),
        ("--cached", "NaN", "write a share from 0 to 1"),
        ("--utilisation", "0", "write a number above 0"),
        ("--utilisation", "60", "write a share from 0 to 1"),
        ("--floors-per-minute", "-1", "write a number above 0"),
        ("--players", "0", "--players"),
        ("--size", "100", "64x48"),
        ("--cores", "0", "--cores"),
        ("--in-memory", "long", "--in-memory"),
    ] {
        let given = format!("{flag}={value}");
        let others = arguments_of("capacity").chunks(2).filter(|pair| pair[0] != flag).flatten().copied();
        let arguments = ["capacity", &given].into_iter().chain(others).collect::<Vec<_>>();
        let (code, _, stderr) = run(&arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(expected), "{arguments:?} said: {stderr}");
    }
}

#[test]
fn every_command_that_connects_exits_with_3_when_nothing_listens() {
    let (_socket, server) = closed_port();
    // `explain` needs no server, and `capacity` asks the operations port first.
    let others = ["explain", "capacity"];
    for command in commands_with("--server").into_iter().filter(|command| !others.contains(&command.as_str())) {
        let (code, stdout, stderr) =
            run(&[&["--server", server.as_str(), command.as_str()][..], arguments_of(&command)].concat());
        assert_eq!(code, Some(3), "{command:?}: {stderr}");
        assert!(stderr.contains(&server) && stderr.contains("refused"), "{command:?} said: {stderr}");
        assert!(stderr.contains("Start it with `bevy-server`"), "{command:?} said: {stderr}");
        assert_eq!(stdout, "", "{command:?}");
    }
}

#[test]
fn only_who_runs_floorctl_with_cargo_is_told_to_start_the_server_with_it() {
    let (_socket, address) = closed_port();
    for (command, flag) in [("info", "--server"), ("stats", "--ops")] {
        let output = floorctl().args([command, flag, &address]).env("CARGO", "cargo").output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains("Start it with `cargo run --release`"), "{stderr}");
        let (_, _, stderr) = run(&[command, flag, &address]);
        assert!(stderr.contains("Start it with `bevy-server`") && !stderr.contains("cargo"), "{stderr}");
    }
}

#[test]
fn the_server_address_is_read_from_the_environment() {
    let (_socket, server) = closed_port();
    let output = floorctl().arg("info").env("FLOORCTL_SERVER", &server).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8(output.stderr).unwrap().contains(&server));
}

/// Accepts one connection, reads the head of a request and answers with an empty document.
fn read_request(listener: &TcpListener) -> String {
    let (mut stream, _) = listener.accept().unwrap();
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() > 0 {
        head.extend(byte);
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n{\"tiers\":[]}").unwrap();
    String::from_utf8(head).unwrap()
}

#[test]
fn stats_asks_the_operations_port_and_not_the_server() {
    let (_socket, server) = closed_port();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ops = format!("http://{}", listener.local_addr().unwrap());
    let listening = thread::spawn(move || [(); 3].map(|()| read_request(&listener)));
    let output = floorctl().arg("stats").env("FLOORCTL_SERVER", &server).env("FLOORCTL_OPS", &ops).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    for arguments in [["stats", "--ops", ops.as_str()], ["--ops", ops.as_str(), "stats"]] {
        let output = floorctl().args(arguments).env("FLOORCTL_SERVER", &server).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
    for head in listening.join().unwrap() {
        assert!(head.starts_with("GET /stats HTTP/1.1"), "{head}");
    }
}

#[test]
fn the_token_of_calls_goes_to_the_operations_port_if_it_has_none_of_its_own() {
    let file = concat!(env!("CARGO_TARGET_TMPDIR"), "/players-token");
    std::fs::write(file, "hush\n").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ops = format!("http://{}", listener.local_addr().unwrap());
    let listening = thread::spawn(move || read_request(&listener));
    let (code, _, stderr) = run(&["stats", "--ops", &ops, "--token-file", file]);
    assert_eq!(code, Some(0), "{stderr}");
    let head = listening.join().unwrap();
    assert!(head.contains("authorization: Bearer hush\r\n"), "{head}");
}

#[test]
fn the_token_for_the_operations_port_comes_from_a_file() {
    let file = concat!(env!("CARGO_TARGET_TMPDIR"), "/ops-token");
    std::fs::write(file, "hush\nnot read\n").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ops = format!("http://{}", listener.local_addr().unwrap());
    let listening = thread::spawn(move || [(); 2].map(|()| read_request(&listener)));
    let (code, _, stderr) = run(&["compact", "--ops", &ops, "--ops-token-file", file]);
    assert_eq!(code, Some(0), "{stderr}");
    let output = floorctl().args(["compact", "--ops", &ops]).env("FLOORCTL_OPS_TOKEN_FILE", file).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    for head in listening.join().unwrap() {
        assert!(
            head.starts_with("POST /compact HTTP/1.1") && head.contains("authorization: Bearer hush\r\n"),
            "{head}"
        );
    }
    let (code, _, stderr) = run(&["compact", "--ops", &ops, "--ops-token-file", "nowhere"]);
    assert_eq!((code, stderr.contains("--ops-token-file: nowhere cannot be read")), (Some(2), true), "{stderr}");
    std::fs::write(file, "\n").unwrap();
    let (code, _, stderr) = run(&["compact", "--ops", &ops, "--ops-token-file", file]);
    assert_eq!((code, stderr.contains("has no token in its first line")), (Some(2), true), "{stderr}");
    let (code, _, stderr) = run(&["info", "--ops-token-file", file]);
    assert_eq!((code, stderr.contains("`info` does not ask it")), (Some(2), true), "{stderr}");
}

#[test]
fn a_silent_operations_port_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ops = format!("http://{}", listener.local_addr().unwrap());
    for command in commands_with("--ops") {
        let flags = [command.as_str(), "--ops", ops.as_str(), "--deadline", "100ms"];
        let (code, _, stderr) = run(&[&flags[..], arguments_of(&command)].concat());
        assert_eq!(code, Some(1), "{command:?}: {stderr}");
        assert!(stderr.contains("did not answer within 100ms"), "{stderr}");
    }
}

/// A port whose process accepts connections and says nothing, as one does that is stopped.
#[test]
fn a_server_that_is_stopped_is_given_up_after_3_seconds() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("http://{}", listener.local_addr().unwrap());
    let mut calls = vec![["--server", "info"], ["--server", "get"], ["--server", "warm"], ["--server", "verify"]];
    calls.extend([
        ["--ops", "stats"],
        ["--ops", "purge"],
        ["--ops", "contains"],
        ["--ops", "compact"],
        ["--ops", "backup"],
    ]);
    thread::scope(|scope| {
        for [flag, command] in calls {
            let silent = silent.as_str();
            scope.spawn(move || {
                let mut child = floorctl();
                child.args([flag, silent, command]).args(arguments_of(command)).stderr(Stdio::piped());
                let mut child = child.stdout(Stdio::piped()).spawn().unwrap();
                // A bound for a busy machine. Before, HTTP/2's pings took 15 s and the operations port had no bound.
                for _ in 0..120 {
                    if child.try_wait().unwrap().is_some() {
                        break;
                    }
                    thread::sleep(Duration::from_millis(100));
                }
                let _ = child.kill();
                let output = child.wait_with_output().unwrap();
                let stderr = String::from_utf8(output.stderr).unwrap();
                assert_eq!(output.status.code(), Some(3), "{command}: {stderr}");
                assert!(stderr.contains("is its process stopped?"), "{command}: {stderr}");
            });
        }
    });
}

/// Answers every request on the port with `body`.
fn answering(body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = BufReader::new(stream.try_clone().unwrap()).lines();
            while head.next().is_some_and(|line| !line.unwrap().is_empty()) {}
            write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
                .unwrap();
        }
    });
    address
}

#[test]
fn a_purge_prints_each_server_when_it_is_done_and_says_which_were_not() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("http://{}", listener.local_addr().unwrap());
    let (_socket, closed) = closed_port();
    for (arguments, answer, row) in [
        (&["--all"][..], r#"{"tiers": [{"tier": "lru", "done": true, "removed": 7}]}"#, "lru 7"),
        (&["42/7"], r#"{"floors": 1, "tiers": [{"tier": "lru", "done": true}]}"#, "Purged 1 floor from lru"),
    ] {
        let good = answering(answer);
        // The server that is silent is named first, and printed last.
        let ops = format!("{silent},{good},{closed}");
        let (code, stdout, stderr) = run(&[&["purge", "--ops", &ops][..], arguments].concat());
        assert_eq!(code, Some(1), "{stderr}");
        let rows: Vec<_> = stdout.lines().collect();
        assert!(rows.len() == 3 && rows[..2].contains(&format!("{good}: {row}").as_str()), "{stdout}");
        assert!(rows[2].starts_with(&format!("{silent}: ")) && rows[2].contains("is its process stopped?"), "{stdout}");
        let said =
            [format!("waiting for {silent} ("), "1 of 3 servers purged".to_owned(), silent.clone(), closed.clone()];
        assert!(said.iter().all(|said| stderr.contains(said)), "{stderr}");
        assert!(!stderr.contains(&good), "{stderr}");
        // Both ports may be named for a command that calls one of them.
        let (code, stdout, stderr) = run(&[&["--server", &closed, "--ops", &good, "purge"][..], arguments].concat());
        assert_eq!((code, stdout.contains(row)), (Some(0), true), "{stdout}{stderr}");
    }
}

#[test]
fn an_http_server_is_not_taken_for_a_floor_server() {
    let server = http2::answer(http2::NOT_FOUND, Vec::new(), true).to_string();
    let (code, _, stderr) = run(&["--server", &server, "--deadline", "20s", "info"]);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("is it the operations port? gRPC is on 50051"), "{stderr}");
}

#[test]
fn a_cause_is_printed_once() {
    let picture = concat!(env!("CARGO_TARGET_TMPDIR"), "/picture.png");
    std::fs::write(picture, b"\x89PNG\r\n\x1a\nand so on").unwrap();
    let (code, _, stderr) = run(&["diff", picture, picture]);
    assert_eq!((code, stderr.matches("Protobuf").count()), (Some(1), 1), "{stderr}");
}

/// Without a terminal, help is 100 columns wide. Each line but the last of a paragraph must be full.
#[test]
fn help_breaks_lines_where_they_are_full() {
    for command in commands() {
        let (_, help, _) = run(&[&command, "--help"]);
        let prose = |line: &str| line.starts_with(|first: char| first.is_alphabetic()) && !line.ends_with(':');
        let lines = help.lines().skip_while(|line| !line.ends_with("Print version")).collect::<Vec<_>>();
        for pair in lines.windows(2).filter(|pair| prose(pair[0]) && prose(pair[1])) {
            let next = pair[1].split(' ').next().unwrap();
            assert!(pair[0].len() + 1 + next.len() > 100, "{command} breaks {:?} before {next:?}", pair[0]);
        }
    }
}

#[test]
fn commands_list_only_the_flags_that_they_use() {
    for (command, flag, listed) in [
        ("get", "--server", true),
        ("get", "--deadline", true),
        ("get", "--ca", true),
        ("get", "--token-file", true),
        ("stats", "--ca", true),
        ("stats", "--token-file", true),
        ("search", "--ca", false),
        ("stats", "--server", false),
        ("stats", "--deadline", true),
        ("stats", "--retries", true),
        ("search", "--server", false),
        ("search", "--deadline", false),
        ("completions", "--retries", false),
    ] {
        let (_, help, _) = run(&[command, "--help"]);
        assert_eq!(help.contains(&format!("  {flag} <")), listed, "{command} {flag}:\n{help}");
    }
}

#[test]
fn usage_is_the_same_after_an_error_and_in_the_help() {
    let (_, help, _) = run(&["get", "--help"]);
    let usage = help.lines().find(|line| line.starts_with("Usage: ")).unwrap();
    let output = floorctl().args(["get", "--deadlin", "2s"]).env("FLOORCTL_SERVER", "http://floors").output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains(usage), "{usage:?} is not in:\n{stderr}");
}

#[test]
fn a_closed_pipe_is_no_error() {
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
fn every_command_has_a_manual_page_with_the_flags_that_it_uses() {
    let pages = concat!(env!("CARGO_TARGET_TMPDIR"), "/share/man1");
    assert_eq!(run(&["man", "--output", pages]), (Some(0), String::new(), String::new()));
    let page = |name: &str| std::fs::read_to_string(format!("{pages}/{name}.1")).unwrap();
    assert!(page("floorctl").contains("FLOORCTL_SERVER"));
    for command in commands() {
        assert!(page(&format!("floorctl-{command}")).contains("Example"), "{command}");
    }
    let asks_a_server = |name: &str| page(name).contains(r"\-\-server\fR");
    assert!(asks_a_server("floorctl-info") && !asks_a_server("floorctl-stats"));
    let (code, _, stderr) = run(&["man", "--output", "/dev/null/man1"]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("cannot write manual pages to /dev/null/man1"), "{stderr}");
}

#[test]
fn explain_needs_no_server() {
    let (_socket, server) = closed_port();
    let (code, stdout, stderr) = run(&["--server", &server, "explain", "42/7:standard@48x48", "--runs", "1"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert!(stdout.starts_with("42/7:standard@48x48: "), "{stdout}");
    for part in ["attempt 1", "\n monsters ", "lock 1 at (", "valid: every rule holds"] {
        assert!(stdout.contains(part), "no {part:?} in:\n{stdout}");
    }
    let (code, stdout, _) = run(&["--server", &server, "explain", "42/7:standard@48x48", "--json"]);
    assert_eq!(code, Some(0));
    assert!(stdout.contains("\"serverGeneratorVersion\": null"), "{stdout}");
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
fn search_as_json_has_every_fact() {
    let (code, stdout, _) = run(&["search", "--seeds", "7-9", "--size", "32x32", "--where", "seed == 8", "--json"]);
    assert_eq!(code, Some(0));
    let start = "{\"floor\":\"8/1:";
    assert!(stdout.starts_with(start) && stdout.lines().count() == 1, "{stdout}");
    for part in ["\"seed\":\"8\"", "\"number\":1,", "\"theme\":\"crypt\"", "\"difficulty\":"] {
        assert!(stdout.contains(part), "no {part} in {stdout}");
    }
}

#[test]
fn retries_wait_for_a_server_that_starts() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}");
    let mut command = floorctl();
    let mut child = command.args(["--retries", "8", "--server", &url, "info"]).stderr(Stdio::piped()).spawn().unwrap();
    thread::sleep(Duration::from_millis(200));
    // Nobody listened when it began. It comes back.
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let mut connected = false;
    for _ in 0..1_000 {
        connected = listener.accept().is_ok();
        if connected || child.try_wait().unwrap().is_some() {
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    let output = child.wait_with_output().unwrap();
    assert!(connected, "{}", String::from_utf8_lossy(&output.stderr));
}
