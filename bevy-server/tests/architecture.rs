//! Checks the rules of ARCHITECTURE.md about which crate may name which dependency.
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

use std::{collections::BTreeSet, path::Path, process::Command};

const CRATES: [(&str, &str); 21] = [
    ("floor-proto", "proto"),
    ("floor-gen", "crates/floor-gen"),
    ("floor-wire", "crates/floor-wire"),
    ("floor-pack", "crates/floor-pack"),
    ("floor-query", "crates/floor-query"),
    ("floor-export", "crates/floor-export"),
    ("floor-rules", "crates/floor-rules"),
    ("floor-climb", "crates/floor-climb"),
    ("floor-cache", "crates/floor-cache"),
    ("floor-http2", "crates/floor-http2"),
    ("bevy-server", "bevy-server"),
    ("floor-client", "crates/floor-client"),
    ("floorctl", "crates/floorctl"),
    ("floor-module", "crates/floor-module"),
    ("floor-frozen", "crates/floor-frozen"),
    ("floor-web", "crates/floor-web"),
    ("floor-web-climb", "crates/floor-web-climb"),
    ("floor-web-export", "crates/floor-web-export"),
    ("floor-gen-c", "clients/c"),
    ("test-support", "crates/test-support"),
    ("benches", "benches"),
];

/// A dependency (or a family, ending in `*`) and the crates that may name it.
const MAY_NAME: [(&str, &[&str]); 32] = [
    (
        "floor-proto",
        &[
            "floor-wire",
            "floor-pack",
            "floor-module",
            "floor-query",
            "floor-export",
            "floor-climb",
            "floor-web-climb",
            "floor-web-export",
            "floor-gen-c",
            "bevy-server",
            "floor-client",
            "floorctl",
            "benches",
        ],
    ),
    // The client's generator is behind a feature that is off by default.
    (
        "floor-gen",
        &[
            "floor-wire",
            "floor-pack",
            "floor-module",
            "floor-query",
            "floor-export",
            "floor-web",
            "floor-web-export",
            "floor-gen-c",
            "bevy-server",
            "floor-client",
            "floorctl",
            "benches",
        ],
    ),
    (
        "floor-wire",
        &[
            "floor-pack",
            "floor-query",
            "floor-web",
            "floor-gen-c",
            "bevy-server",
            "floor-client",
            "floorctl",
            "benches",
        ],
    ),
    (
        "floor-pack",
        &["floor-frozen", "floor-query", "floor-web", "floor-gen-c", "bevy-server", "floor-client", "floorctl"],
    ),
    ("floor-module", &["floor-frozen"]),
    // The generators that packs bring along.
    ("wasmtime", &["floor-pack"]),
    ("floor-query", &["bevy-server", "floorctl", "floor-web"]),
    ("floor-export", &["floorctl", "floor-web-export"]),
    // They know no wire and no server. The game uses both, too.
    ("floor-rules", &["floor-climb", "floor-web-climb", "bevy-server"]),
    ("floor-climb", &["floor-web-climb", "bevy-server", "floorctl"]),
    ("ed25519-dalek", &["floor-climb"]),
    ("floor-client", &["floorctl"]),
    ("floor-cache", &["bevy-server", "benches"]),
    ("floor-http2", &["bevy-server"]),
    // As the client in its tests.
    ("h2", &["floor-http2"]),
    ("bevy-server", &["benches"]),
    // Only tests use it.
    ("test-support", &[]),
    ("redis", &["floor-cache"]),
    ("rustls", &["floor-cache", "floor-client", "benches"]),
    // rustls for the gRPC port, and for the requests of floorctl to the operations port.
    ("tokio-rustls", &["bevy-server", "floorctl"]),
    ("x509-cert", &["bevy-server"]),
    ("heed", &["floor-cache"]),
    ("sled", &["floor-cache"]),
    ("lru", &["floor-cache"]),
    ("tonic*", &["floor-proto", "bevy-server", "floor-client", "benches"]),
    (
        "prost*",
        &[
            "floor-proto",
            "floor-pack",
            "floor-module",
            "floor-export",
            "floor-climb",
            "floor-web-climb",
            "floor-web-export",
            "bevy-server",
            "floor-client",
            "floorctl",
            "benches",
        ],
    ),
    // floorctl serves the page of `pack watch`.
    ("axum*", &["bevy-server", "floorctl"]),
    ("opentelemetry*", &["bevy-server"]),
    ("opentelemetry_sdk", &["bevy-server"]),
    // floorctl sends HTTP/1.1 requests to the operations port.
    ("hyper*", &["bevy-server", "floorctl", "benches"]),
    // The client's Bevy plugin is behind a feature that is off by default.
    ("bevy", &["bevy-server", "floor-client"]),
    ("figment", &["bevy-server"]),
];

/// Prefixes of crates for windows, graphics or sound.
const NEVER: [&str; 9] = ["winit", "wgpu", "alsa", "udev", "libudev", "naga", "rodio", "cpal", "bevy_render"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
}

fn manifest(dir: &str) -> toml::Table {
    let path = root().join(dir).join("Cargo.toml");
    std::fs::read_to_string(path).unwrap().parse().unwrap()
}

/// The dependencies of a crate's library and binaries. Tests may use any.
fn named(dir: &str) -> BTreeSet<String> {
    let manifest = manifest(dir);
    let table = |name: &str| manifest.get(name).and_then(toml::Value::as_table).cloned().unwrap_or_default();
    table("dependencies").keys().chain(table("build-dependencies").keys()).cloned().collect()
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(family) => name == family || name.starts_with(&format!("{family}-")),
        None => name == pattern,
    }
}

#[test]
fn each_crate_names_only_its_allowed_dependencies() {
    // What tests share may name what tests may name.
    for (krate, dir) in CRATES.into_iter().filter(|&(krate, _)| krate != "test-support") {
        for name in named(dir) {
            for (pattern, allowed) in MAY_NAME {
                let may = !matches(pattern, &name) || krate == pattern || allowed.contains(&krate);
                assert!(may, "{dir}/Cargo.toml names {name}; only {allowed:?} may");
            }
        }
    }
}

#[test]
fn the_generator_depends_on_the_reader_of_packs_and_two_hashes_alone() {
    let allowed = ["once_cell", "siphasher", "toml", "xxhash-rust"];
    assert_eq!(named("crates/floor-gen"), BTreeSet::from(allowed.map(str::to_owned)));
}

#[test]
fn the_rules_depend_on_a_hash_alone() {
    assert_eq!(named("crates/floor-rules"), BTreeSet::from(["siphasher".to_owned()]));
}

#[test]
fn the_clients_game_dependencies_are_optional_and_off_by_default() {
    let manifest = manifest("crates/floor-client");
    for name in ["bevy", "floor-gen", "floor-pack", "floor-wire"] {
        let dependency = manifest["dependencies"].get(name);
        let optional = |entry: &toml::Value| entry.get("optional").and_then(toml::Value::as_bool) == Some(true);
        assert!(dependency.is_none_or(optional), "the client's {name} is not optional");
    }
    let default = manifest.get("features").and_then(|features| features.get("default")?.as_array()).cloned();
    assert!(!default.into_iter().flatten().any(|feature| matches!(feature.as_str(), Some("bevy" | "offline"))));
}

#[test]
fn every_dependency_version_is_inherited_from_the_workspace() {
    for (krate, dir) in CRATES {
        let manifest = manifest(dir);
        for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
            for (name, entry) in manifest.get(section).and_then(toml::Value::as_table).into_iter().flatten() {
                let inherits = entry.get("workspace").and_then(toml::Value::as_bool) == Some(true);
                // A crate that enables features of its own for its tests names itself, without a version.
                assert!(inherits || name == krate, "{dir}/Cargo.toml does not inherit the version of {name}");
            }
        }
        assert_eq!(manifest["lints"]["workspace"].as_bool(), Some(true), "{dir} does not inherit the lints");
    }
}

#[test]
fn the_server_depends_on_no_window_renderer_or_sound() {
    let tree = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["tree", "--package", "bevy-server", "--edges", "normal", "--prefix", "none", "--format", "{p}"])
        .args(["--offline", "--locked"])
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).unwrap();
    let names: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(names.contains("bevy_app"), "the tree is not the server's: {names:?}");
    let found: Vec<_> = names.iter().filter(|name| NEVER.iter().any(|never| name.starts_with(never))).collect();
    assert!(found.is_empty(), "a dependency brings in {found:?}");
}

#[test]
fn decision_1_has_every_library_of_the_version_table() {
    let decision = std::fs::read_to_string(root().join("docs/decisions/0001-dependencies.md")).unwrap();
    let is_in_name = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let known: BTreeSet<&str> = decision.split(|c| !is_in_name(c)).collect();
    let workspace = manifest("");
    let ours = CRATES.map(|(krate, _)| krate);
    let versions = workspace["workspace"]["dependencies"].as_table().unwrap().keys();
    let missing: Vec<_> =
        versions.filter(|name| !ours.contains(&name.as_str()) && !known.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "docs/decisions/0001-dependencies.md lacks {missing:?}");
}
