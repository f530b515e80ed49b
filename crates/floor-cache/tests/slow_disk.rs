//! Tests that the breaker of a local tier whose queries block threads opens, although generated values then arrive late
//! too, and that the tier is asked again when it is fast.

mod fixture;

use std::{
    fs, hint,
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
    /// Whether a query loses its core to other threads, again and again.
    is_crowded: AtomicBool,
    queries: AtomicU64,
}

/// Ten times what generating takes.
const READ: Duration = Duration::from_millis(3);

/// How long this thread has waited for a core.
fn waited_for_core() -> Duration {
    let times = fs::read_to_string("/proc/thread-self/schedstat").expect("the test looked before");
    Duration::from_nanos(times.split(' ').nth(1).expect("three numbers").parse().expect("a number"))
}

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
        if self.0.is_crowded.load(SeqCst) {
            let began = waited_for_core();
            while waited_for_core() < began + READ {
                thread::yield_now();
            }
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

/// The store is healthy; the cores are busy with something else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_local_tier_is_not_left_because_its_callers_wait_for_a_core() {
    if fs::metadata("/proc/thread-self/schedstat").is_err() {
        println!("skipped: the system does not tell how long a thread waits for a core");
        return;
    }
    let disk = Arc::new(Disk::default());
    let tuning = Tuning { utilisation: Some(0.0), ..Tuning::default() };
    let chain = build_chain(&ChainConfig::default(), &tuning, |chain| chain.tier(SharedTier(disk.clone()), Admit::All));
    assert!(ask(&chain, 0).await > 1900);
    let is_busy = AtomicBool::new(true);
    let runtime = tokio::runtime::Handle::current();
    thread::scope(|scope| {
        for _ in 0..4 * thread::available_parallelism().expect("the cores").get() {
            scope.spawn(|| {
                while is_busy.load(SeqCst) {
                    hint::spin_loop();
                }
            });
        }
        disk.is_crowded.store(true, SeqCst);
        let late = tokio::task::block_in_place(|| {
            runtime.block_on(async {
                let mut late = 0;
                for number in 0..50 {
                    let served = chain.get(key(2000 + number, 1), TRACED).await.expect("it serves");
                    let step = &served.trace.expect("a trace")[0];
                    late += u32::from(step.outcome == Outcome::Hit && step.took >= READ);
                }
                late
            })
        });
        is_busy.store(false, SeqCst);
        assert!(late > 5, "enough queries took ten times as long as generating to open the breaker: {late}");
    });
    let report = &chain.report()[0];
    assert!(report.reason != "breaker" && report.errors == 0, "{report:?}");
}
