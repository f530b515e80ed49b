//! Tests of [`Cache`]: functions of callers as the source, keys of any length.

mod fixture;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

use bytes::Bytes;
use fixture::{LONG_TIMEOUT, redis_server::RedisServer, wait_until};
use floor_cache::{Bypass, Cache, ComputeError, OpenError};
use futures_util::future::join_all;
use tokio::{runtime::Handle, sync::Semaphore, time::timeout};

/// Counts how often a function ran.
#[derive(Clone, Default)]
struct Counted(Arc<AtomicU64>);

impl Counted {
    /// The value of `key`, computed in a few milliseconds.
    async fn value(self, key: Vec<u8>) -> Result<Vec<u8>, std::io::Error> {
        self.0.fetch_add(1, SeqCst);
        tokio::time::sleep(Duration::from_millis(5)).await;
        Ok([&b"the value of "[..], &key].concat())
    }

    async fn get(&self, cache: &Cache, key: &[u8]) -> Bytes {
        let (this, owned) = (self.clone(), key.to_vec());
        cache.get_or_compute(key, || this.value(owned)).await.expect("it computes")
    }

    fn runs(&self) -> u64 {
        self.0.load(SeqCst)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_of_one_key_share_one_computation() {
    let (cache, counted) = (Cache::builder("test").memory(1 << 20).build().unwrap(), Counted::default());
    let values = join_all((0..1000).map(|_| counted.get(&cache, b"one"))).await;
    assert!(values.iter().all(|value| value == "the value of one"));
    assert_eq!(counted.runs(), 1);
    counted.get(&cache, b"one").await;
    assert_eq!(counted.runs(), 1, "it is in memory");
    cache.purge("one").await;
    counted.get(&cache, b"one").await;
    assert_eq!(counted.runs(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_any_length_have_their_values_in_every_tier() {
    let directory = tempfile::tempdir().unwrap();
    let lengths = [0, 1, 30, 31, 32, 1000, 100_000];
    let keys: Vec<Vec<u8>> = lengths.iter().map(|length| vec![7; *length]).collect();
    let counted = Counted::default();
    for runs in [lengths.len() as u64, 0] {
        let open = || Cache::builder("test").lmdb(directory.path(), 64 << 20).bypass(Bypass::Off).build();
        let mut cache = open();
        wait_until("the store is free", || {
            if cache.is_err() {
                cache = open();
            }
            cache.is_ok()
        })
        .await;
        let (cache, before) = (cache.unwrap(), counted.runs());
        for key in &keys {
            assert_eq!(counted.get(&cache, key).await, [&b"the value of "[..], key].concat());
        }
        assert_eq!(counted.runs() - before, runs);
        assert!(cache.flush(LONG_TIMEOUT).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn caches_share_a_redis() {
    let Some(server) = RedisServer::start() else { return };
    let open = || Cache::builder("test").redis(server.url()).bypass(Bypass::Off).build().unwrap();
    let (first, second, counted) = (open(), open(), Counted::default());
    counted.get(&first, b"one").await;
    assert!(first.flush(LONG_TIMEOUT).await);
    assert_eq!(counted.get(&second, b"one").await, "the value of one");
    assert_eq!((counted.runs(), second.report()[0].hits), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_that_fails_or_panics_is_an_error_and_not_cached() {
    let cache = Cache::builder("test").memory(1 << 20).build().unwrap();
    let failed = cache.get_or_compute("key", || async { Err::<Bytes, _>("no such tile") }).await;
    assert_eq!(failed, Err(ComputeError::Failed("no such tile".to_owned())));
    let panicked = cache.get_or_compute("key", || async { panic!("a bug") as Result<Bytes, String> }).await;
    assert!(matches!(panicked, Err(ComputeError::Failed(_))), "{panicked:?}");
    let value = cache.get_or_compute("key", || async { Ok::<_, String>("value") }).await;
    assert_eq!(value.unwrap(), "value");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_computation_that_began_is_stored_although_its_caller_is_gone() {
    let (cache, counted) = (Cache::builder("test").memory(1 << 20).build().unwrap(), Counted::default());
    let caller = timeout(Duration::from_millis(1), counted.get(&cache, b"one")).await;
    assert!(caller.is_err() && counted.runs() == 1);
    wait_until("it is stored", || cache.report()[0].entries == 1).await;
    counted.get(&cache, b"one").await;
    assert_eq!(counted.runs(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn functions_that_block_run_beside_the_tasks_and_as_many_at_once_as_there_are_threads() {
    let cache = Cache::builder("test").memory(1 << 20).build().unwrap();
    let (running, most) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let released = Arc::new(Semaphore::new(0));
    let compute = |key: u8| {
        let (cache, running, most, released) = (cache.clone(), running.clone(), most.clone(), released.clone());
        let function = move || {
            most.fetch_max(running.fetch_add(1, SeqCst) + 1, SeqCst);
            let waited = Handle::current().block_on(timeout(LONG_TIMEOUT, released.acquire()));
            running.fetch_sub(1, SeqCst);
            waited.map(|_| [key, key].to_vec())
        };
        async move { cache.get_or_compute_blocking([key], function).await }
    };
    let computed = tokio::spawn(join_all((0..8).map(compute)));
    wait_until("two functions block", || running.load(SeqCst) == 2).await;
    timeout(LONG_TIMEOUT, tokio::spawn(async {})).await.expect("tasks go on while functions block").unwrap();
    assert_eq!(running.load(SeqCst), 2);
    released.add_permits(1);
    for (key, value) in (0..8_u8).zip(computed.await.unwrap()) {
        assert_eq!(value.unwrap(), [key, key].as_slice());
    }
    assert_eq!(most.load(SeqCst), 2);
}

#[tokio::test]
async fn a_function_that_panics_leaves_its_thread_to_the_next() {
    let cache = Cache::builder("test").memory(1 << 20).build().unwrap();
    let panics = || -> Result<Vec<u8>, std::io::Error> { panic!("as the test wants it") };
    for _ in 0..3 {
        let error = cache.get_or_compute_blocking("key", panics).await.unwrap_err();
        assert_eq!(error, ComputeError::Failed("the function panicked".to_owned()));
    }
    let fails = || Err::<Vec<u8>, _>("no luck");
    assert_eq!(cache.get_or_compute_blocking("key", fails).await, Err(ComputeError::Failed("no luck".to_owned())));
    let value = cache.get_or_compute_blocking("key", || Ok::<_, std::io::Error>("value")).await;
    assert_eq!(value.unwrap(), "value");
}

#[test]
fn a_cache_without_a_runtime_says_so() {
    let error = Cache::builder("test").memory(1 << 20).build().unwrap_err();
    assert!(matches!(error, OpenError::NoRuntime), "{error}");
}
