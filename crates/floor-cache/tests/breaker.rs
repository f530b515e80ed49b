//! Tests of the breaker around a tier that fails on request.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod fixture;

use std::{
    ops::Deref,
    sync::{
        Arc,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Relaxed, SeqCst},
        },
    },
};

use bytes::Bytes;
use fixture::{build_chain, key, keys, wait_until};
use floor_cache::{
    Admit, Answer, Bypass, ChainConfig, Key, Options, Tier, TierAdmin, TierError, TierErrorKind, TierStats, Tuning,
    layers::{Breaker, Circuit, CircuitState},
};
use tokio::{runtime::Handle, sync::Semaphore};

/// An empty tier that counts its queries.
#[derive(Debug, Clone)]
struct FlakyTier(Arc<FlakyState>);

#[derive(Debug)]
struct FlakyState {
    fails: AtomicBool,
    /// Queries for several values fail.
    batches_fail: AtomicBool,
    /// Queries wait at the gate.
    slow: AtomicBool,
    gate: Semaphore,
    asked: AtomicU64,
    /// Queries of the chain's own.
    probed: AtomicU64,
}

impl Deref for FlakyTier {
    type Target = FlakyState;

    fn deref(&self) -> &FlakyState {
        &self.0
    }
}

impl FlakyTier {
    fn answer<A>(&self, good: A) -> Result<A, TierError> {
        if self.fails.load(SeqCst) { Err(failure()) } else { Ok(good) }
    }
}

fn failure() -> TierError {
    TierError::new(TierErrorKind::Unreachable, "ask", "the tier fails on request")
}

fn refuse() -> Answer<'static, ()> {
    Answer::Now(Err(TierError::new(TierErrorKind::Refused, "change", "the tier is read-only")))
}

impl Tier for FlakyTier {
    fn name(&self) -> &'static str {
        "flaky"
    }

    fn waits(&self) -> bool {
        true
    }

    fn get<'a>(&'a self, _key: &'a Key) -> Answer<'a, Option<Bytes>> {
        self.asked.fetch_add(1, SeqCst);
        Answer::later(async move {
            if self.slow.load(SeqCst) {
                self.gate.acquire().await.unwrap().forget();
            }
            self.answer(None)
        })
    }

    fn get_many<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, Vec<Option<Bytes>>> {
        Answer::Now(if self.batches_fail.load(SeqCst) { Err(failure()) } else { self.answer(vec![None; keys.len()]) })
    }

    fn probe<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, ()> {
        self.probed.fetch_add(1, SeqCst);
        Answer::later(async { self.get_many(keys).await.map(drop) })
    }

    fn put_many<'a>(&'a self, _entries: &'a [(Key, Bytes)]) -> Answer<'a, ()> {
        refuse()
    }

    fn remove_many<'a>(&'a self, _keys: &'a [Key]) -> Answer<'a, ()> {
        refuse()
    }
}

impl TierAdmin for FlakyTier {
    fn contains<'a>(&'a self, _key: &'a Key) -> Answer<'a, bool> {
        Answer::later(async { self.answer(false) })
    }

    fn stats(&self) -> TierStats {
        TierStats::default()
    }
}

/// Consecutive failures that open the breaker.
const FAILURES: u64 = 5;

fn flaky_tier() -> FlakyTier {
    FlakyTier(Arc::new(FlakyState {
        fails: AtomicBool::new(false),
        batches_fail: AtomicBool::new(false),
        slow: AtomicBool::new(false),
        gate: Semaphore::new(0),
        asked: AtomicU64::new(0),
        probed: AtomicU64::new(0),
    }))
}

/// A breaker, its circuit, and the tier behind it.
fn breaker() -> (Arc<Breaker<FlakyTier>>, Arc<Circuit>, FlakyTier) {
    let (circuit, tier) = (Arc::new(Circuit::new("flaky")), flaky_tier());
    (Arc::new(Breaker::new(tier.clone(), circuit.clone())), circuit, tier)
}

async fn fail_until_open(breaker: &Breaker<FlakyTier>, circuit: &Circuit, tier: &FlakyTier) {
    tier.fails.store(true, SeqCst);
    for _ in 0..FAILURES {
        assert_eq!(circuit.state(), CircuitState::Closed);
        assert_eq!(breaker.get(&key(1, 1)).await.unwrap_err().kind(), TierErrorKind::Unreachable);
    }
    assert_eq!(circuit.state(), CircuitState::Open);
    tier.fails.store(false, SeqCst);
}

/// Enough callers to be concurrent at the end of the pause.
const CALLERS: usize = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn after_the_pause_one_call_probes_and_then_all_go_through() {
    for _ in 0..6 {
        let (breaker, circuit, tier) = breaker();
        fail_until_open(&breaker, &circuit, &tier).await;
        tier.slow.store(true, SeqCst);
        let refused = Arc::new(AtomicU64::new(0));
        let callers: Vec<_> = (0..CALLERS)
            .map(|_| {
                let (breaker, circuit, refused) = (breaker.clone(), circuit.clone(), refused.clone());
                tokio::spawn(async move {
                    while circuit.state() != CircuitState::Closed {
                        if breaker.get(&key(1, 1)).await.is_err() {
                            refused.fetch_add(1, Relaxed);
                            tokio::task::consume_budget().await;
                        }
                    }
                })
            })
            .collect();
        wait_until("one call goes through", || tier.asked.load(SeqCst) > FAILURES).await;
        let before = refused.load(Relaxed);
        wait_until("the others were refused", || refused.load(Relaxed) > before + 10_000).await;
        assert_eq!(circuit.state(), CircuitState::HalfOpen);
        assert_eq!(tier.asked.load(SeqCst), FAILURES + 1, "one call at a time probes");
        tier.slow.store(false, SeqCst);
        tier.gate.add_permits(CALLERS);
        for caller in callers {
            caller.await.unwrap();
        }
        // Closed: all concurrent calls go through.
        let before = tier.asked.load(SeqCst);
        let calls = (0..CALLERS).map(|_| {
            let breaker = breaker.clone();
            tokio::spawn(async move { breaker.get(&key(1, 1)).await.is_ok() })
        });
        for call in calls.collect::<Vec<_>>() {
            assert!(call.await.unwrap());
        }
        assert_eq!(tier.asked.load(SeqCst), before + CALLERS as u64);
        assert_eq!(circuit.state(), CircuitState::Closed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_probe_lets_another_call_probe() {
    let (breaker, circuit, tier) = breaker();
    fail_until_open(&breaker, &circuit, &tier).await;
    tier.slow.store(true, SeqCst);
    let cancelled = {
        let (breaker, circuit) = (breaker.clone(), circuit.clone());
        tokio::spawn(async move {
            while circuit.state() != CircuitState::Closed {
                let _ = breaker.get(&key(1, 1)).await;
                tokio::task::yield_now().await;
            }
        })
    };
    wait_until("one call goes through", || tier.asked.load(SeqCst) > FAILURES).await;
    assert_eq!(breaker.get(&key(1, 1)).await.unwrap_err().kind(), TierErrorKind::Open);
    cancelled.abort();
    assert!(cancelled.await.unwrap_err().is_cancelled());
    tier.slow.store(false, SeqCst);
    assert!(breaker.get(&key(1, 1)).await.is_ok());
    assert_eq!(circuit.state(), CircuitState::Closed);
}

/// The calls until the breaker opens, of 100 whose failures repeat `pattern`.
async fn calls_until_open(pattern: [bool; 3]) -> Option<usize> {
    let (breaker, circuit, tier) = breaker();
    for (call, fails) in pattern.into_iter().cycle().take(100).enumerate() {
        if circuit.state() != CircuitState::Closed {
            return Some(call);
        }
        tier.fails.store(fails, SeqCst);
        assert_eq!(breaker.get(&key(1, 1)).await.is_err(), fails);
    }
    None
}

#[tokio::test]
async fn failures_of_more_than_half_of_the_calls_open_the_breaker() {
    assert_eq!(calls_until_open([true, true, false]).await, Some(21));
    assert_eq!(calls_until_open([false, true, false]).await, None);
}

/// Of two kinds of lookups one fails, as that of a server which refuses batches.
#[tokio::test]
async fn a_kind_of_lookup_that_always_fails_opens_the_breaker_although_others_succeed() {
    let (breaker, circuit, tier) = breaker();
    tier.batches_fail.store(true, SeqCst);
    let both = keys(0..2);
    let mut batches = 0;
    while circuit.state() == CircuitState::Closed {
        assert!(breaker.get(&key(1, 1)).await.is_ok());
        assert!(breaker.get_many(&both).await.is_err());
        batches += 1;
    }
    assert_eq!(batches, FAILURES);
    let refusal = breaker.contains(&key(1, 1)).await.unwrap_err().to_string();
    assert!(refusal.contains("the tier fails on request"), "{refusal}");
    // The pause ends with a probe in vain. Until then single lookups are refused, since their success would say
    // nothing.
    while breaker.probe(&both).await.is_err_and(|error| error.kind() == TierErrorKind::Open) {
        assert_eq!(breaker.get(&key(1, 1)).await.unwrap_err().kind(), TierErrorKind::Open);
        tokio::task::yield_now().await;
    }
    assert_eq!(circuit.state(), CircuitState::Open, "the probe has failed");
    tier.batches_fail.store(false, SeqCst);
    while breaker.probe(&both).await.is_err() {
        assert_eq!(breaker.get(&key(1, 1)).await.unwrap_err().kind(), TierErrorKind::Open);
        tokio::task::yield_now().await;
    }
    assert_eq!(circuit.state(), CircuitState::Closed);
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_changes_do_not_open_the_breaker() {
    let (breaker, circuit, _tier) = breaker();
    for _ in 0..10 {
        let (entries, keys) = ([(key(1, 1), Bytes::from_static(b"value"))], [key(1, 1)]);
        assert_eq!(breaker.put_many(&entries).await.unwrap_err().kind(), TierErrorKind::Refused);
        assert_eq!(breaker.remove_many(&keys).await.unwrap_err().kind(), TierErrorKind::Refused);
    }
    assert_eq!(circuit.state(), CircuitState::Closed);
    assert!(breaker.get(&key(1, 1)).await.is_ok());
}

/// One thread, so that every task that lives is one that waits.
#[tokio::test]
async fn an_idle_chain_notices_that_a_tier_is_back() {
    let tier = flaky_tier();
    let config = ChainConfig { bypass: Bypass::Off, ..ChainConfig::default() };
    let chain = build_chain(&config, &Tuning::default(), |chain| chain.tier(tier.clone(), Admit::All));
    let verdict = || chain.report()[0].verdict;
    tier.fails.store(true, SeqCst);
    for number in 0..FAILURES {
        chain.get(key(number, 1), Options::default()).await.unwrap();
    }
    assert_eq!((verdict(), tier.probed.load(SeqCst)), ("open", 0));
    wait_until("the tier was probed in vain", || tier.probed.load(SeqCst) >= 2 && verdict() == "open").await;
    let (asked, counted) = (tier.asked.load(SeqCst), chain.report()[0].errors);
    tier.fails.store(false, SeqCst);
    wait_until("the breaker is closed", || verdict() == "probed").await;
    let report = &chain.report()[0];
    assert_eq!((tier.asked.load(SeqCst), report.errors, report.misses), (asked, counted, 0), "no lookup was made");
    let probed = tier.probed.load(SeqCst);
    // Twice the first pause: nothing may happen in it.
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    assert_eq!(tier.probed.load(SeqCst), probed, "a closed breaker is not probed");
    assert_eq!(Handle::current().metrics().num_alive_tasks(), 1);
    drop(chain);
    wait_until("the task ends with the chain", || Handle::current().metrics().num_alive_tasks() == 0).await;
}
