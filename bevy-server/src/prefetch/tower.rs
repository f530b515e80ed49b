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

/// Somebody went up: asked for the floor above one that was asked for a moment ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Step {
    /// Where.
    pub tower: Tower,
    /// To which floor.
    pub number: u32,
}

/// Places in the table of sightings: 56 KiB.
const PLACES: usize = 1024;

/// Floors that are remembered of a tower: as many climbers are told apart in it. Few, since where calls come in no order the
/// floor below is among them by chance: in a tower of 2,000 floors for one call in 250.
const REMEMBERED: usize = 8;

/// Floors asked for a moment ago. A direct-mapped table: of two towers that fall on one place the later is remembered, which
/// costs a climber one floor of warning, and a load without climbers fills nothing.
#[derive(Debug)]
pub(super) struct Sightings(Vec<Sighted>);

/// The last floors asked for in one tower.
#[derive(Debug, Clone, Copy, Default)]
struct Sighted {
    tower: Option<Tower>,
    /// Different from each other; 0, which is no floor's number, where there were fewer.
    numbers: [u32; REMEMBERED],
    /// Which of them is the oldest.
    oldest: usize,
}

impl Default for Sightings {
    fn default() -> Self {
        Self(vec![Sighted::default(); PLACES])
    }
}

impl Sightings {
    /// Notes that a floor was asked for; the step, if the floor below was asked for a moment ago.
    pub(super) fn note(&mut self, spec: &FloorSpec) -> Option<Step> {
        let (tower, number) = (Tower::of(spec), spec.number());
        let sighted = &mut self.0[tower.place()];
        if sighted.tower != Some(tower) {
            *sighted = Sighted { tower: Some(tower), ..Sighted::default() };
        }
        // Looked for first: of as many climbers as are remembered, this one's is the oldest.
        let is_above = number > FloorSpec::MIN_NUMBER && sighted.numbers.contains(&(number - 1));
        if !sighted.numbers.contains(&number) {
            sighted.numbers[sighted.oldest] = number;
            sighted.oldest = (sighted.oldest + 1) % REMEMBERED;
        }
        is_above.then_some(Step { tower, number })
    }
}

impl Tower {
    /// Fibonacci hashing: the high bits of a product by the golden ratio.
    const fn place(&self) -> usize {
        let size = (self.width as u64) << 48 ^ (self.height as u64) << 32;
        let mixed = self.seed.rotate_left(29).wrapping_add(size).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> (u64::BITS - PLACES.ilog2())) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(seed: u64, number: u32) -> FloorSpec {
        FloorSpec::resolve(seed, number, 0, 0, None).unwrap()
    }

    #[test]
    fn climbs_are_told_from_other_calls() {
        let mut sightings = Sightings::default();
        let mut up = |seed, number| sightings.note(&spec(seed, number)).is_some();
        assert!(!up(1, 1), "below the first floor is none");
        assert!(!up(1, 5), "one floor is no climb");
        assert!(!up(1, 5), "nor the same again");
        assert!(up(1, 6));
        assert!(!up(2, 7), "another tower");
        assert!(!up(1, 500), "somebody else in this one");
        assert!(up(1, 7), "who does not disturb the first");
        assert!(up(1, 501));
        assert!(!up(1, 3), "down is not up");
    }

    #[test]
    fn who_asks_in_no_order_climbs_by_chance_alone() {
        let mut sightings = Sightings::default();
        let mut state = 1_u32;
        let mut anywhere = || {
            // Numerical Recipes' generator; its high bits are random enough.
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % 2000 + 1
        };
        let steps = (0..100_000).filter_map(|_| sightings.note(&spec(1, anywhere()))).count();
        assert!((200..600).contains(&steps), "eight in two thousand, of a hundred thousand: {steps}");
    }

    #[test]
    fn eight_who_climb_one_tower_are_each_seen() {
        let mut sightings = Sightings::default();
        for number in 0..100 {
            for climber in 1..=8 {
                let step = sightings.note(&spec(1, climber * 1000 + number));
                assert_eq!(step.is_some(), number > 0, "climber {climber} on floor {number}");
            }
        }
    }
}
