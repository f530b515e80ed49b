//! Towers, and which of them seem to be climbed.

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

    /// Fibonacci hashing: the high bits of a product by the golden ratio.
    const fn place(&self) -> usize {
        let mixed = (self.seed ^ (self.width as u64) << 32 ^ self.height as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> (u64::BITS - PLACES.ilog2())) as usize
    }
}

/// A step that a climber takes, or that ends a climb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Where.
    pub tower: Tower,
    /// The floor asked for.
    pub number: u32,
    /// Whether it is the floor above the one asked for before.
    pub up: bool,
}

/// Places in the table of sightings.
const PLACES: usize = 1024;

/// The floor last asked for of each tower lately. A direct-mapped table: two towers that fall on one place forget each
/// other, which costs a climber one floor of warning, and a load without climbers fills nothing.
#[derive(Debug)]
pub(super) struct Sightings(Vec<Option<Step>>);

impl Default for Sightings {
    fn default() -> Self {
        Self(vec![None; PLACES])
    }
}

impl Sightings {
    /// Notes that a floor was asked for; what that tells of a climb, if anything. The same floor again tells nothing,
    /// and any other but the one above tells something only of a tower that was being climbed.
    pub(super) fn note(&mut self, spec: &FloorSpec) -> Option<Step> {
        let (tower, number) = (Tower::of(spec), spec.number());
        let place = &mut self.0[tower.place()];
        let before = place.filter(|before| before.tower == tower);
        if before.is_some_and(|before| before.number == number) {
            return None;
        }
        let up = before.is_some_and(|before| before.number + 1 == number);
        let step = Step { tower, number, up };
        *place = Some(step);
        (up || before.is_some_and(|before| before.up)).then_some(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn climbs_are_told_from_other_calls() {
        let mut sightings = Sightings::default();
        let mut note = |seed, number| {
            sightings.note(&FloorSpec::resolve(seed, number, 0, 0, None).unwrap()).map(|step| (step.number, step.up))
        };
        assert_eq!(note(1, 5), None, "one floor is no climb");
        assert_eq!(note(1, 5), None, "nor the same again");
        assert_eq!(note(1, 6), Some((6, true)));
        assert_eq!(note(2, 7), None, "another tower");
        assert_eq!(note(1, 7), Some((7, true)));
        assert_eq!(note(1, 90), Some((90, false)), "a leap ends a climb");
        assert_eq!(note(1, 3), None, "and leaps after it tell nothing");
    }
}
