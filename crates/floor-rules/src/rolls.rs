//! Chance: SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012) of a counter, with
//! the seed as its key. A sequential generator would be faster, and foreseen by who has seen enough of it.

use core::{fmt, hash::Hasher as _};

use siphasher::sip::SipHasher24;

/// The rolls on a floor.
#[derive(Clone)]
pub(crate) struct Rolls {
    seed: u128,
    /// How many there were.
    count: u32,
}

impl Rolls {
    pub(crate) const fn new(seed: u128) -> Self {
        Self { seed, count: 0 }
    }

    /// A number below `bound`, which is at least 1. One is at most `bound / 2^32` likelier than another.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        let mut hasher = SipHasher24::new_with_keys(self.seed as u64, (self.seed >> 64) as u64);
        hasher.write(&self.count.to_le_bytes());
        // A turn has at most two rolls for each monster: 10,000 acts do not reach the end.
        self.count = self.count.wrapping_add(1);
        (((hasher.finish() >> 32) * u64::from(bound)) >> 32) as u32
    }
}

impl fmt::Debug for Rolls {
    /// Leaves the seed out: what is printed must not betray it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rolls").field("count", &self.count).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_below_the_bound_is_about_as_frequent() {
        let mut rolls = Rolls::new(7);
        let mut counts = [0; 3];
        (0..30_000).for_each(|_| counts[rolls.below(3) as usize] += 1);
        assert!(counts.iter().all(|count| (9_700..10_300).contains(count)), "{counts:?}");
        assert_eq!(rolls.below(1), 0);
    }

    #[test]
    fn each_half_of_the_seed_counts() {
        let draw = |seed| {
            let mut rolls = Rolls::new(seed);
            (0..16).fold(0u64, |drawn, _| drawn << 4 | u64::from(rolls.below(16)))
        };
        assert_ne!(draw(1), draw(2));
        assert_ne!(draw(1), draw(1 | 1 << 64));
    }
}
