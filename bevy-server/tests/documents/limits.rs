//! Checks that each limit on clients is described in every document that must have it, and attacked by a test.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use bevy_server::config::DEFAULTS;

use crate::{PAGE, entries, quoted, read_files, root, rows, section};

const METRICS: &str = include_str!("../../src/metrics.rs");
const ARCHITECTURE: &str = include_str!("../../../ARCHITECTURE.md");
const PROTOCOL: &str = include_str!("../../../docs/protocol.md");
const SECURITY: &str = include_str!("../../../SECURITY.md");

/// The tables whose keys limit clients, except for [`NO_LIMITS`].
const TABLES: [&str; 5] = ["grpc.", "auth.", "limits.", "generation.", "trace."];
const NO_LIMITS: [&str; 13] = [
    "generation.prefetch",
    "generation.threads",
    "grpc.cors_origins",
    "grpc.drain",
    "grpc.drain_delay",
    "grpc.listen",
    "grpc.tls.cert",
    "grpc.tls.client_ca",
    "grpc.tls.key",
    "grpc.trusted_proxies",
    "trace.ca",
    "trace.endpoint",
    "trace.sample",
];
/// For each reason, what docs/protocol.md says of the connections and calls that it refuses.
const ANSWERS: [(&str, &str); 11] = [
    ("connections", "\n- **A connection that is closed at once.** "),
    ("connections_per_ip", "\n| connections from one address | "),
    ("generation", "\n| `RESOURCE_EXHAUSTED` | the queue for generation is full"),
    ("handshake", " may close the connection only after the\nhandshake."),
    ("no_cache", "\n| `PERMISSION_DENIED` | you may not send `cache-control: no-cache`"),
    ("receiving", "\n| `RESOURCE_EXHAUSTED` | too many of your requests are being received"),
    ("resets", "\n| `RESOURCE_EXHAUSTED` | behind a proxy: you have reset too many calls"),
    ("scope", "\n| `PERMISSION_DENIED` | your token lacks the scope `floors`"),
    ("unauthenticated", "\n| `UNAUTHENTICATED` | "),
    ("unsent", "\n| `RESOURCE_EXHAUSTED` | you have too many answers"),
    ("watches", "\n| `RESOURCE_EXHAUSTED` | you watch the server's health too often"),
];
/// Files whose constants `MAX_` bound what the protocol, a log line or a status may have, and nothing that a client uses.
const NO_BOUNDS: [&str; 6] = [
    "grpc/cors.rs",
    "grpc/status.rs",
    "crates/floor-http2/src/frame.rs",
    "crates/floor-http2/src/hpack/",
    "crates/floor-http2/src/state/last_head.rs",
    "logging/filter.rs",
];

/// The reasons in `floors_clients_refused_total`, in the order of the list `Limit`.
fn reasons() -> Vec<&'static str> {
    let (_, list) = METRICS.split_once("\nlimits! {\n").unwrap();
    list.split("\n}").next().unwrap().split('"').skip(1).step_by(2).collect()
}

/// The table of bounds in ARCHITECTURE.md.
fn bounds() -> &'static str {
    section(ARCHITECTURE, "Invariants").split_once("\n| resource | bound | owner |\n").unwrap().1
}

/// The section "Limits on clients" of docs/operating.md.
fn limits() -> &'static str {
    PAGE.split_once("\n### Limits on clients\n").unwrap().1.split("\n## ").next().unwrap()
}

#[test]
fn the_page_lists_the_reasons_of_refusals() {
    let rows = rows("Metrics");
    let row = rows.iter().find(|row| row[0] == "`floors_clients_refused_total`").unwrap();
    let listed: BTreeSet<_> = quoted(&row[2]).filter(|word| !word.starts_with("floors_")).collect();
    assert_eq!(listed, BTreeSet::from_iter(reasons()));
    let described: BTreeSet<_> = quoted(limits()).collect();
    let missing: Vec<_> = reasons().into_iter().filter(|reason| !described.contains(reason)).collect();
    assert!(missing.is_empty(), "no row under Limits on clients has the reasons {missing:?}");
}

#[test]
fn the_protocol_says_what_each_refusal_looks_like() {
    assert_eq!(ANSWERS.map(|(reason, _)| reason).to_vec(), reasons());
    for (reason, text) in ANSWERS {
        assert!(PROTOCOL.contains(text), "docs/protocol.md has no {text:?} for {reason}");
    }
}

/// The keys that limit clients.
fn keys() -> Vec<String> {
    let entries = entries(DEFAULTS);
    let keys: Vec<_> = entries.iter().map(|entry| entry.split(' ').next().unwrap()).collect();
    let unknown: Vec<_> = NO_LIMITS.iter().filter(|key| !keys.contains(key)).collect();
    assert!(unknown.is_empty(), "no configuration has {unknown:?}");
    let is_limit = |key: &&str| TABLES.iter().any(|table| key.starts_with(table)) && !NO_LIMITS.contains(key);
    keys.into_iter().filter(is_limit).map(str::to_owned).collect()
}

#[test]
fn every_limit_with_a_key_or_a_reason_is_attacked() {
    let mut attacks = String::new();
    read_files(&root().join("bevy-server/tests/edge"), "rs", &mut attacks);
    for reason in reasons() {
        assert!(attacks.contains(&format!(".refusals(\"{reason}\")")), "nothing in tests/edge/ is refused by {reason}");
    }
    for key in keys() {
        let variable = key.to_uppercase().replace('.', "__");
        assert!(attacks.contains(&format!("\"{variable}\"")), "nothing in tests/edge/ sets {variable}");
    }
}

#[test]
fn every_key_that_limits_clients_is_documented() {
    let clients = SECURITY.split_once("\n### Clients\n").unwrap().1.split("\n### ").next().unwrap();
    for key in keys() {
        for (place, text) in [
            ("docs/operating.md, Limits on clients", limits()),
            ("ARCHITECTURE.md, table of bounds", bounds()),
            ("SECURITY.md, Clients", clients),
        ] {
            let is_there = text.contains(&format!("`{key}`")) || text.contains(&format!("`{key} = "));
            assert!(is_there, "{place}: no row has {key}");
        }
    }
}

/// A limit without a key is a constant.
#[test]
fn every_file_with_a_bound_is_in_the_table_of_bounds() {
    for (folder, prefix) in [("bevy-server/src", ""), ("crates/floor-http2/src", "crates/floor-http2/src/")] {
        let folder = root().join(folder);
        let mut files = Vec::new();
        list(&folder, &mut files);
        for file in files {
            let name = format!("{prefix}{}", file.strip_prefix(&folder).unwrap().display());
            // The tables of the configuration have the limits of its keys.
            if name.starts_with("config/") || NO_BOUNDS.iter().any(|other| name.starts_with(other)) {
                continue;
            }
            let has_bound = fs::read_to_string(&file).unwrap().contains("const MAX_");
            assert!(!has_bound || bounds().contains(&format!("`{name}`")), "no row of the table of bounds has {name}");
        }
    }
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            list(&path, files);
        } else {
            files.push(path);
        }
    }
}
