//! The eviction policy of the stores on disk: SIEVE, over the entries in order of age.
//!
//! After "SIEVE is simpler than LRU: an efficient turn-key eviction algorithm for web caches" (Zhang, Yang, Yue,
//! Vigfusson and Rashmi, NSDI 2024). A hand moves from the oldest entry to the newest and starts again. It evicts an
//! entry that was not read since its last pass and skips one that was. A read sets a bit in memory and writes nothing
//! to the store. Unlike in the paper, the hand restarts before the newest entries: a hand that stays close behind them
//! evicts each new entry before it can be read, while formerly popular entries fill the store. A restart of the server
//! loses the bits. The stores keep the hand, because the entries that it has passed are those that were read.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use xxhash_rust::xxh3::xxh3_64;

/// The read bits of the entries, and the position of the hand.
#[derive(Debug)]
pub(super) struct Sieve {
    /// A read bit per stored key, by its hash. Keys may share a bit, so an unread entry may be kept.
    visited: Box<[AtomicU64]>,
    /// The age at which the next sweep starts.
    hand: AtomicU64,
    /// Entries evicted since the hand restarted.
    evicted: AtomicU64,
}

/// Bits per 4 KiB of the store: a value of 3 KB takes two pages with its keys and has 128 bits. With a quarter of them,
/// shared bits cost a hundredth of the hits.
const BITS_PER_PAGE: u64 = 64;
const PAGE: u64 = 4096;

/// Limit of the memory for bits. A store beyond 16 GiB has fewer bits per page.
const MAX_BYTES: u64 = 32 << 20;

/// A sweep skips at most this many read entries, and [`PASSED_PER_EVICTION`] more per eviction: about as much work as
/// the commit of its transaction. Then it evicts the next entries.
const MAX_PASSED: u64 = 1024;
const PASSED_PER_EVICTION: u64 = 16;

/// The hand restarts when fewer than one part in this of the entries are newer. A tenth gains about a hundredth of hits
/// under a steady load and loses up to five under one that shifts (docs/decisions/0203-eviction-in-lmdb.md).
const NEW_PART: u64 = 5;

/// The hand restarts after at most this many evictions per entry. If no entry newer than the restart is read, each new
/// entry is evicted in order and the hand gets no closer to the newest.
const MAX_EVICTED: u64 = 6;

impl Sieve {
    /// A sieve for a store of `bytes`, with the hand at the age `hand`. It takes 1/512 of `bytes` in memory, at most 32
    /// MiB, and almost nothing for 0 bytes, a store without a limit.
    pub(super) fn new(bytes: u64, hand: u64) -> Self {
        let words = (bytes / PAGE * BITS_PER_PAGE / 8).clamp(8, MAX_BYTES) / 8;
        Self {
            visited: (0..words).map(|_| AtomicU64::new(0)).collect(),
            hand: AtomicU64::new(hand),
            evicted: AtomicU64::new(0),
        }
    }

    /// Marks the entry under `stored` as read.
    #[inline]
    pub(super) fn visit(&self, stored: &[u8]) {
        let (word, bit) = self.slot(stored);
        // Most entries that are read are marked already: a load keeps the cache line shared between processors.
        if word.load(Relaxed) & bit == 0 {
            word.fetch_or(bit, Relaxed);
        }
    }

    /// The age at the hand, which the store persists.
    pub(super) fn hand(&self) -> u64 {
        self.hand.load(Relaxed)
    }

    /// Starts a search for entries to evict in a store of `entries`. The next entry gets the age `next_age`.
    pub(super) fn sweep(&self, next_age: u64, entries: u64) -> Sweep<'_> {
        let is_near_newest = next_age.saturating_sub(self.hand()) <= entries / NEW_PART;
        if is_near_newest || self.evicted.load(Relaxed) > entries.saturating_mul(MAX_EVICTED) {
            self.hand.store(0, Relaxed);
            self.evicted.store(0, Relaxed);
        }
        // In a small store, skip only half, so that something is evicted.
        Sweep { sieve: self, may_pass: MAX_PASSED.min(entries / 2) }
    }

    /// Whether the entry under `stored` was read. Clears its bit.
    fn take_visited(&self, stored: &[u8]) -> bool {
        let (word, bit) = self.slot(stored);
        word.fetch_and(!bit, Relaxed) & bit != 0
    }

    fn slot(&self, stored: &[u8]) -> (&AtomicU64, u64) {
        let hash = xxh3_64(stored);
        let word = (u128::from(hash) * self.visited.len() as u128) >> 64;
        (&self.visited[word as usize], 1 << (hash & 63))
    }
}

/// One search for entries to evict.
pub(super) struct Sweep<'a> {
    sieve: &'a Sieve,
    may_pass: u64,
}

impl Sweep<'_> {
    /// The age at which the search starts, as the stores encode ages.
    pub(super) fn start(&self) -> [u8; 8] {
        self.sieve.hand().to_be_bytes()
    }

    /// Whether to evict the entry under `stored`. The caller must pass the entries in order of age, from
    /// [`start`](Sweep::start) to the newest, then from the oldest. The hand follows.
    pub(super) fn should_evict(&mut self, age: u64, stored: &[u8]) -> bool {
        self.sieve.hand.store(age.saturating_add(1), Relaxed);
        if self.sieve.take_visited(stored) && self.may_pass > 0 {
            self.may_pass -= 1;
            return false;
        }
        self.may_pass += PASSED_PER_EVICTION;
        self.sieve.evicted.fetch_add(1, Relaxed);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Evicts `count` of `ages` as a store does. Returns how many entries it examined.
    fn evict(sieve: &Sieve, ages: &mut Vec<u64>, count: usize) -> usize {
        let mut sweep = sieve.sweep(ages.last().map_or(0, |age| age + 1), ages.len() as u64);
        let at = ages.partition_point(|age| *age < sieve.hand());
        let order: Vec<u64> = ages[at..].iter().chain(&ages[..at]).copied().collect();
        let (mut seen, mut evicted) = (0, Vec::new());
        for age in order {
            if evicted.len() == count {
                break;
            }
            seen += 1;
            if sweep.should_evict(age, &age.to_be_bytes()) {
                evicted.push(age);
            }
        }
        ages.retain(|age| !evicted.contains(age));
        seen
    }

    #[test]
    fn unread_entries_go_oldest_first() {
        let (sieve, mut ages) = (Sieve::new(1 << 20, 0), (0..100).collect());
        evict(&sieve, &mut ages, 30);
        assert_eq!(ages, (30..100).collect::<Vec<_>>());
    }

    #[test]
    fn a_read_entry_stays_for_one_pass_of_the_hand() {
        let (sieve, mut ages) = (Sieve::new(1 << 20, 0), (0..10).collect());
        sieve.visit(&3_u64.to_be_bytes());
        evict(&sieve, &mut ages, 9);
        assert_eq!(ages, [3], "all others went first");
        evict(&sieve, &mut ages, 1);
        assert!(ages.is_empty(), "the hand begins again at the oldest");
    }

    /// Read entries stay for one pass, and new entries stay long enough to be read.
    #[test]
    fn new_entries_stay_while_others_are_written() {
        const CAPACITY: u64 = 1000;
        let (sieve, mut ages) = (Sieve::new(16 << 20, 0), (0..CAPACITY).collect::<Vec<_>>());
        for age in (0..CAPACITY).filter(|age| age % 10 != 0) {
            sieve.visit(&age.to_be_bytes());
        }
        for age in CAPACITY..20 * CAPACITY {
            evict(&sieve, &mut ages, 1);
            ages.push(age);
            let newest = age - CAPACITY / NEW_PART / 2..=age;
            assert!(newest.clone().all(|age| ages.contains(&age)), "{newest:?}");
        }
        assert!(ages[0] >= CAPACITY, "the first entries were not read again: {:?}", &ages[..10]);
    }

    #[test]
    fn a_sweep_passes_a_bounded_number_of_entries() {
        let (sieve, mut ages) = (Sieve::new(32 << 30, 0), (0..10_000_u64).collect::<Vec<_>>());
        ages.iter().for_each(|age| sieve.visit(&age.to_be_bytes()));
        assert_eq!(evict(&sieve, &mut ages, 1) as u64, MAX_PASSED + 1);
        assert_eq!(evict(&sieve, &mut ages, 10) as u64, MAX_PASSED + 9 * PASSED_PER_EVICTION + 10);
        let mut few = vec![7, 8, 9];
        let sieve = Sieve::new(1 << 20, 0);
        few.iter().for_each(|age: &u64| sieve.visit(&age.to_be_bytes()));
        evict(&sieve, &mut few, 1);
        assert_eq!(few.len(), 2, "one of a few read entries is evicted");
    }

    /// A false read bit wastes space. With 128 bits per entry, they are rare.
    #[test]
    fn false_read_bits_are_rare() {
        const ENTRIES: u64 = 100_000;
        let sieve = Sieve::new(ENTRIES * 2 * PAGE, 0);
        (0..ENTRIES / 2).for_each(|number| sieve.visit(&number.to_be_bytes()));
        let mistaken = (ENTRIES / 2..ENTRIES).filter(|number| sieve.take_visited(&number.to_be_bytes())).count();
        assert!(mistaken < 1000, "{mistaken} of {}", ENTRIES / 2);
    }

    #[test]
    fn its_memory_is_bounded() {
        for (store, bytes) in [(0, 8), (4 << 30, 8 << 20), (16 << 30, 32 << 20), (u64::MAX, 32 << 20)] {
            assert_eq!(Sieve::new(store, 0).visited.len() * 8, bytes, "{store}");
        }
    }
}
