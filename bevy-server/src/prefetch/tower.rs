//! Towers, and which calls look like somebody climbing one.

use floor_gen::FloorSpec;

/// The scheduled floors of one seed in one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tower {
    seed: u64,
    width: u16,
    height: u16,
}

impl Tower {
    /// The tower of a floor.
    #[must_use]
    pub const fn of(spec: &FloorSpec) -> Self {
        Self { seed: spec.seed(), width: spec.width(), height: spec.height() }
    }

    /// Its floor of that number, unless it has none.
    #[must_use]
    pub fn floor(&self, number: u32) -> Option<FloorSpec> {
        FloorSpec::resolve(self.seed, number, self.width.into(), self.height.into(), None).ok()
    }
}

/// Somebody went up, where nobody has been lately: asked for the floor above one that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Step {
    /// Where.
    pub tower: Tower,
    /// To which floor.
    pub number: u32,
}

/// Places in the table of sightings: 96 KiB.
const PLACES: usize = 4096;

/// Floors asked for lately. A direct-mapped table: of two floors that fall on one place the later is remembered, which
/// costs a climber one floor of warning, and a load without climbers fills nothing.
#[derive(Debug)]
pub(super) struct Sightings(Vec<Option<Step>>);

impl Default for Sightings {
    fn default() -> Self {
        Self(vec![None; PLACES])
    }
}

impl Sightings {
    /// Notes that a floor was asked for; the step, if the floor below was asked for lately and the one above was not.
    ///
    /// Where somebody has been lately there is nothing to foresee: that floor has been made. And where many ask for the floors
    /// of one tower in no order, the floor above has been asked for as often as the one below.
    pub(super) fn note(&mut self, spec: &FloorSpec) -> Option<Step> {
        let step = Step { tower: Tower::of(spec), number: spec.number() };
        self.0[step.place()] = Some(step);
        let sighted = |number| {
            let other = Step { number, ..step };
            self.0[other.place()] == Some(other)
        };
        (sighted(step.number - 1) && !sighted(step.number.saturating_add(1))).then_some(step)
    }
}

impl Step {
    /// Fibonacci hashing: the high bits of a product by the golden ratio.
    const fn place(&self) -> usize {
        let Tower { seed, width, height } = self.tower;
        let size = (width as u64) << 48 ^ (height as u64) << 32;
        let mixed = seed.rotate_left(29).wrapping_add(size ^ self.number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> (u64::BITS - PLACES.ilog2())) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn climbs_are_told_from_other_calls() {
        let mut sightings = Sightings::default();
        let mut up = |seed, number| sightings.note(&FloorSpec::resolve(seed, number, 0, 0, None).unwrap()).is_some();
        assert!(!up(1, 5), "one floor is no climb");
        assert!(!up(1, 5), "nor the same again");
        assert!(up(1, 6));
        assert!(!up(2, 7), "another tower");
        assert!(!up(1, 500), "somebody else in this one");
        assert!(up(1, 7), "who does not disturb the first");
        assert!(up(1, 501));
        assert!(!up(1, 3), "down is not up");
        assert!(!up(1, 4), "where others have been lately, nothing is to be foreseen");
        assert!(up(1, 8), "until they are overtaken");
    }
}
