//! Tests `floorctl diff` with files and a scripted server.

#![allow(clippy::unwrap_used)]

#[path = "../../floor-client/tests/scripted/mod.rs"]
mod scripted;

use std::{
    path::PathBuf,
    process::{Command, Output},
};

use floor_client::{Terrain, v1::Floor};
use floor_proto::grid;
use prost::Message as _;

use crate::scripted::{ScriptedServer, floor, with_content_hash};

/// Adds a pillar to the floor.
fn with_pillar(mut floor: Floor) -> Floor {
    let mut cells = grid::decode(floor.terrain.as_ref().unwrap()).unwrap();
    cells[5 * 16 + 4] = Terrain::Pillar as u8;
    floor.terrain = Some(grid::encode(16, 16, &cells));
    floor.content_hash = 0;
    with_content_hash(floor)
}

/// Runs `floorctl diff` and blocks this thread. The scripted server answers on other threads.
fn floorctl(server: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_floorctl"));
    let Output { status, stdout, stderr } =
        command.env("FLOORCTL_SERVER", server).arg("diff").args(arguments).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// Writes the bytes to a file in the temporary directory of the test.
fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

#[tokio::test(flavor = "multi_thread")]
async fn no_cache_compares_a_floor_with_itself_regenerated() {
    let (scripted, client) = ScriptedServer::serve([Ok(vec![floor(7)]), Ok(vec![with_pillar(floor(7))])]).await;
    let (code, stdout, stderr) = floorctl(client.server(), &["42/7@16x16", "--no-cache"]);
    assert_eq!((code, stderr.as_str()), (Some(1), ""));
    assert!(stdout.contains("1 differ in terrain or room"), "{stdout}");
    assert!(stdout.contains("@@ rows 2-8, columns 1-7 @@\n"), "{stdout}");
    assert!(stdout.contains("\n-.......\n+...O...\n"), "{stdout}");
    let cache_control = |call: usize| scripted.requests.lock().unwrap()[call].get("cache-control").cloned();
    assert_eq!(scripted.calls(), 2);
    assert_eq!((cache_control(0), cache_control(1).unwrap().to_str().unwrap()), (None, "no-cache"));
}

#[test]
fn files_need_no_server() {
    let one = file("one.bin", &floor(7).encode_to_vec());
    let other = file("other.bin", &with_pillar(floor(7)).encode_to_vec());
    let (one, other) = (one.to_str().unwrap(), other.to_str().unwrap());
    let closed_port = "http://127.0.0.1:1";
    let (code, stdout, _) = floorctl(closed_port, &[one, one]);
    assert_eq!((code, stdout.as_str()), (Some(0), "the floors are the same to the byte\n"));
    let (code, stdout, _) = floorctl(closed_port, &[one, other, "--json"]);
    assert_eq!(code, Some(1));
    assert!(stdout.contains("\"equal\": false") && stdout.contains("\"cells\": [\n    [4, 5]\n  ]"), "{stdout}");
    let (code, _, stderr) = floorctl(closed_port, &[one, "42/7"]);
    assert_eq!(code, Some(3), "{stderr}");
}

#[test]
fn invalid_sources_are_rejected() {
    let broken = file("broken.bin", b"not a floor");
    let broken = broken.to_str().unwrap();
    let (code, stdout, stderr) = floorctl("http://127.0.0.1:1", &[broken, broken]);
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert!(stderr.contains("broken.bin holds no floor"), "{stderr}");
    for (arguments, expected) in [
        (&["42/7"][..], "<B>"),
        (&["42/7", "42/8", "--no-cache"], "cannot be used with"),
        (&["no/such.bin", "42/7"], "there is no such file"),
    ] {
        let (code, _, stderr) = floorctl("http://127.0.0.1:1", arguments);
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains(expected), "{arguments:?} said: {stderr}");
    }
}
