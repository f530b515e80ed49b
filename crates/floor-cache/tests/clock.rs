//! Tests that jumps of the wall clock change nothing: all durations use the monotonic clock.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod fixture;

use std::{
    env, fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    thread,
    time::{Duration, SystemTime},
};

use fixture::{Fixture, fake_source::value_of, key, keys, wait_until};
use floor_cache::{Bypass, Options, TierKind};

/// The only file that reads the date, to name a directory.
const NAMES_A_DATE: &str = "tiers/quarantine.rs";

#[test]
fn only_names_are_taken_from_the_wall_clock() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&sources, &mut files);
    assert!(files.len() > 30, "these are the sources: {files:?}");
    let date: Vec<_> = files
        .into_iter()
        .filter(|file| {
            let text = fs::read_to_string(file).unwrap();
            ["SystemTime", "UNIX_EPOCH"].iter().any(|name| text.contains(name))
        })
        .collect();
    assert_eq!(date, [sources.join(NAMES_A_DATE)]);
}

fn rust_files(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The library that fakes the date, where Debian and Fedora install it.
const LIBRARIES: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib64/faketime/libfaketimeMT.so.1",
    "/usr/lib/faketime/libfaketimeMT.so.1",
];

/// Set in the child process: the file with the faked date.
const DATE_FILE: &str = "FLOORS_TEST_DATE_FILE";

/// Runs the test below in a process with a fake clock.
#[test]
fn the_date_may_jump_both_ways() {
    let Some(library) = LIBRARIES.iter().find(|library| Path::new(library).exists()) else {
        println!("skipped: there is no libfaketime here");
        return;
    };
    let home = tempfile::tempdir().unwrap();
    let date = home.path().join("date");
    fs::write(&date, "+0").unwrap();
    let run = Command::new(env::current_exe().unwrap())
        .args(["--exact", "jumping", "--ignored", "--nocapture"])
        .env("LD_PRELOAD", library)
        .env("FAKETIME_TIMESTAMP_FILE", &date)
        .env("FAKETIME_NO_CACHE", "1")
        // The monotonic clock is not faked.
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
        .env("DONT_FAKE_MONOTONIC", "1")
        .env(DATE_FILE, &date)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success() && said.contains("1 passed"), "{}: {said}{errors}", run.status);
}

/// Replaces the file atomically, because the library may read it at any time.
fn set(date: &Path, jump: &str) {
    let next = date.with_extension("next");
    fs::write(&next, jump).unwrap();
    fs::rename(next, date).unwrap();
}

const TTL: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
#[ignore = "run by the_date_may_jump_both_ways, in a process whose clock it may set"]
async fn jumping() {
    let Some(date) = env::var_os(DATE_FILE) else { return };
    let (port, attempts) = closing_listener();
    let fixture = Fixture::new(&[TierKind::Lru, TierKind::Lmdb, TierKind::Redis], |config| {
        config.lru.ttl = Some(TTL);
        config.redis.url = format!("redis://127.0.0.1:{}", port);
        config.bypass = Bypass::Off;
    });
    ask(&fixture, "generated").await;
    assert_eq!(fixture.tier("redis").verdict, "open", "Redis answers nothing, so its breaker is open");
    let mut before = SystemTime::now();
    for (round, jump) in (1..).zip(["+3650d", "-3650d", "+0"]) {
        let redis = fixture.tier("redis");
        set(Path::new(&date), jump);
        let now = SystemTime::now();
        let far = now.duration_since(before).unwrap_or_else(|error| error.duration());
        assert!(far > Duration::from_secs(365 * 24 * 60 * 60), "the date has jumped by {jump}, not {far:?}");
        before = now;
        ask(&fixture, "lru").await;
        for number in 0..5 {
            fixture.chain.get(key(1000 * round + number, 1), Options::default()).await.unwrap();
        }
        assert!(fixture.tier("redis").bypasses > redis.bypasses, "the jump {jump} does not end the breaker's pause");
        // The open breaker refuses queued writes, so the first close may fail. Then the queue is empty.
        fixture.chain.close(Duration::from_secs(10)).await;
        assert!(fixture.chain.close(Duration::from_secs(10)).await, "the jump does not end a deadline");
        assert!(fixture.tier("redis").since < Duration::from_secs(3600), "{redis:?}");
        let before_it = attempts.load(SeqCst);
        wait_until("the jump does not extend the pause", || attempts.load(SeqCst) > before_it).await;
    }
}

/// A port whose connections are closed at once, and the number of them.
fn closing_listener() -> (u16, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, connections) = (listener.local_addr().unwrap().port(), Arc::<AtomicU64>::default());
    let accepted = connections.clone();
    thread::spawn(move || listener.incoming().for_each(|_| _ = accepted.fetch_add(1, SeqCst)));
    (port, connections)
}

/// Asks for 20 values and asserts that `by` serves them.
async fn ask(fixture: &Fixture, by: &str) {
    for key in keys(0..20) {
        let served = fixture.chain.get(key, Options::default()).await.unwrap();
        assert_eq!((served.by, served.value), (by, value_of(&key)));
    }
}
