//! Makes one hit in so many again, in the background, and compares: what the hash of a stored value cannot show is a value
//! that was wrong when it was written.

use std::{
    sync::{
        Arc,
        atomic::{
            AtomicBool,
            Ordering::{AcqRel, Relaxed, Release},
        },
    },
    time::Duration,
};

use bytes::Bytes;
use prometheus::{IntCounter, IntCounterVec};
use tokio::time::{Instant, sleep};
use tracing::{debug, error};
use xxhash_rust::xxh3::xxh3_64;

use crate::{chain_inner::ChainInner, hash::Hashed, key::Key, miss_lookup, sampler::Sampler, source::Priority};

/// So many wrong values from one tier, and its breaker is tripped, for so long: what is wrong with it is no accident of the
/// network.
const TRIP: u32 = 3;
const PAUSE: Duration = Duration::from_secs(60);

/// How long the right value may take to be written before that.
const FLUSH: Duration = Duration::from_secs(5);

/// Which hits are audited, and what came of it: `floors_audits_total{outcome}`.
#[derive(Debug)]
pub(crate) struct Audits {
    pub(crate) sampler: Sampler,
    matched: IntCounter,
    mismatched: IntCounter,
    skipped: IntCounter,
    /// One at a time, with rests: audits are never worth a second core.
    busy: AtomicBool,
}

impl Audits {
    pub(crate) fn new(every: u32, totals: &IntCounterVec) -> Self {
        let count = |outcome| totals.with_label_values(&[outcome]);
        Self {
            sampler: Sampler::one_in(every),
            matched: count("match"),
            mismatched: count("mismatch"),
            skipped: count("skipped"),
            busy: AtomicBool::new(false),
        }
    }
}

/// How long nothing is audited after an audit that took `took`: audits take a tenth of a core at the most, and there are no
/// more than a thousand a second. Who reads tens of millions of values a second out of memory would else keep a core busy,
/// and wake it every few dozen microseconds, which made each hit a sixth slower.
fn cooldown(took: Duration) -> Duration {
    /// Rest for each part of work.
    const FACTOR: u32 = 9;
    // What took longer than the bound waited for its turn.
    (took * FACTOR).clamp(Duration::from_millis(1), Duration::from_secs(1))
}

/// Starts the audit of `value`, which the tier `by` gave for `key`.
#[cold]
pub(crate) fn start(inner: &Arc<ChainInner>, key: Key, value: &Bytes, by: &'static str) {
    if inner.audits.busy.swap(true, AcqRel) {
        inner.audits.skipped.inc();
        return;
    }
    let (inner, value) = (inner.clone(), value.clone());
    let running = Running(inner.clone());
    inner.runtime.clone().spawn(async move {
        let _running = running;
        let began = Instant::now();
        audit(&inner, key, &value, by).await;
        sleep(cooldown(began.elapsed())).await;
    });
}

/// Gives up the place when the audit is over, however it ends.
struct Running(Arc<ChainInner>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.audits.busy.store(false, Release);
    }
}

async fn audit(inner: &ChainInner, key: Key, value: &Bytes, by: &'static str) {
    let audits = &inner.audits;
    let made = match miss_lookup::run_source(inner, key, Priority::Background).await {
        Ok(made) => made,
        Err(error) => {
            debug!(%error, "a value could not be made again to compare it");
            audits.skipped.inc();
            return;
        }
    };
    if made.value == *value {
        audits.matched.inc();
        return;
    }
    audits.mismatched.inc();
    // Out of every tier, and the right value in: one that does not remove it may yet take another in its place.
    let failures =
        inner.purge(&[key]).await.into_iter().filter_map(|removal| Some((removal.tier, removal.result.err()?)));
    let failures: Vec<String> = failures.map(|(tier, error)| format!("{tier}: {error}")).collect();
    inner.promote(&Hashed::new(&key), &made.value, inner.lower.len());
    let removed = if failures.is_empty() { "from every tier".to_owned() } else { format!("but not from {failures:?}") };
    error!(
        tier = by,
        value = inner.source.describe(&key),
        found = format_args!("{:016x}", xxh3_64(value)),
        expected = format_args!("{:016x}", xxh3_64(&made.value)),
        removed,
        "a tier gave a wrong value; the right one is written in its place"
    );
    let Some(lower) = inner.lower.iter().find(|lower| lower.name() == by) else { return };
    if lower.mismatches.fetch_add(1, Relaxed) + 1 >= TRIP {
        lower.mismatches.store(0, Relaxed);
        // Once it has the right value, which it would not take any more.
        lower.writes.flush(Instant::now() + FLUSH).await;
        lower.circuit.trip(PAUSE);
    }
}
