//! Checks that every client has the deadlines and retries of docs/protocol.md, and that the program of the Rust client's
//! page is the one that its README tests.

use std::fs;

use crate::{root, section};

const PROTOCOL: &str = include_str!("../../../docs/protocol.md");
const PAGE: &str = include_str!("../../../docs/clients/rust.md");
const README: &str = include_str!("../../../crates/floor-client/README.md");

/// The numbers of the table, in milliseconds unless they are counts: what stands before each, and its unit.
const RULES: [(&str, &str, u32); 7] = [
    ("| deadline | ", " s for a call,", 1_000),
    ("| attempts | the first and up to ", " more.", 1),
    (" more. For ", " s an attempt that no server accepts does not count", 1_000),
    ("Without it a random time up to ", " ms, doubled", 1),
    (" ms, doubled after each attempt up to ", " s.", 1_000),
    ("| keep alive | while calls are open, a ping after each ", " s.", 1_000),
    ("A connection that does not answer it within ", " s has broken off", 1_000),
];

/// A file, the text around a number in it, and its unit in milliseconds.
type Place = (&'static str, &'static str, &'static str, u32);

/// Where each client has these numbers, in their order. Clients over HTTP/1.1 send no pings.
const CLIENTS: [(&str, &[Place]); 6] = [
    (
        "crates/floor-client/src",
        &[
            ("options.rs", "DEFAULT_DEADLINE: Duration = Duration::from_secs(", ")", 1_000),
            ("options.rs", "DEFAULT_RETRIES: usize = ", ";", 1),
            ("retry.rs", "RESTART: Duration = Duration::from_secs(", ")", 1_000),
            ("retry.rs", "MIN_BACKOFF: Duration = Duration::from_millis(", ")", 1),
            ("retry.rs", "MAX_BACKOFF: Duration = Duration::from_secs(", ")", 1_000),
            ("transport.rs", "KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(", ")", 1_000),
            ("transport.rs", "KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(", ")", 1_000),
        ],
    ),
    (
        "clients/typescript/src",
        &[
            ("client.ts", "DEFAULT_TIMEOUT_MS = ", ";", 1),
            ("client.ts", "DEFAULT_RETRIES = ", ";", 1),
            ("retry.ts", "RESTART_MS = ", ";", 1),
            ("retry.ts", "MIN_BACKOFF_MS = ", ";", 1),
            ("retry.ts", "MAX_BACKOFF_MS = ", ";", 1),
            ("node.ts", "PING_AFTER_MS = ", ";", 1),
            ("node.ts", "PING_TIMEOUT_MS = ", ";", 1),
        ],
    ),
    (
        "clients/go",
        &[
            ("options.go", "defaultTimeout = ", " * time.Second", 1_000),
            ("options.go", "defaultRetries = ", "\n", 1),
            ("retry.go", "restartTime = ", " * time.Second", 1_000),
            ("retry.go", "minBackoff = ", " * time.Millisecond", 1),
            ("retry.go", "maxBackoff = ", " * time.Second", 1_000),
            ("transport.go", "pingAfter   = ", " * time.Second", 1_000),
            ("transport.go", "pingTimeout = ", " * time.Second", 1_000),
        ],
    ),
    (
        "clients/python/src/floors",
        &[
            ("options.py", "    deadline: float | None = ", "\n", 1_000),
            ("options.py", "    retries: int = ", "\n", 1),
            ("retry.py", "_RESTART = ", "\n", 1_000),
            ("retry.py", "_FIRST_WAIT = ", "\n", 1_000),
            ("retry.py", "_LONGEST_WAIT = ", "\n", 1_000),
            ("connection.py", "_PING_AFTER_MS = ", "\n", 1),
            ("connection.py", "_PING_TIMEOUT_MS = ", "\n", 1),
        ],
    ),
    (
        "clients/csharp",
        &[
            ("FloorClient.cs", "Timeout { get; set; } = TimeSpan.FromSeconds(", ")", 1_000),
            ("FloorClient.cs", "int Retries = ", ";", 1),
            ("FloorClient.cs", "int RestartMs = ", ";", 1),
            ("FloorClient.cs", "int FirstWaitMs = ", ",", 1),
            ("FloorClient.cs", "LongestWaitMs = ", ";", 1),
        ],
    ),
    (
        "clients/godot",
        &[
            ("floor_client.gd", "TIMEOUT_SECONDS := ", "\n", 1_000),
            ("floor_client.gd", "RETRIES := ", "\n", 1),
            ("floor_client.gd", "RESTART_SECONDS := ", "\n", 1_000),
            ("floor_client.gd", "FIRST_WAIT_SECONDS := ", "\n", 1_000),
            ("floor_client.gd", "LONGEST_WAIT_SECONDS := ", "\n", 1_000),
        ],
    ),
];

/// The number between the first `before` and the next `after`, times `unit`.
fn number(text: &str, before: &str, after: &str, unit: u32) -> Option<f64> {
    let digits = text.split_once(before)?.1.split_once(after)?.0.replace('_', "");
    Some(digits.parse::<f64>().ok()? * f64::from(unit))
}

#[test]
fn every_client_has_the_deadlines_and_retries_of_the_protocol() {
    let table = section(PROTOCOL, "Deadlines and retries");
    for (folder, places) in CLIENTS {
        for ((before, after, unit), (file, start, end, its_unit)) in RULES.iter().zip(places) {
            let path = format!("{folder}/{file}");
            let source = fs::read_to_string(root().join(&path)).unwrap();
            let rule = number(table, before, after, *unit);
            assert!(rule.is_some(), "docs/protocol.md has no number between {before:?} and {after:?}");
            assert_eq!(
                number(&source, start, end, *its_unit),
                rule,
                "{path} has {start:?}, docs/protocol.md {before:?}"
            );
        }
    }
}

#[test]
fn the_page_of_the_rust_client_has_the_program_of_its_readme() {
    let program = |page: &'static str| page.split_once("```rust,no_run\n").unwrap().1.split("```").next();
    assert_eq!(program(PAGE), program(README));
}
