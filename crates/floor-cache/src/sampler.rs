//! Samples a fixed share of calls for about a nanosecond each. Timing and the policy use it, and the server for
//! traces and its access log.

use std::cell::Cell;

/// Picks a share of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sampler(u32);

impl Sampler {
    /// Picks one call in `every`, or none for 0.
    #[must_use]
    pub const fn one_in(every: u32) -> Self {
        match u32::MAX.checked_div(every) {
            Some(threshold) => Self(threshold),
            None => Self(0),
        }
    }

    /// Picks this share of the calls, from 0 (none) to 1 (all).
    #[must_use]
    pub fn share(share: f64) -> Self {
        // A cast from floating point saturates.
        Self((share * f64::from(u32::MAX)) as u32)
    }

    /// Whether `draw` is picked. A sampler that picks more also picks every draw of one that picks less.
    #[inline]
    #[must_use]
    pub const fn picks(self, draw: Draw) -> bool {
        draw.0 < self.0
    }
}

/// A number from 0 to `u32::MAX`, evenly distributed over the calls of a thread.
#[derive(Debug, Clone, Copy)]
pub struct Draw(u32);

impl Draw {
    /// The next draw of this thread.
    ///
    /// Steps of the golden ratio (Weyl, 1916; Knuth, TAOCP 6.4) are evenly distributed over any range and, unlike a
    /// counter, do not align with a loop or batch size.
    #[inline]
    #[must_use]
    pub fn next() -> Self {
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

    /// The draw as a fraction in `0.0..1.0`.
    pub(crate) fn fraction(self) -> f64 {
        f64::from(self.0) / (f64::from(u32::MAX) + 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sampler_picks_its_share_of_any_range_of_calls() {
        for (every, expected) in [(1, 100_000), (3, 33_333), (1000, 100), (0, 0)] {
            let sampler = Sampler::one_in(every);
            let picked = (0..100_000).filter(|_| sampler.picks(Draw::next())).count() as i64;
            assert!((picked - expected).abs() <= 2, "one in {every}: {picked}");
        }
        for (share, expected) in [(0.0, 0), (0.01, 1000), (1.0, 100_000)] {
            let sampler = Sampler::share(share);
            let picked = (0..100_000).filter(|_| sampler.picks(Draw::next())).count() as i64;
            assert!((picked - expected).abs() <= 2, "{share}: {picked}");
        }
        // Every 256th call, like the first key of each batch.
        let sampler = Sampler::one_in(100);
        let picked =
            (0..100_000).filter(|_| (0..256).map(|_| sampler.picks(Draw::next())).next() == Some(true)).count();
        assert!((900..1100).contains(&picked), "{picked}");
    }
}
