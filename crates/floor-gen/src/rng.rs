//! Random numbers: each stage has a named stream, so an extra draw in one stage changes no other.
//!
//! A floor does not betray its tower: what is drawn for it begins at a root that follows from the tower's seed through
//! SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012), of which the seed is the key.
//! Who computes the state of a stream back from a floor has the root of this floor, and for the seed there is nothing better
//! than to try all 2^64. SipHash and not BLAKE3, because a longer hash cannot protect more than the seed's 64 bits, and it
//! takes 20 ns instead of 100.
//!
//! Integers only. SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014) fills
//! the state of a stream, and xoshiro256++ (Blackman, Vigna, "Scrambled linear pseudorandom number generators", ACM
//! TOMS 2021) advances it. The reference code of both is in the public domain.

use core::hash::Hasher as _;

use siphasher::sip::SipHasher24;

use crate::floor::Point;
use crate::form::{Form, Forms};
use crate::observer::Observer;
use crate::spec::FloorSpec;

/// Opens the streams of one floor. The root holds everything that the floor depends on. A stage begins by opening its
/// stream, which also notifies the observer.
#[derive(Clone, Copy)]
pub(crate) struct Streams<'w> {
    root: u64,
    observer: Option<&'w dyn Observer>,
    #[cfg(test)]
    extra_draw_in: Option<&'static str>,
}

impl<'w> Streams<'w> {
    /// The streams of `spec`. Each `attempt` has its own.
    pub(crate) fn new(spec: &FloorSpec, attempt: u32) -> Self {
        let [width, height] = [spec.width(), spec.height()].map(u32::from);
        let root = Root::Floor.of(spec.seed(), [spec.number(), spec.kind() as u32, width, height, attempt]);
        Self {
            root,
            observer: None,
            #[cfg(test)]
            extra_draw_in: None,
        }
    }

    /// The same streams; `observer` is notified when one is opened.
    pub(crate) fn observed_by(self, observer: Option<&'w dyn Observer>) -> Self {
        Self { observer, ..self }
    }

    /// Notifies the observer that a stage begins. Only a stage that draws nothing calls this: opening a stream does it
    /// too.
    pub(crate) fn begin(&self, stage: &'static str) {
        if let Some(observer) = self.observer {
            observer.stage(stage);
        }
    }

    /// Reports a value of the current stage to the observer.
    pub(crate) fn note(&self, what: &'static str, value: usize) {
        if let Some(observer) = self.observer {
            observer.note(what, value);
        }
    }

    /// Draws the index of one of the choices, which are keys of the pack with their weights, and reports its key to the
    /// observer.
    pub(crate) fn draw<const N: usize>(
        &self,
        rng: &mut Rng,
        what: &'static str,
        choices: [(&'static str, u32); N],
    ) -> usize {
        let drawn = rng.weighted(&choices.map(|(_, weight)| weight));
        if let Some(observer) = self.observer {
            observer.chose(what, choices[drawn].0);
        }
        drawn
    }

    /// Tells the observer the north-west and south-east cells of a vault, or why it is not on the layout.
    pub(crate) fn vault(&self, vault: usize, placed: Result<(Point, Point), &'static str>) {
        match (self.observer, placed) {
            (Some(observer), Ok((min, max))) => observer.vault_placed(vault, min, max),
            (Some(observer), Err(why)) => observer.vault_rejected(vault, why),
            (None, _) => {}
        }
    }

    /// The same streams, with one extra draw at the start of `stage`.
    #[cfg(test)]
    pub(crate) fn with_extra_draw(self, stage: &'static str) -> Self {
        Self { extra_draw_in: Some(stage), ..self }
    }

    /// The stage's stream. The name is part of the seed: to rename a stage is to change floors. Opening it twice gives
    /// the same numbers.
    pub(crate) fn open(&self, stage: &'static str) -> Rng {
        self.begin(stage);
        #[cfg_attr(not(test), expect(unused_mut, reason = "only a test adds a draw"))]
        let mut rng = Rng::from_seed(self.root ^ name_hash(stage));
        #[cfg(test)]
        if self.extra_draw_in == Some(stage) {
            rng.next();
        }
        rng
    }
}

/// What follows from the seed of a tower. Each has a key of its own, so that one says nothing about another.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Root {
    /// The streams of a floor.
    Floor = 1,
    /// The stairs between two floors.
    Joint = 2,
    /// The kinds of the floors of a row.
    Schedule = 3,
}

impl Root {
    /// 64 bits that follow from the seed and the numbers, and that the seed does not follow from.
    pub(crate) fn of<const N: usize>(self, seed: u64, numbers: [u32; N]) -> u64 {
        let mut hasher = SipHasher24::new_with_keys(seed, self as u64);
        numbers.into_iter().for_each(|number| hasher.write(&number.to_le_bytes()));
        hasher.finish()
    }
}

/// One stream of xoshiro256++.
#[derive(Debug, Clone)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// A stream whose state is the next four words of SplitMix64 from `seed`, which are never all zero.
    #[must_use]
    pub fn from_seed(seed: u64) -> Self {
        let mut at = seed;
        let state = core::array::from_fn(|_| {
            at = at.wrapping_add(GOLDEN_GAMMA);
            scramble(at)
        });
        Self { state }
    }

    /// The next 64 bits.
    #[expect(clippy::should_implement_trait, reason = "a stream of draws is not an iterator that ends")]
    pub fn next(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let drawn = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let shifted = b << 17;
        let c = c ^ a;
        let d = d ^ b;
        self.state = [a ^ d, b ^ c, c ^ shifted, d.rotate_left(45)];
        drawn
    }

    /// A uniform number in `0 .. bound`; 0 when `bound` is 0.
    ///
    /// Multiply and reject: Lemire, "Fast random integer generation in an interval", ACM TOMACS 2019.
    pub fn below(&mut self, bound: u32) -> u32 {
        let mut product = self.high() * u64::from(bound);
        if (product as u32) < bound {
            let unfair = bound.wrapping_neg() % bound;
            while (product as u32) < unfair {
                product = self.high() * u64::from(bound);
            }
        }
        (product >> 32) as u32
    }

    /// A uniform number in `least ..= greatest`; `least` when the range is empty.
    pub fn range(&mut self, least: i32, greatest: i32) -> i32 {
        let span = greatest.saturating_sub(least).saturating_add(1).max(1);
        least + self.below(span.unsigned_abs()) as i32
    }

    /// A uniform index of a list of length `len`.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u32) as usize
    }

    /// True with a probability of `per_mille` in 1,000.
    pub fn chance(&mut self, per_mille: u32) -> bool {
        self.below(1_000) < per_mille
    }

    /// A uniform element of `choices`, which is not empty.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.index(choices.len())]
    }

    /// An index of `weights`, with a probability in proportion to its weight.
    pub fn weighted(&mut self, weights: &[u32]) -> usize {
        self.choose(weights.iter().enumerate(), |&(_, &weight)| weight).map_or(0, |(i, _)| i)
    }

    /// One of the choices, by weight; none if there are none.
    pub(crate) fn choose<T>(
        &mut self,
        choices: impl Iterator<Item = T> + Clone,
        weight: impl Fn(&T) -> u32,
    ) -> Option<T> {
        let mut left = self.below(choices.clone().map(|choice| weight(&choice)).sum());
        for choice in choices {
            match left.checked_sub(weight(&choice)) {
                Some(less) => left = less,
                None => return Some(choice),
            }
        }
        None
    }

    /// A uniform permutation (Fisher and Yates).
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for i in (1..list.len()).rev() {
            let j = self.index(i + 1);
            list.swap(i, j);
        }
    }

    /// The upper 32 bits of a draw, which are the better ones.
    fn high(&mut self) -> u64 {
        self.next() >> 32
    }
}

impl Forms {
    /// A form of the list, by weight.
    pub(crate) fn draw(&self, rng: &mut Rng) -> Form {
        self.forms[rng.weighted(&self.weights)]
    }
}

/// 2^64 divided by the golden ratio: the increment of SplitMix64.
const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// One step of SplitMix64, a bijection on 64 bits.
const fn mix(word: u64) -> u64 {
    scramble(word.wrapping_add(GOLDEN_GAMMA))
}

const fn scramble(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo), then mixed so that short names differ in every bit.
fn name_hash(name: &str) -> u64 {
    mix(name.bytes().fold(0xcbf2_9ce4_8422_2325, |h, byte| (h ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn streams() -> Streams<'static> {
        Streams::new(&FloorSpec::resolve(42, 7, 0, 0, None).unwrap(), 0)
    }

    #[test]
    fn xoshiro_matches_its_reference() {
        // The first outputs of the authors' C code from the state 1, 2, 3, 4.
        let mut rng = Rng { state: [1, 2, 3, 4] };
        assert_eq!([rng.next(), rng.next(), rng.next()], [41_943_041, 58_720_359, 3_588_806_011_781_223]);
    }

    #[test]
    fn roots_are_siphash_of_little_endian_numbers_under_the_seed() {
        // The test vector of the paper, appendix A.
        let key = |first: u8| u64::from_le_bytes(core::array::from_fn(|i| first + i as u8));
        let mut hasher = SipHasher24::new_with_keys(key(0), key(8));
        hasher.write(&core::array::from_fn::<u8, 15, _>(|i| i as u8));
        assert_eq!(hasher.finish(), 0xa129_ca61_49be_45e5);
        let root = Root::Floor.of(42, [7, 1]);
        let mut hasher = SipHasher24::new_with_keys(42, 1);
        hasher.write(&[7, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(root, hasher.finish());
    }

    #[test]
    fn each_root_changes_with_each_bit_of_the_seed_and_each_number() {
        let root = Root::Floor.of(42, [7, 1, 100, 100, 0]);
        let seeds = (0..64).map(|bit| Root::Floor.of(42 ^ 1 << bit, [7, 1, 100, 100, 0]));
        let numbers = (0..5).map(|i| {
            let mut numbers = [7, 1, 100, 100, 0];
            numbers[i] ^= 1;
            Root::Floor.of(42, numbers)
        });
        let others = [Root::Joint, Root::Schedule].into_iter().map(|other| other.of(42, [7, 1, 100, 100, 0]));
        for other in seeds.chain(numbers).chain(others) {
            assert!((12..=52).contains(&(root ^ other).count_ones()), "{other:016x} is like {root:016x}");
        }
    }

    #[test]
    fn splitmix_matches_its_reference() {
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn an_extra_draw_changes_one_stream_only() {
        let (baseline, changed) = (streams(), streams().with_extra_draw("loot"));
        assert_ne!(baseline.open("loot").next(), changed.open("loot").next());
        assert_eq!(baseline.open("traps").next(), changed.open("traps").next());
    }

    #[test]
    fn bounded_draws_are_uniform() {
        let mut rng = streams().open("test");
        let mut seen = [0u32; 7];
        for _ in 0..70_000 {
            seen[rng.below(7) as usize] += 1;
        }
        // Ten standard deviations of a uniform draw of 10,000.
        assert!(seen.iter().all(|n| n.abs_diff(10_000) < 930), "{seen:?}");
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.range(5, 5), 5);
    }
}
