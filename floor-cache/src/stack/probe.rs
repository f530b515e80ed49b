//! Probes of a local tier whose queries took too long: a series of queries on a thread that may block, with keys that
//! lookups collected. A single query would not do: a disk with a limit on its rate answers the first ones at once.

use std::{
    mem,
    time::{Duration, Instant},
};

use futures_util::FutureExt;
use parking_lot::Mutex;

use super::tier_stack::LowerTier;
use crate::{key::Key, policy::Asked, tier::TierErrorKind};

/// The keys of the next probe.
#[derive(Debug, Default)]
pub(crate) struct ProbeKeys(Mutex<Option<Probe>>);

/// The keys of a probe, and how long its queries may take in seconds.
#[derive(Debug)]
pub(crate) struct Probe {
    keys: Vec<Key>,
    allowed: f64,
    since: Instant,
}

/// A probe starts when it has so many keys, or some of them after a while.
const KEYS: usize = 256;
const MIN_KEYS: usize = 16;
const COLLECTING: Duration = Duration::from_secs(1);

/// The longest time that a probe starts queries for.
const MAX_DURATION: Duration = Duration::from_millis(250);

impl ProbeKeys {
    /// Adds `keys`, which may take `allowed` seconds. Returns the probe if it is complete.
    pub(crate) fn collect(&self, now: Instant, keys: &[Key], allowed: f64) -> Option<Probe> {
        let mut next = self.0.lock();
        let probe = next.get_or_insert_with(|| Probe { keys: Vec::new(), allowed: 0.0, since: now });
        let taken = keys.len().min(KEYS - probe.keys.len());
        probe.keys.extend(&keys[..taken]);
        probe.allowed += allowed * taken as f64 / keys.len().max(1) as f64;
        let is_late = now.saturating_duration_since(probe.since) >= COLLECTING;
        let is_complete = probe.keys.len() == KEYS || is_late && probe.keys.len() >= MIN_KEYS;
        if is_complete { mem::take(&mut *next) } else { None }
    }
}

impl LowerTier {
    /// Asks this local tier for the keys of `probe`, one after the other, and decides whether callers may ask it. Blocks.
    pub(crate) fn run(&self, probe: &Probe) {
        let started = Instant::now();
        let longest = MAX_DURATION.min(Duration::try_from_secs_f64(probe.allowed).unwrap_or(MAX_DURATION));
        let mut asked = 0;
        while asked < probe.keys.len() && started.elapsed() < longest {
            let key = &probe.keys[asked..=asked];
            let began = Instant::now();
            let Some(answer) = self.ask(key).now_or_never() else { break };
            if answer.as_ref().is_err_and(|error| error.kind() == TierErrorKind::Open) {
                break;
            }
            self.learn(Asked::InProbe, 1, &answer, began.elapsed());
            asked += 1;
        }
        // Keys that another lookup collected as this probe started are too old for the next.
        *self.probe_keys.0.lock() = None;
        let allowed = probe.allowed * asked as f64 / probe.keys.len() as f64;
        self.policy.end_probe(Instant::now(), started.elapsed(), allowed);
    }
}
