//! Which values a lower tier stores when it is nearly full. The writer thread of its queue asks for each value.
//!
//! A value is stored at the second request for it, as flash caches do ("reject first" in CacheLib; LARC: Huang and
//! others, 2013), with the doorkeeper of `TinyLFU` (Einziger, Friedman and Manes, 2017) as the memory of the first. A
//! scan asks for each value once, so it writes almost nothing and evicts almost nothing
//! (docs/decisions/0207-admission-to-lower-tiers.md).

use std::time::{Duration, Instant};

use crate::{doorkeeper::Doorkeeper, hash::Hashed, key::Key, tier::TierStats};

/// Why a value is written to a lower tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteReason {
    /// A lookup did not find it in the tier. Refused at the first request if the tier is nearly full.
    Missed,
    /// Memory serves it often. Refused if the tier has room, or got the value from memory a short time ago.
    Popular,
    /// It replaces a value that may be wrong. Never refused.
    Required,
}

/// The requests and the size of one tier. Takes 640 KiB, whatever the size of the tier.
#[derive(Debug)]
pub(super) struct Admission {
    /// Keys that were offered.
    asked: Doorkeeper,
    /// Keys that were written because memory serves them.
    kept: Doorkeeper,
    /// Values written since `kept` was cleared, without those that memory serves.
    written: u64,
    /// The last known size.
    size: TierStats,
    updated: Instant,
    /// Estimated bytes admitted since `size` was measured.
    added: u64,
}

/// Keys remembered as asked for: at least this many, at most twice as many.
const ASKED: usize = 128 << 10;

/// Keys remembered as written because memory serves them.
const KEPT: usize = 32 << 10;

/// A tier is nearly full above this share of its limit.
const NEARLY_FULL_PERCENT: u64 = 90;

/// How long a nearly full tier that is not written to counts as such: another process may have made room.
const MAX_AGE: Duration = Duration::from_secs(1);

/// A value that memory serves is written again after one part in this of the entries was replaced. A store evicts the
/// entries that are not read before its sieve comes to a read one again, which are usually more.
const REPLACED_PART: u64 = 16;

impl Admission {
    pub(super) fn new() -> Self {
        Self {
            asked: Doorkeeper::new(ASKED),
            kept: Doorkeeper::new(KEPT),
            written: 0,
            size: TierStats::default(),
            updated: Instant::now(),
            added: 0,
        }
    }

    /// Whether to write the value of `key`, which has `len` bytes. Counts as a request for `key`.
    pub(super) fn admits(&mut self, key: &Key, len: usize, reason: WriteReason) -> bool {
        let hash = Hashed::new(key).hash();
        let was_asked = self.asked.mark_seen(hash);
        let is_nearly_full = self.is_nearly_full();
        let admitted = match reason {
            WriteReason::Missed => was_asked || !is_nearly_full,
            WriteReason::Popular => is_nearly_full && !self.kept.mark_seen(hash),
            WriteReason::Required => true,
        };
        if admitted {
            self.added += stored_bytes(len);
            if is_nearly_full && reason != WriteReason::Popular {
                self.count_written();
            }
        }
        admitted
    }

    /// Whether the tier is nearly full. `false` for a tier without a limit, or whose limit is unknown.
    pub(super) const fn is_nearly_full(&self) -> bool {
        let bytes = self.size.bytes.saturating_add(self.added);
        self.size.limit > 0 && bytes > self.size.limit / 100 * NEARLY_FULL_PERCENT
    }

    /// Whether the size is too old to refuse values.
    pub(super) fn needs_update(&self) -> bool {
        self.is_nearly_full() && self.updated.elapsed() >= MAX_AGE
    }

    /// Sets the size of the tier. If it is not `current`, it may be that of an earlier call.
    pub(super) fn update(&mut self, size: TierStats, current: bool) {
        if current || size.bytes != self.size.bytes {
            self.added = 0;
        }
        self.size = size;
        self.updated = Instant::now();
    }

    fn count_written(&mut self) {
        self.written += 1;
        if self.written > self.size.entries / REPLACED_PART {
            self.written = 0;
            self.kept.clear();
        }
    }
}

/// Estimated bytes that a value of `len` bytes takes in a tier, with key, envelope and unused space.
const fn stored_bytes(len: usize) -> u64 {
    const OVERHEAD: usize = 128;
    (len + len / 4 + OVERHEAD) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Class;

    fn key(number: u64) -> Key {
        let mut identity = [0; Key::LEN - 1];
        identity[..8].copy_from_slice(&number.to_le_bytes());
        Key::new(identity, Class::new(0))
    }

    /// A tier of 1,000 values with a limit of 1,000,000 bytes.
    fn sized(bytes: u64) -> Admission {
        let mut admission = Admission::new();
        admission.update(TierStats { entries: 1000, bytes, limit: 1_000_000, ..TierStats::default() }, true);
        admission
    }

    #[test]
    fn a_nearly_full_tier_admits_a_value_at_its_second_request() {
        let mut admission = sized(950_000);
        assert!(!admission.admits(&key(1), 100, WriteReason::Missed));
        assert!(admission.admits(&key(1), 100, WriteReason::Missed));
        let mistaken = (2..10_002).filter(|number| admission.admits(&key(*number), 0, WriteReason::Missed)).count();
        assert!(mistaken < 100, "{mistaken} of 10,000 values of a scan");
        assert!(admission.admits(&key(20_000), 100, WriteReason::Required));
    }

    #[test]
    fn a_tier_with_room_or_without_a_limit_admits_everything() {
        let mut admission = Admission::new();
        assert!((0..1000).all(|number| admission.admits(&key(number), 8 << 20, WriteReason::Missed)), "no limit");
        let mut admission = sized(100_000);
        let admitted = (0..1000).filter(|number| admission.admits(&key(*number), 7_000, WriteReason::Missed)).count();
        assert!((80..100).contains(&admitted), "{admitted}: it counts what it admits before the next update");
        assert!(!admission.needs_update());
    }

    /// A server on the network reports its size with a delay.
    #[test]
    fn what_was_admitted_counts_until_the_size_changes() {
        let mut admission = sized(890_000);
        assert!(admission.admits(&key(1), 100_000, WriteReason::Missed));
        let size = admission.size;
        admission.update(size, false);
        assert!(admission.is_nearly_full());
        admission.update(TierStats { bytes: 880_000, ..size }, false);
        assert!(!admission.is_nearly_full());
    }

    #[test]
    fn what_memory_serves_is_written_again_after_others_were_replaced() {
        let mut admission = sized(950_000);
        assert!(admission.admits(&key(1), 100, WriteReason::Popular));
        assert!(!admission.admits(&key(1), 100, WriteReason::Popular));
        for number in 2..100 {
            admission.admits(&key(number), 100, WriteReason::Required);
        }
        assert!(admission.admits(&key(1), 100, WriteReason::Popular));
        assert!(!sized(100_000).admits(&key(1), 100, WriteReason::Popular), "a tier with room evicts nothing");
    }

    #[test]
    fn its_memory_is_bounded() {
        assert_eq!(Doorkeeper::footprint(ASKED) + Doorkeeper::footprint(KEPT), 640 << 10);
    }
}
