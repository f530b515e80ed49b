//! Makes one hit in so many again, in the background, and compares: what the hash of a stored value cannot show is a value
//! that was wrong when it was written.

use std::sync::{
    Arc,
    atomic::{
        AtomicBool,
        Ordering::{AcqRel, Relaxed, Release},
    },
};

use bytes::Bytes;
use prometheus::{IntCounter, IntCounterVec};
use tracing::error;
use xxhash_rust::xxh3::xxh3_64;

use crate::{key::Key, links::Links, source::Priority, turn::Share};

/// So many wrong values from one tier, and its breaker is tripped.
const TRIP: u32 = 3;

/// Which hits are audited, and what came of it: `floors_audits_total{outcome}`.
#[derive(Debug)]
pub(crate) struct Audits {
    pub(crate) share: Share,
    matched: IntCounter,
    mismatched: IntCounter,
    skipped: IntCounter,
    /// One at a time: an audit is never worth a second core.
    busy: AtomicBool,
}

impl Audits {
    pub(crate) fn new(every: u32, totals: &IntCounterVec) -> Self {
        let count = |outcome| totals.with_label_values(&[outcome]);
        Self {
            share: Share::one_in(every),
            matched: count("match"),
            mismatched: count("mismatch"),
            skipped: count("skipped"),
            busy: AtomicBool::new(false),
        }
    }
}

/// Starts the audit of `value`, which the tier `by` gave for `key`.
#[cold]
pub(crate) fn start(links: &Arc<Links>, key: Key, value: &Bytes, by: &'static str) {
    if links.audits.busy.swap(true, AcqRel) {
        links.audits.skipped.inc();
        return;
    }
    let (links, value) = (links.clone(), value.clone());
    let running = Running(links.clone());
    links.runtime.clone().spawn(async move {
        let _running = running;
        audit(&links, key, &value, by).await;
    });
}

/// Gives up the place when the audit is over, however it ends.
struct Running(Arc<Links>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.audits.busy.store(false, Release);
    }
}

async fn audit(links: &Links, key: Key, value: &Bytes, by: &'static str) {
    let audits = &links.audits;
    let Ok(made) = links.source.generate(key, Priority::Background).await else {
        audits.skipped.inc();
        return;
    };
    links.made.learn(key.class(), made.took);
    if made.value == *value {
        audits.matched.inc();
        return;
    }
    audits.mismatched.inc();
    let (found, expected) = (xxh3_64(value), xxh3_64(&made.value));
    error!(
        tier = by,
        value = links.source.describe(&key),
        found = format_args!("{found:016x}"),
        expected = format_args!("{expected:016x}"),
        "a tier gave a wrong value; removed from every tier"
    );
    links.purge(&[key]).await;
    for link in &links.lower {
        if link.name() == by && (link.mismatches.fetch_add(1, Relaxed) + 1).is_multiple_of(TRIP) {
            link.circuit.trip();
        }
    }
}
