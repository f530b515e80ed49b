//! Rechecks of a local tier whose queries took too long: a series of queries on a thread that may block, with keys that
//! lookups collected. A single query would not do: a disk with a limit on its rate answers the first ones at once.

use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use futures_util::FutureExt;
use parking_lot::Mutex;

use super::tier_stack::LowerTier;
use crate::{key::Key, policy::Asked, tier::TierErrorKind};

/// The keys of the next recheck of a tier.
#[derive(Debug, Default)]
pub(crate) struct RecheckKeys(Mutex<Rechecks>);

#[derive(Debug, Default)]
struct Rechecks {
    collecting: Option<Recheck>,
    /// The token of the last recheck. It runs until it is dropped, and no other starts before, however long the disk takes.
    running: Weak<()>,
}

/// The keys of a recheck, and how long its queries may take in seconds.
#[derive(Debug)]
pub(crate) struct Recheck {
    keys: Vec<Key>,
    allowed: f64,
    since: Instant,
    /// Dropped with the recheck, also if it panics or never runs.
    token: Arc<()>,
}

/// A recheck starts when it has so many keys, or some of them after a while.
const KEYS: usize = 256;
const MIN_KEYS: usize = 16;
const COLLECTING: Duration = Duration::from_secs(1);

/// The longest time that a recheck starts queries for.
const MAX_DURATION: Duration = Duration::from_millis(250);

impl RecheckKeys {
    /// Adds `keys`, which may take `allowed` seconds. Returns the recheck if it is complete. The caller must
    /// [run](LowerTier::run_recheck) it.
    pub(crate) fn collect(&self, now: Instant, keys: &[Key], allowed: f64) -> Option<Recheck> {
        let mut rechecks = self.0.lock();
        let Rechecks { collecting, running } = &mut *rechecks;
        if running.strong_count() > 0 {
            return None;
        }
        let new = || Recheck { keys: Vec::new(), allowed: 0.0, since: now, token: Arc::default() };
        let recheck = collecting.get_or_insert_with(new);
        let taken = keys.len().min(KEYS - recheck.keys.len());
        recheck.keys.extend(&keys[..taken]);
        recheck.allowed += allowed * taken as f64 / keys.len().max(1) as f64;
        let is_late = now.saturating_duration_since(recheck.since) >= COLLECTING;
        let is_complete = recheck.keys.len() == KEYS || is_late && recheck.keys.len() >= MIN_KEYS;
        if !is_complete {
            return None;
        }
        *running = Arc::downgrade(&recheck.token);
        collecting.take()
    }
}

impl LowerTier {
    /// Asks this local tier for the keys of `recheck`, one after the other, and decides whether callers may ask it. Blocks.
    pub(crate) fn run_recheck(&self, recheck: &Recheck) {
        let started = Instant::now();
        let longest = MAX_DURATION.min(Duration::try_from_secs_f64(recheck.allowed).unwrap_or(MAX_DURATION));
        let mut asked = 0;
        while asked < recheck.keys.len() && started.elapsed() < longest {
            let key = &recheck.keys[asked..=asked];
            let began = Instant::now();
            let Some(answer) = self.ask(key).now_or_never() else { break };
            if answer.as_ref().is_err_and(|error| error.kind() == TierErrorKind::Open) {
                break;
            }
            self.learn(Asked::InRecheck, 1, &answer, began.elapsed());
            asked += 1;
        }
        let allowed = recheck.allowed * asked as f64 / recheck.keys.len() as f64;
        self.policy.end_recheck(Instant::now(), started.elapsed(), allowed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Class;

    const KEY: Key = Key::new([0; Key::LEN - 1], Class::new(1));

    #[test]
    fn a_recheck_is_complete_with_256_keys_or_with_some_after_a_second() {
        let (recheck_keys, now) = (RecheckKeys::default(), Instant::now());
        assert!(recheck_keys.collect(now, &[KEY; 255], 2.55).is_none());
        let recheck = recheck_keys.collect(now, &[KEY; 4], 0.04).expect("256 keys are enough");
        assert_eq!(recheck.keys.len(), KEYS);
        assert!((recheck.allowed - 2.56).abs() < 1e-9, "{}", recheck.allowed);

        let (recheck_keys, late) = (RecheckKeys::default(), now + COLLECTING);
        assert!(recheck_keys.collect(now, &[KEY; 14], 0.1).is_none());
        assert!(recheck_keys.collect(late, &[KEY; 1], 0.1).is_none());
        assert!(recheck_keys.collect(late, &[KEY; 1], 0.1).is_some());
    }

    #[test]
    fn no_recheck_starts_while_one_runs() {
        let (recheck_keys, now) = (RecheckKeys::default(), Instant::now());
        let recheck = recheck_keys.collect(now, &[KEY; KEYS], 1.0).expect("256 keys are enough");
        for hours in 1..5 {
            assert!(recheck_keys.collect(now + Duration::from_secs(3600 * hours), &[KEY; KEYS], 1.0).is_none());
        }
        // As when it has run, or when its thread has panicked.
        drop(recheck);
        assert!(recheck_keys.collect(now, &[KEY; KEYS], 1.0).is_some());
    }
}
