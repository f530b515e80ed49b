//! Audits: regenerates a sample of hits in the background and compares. The hash of a stored value cannot show that the
//! value was already wrong when it was written.

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

use crate::{
    hash::Hashed,
    key::Key,
    producer::Producer,
    sampler::{Draw, Sampler},
    source::GenerationRequest,
    stack::{RequiredIn, TierStack},
};

/// Wrong values from one tier that trip its breaker, and for how long: they are no transient fault of the network.
const TRIP: u32 = 3;
const PAUSE: Duration = Duration::from_secs(60);

/// How long the right value may take to be written before the audit ends.
const FLUSH: Duration = Duration::from_secs(5);

/// Audits a sample of hits and counts the outcomes: `floors_audits_total{outcome}`.
#[derive(Debug)]
pub(crate) struct Auditor {
    stack: Arc<TierStack>,
    producer: Arc<Producer>,
    sampler: Sampler,
    matched: IntCounter,
    mismatched: IntCounter,
    skipped: IntCounter,
    /// Whether an audit is running. One runs at a time, followed by a cooldown.
    busy: AtomicBool,
}

/// The pause after an audit that took `took`. Audits use at most a tenth of a core, and there are at most a thousand a
/// second. Without a bound, audits of tens of millions of memory hits a second kept a core busy and made each hit a
/// sixth slower.
fn cooldown(took: Duration) -> Duration {
    /// Pause for each unit of work.
    const FACTOR: u32 = 9;
    // A longer audit waited for a worker.
    (took * FACTOR).clamp(Duration::from_millis(1), Duration::from_secs(1))
}

impl Auditor {
    /// Audits one hit in `every`.
    pub(crate) fn new(stack: Arc<TierStack>, producer: Arc<Producer>, every: u32, totals: &IntCounterVec) -> Self {
        let count = |outcome| totals.with_label_values(&[outcome]);
        Self {
            stack,
            producer,
            sampler: Sampler::one_in(every),
            matched: count("match"),
            mismatched: count("mismatch"),
            skipped: count("skipped"),
            busy: AtomicBool::new(false),
        }
    }

    /// Picks the hits to audit.
    pub(crate) const fn sampler(&self) -> Sampler {
        self.sampler
    }

    /// Starts an audit of `value`, which the tier `by` returned for `key`, if `draw` is picked.
    pub(crate) fn sample(self: &Arc<Self>, draw: Draw, key: Key, value: &Bytes, by: &'static str) {
        if self.sampler.picks(draw) {
            self.start(key, value, by);
        }
    }

    #[cold]
    fn start(self: &Arc<Self>, key: Key, value: &Bytes, by: &'static str) {
        if self.busy.swap(true, AcqRel) {
            self.skipped.inc();
            return;
        }
        let (auditor, value) = (Running(self.clone()), value.clone());
        self.stack.runtime.spawn(async move {
            let began = Instant::now();
            auditor.0.audit(key, &value, by).await;
            sleep(cooldown(began.elapsed())).await;
        });
    }

    async fn audit(&self, key: Key, value: &Bytes, by: &'static str) {
        let made = match self.producer.generate_uncounted(GenerationRequest::background(key)).await {
            Ok(made) => made,
            Err(error) => {
                debug!(%error, "the audit could not regenerate a value");
                self.skipped.inc();
                return;
            }
        };
        if made.value == *value {
            self.matched.inc();
            return;
        }
        self.mismatched.inc();
        // Remove the value from every tier and write the right one: a tier that fails to remove may still accept a
        // write.
        let removals = self.stack.purge(&[key]).await.into_iter();
        let failures = removals.filter_map(|removal| Some((removal.tier, removal.result.err()?)));
        let failures: Vec<String> = failures.map(|(tier, error)| format!("{tier}: {error}")).collect();
        self.stack.store(&Hashed::new(&key), &made.value, RequiredIn::EveryTier);
        let removed =
            if failures.is_empty() { "from every tier".to_owned() } else { format!("but not from {failures:?}") };
        error!(
            tier = by,
            value = self.producer.describe(&key),
            found = format_args!("{:016x}", xxh3_64(value)),
            expected = format_args!("{:016x}", xxh3_64(&made.value)),
            removed,
            "a tier returned a wrong value; the right one is written in its place"
        );
        let Some(lower) = self.stack.lower.iter().find(|lower| lower.name() == by) else { return };
        // Until the right value is stored, the next audit would count the same wrong one again, and an open breaker would
        // reject the right one.
        lower.writes.flush(Instant::now() + FLUSH).await;
        if lower.mismatches.fetch_add(1, Relaxed) + 1 >= TRIP {
            lower.mismatches.store(0, Relaxed);
            lower.circuit.trip(PAUSE);
        }
    }
}

/// Clears the busy flag when the audit ends, also by a panic.
struct Running(Arc<Auditor>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.busy.store(false, Release);
    }
}
