//! Picks one call in so many, for a nanosecond each.

use std::cell::Cell;

/// One call in `every` is picked; none for 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Sampler(u32);

impl Sampler {
    pub(crate) const fn one_in(every: u32) -> Self {
        match u32::MAX.checked_div(every) {
            Some(threshold) => Self(threshold),
            None => Self(0),
        }
    }

    /// The one of both that picks more.
    pub(crate) const fn or(self, other: Self) -> Self {
        if self.0 > other.0 { self } else { other }
    }

    /// Whether `draw` is picked. Of two samplers, the one that picks more picks every draw of the other.
    #[inline]
    pub(crate) const fn picks(self, draw: Draw) -> bool {
        draw.0 < self.0
    }
}

/// A place between 0 and `u32::MAX`, evenly spread over the calls of a thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Draw(u32);

impl Draw {
    /// The next on this thread.
    ///
    /// Steps of the golden ratio (Weyl, 1916; Knuth, TAOCP 6.4) are spread evenly over any stretch, and fall into step
    /// with no loop or batch size as a plain count would.
    #[inline]
    pub(crate) fn next() -> Self {
        const STEP: u32 = 0x9E37_79B9;
        thread_local! {
            static POSITION: Cell<u32> = const { Cell::new(0) };
        }
        POSITION.with(|position| {
            let next = position.get().wrapping_add(STEP);
            position.set(next);
            Self(next)
        })
    }

    /// The place as a fraction, from 0 up to but not including 1.
    pub(crate) fn fraction(self) -> f64 {
        f64::from(self.0) / (f64::from(u32::MAX) + 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_has_its_part_of_the_turns_of_every_period() {
        for (every, expected) in [(1, 100_000), (3, 33_333), (1000, 100), (0, 0)] {
            let sampler = Sampler::one_in(every);
            let picked = (0..100_000).filter(|_| sampler.picks(Draw::next())).count() as i64;
            assert!((picked - expected).abs() <= 2, "one in {every}: {picked}");
        }
        // Every 256th call, as the first of a batch would be.
        let sampler = Sampler::one_in(100);
        let picked =
            (0..100_000).filter(|_| (0..256).map(|_| sampler.picks(Draw::next())).next() == Some(true)).count();
        assert!((900..1100).contains(&picked), "{picked}");
    }
}
