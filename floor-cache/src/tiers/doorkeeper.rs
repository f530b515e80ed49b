//! Remembers which keys came by of late, in two bytes each, to tell those that come again from those that only pass.
//!
//! After the doorkeeper of `TinyLFU` (Einziger, Friedman and Manes, 2017): a Bloom filter for each of two generations.

/// One key sets so many bits.
const PROBES: u32 = 3;

/// Bits for each key of a generation. With three probes, one key in two hundred is taken for one that came before.
const BITS: usize = 16;

/// Keys of the present and the last generation.
#[derive(Debug)]
pub(super) struct Doorkeeper {
    present: Box<[u64]>,
    last: Box<[u64]>,
    /// Keys in the present generation.
    keys: usize,
    /// Keys in a full one.
    window: usize,
}

impl Doorkeeper {
    /// Remembers the last `window` keys at least, and at the most twice as many.
    pub(super) fn new(window: usize) -> Self {
        // A power of two, so that a probe is a mask.
        let words = (window * BITS / 64).next_power_of_two();
        let generation = || vec![0; words].into_boxed_slice();
        Self { present: generation(), last: generation(), keys: 0, window }
    }

    /// Bytes that one with `window` takes.
    pub(super) const fn footprint(window: usize) -> usize {
        2 * (window * BITS / 64).next_power_of_two() * 8
    }

    /// Whether the key of that hash came by of late. It did now.
    pub(super) fn has_seen(&mut self, hash: u64) -> bool {
        let mut seen = (true, true);
        for place in places(hash, self.present.len()) {
            let (word, bit) = (place / 64, 1 << (place % 64));
            seen.0 &= self.present[word] & bit != 0;
            seen.1 &= self.last[word] & bit != 0;
            self.present[word] |= bit;
        }
        self.keys += usize::from(!seen.0);
        if self.keys >= self.window {
            std::mem::swap(&mut self.present, &mut self.last);
            self.present.fill(0);
            self.keys = 0;
        }
        seen.0 || seen.1
    }
}

/// The bits of a hash: three places by double hashing (Kirsch and Mitzenmacher, 2006).
fn places(hash: u64, words: usize) -> impl Iterator<Item = usize> {
    let (first, step) = (hash, hash.rotate_left(32) | 1);
    let mask = words as u64 * 64 - 1;
    (0..u64::from(PROBES)).map(move |probe| (first.wrapping_add(step.wrapping_mul(probe)) & mask) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(number: u64) -> u64 {
        xxhash_rust::xxh3::xxh3_64(&number.to_le_bytes())
    }

    #[test]
    fn whoever_came_within_the_window_is_known() {
        for count in (1..5000).step_by(7) {
            let mut doorkeeper = Doorkeeper::new(1000);
            (0..count).for_each(|number| _ = doorkeeper.has_seen(hash(number)));
            let oldest = count - count.min(1000);
            assert!(doorkeeper.has_seen(hash(oldest)), "{oldest} of {count}");
        }
    }

    #[test]
    fn few_strangers_are_taken_for_guests() {
        let mut doorkeeper = Doorkeeper::new(1000);
        let mistaken = (0..100_000).filter(|number| doorkeeper.has_seen(hash(*number))).count();
        assert!(mistaken < 1000, "{mistaken} of 100,000");
    }
}
