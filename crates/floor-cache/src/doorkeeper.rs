//! A filter of recently seen keys with two bytes per key and generation. The memory tier and the write-behind queues use
//! it to tell repeated keys from keys of a scan.
//!
//! After the doorkeeper of `TinyLFU` (Einziger, Friedman and Manes, 2017): a Bloom filter for each of two generations.
//! The bits of a key are in one cache line (Putze, Sanders and Singler, 2007), so a key costs one cache line per
//! generation instead of three; in a large filter each was an untouched page.

/// Bits set per key.
const PROBES: u32 = 3;

/// Words in a block, which is a cache line.
const BLOCK: usize = 8;

/// Bits per key of a generation. With three probes, the false positive rate is one in a hundred.
const BITS: usize = 16;

/// The filters of the present and the last generation.
#[derive(Debug)]
pub(crate) struct Doorkeeper {
    present: Box<[Block]>,
    last: Box<[Block]>,
    /// Keys in the present generation.
    keys: usize,
    /// Keys in a full generation.
    window: usize,
}

impl Doorkeeper {
    /// A filter that remembers at least the last `window` keys and at most twice as many.
    pub(crate) fn new(window: usize) -> Self {
        let generation = || vec![[0; BLOCK]; blocks(window)].into_boxed_slice();
        Self { present: generation(), last: generation(), keys: 0, window }
    }

    /// Bytes of a filter with `window`.
    pub(crate) const fn footprint(window: usize) -> usize {
        2 * blocks(window) * size_of::<Block>()
    }

    /// Whether the key of `hash` was seen recently. Marks it as seen.
    pub(crate) fn mark_seen(&mut self, hash: u64) -> bool {
        // From the upper half of the hash, below the bits that a shard's map uses.
        let block = (hash >> 32) as usize & (self.present.len() - 1);
        let (present, last) = (&mut self.present[block], &self.last[block]);
        let mut seen = (true, true);
        for position in positions(hash) {
            let (word, bit) = (position / 64, 1 << (position % 64));
            seen.0 &= present[word] & bit != 0;
            seen.1 &= last[word] & bit != 0;
            present[word] |= bit;
        }
        self.keys += usize::from(!seen.0);
        if self.keys >= self.window {
            std::mem::swap(&mut self.present, &mut self.last);
            self.present.fill([0; BLOCK]);
            self.keys = 0;
        }
        seen.0 || seen.1
    }

    /// Forgets every key.
    pub(crate) fn clear(&mut self) {
        self.present.fill([0; BLOCK]);
        self.last.fill([0; BLOCK]);
        self.keys = 0;
    }
}

type Block = [u64; BLOCK];

/// Blocks of a generation: a power of two, so that a mask selects one.
const fn blocks(window: usize) -> usize {
    (window * BITS / (64 * BLOCK)).next_power_of_two()
}

/// The bit positions of a hash in its block: nine bits each from the top of the mixed hash.
fn positions(hash: u64) -> impl Iterator<Item = usize> {
    const POSITION_BITS: u32 = 9;
    let mixed = hash.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (1..=PROBES).map(move |probe| (mixed >> (64 - POSITION_BITS * probe)) as usize & (64 * BLOCK - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(number: u64) -> u64 {
        xxhash_rust::xxh3::xxh3_64(&number.to_le_bytes())
    }

    #[test]
    fn a_key_within_the_window_is_seen() {
        for count in (1..5000).step_by(7) {
            let mut doorkeeper = Doorkeeper::new(1000);
            (0..count).for_each(|number| _ = doorkeeper.mark_seen(hash(number)));
            let oldest = count - count.min(1000);
            assert!(doorkeeper.mark_seen(hash(oldest)), "{oldest} of {count}");
        }
    }

    #[test]
    fn a_cleared_filter_has_seen_nothing() {
        let mut doorkeeper = Doorkeeper::new(1000);
        // Fills both generations.
        (0..1500).for_each(|number| _ = doorkeeper.mark_seen(hash(number)));
        doorkeeper.clear();
        assert!(!doorkeeper.mark_seen(hash(700)) && !doorkeeper.mark_seen(hash(1400)));
    }

    #[test]
    fn false_positives_are_rare() {
        let mut doorkeeper = Doorkeeper::new(1000);
        let mistaken = (0..100_000).filter(|number| doorkeeper.mark_seen(hash(*number))).count();
        assert!(mistaken < 1000, "{mistaken} of 100,000");
    }
}
