//! Chooses which entries of a store on disk are evicted: SIEVE, over the entries in the order of their ages.
//!
//! After "SIEVE is simpler than LRU: an efficient turn-key eviction algorithm for web caches" (Zhang, Yang, Yue, Vigfusson and
//! Rashmi, NSDI 2024). A hand moves from the oldest entry to the newest and begins again. It evicts an entry that was not read
//! since the hand last passed it, and leaves one that was read where it is. So a read writes nothing to the store: it sets a
//! bit in memory. The bits are lost at a restart. The stores keep the hand, since the entries that it has passed are those that
//! were read.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use xxhash_rust::xxh3::xxh3_64;

/// Which entries were read, and where the hand stands.
#[derive(Debug)]
pub(super) struct Sieve {
    /// A bit for each stored key, by its hash. Keys may share one: then an entry may stay that was not read.
    visited: Box<[AtomicU64]>,
    /// The age that the next search for an entry to evict begins at.
    hand: AtomicU64,
}

/// Bits for each 4 KiB of the store: a floor of 100x100 cells takes two pages, so that it has 32.
const BITS_A_PAGE: u64 = 16;
const PAGE: u64 = 4096;

/// Bytes of bits at the most. A store beyond 32 GiB has fewer bits a page.
const MAX_BYTES: u64 = 16 << 20;

/// For each entry that it evicts, a sweep passes at the most so many that were read. Then it evicts what comes next.
const MAX_PASSED: usize = 16;

impl Sieve {
    /// For a store of `bytes`, with the hand at the age `hand`. It takes 1/2048 of `bytes` in memory, at the most 16 MiB.
    pub(super) fn new(bytes: u64, hand: u64) -> Self {
        let words = (bytes / PAGE * BITS_A_PAGE / 8).clamp(8, MAX_BYTES) / 8;
        Self { visited: (0..words).map(|_| AtomicU64::new(0)).collect(), hand: AtomicU64::new(hand) }
    }

    /// One that never evicts anything and takes no memory worth mentioning.
    pub(super) fn unbounded() -> Self {
        Self::new(0, 0)
    }

    /// Notes that the entry under `stored` was read.
    #[inline]
    pub(super) fn visit(&self, stored: &[u8]) {
        let (word, bit) = self.place(stored);
        // Most entries that are read were read before: a load leaves the line shared between processors.
        if word.load(Relaxed) & bit == 0 {
            word.fetch_or(bit, Relaxed);
        }
    }

    /// The age that the next sweep begins at.
    pub(super) fn hand(&self) -> u64 {
        self.hand.load(Relaxed)
    }

    /// Begins a search for entries to evict.
    pub(super) fn sweep(&self) -> Sweep<'_> {
        Sweep { sieve: self, may_pass: MAX_PASSED }
    }

    /// Whether the entry under `stored` was read since this was last asked.
    fn take(&self, stored: &[u8]) -> bool {
        let (word, bit) = self.place(stored);
        word.fetch_and(!bit, Relaxed) & bit != 0
    }

    fn place(&self, stored: &[u8]) -> (&AtomicU64, u64) {
        let hash = xxh3_64(stored);
        let word = (u128::from(hash) * self.visited.len() as u128) >> 64;
        (&self.visited[word as usize], 1 << (hash & 63))
    }
}

/// One search for entries to evict.
pub(super) struct Sweep<'a> {
    sieve: &'a Sieve,
    may_pass: usize,
}

impl Sweep<'_> {
    /// Whether to evict the entry under `stored`. The caller asks for one entry after the other, from the one of the age
    /// [`hand`](Sieve::hand) to the newest, then from the oldest. The hand follows.
    pub(super) fn evicts(&mut self, age: u64, stored: &[u8]) -> bool {
        self.sieve.hand.store(age.saturating_add(1), Relaxed);
        if self.sieve.take(stored) && self.may_pass > 0 {
            self.may_pass -= 1;
            return false;
        }
        self.may_pass += MAX_PASSED;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Evicts `count` of `ages`, as a store does. How many entries were looked at.
    fn evict(sieve: &Sieve, ages: &mut Vec<u64>, count: usize) -> usize {
        let mut sweep = sieve.sweep();
        let at = ages.partition_point(|age| *age < sieve.hand());
        let order: Vec<u64> = ages[at..].iter().chain(&ages[..at]).copied().collect();
        let (mut seen, mut evicted) = (0, Vec::new());
        for age in order {
            if evicted.len() == count {
                break;
            }
            seen += 1;
            if sweep.evicts(age, &age.to_be_bytes()) {
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
        assert_eq!(ages, [3]);
        evict(&sieve, &mut ages, 1);
        assert!(ages.is_empty(), "the hand begins again at the oldest");
    }

    #[test]
    fn a_sweep_passes_a_bounded_number_of_entries() {
        let (sieve, mut ages) = (Sieve::new(64 << 20, 0), (0..10_000_u64).collect::<Vec<_>>());
        ages.iter().for_each(|age| sieve.visit(&age.to_be_bytes()));
        assert_eq!(evict(&sieve, &mut ages, 1), MAX_PASSED + 1);
        assert_eq!(evict(&sieve, &mut ages, 10), 10 * (MAX_PASSED + 1));
    }

    /// A false bit costs room: with 32 bits an entry they are few.
    #[test]
    fn few_entries_are_taken_for_read_that_were_not() {
        const ENTRIES: u64 = 100_000;
        let sieve = Sieve::new(ENTRIES * 2 * PAGE, 0);
        (0..ENTRIES / 2).for_each(|number| sieve.visit(&number.to_be_bytes()));
        let mistaken = (ENTRIES / 2..ENTRIES).filter(|number| sieve.take(&number.to_be_bytes())).count();
        assert!(mistaken < 1000, "{mistaken} of {}", ENTRIES / 2);
    }

    #[test]
    fn its_memory_is_bounded() {
        for (store, bytes) in [(0, 8), (4 << 30, 2 << 20), (32 << 30, 16 << 20), (u64::MAX, 16 << 20)] {
            assert_eq!(Sieve::new(store, 0).visited.len() * 8, bytes, "{store}");
        }
    }
}
