//! Tests that the breaker of a local tier whose queries block threads opens, although generated values then arrive late
//! too, and that the tier is asked again when it is fast.

mod fixture;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;
use fixture::{LONG_TIMEOUT, TRACED, build_chain, fake_source::value_of, key};
use floor_cache::{Admit, Answer, Chain, ChainConfig, Key, Outcome, Tier, TierAdmin, TierStats, Tuning};
use futures_util::future::join_all;

/// A tier in this process that has every value. While it is slow, a query blocks its thread.
#[derive(Debug, Default)]
struct Disk {
    is_slow: AtomicBool,
    queries: AtomicU64,
}

/// Ten times what generating takes.
const READ: Duration = Duration::from_millis(3);

/// Shared by the chain and the test.
#[derive(Debug)]
struct SharedTier(Arc<Disk>);

impl Tier for SharedTier {
    fn name(&self) -> &'static str {
        "disk"
    }

    fn get<'a>(&'a self, key: &'a Key) -> Answer<'a, Option<Bytes>> {
        self.0.queries.fetch_add(1, SeqCst);
        if self.0.is_slow.load(SeqCst) {
            thread::sleep(READ);
        }
        Answer::Now(Ok(Some(value_of(key))))
    }

    fn get_many<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, Vec<Option<Bytes>>> {
        Answer::Now(Ok(keys.iter().map(|key| Some(value_of(key))).collect()))
    }

    fn put_many<'a>(&'a self, _entries: &'a [(Key, Bytes)]) -> Answer<'a, ()> {
        Answer::Now(Ok(()))
    }

    fn remove_many<'a>(&'a self, _keys: &'a [Key]) -> Answer<'a, ()> {
        Answer::Now(Ok(()))
    }
}

impl TierAdmin for SharedTier {
    fn contains<'a>(&'a self, _key: &'a Key) -> Answer<'a, bool> {
        Answer::Now(Ok(true))
    }

    fn stats(&self) -> TierStats {
        TierStats::default()
    }
}

/// Forty callers make 50 calls each. Returns in how many of the 2,000 the disk was asked.
async fn ask(chain: &Chain, first: u64) -> usize {
    let callers = (0..40).map(|caller| {
        let chain = chain.clone();
        tokio::spawn(async move {
            let mut asked = 0;
            for number in 0..50 {
                let served = chain.get(key(first + 50 * caller + number, 1), TRACED).await.expect("it serves");
                let outcome = served.trace.expect("a trace")[0].outcome;
                asked += usize::from(!matches!(outcome, Outcome::Bypass | Outcome::Open));
            }
            asked
        })
    });
    join_all(callers).await.into_iter().map(|asked| asked.expect("no caller panics")).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_local_tier_that_blocks_threads_is_left_until_it_is_fast() {
    let disk = Arc::new(Disk::default());
    disk.is_slow.store(true, SeqCst);
    let tuning = Tuning { utilisation: Some(0.0), ..Tuning::default() };
    let chain = build_chain(&ChainConfig::default(), &tuning, |chain| chain.tier(SharedTier(disk.clone()), Admit::All));

    let asked = ask(&chain, 0).await;
    assert!(asked < 100, "{asked} of 2000 callers waited for the disk: {:?}", chain.report()[0]);
    assert_eq!(chain.report()[0].reason, "breaker");
    // Later the breaker probes the disk, one call at a time and ever more seldom.
    let (began, queries) = (Instant::now(), disk.queries.load(SeqCst));
    let mut first = 2000;
    while disk.queries.load(SeqCst) == queries {
        assert!(began.elapsed() < LONG_TIMEOUT, "the disk is not asked again");
        let asked = ask(&chain, first).await;
        assert!(asked < 20, "{asked} of 2000: {:?}", chain.report()[0]);
        first += 2000;
    }

    disk.is_slow.store(false, SeqCst);
    let began = Instant::now();
    while ask(&chain, first).await < 1900 {
        assert!(began.elapsed() < LONG_TIMEOUT, "the disk is not asked: {:?}", chain.report()[0]);
        first += 2000;
    }
}
