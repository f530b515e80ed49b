//! Random numbers: one named stream a stage, so that a draw more in one stage moves no other.
//!
//! Integers only. A stream's state is filled by SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
//! generators", OOPSLA 2014) and advanced by xoshiro256++ (Blackman, Vigna, "Scrambled linear pseudorandom number
//! generators", ACM TOMS 2021). Both are public domain in their authors' reference form.

use core::fmt;

use crate::explain::Observer;
use crate::spec::FloorSpec;

/// Opens the streams of one floor. Everything that the floor depends on is mixed in once, here. A stage begins by
/// opening its stream, so this is also where a watcher learns of it.
#[derive(Clone, Copy)]
pub struct Streams<'w> {
    root: u64,
    observer: Option<&'w dyn Observer>,
    #[cfg(test)]
    extra_draw_in: Option<&'static str>,
}

impl<'w> Streams<'w> {
    /// The streams of `spec`. `attempt` tells a second construction of the same floor from the first.
    #[must_use]
    pub fn new(spec: &FloorSpec, attempt: u32) -> Self {
        let size = u64::from(spec.width()) << 32 | u64::from(spec.height());
        let which = u64::from(spec.number()) << 8 | spec.kind() as u64;
        let root = [which, size, u64::from(attempt)].into_iter().fold(mix(spec.seed()), |h, part| mix(h ^ mix(part)));
        Self {
            root,
            observer: None,
            #[cfg(test)]
            extra_draw_in: None,
        }
    }

    /// The same streams, told to `watcher` as they are opened.
    #[must_use]
    pub fn observed_by(self, observer: Option<&'w dyn Observer>) -> Self {
        Self { observer, ..self }
    }

    /// Tells the watcher, if there is one, that a stage begins. Opening a stream does; a stage that draws nothing calls
    /// this.
    pub(crate) fn begin(&self, stage: &'static str) {
        if let Some(observer) = self.observer {
            observer.stage(stage);
        }
    }

    /// Tells the watcher, if there is one, what a stage decided.
    pub(crate) fn note(&self, what: &'static str, value: usize) {
        if let Some(observer) = self.observer {
            observer.note(what, value);
        }
    }

    /// The same streams, with one draw more at the start of `stage`.
    #[cfg(test)]
    pub(crate) fn with_extra_draw(self, stage: &'static str) -> Self {
        Self { extra_draw_in: Some(stage), ..self }
    }

    /// The stream of the stage of that name. Opening it twice gives the same numbers twice.
    #[must_use]
    pub fn open(&self, stage: &'static str) -> Rng {
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

impl fmt::Debug for Streams<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streams").field("root", &self.root).field("observed", &self.observer.is_some()).finish()
    }
}

/// One stream: xoshiro256++.
#[derive(Debug, Clone)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// A stream whose four words are the next four of SplitMix64 from `seed`, so never all zero.
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

    /// A number in `0 .. bound`, each equally likely; 0 when `bound` is 0.
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

    /// A number in `least ..= greatest`, each equally likely; `least` when the range is empty.
    pub fn range(&mut self, least: i32, greatest: i32) -> i32 {
        let span = greatest.saturating_sub(least).saturating_add(1).max(1);
        least + self.below(span.unsigned_abs()) as i32
    }

    /// An index of a list of that length.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u32) as usize
    }

    /// True `per_mille` times in 1,000.
    pub fn chance(&mut self, per_mille: u32) -> bool {
        self.below(1_000) < per_mille
    }

    /// One of `choices`, which is not empty.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.index(choices.len())]
    }

    /// The index of a weight, each as often as its share of the sum.
    pub fn weighted(&mut self, weights: &[u32]) -> usize {
        let mut left = self.below(weights.iter().sum());
        for (i, &weight) in weights.iter().enumerate() {
            if left < weight {
                return i;
            }
            left -= weight;
        }
        0
    }

    /// Every order equally likely (Fisher and Yates).
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for i in (1..list.len()).rev() {
            let j = self.index(i + 1);
            list.swap(i, j);
        }
    }

    /// 32 fresh bits, the better half of a draw.
    fn high(&mut self) -> u64 {
        self.next() >> 32
    }
}

/// 2^64 divided by the golden ratio: SplitMix64's step.
const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// One whole step of SplitMix64, a bijection on 64 bits. Also hashes a seed that the schedule draws from.
pub(crate) const fn mix(word: u64) -> u64 {
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
    fn xoshiro_follows_its_reference() {
        // The first outputs of the authors' C from the state 1, 2, 3, 4.
        let mut rng = Rng { state: [1, 2, 3, 4] };
        assert_eq!([rng.next(), rng.next(), rng.next()], [41_943_041, 58_720_359, 3_588_806_011_781_223]);
    }

    #[test]
    fn splitmix_follows_its_reference() {
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn an_extra_draw_changes_one_stream_only() {
        let (baseline, changed) = (streams(), streams().with_extra_draw("loot"));
        assert_ne!(baseline.open("loot").next(), changed.open("loot").next());
        assert_eq!(baseline.open("traps").next(), changed.open("traps").next());
    }

    #[test]
    fn bounded_draws_are_fair() {
        let mut rng = streams().open("test");
        let mut seen = [0u32; 7];
        for _ in 0..70_000 {
            seen[rng.below(7) as usize] += 1;
        }
        // Ten standard deviations of a fair draw of 10,000.
        assert!(seen.iter().all(|n| n.abs_diff(10_000) < 930), "{seen:?}");
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.range(5, 5), 5);
    }
}
