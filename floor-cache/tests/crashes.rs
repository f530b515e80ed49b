//! Tests that a crash, a full disk and a panicking tier cause no failed call and no wrong value, and that the chain
//! recovers.

mod fixture;

use std::{
    env, fs,
    io::{self, BufRead, BufReader},
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

use bytes::Bytes;
use fixture::{
    LONG_TIMEOUT, envelope,
    fake_source::{FakeSource, value_of},
    key, keys,
    small_disk::SmallDisk,
    wait_until,
};
use floor_cache::{
    Admit, Answer, Bypass, ChainBuilder, ChainConfig, Key, LmdbConfig, Options, SledConfig, Tier, TierError, TierKind,
    TierStats, Tuning, assemble, tiers::LmdbTier,
};
use prometheus::Registry;
use tokio::runtime::Handle;

/// Set in the child process of [`fifty_crashes_while_writing_lose_only_the_last_writes`]: its directory.
const WRITE_TO: &str = "FLOORS_TEST_WRITE_TO";

fn on_disk(directory: &Path) -> ChainConfig {
    ChainConfig {
        chain: vec![TierKind::Lmdb, TierKind::Sled],
        bypass: Bypass::Off,
        // Large enough that nothing is evicted.
        lmdb: LmdbConfig { path: directory.join("lmdb"), map_size: 256 << 20 },
        sled: SledConfig { path: directory.join("sled"), ..SledConfig::default() },
        ..ChainConfig::default()
    }
}

/// Printed by the child process when the keys 0 to 63 are durable.
const FLUSHED: &str = "flushed";

/// The child process, which is killed while it writes.
#[tokio::test(flavor = "multi_thread")]
async fn the_process_that_is_killed() {
    let Some(directory) = env::var_os(WRITE_TO) else { return };
    let source = Arc::new(FakeSource::default());
    let chain = assemble(&on_disk(Path::new(&directory)), source, &Registry::new(), &Handle::current());
    let chain = chain.expect("the stores open after a crash");
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

/// Kills the child fifty times with SIGKILL, from before the stores are open until deep in their writing. One child in
/// ten runs until it has flushed, on a slow machine too.
#[tokio::test(flavor = "multi_thread")]
async fn fifty_crashes_while_writing_lose_only_the_last_writes() {
    let directory = tempfile::tempdir().unwrap();
    let this = env::current_exe().unwrap();
    for crash in 0..50 {
        let mut child = Command::new(&this)
            .args(["--exact", "the_process_that_is_killed", "--nocapture"])
            .env(WRITE_TO, directory.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        if crash % 10 == 9 {
            let said = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
            assert!(
                said.into_iter().any(|line| line.contains(FLUSHED)),
                "crash {crash}: the child ended before it flushed"
            );
        }
        tokio::time::sleep(Duration::from_millis(20 + crash * 7 % 180)).await;
        child.kill().unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.signal(), Some(9), "crash {crash}: the child ended by itself: {status}");
    }
    let source = Arc::new(FakeSource::default());
    let chain = assemble(&on_disk(directory.path()), source.clone(), &Registry::new(), &Handle::current()).unwrap();
    let durable = chain.get_many(&keys(0..64), Options::default()).await.unwrap();
    let elsewhere: Vec<_> = durable.iter().map(|served| served.by).filter(|by| *by != "lmdb").collect();
    assert!(elsewhere.is_empty(), "flushed values survive a crash: {elsewhere:?}, {:?}", chain.holdings());
    for some in keys(0..20_000).chunks(256) {
        let served = chain.get_many(some, Options::default()).await.unwrap();
        assert!(served.iter().zip(some).all(|(served, key)| served.value == value_of(key)));
    }
    let stores = names(directory.path());
    let inside: Vec<_> = stores.iter().map(|store| names(&directory.path().join(store))).collect();
    assert_eq!(stores, ["lmdb", "sled"], "a crash of the process damages no store: {inside:?}");
    assert!(chain.close(LONG_TIMEOUT).await);
}

/// The names in `directory`, sorted.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("it can be read").map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<_> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The map is larger than the disk. LMDB writes with system calls, so a full disk is an error and not a signal.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_fails_no_call() {
    let Some(disk) = SmallDisk::mount(3 << 20) else { return };
    let config = ChainConfig {
        chain: vec![TierKind::Lru, TierKind::Lmdb],
        bypass: Bypass::Off,
        lmdb: LmdbConfig { path: disk.path().join("lmdb"), map_size: 64 << 20 },
        ..ChainConfig::default()
    };
    let registry = Registry::new();
    let chain = assemble(&config, Arc::new(FakeSource::default()), &registry, &Handle::current()).unwrap();
    for some in keys(0..4000).chunks(64) {
        let served = chain.get_many(some, Options::default()).await.expect("a full disk reaches no caller");
        assert!(served.iter().zip(some).all(|(served, key)| served.value == value_of(key)));
    }
    chain.close(LONG_TIMEOUT).await;
    let failed = registry.gather().into_iter().filter(|family| family.name() == "floors_tier_writes_total");
    let failed: f64 = failed
        .flat_map(|family| family.get_metric().to_vec())
        .filter(|metric| metric.get_label().iter().any(|label| label.value() == "failed"))
        .map(|metric| metric.get_counter().get_value())
        .sum();
    assert!(failed > 0.0, "the disk was full");
    drop(chain);
    // The store reopens undamaged with what fitted.
    let config = LmdbConfig { path: disk.path().join("lmdb"), map_size: 64 << 20 };
    let mut reopened = None;
    wait_until("the store is free", || {
        reopened = LmdbTier::open(&config, envelope()).ok();
        reopened.is_some()
    })
    .await;
    assert!(reopened.expect("checked above").stats().entries > 0);
}

/// A tier that panics at every call until it is healthy.
#[derive(Debug, Default)]
struct Panicking {
    healthy: AtomicBool,
}

impl Panicking {
    fn answer<T>(&self, answer: T) -> Answer<'_, T> {
        assert!(self.healthy.load(SeqCst), "the tier is not healthy");
        Answer::Now(Ok(answer))
    }
}

/// Shared by the chain and the test.
#[derive(Debug)]
struct SharedTier(Arc<Panicking>);

impl Tier for SharedTier {
    fn name(&self) -> &'static str {
        "panicking"
    }

    fn get<'a>(&'a self, _key: &'a Key) -> Answer<'a, Option<Bytes>> {
        self.0.answer(None)
    }

    fn get_many<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, Vec<Option<Bytes>>> {
        self.0.answer(vec![None; keys.len()])
    }

    fn put_many<'a>(&'a self, _entries: &'a [(Key, Bytes)]) -> Answer<'a, ()> {
        self.0.answer(())
    }

    fn remove_many<'a>(&'a self, _keys: &'a [Key]) -> Answer<'a, ()> {
        Answer::later(async { Err::<(), TierError>(io_error()) })
    }

    fn contains<'a>(&'a self, _key: &'a Key) -> Answer<'a, bool> {
        self.0.answer(false)
    }

    fn stats(&self) -> TierStats {
        TierStats::default()
    }
}

fn io_error() -> TierError {
    TierError::new(floor_cache::TierErrorKind::Internal, "remove", io::Error::other("it is not there"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panicking_tier_fails_no_call_and_is_used_again_when_healthy() {
    let (tier, registry, tuning) = (Arc::new(Panicking::default()), Registry::new(), Tuning::default());
    let config = ChainConfig { bypass: Bypass::Off, ..ChainConfig::default() };
    let chain = ChainBuilder::new(&config, &tuning, &registry, &Handle::current())
        .and_then(|chain| chain.tier(SharedTier(tier.clone()), Admit::All))
        .and_then(|chain| chain.build(Arc::new(FakeSource::default())))
        .unwrap();
    for key in keys(0..50) {
        assert_eq!(chain.get(key, Options::default()).await.unwrap().value, value_of(&key));
    }
    assert!(chain.get_many(&keys(50..100), Options::default()).await.is_ok());
    chain.remove_many(&keys(0..1)).await;
    assert_eq!(chain.contains(&key(1, 1)).await, [("panicking", false)]);
    assert_eq!(chain.report()[0].verdict, "open");
    tier.healthy.store(true, SeqCst);
    wait_until("it is asked again", || {
        let again = chain.get(key(7, 1), Options::default());
        futures_util::FutureExt::now_or_never(again);
        chain.report()[0].verdict == "probed"
    })
    .await;
}
