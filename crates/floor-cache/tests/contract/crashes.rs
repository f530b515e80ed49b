//! Clauses of a tier in files: a crash of the process loses only the last writes.

use std::{
    env,
    io::{BufRead, BufReader},
    os::unix::process::ExitStatusExt,
    path::Path,
    process::Stdio,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use floor_cache::{Bypass, Chain, ChainConfig, Key, OpenError, Options, assemble};
use tokio::runtime::Handle;

use crate::fixture::{
    LONG_TIMEOUT,
    fake_source::{FakeSource, value_of},
    key, keys, names_in,
    stores::{Store, StoreDir},
    test_process,
};

/// Set in the child process of [`fifty_crashes_while_writing_lose_only_the_last_writes`]: the directory of its store.
const WRITE_TO: &str = "FLOORS_TEST_WRITE_TO";

/// Printed by the child process when the keys 0 to 63 are durable.
const FLUSHED: &str = "flushed";

/// Large enough that nothing is evicted.
const CAPACITY: u64 = 256 << 20;

fn chain(store: &dyn Store, path: &Path) -> Chain {
    let mut config = ChainConfig { chain: vec![store.kind()], bypass: Bypass::Off, ..ChainConfig::default() };
    store.configure(&mut config, path.to_owned(), CAPACITY);
    let started = Instant::now();
    loop {
        match assemble(&config, Arc::new(FakeSource::default()), &Handle::current()) {
            // A process that a test beside this one starts shares the lock of a store that is open here until it runs its
            // program: a little longer than the store is open.
            Err(OpenError::Locked { .. }) if started.elapsed() < LONG_TIMEOUT => {
                thread::sleep(Duration::from_millis(1));
            }
            chain => return chain.expect("the store opens after a crash"),
        }
    }
}

/// The child process, which is killed while it writes.
pub(crate) async fn the_process_that_is_killed(store: &dyn Store) {
    let Some(path) = env::var_os(WRITE_TO) else { return };
    let chain = chain(store, Path::new(&path));
    for round in 0.. {
        let asked: Vec<Key> = (0..64).map(|i| key((round * 64 + i) % 20_000, 1)).collect();
        let served = chain.get_many(&asked, Options::default()).await.expect("no fault reaches a caller");
        for (served, key) in served.iter().zip(&asked) {
            assert!(served.value == value_of(key), "a wrong value by {}", served.by);
        }
        if round == 0 {
            assert!(chain.close(LONG_TIMEOUT).await);
            println!("{FLUSHED}");
        }
    }
}

/// Kills the child fifty times with SIGKILL, from before the store is open until deep in its writing. One child in ten
/// runs until it has flushed, on a slow machine too.
pub(crate) async fn fifty_crashes_while_writing_lose_only_the_last_writes(store: &'static dyn Store) {
    let (name, dir) = (store.name(), StoreDir::new(store));
    for crash in 0..50 {
        let mut child = test_process(&format!("{name}::the_process_that_is_killed"))
            .env(WRITE_TO, dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        if crash % 10 == 9 {
            let mut said = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
            assert!(said.any(|line| line.contains(FLUSHED)), "crash {crash}: the child ended before it flushed");
        }
        tokio::time::sleep(Duration::from_millis(20 + crash * 7 % 180)).await;
        child.kill().unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.signal(), Some(9), "crash {crash}: the child ended by itself: {status}");
        // LMDB puts a store aside after two early unclean ends in a row. A clean one is between them.
        drop(dir.open_sized(CAPACITY));
    }
    let chain = chain(store, &dir.path());
    let durable = chain.get_many(&keys(0..64), Options::default()).await.unwrap();
    let elsewhere: Vec<_> = durable.iter().map(|served| served.by).filter(|by| *by != name).collect();
    assert!(elsewhere.is_empty(), "flushed values survive a crash: {elsewhere:?}, {:?}", chain.holdings());
    for some in keys(0..20_000).chunks(256) {
        let served = chain.get_many(some, Options::default()).await.unwrap();
        assert!(served.iter().zip(some).all(|(served, key)| served.value == value_of(key)));
    }
    assert_eq!(dir.quarantined(), 0, "a crash of the process damages no store: {:?}", names_in(&dir.path()));
    assert!(chain.close(LONG_TIMEOUT).await);
}
