//! The difficulty curve: strength by floor number, and by progress from entry to exit.

use crate::pack::params::Curve;

/// Progress at the exit; the entry has 0.
pub(crate) const FULL_PROGRESS: u32 = 1_000;

impl Curve {
    /// The base level of the monsters, traps and loot of a floor: at most 20,000.
    pub(crate) fn level_of_floor(&self, number: u32) -> u32 {
        let root = (u64::from(self.level_scale) * u64::from(number)).isqrt() as u32;
        root.saturating_sub(self.level_less).max(1)
    }

    /// The strength of a room at `progress` (of [`FULL_PROGRESS`]), in thousandths of a full room. Each act rests, then
    /// rises.
    pub(crate) const fn intensity(&self, progress: u32) -> u32 {
        let progress = if progress < FULL_PROGRESS { progress } else { FULL_PROGRESS - 1 };
        let act = progress * self.acts / FULL_PROGRESS;
        let within = progress * self.acts % FULL_PROGRESS;
        if within < self.rest {
            self.rest_strength + self.rest_growth * act
        } else {
            let risen = (within - self.rest) * self.rise_span / (FULL_PROGRESS - self.rest);
            self.rise_strength + self.rise_growth * act + risen
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::Pack;
    use crate::spec::Kind;

    fn curve() -> Curve {
        Pack::tower().content.params(Kind::Standard).curve
    }

    #[test]
    fn every_act_rests_then_rises_above_the_act_before() {
        let curve = curve();
        let peak = |act: u32| curve.intensity((act + 1) * FULL_PROGRESS / curve.acts - 1);
        let rest = |act: u32| curve.intensity(act * FULL_PROGRESS / curve.acts + 10);
        assert!(rest(0) < rest(1) && rest(1) < rest(2) && rest(2) < peak(0));
        assert!(peak(0) < peak(1) && peak(1) < peak(2));
        assert_eq!(curve.intensity(FULL_PROGRESS), curve.intensity(FULL_PROGRESS - 1));
    }

    #[test]
    fn floors_grow_harder() {
        assert_eq!([1, 10, 100, 1_000_000].map(|number| curve().level_of_floor(number)), [1, 5, 19, 1_999]);
    }
}
