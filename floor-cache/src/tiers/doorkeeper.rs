//! Remembers which keys came by of late, in two bytes each, to tell those that come again from those that only pass.
//!
//! After the doorkeeper of `TinyLFU` (Einziger, Friedman and Manes, 2017): a Bloom filter for each of two generations. The
//! bits of a key lie in one line of the processor's cache (Putze, Sanders and Singler, 2007), so that a key costs a line
//! of each generation and not three; in a large filter each was a page that had not been touched yet.

/// One key sets so many bits.
const PROBES: u32 = 3;

/// Words in a block, which is a line of the processor's cache.
const BLOCK: usize = 8;

/// Bits for each key of a generation. With three probes, one key in a hundred is taken for one that came before.
const BITS: usize = 16;

/// Keys of the present and the last generation.
#[derive(Debug)]
pub(super) struct Doorkeeper {
    present: Box<[Block]>,
    last: Box<[Block]>,
    /// Keys in the present generation.
    keys: usize,
    /// Keys in a full one.
    window: usize,
}

impl Doorkeeper {
    /// Remembers the last `window` keys at least, and at the most twice as many.
    pub(super) fn new(window: usize) -> Self {
        let generation = || vec![[0; BLOCK]; blocks(window)].into_boxed_slice();
        Self { present: generation(), last: generation(), keys: 0, window }
    }

    /// Bytes that one with `window` takes.
    pub(super) const fn footprint(window: usize) -> usize {
        2 * blocks(window) * size_of::<Block>()
    }

    /// Whether the key of that hash came by of late. It did now.
    pub(super) fn has_seen(&mut self, hash: u64) -> bool {
        // From the upper half of the hash, below what tells a shard's map its slots apart.
        let block = (hash >> 32) as usize & (self.present.len() - 1);
        let (present, last) = (&mut self.present[block], &self.last[block]);
        let mut seen = (true, true);
        for place in places(hash) {
            let (word, bit) = (place / 64, 1 << (place % 64));
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
}

type Block = [u64; BLOCK];

/// Blocks of a generation: a power of two, so that choosing one is a mask.
const fn blocks(window: usize) -> usize {
    (window * BITS / (64 * BLOCK)).next_power_of_two()
}

/// The bits of a hash within its block: nine bits each from the top of the mixed hash, which all bits below reach.
fn places(hash: u64) -> impl Iterator<Item = usize> {
    const PLACE_BITS: u32 = 9;
    let mixed = hash.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (1..=PROBES).map(move |probe| (mixed >> (64 - PLACE_BITS * probe)) as usize & (64 * BLOCK - 1))
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
