//! Towers, and which calls look like somebody climbing one.

use std::{collections::HashMap, mem};

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

/// Somebody went up where nobody has been lately: asked for the floor above one that was among the last of its tower to be
/// asked for, and then or on an earlier step of the same climb for one that memory did not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Step {
    /// Where.
    pub tower: Tower,
    /// To which floor.
    pub number: u32,
}

/// Towers that are remembered at the least, as many as there may be climbers, and half of those that may be: 1.3 MB.
const TOWERS_PER_MAP: usize = 4096;

/// Floors that are remembered of a tower: as many climbers are told apart in it. Few, since where calls come in no order the
/// floor below is among them by chance: in a tower of 2,000 floors for one call in 250.
const FLOORS_PER_TOWER: usize = 8;

/// The last floors asked for in each of the towers asked for last. Two generations: where the later one is full it becomes the
/// earlier one, and what was in that, and has not been asked for since, is forgotten.
#[derive(Debug, Default)]
pub(super) struct AccessHistory {
    current: HashMap<Tower, TowerHistory>,
    previous: HashMap<Tower, TowerHistory>,
}

/// The last floors asked for in one tower, each once, latest first.
#[derive(Debug, Default)]
struct TowerHistory([Access; FLOORS_PER_TOWER]);

/// That a floor was asked for.
#[derive(Debug, Clone, Copy, Default)]
struct Access {
    /// 0, which is no floor's, where none was.
    number: u32,
    /// Whether a climber stands there, for whom floors are made ahead.
    is_climber: bool,
}

impl AccessHistory {
    /// Notes that a floor was asked for, and whether memory did not have it; the step, if it was one.
    pub(super) fn record(&mut self, spec: &FloorSpec, was_missed: bool) -> Option<Step> {
        let step = Step { tower: Tower::of(spec), number: spec.number() };
        self.tower_mut(step.tower).record(step.number, was_missed).then_some(step)
    }

    fn tower_mut(&mut self, tower: Tower) -> &mut TowerHistory {
        if self.current.len() == TOWERS_PER_MAP && !self.current.contains_key(&tower) {
            self.previous = mem::take(&mut self.current);
        }
        self.current.entry(tower).or_insert_with(|| self.previous.remove(&tower).unwrap_or_default())
    }
}

impl TowerHistory {
    /// Remembers floor `number`; whether somebody climbed to it. A climber is remembered where they are and not where they
    /// were, so the floor below makes room; else the same floor's earlier sighting does, else the oldest.
    ///
    /// A climb begins with a floor that memory did not have: where it has the floors there is nothing to foresee, and there
    /// calls come up by chance most often.
    fn record(&mut self, number: u32, was_missed: bool) -> bool {
        let position = |wanted| self.0.iter().position(|access| access.number == wanted);
        let present = position(number);
        let below = if number > FloorSpec::MIN_NUMBER && present.is_none() { position(number - 1) } else { None };
        let is_step = below.is_some_and(|below| was_missed || self.0[below].is_climber);
        let replaced = present.or(below).unwrap_or(FLOORS_PER_TOWER - 1);
        let is_climber = is_step || present.is_some_and(|present| self.0[present].is_climber);
        self.0[..=replaced].rotate_right(1);
        self.0[0] = Access { number, is_climber };
        is_step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(seed: u64, number: u32) -> FloorSpec {
        FloorSpec::resolve(seed, number, 0, 0, None).unwrap()
    }

    #[test]
    fn steps_are_distinguished_from_other_calls() {
        let mut history = AccessHistory::default();
        let mut up = |seed, number| history.record(&spec(seed, number), true).is_some();
        assert!(!up(1, 1), "below the first floor is none");
        assert!(!up(1, 5), "one floor is no climb");
        assert!(!up(1, 5), "nor the same again");
        assert!(up(1, 6));
        assert!(!up(2, 7), "another tower");
        assert!(!up(1, 500), "somebody else in this one");
        assert!(up(1, 7), "who does not disturb the first");
        assert!(up(1, 501));
        assert!(!up(1, 501), "nor is the same once more");
        assert!(!up(1, 3), "down is not up");
    }

    #[test]
    fn random_access_gives_steps_only_by_chance() {
        let mut history = AccessHistory::default();
        let mut state = 1_u32;
        let mut random_floor = || {
            // Numerical Recipes' generator; its high bits are random enough.
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % 2000 + 1
        };
        let steps = (0..100_000).filter_map(|_| history.record(&spec(1, random_floor()), true)).count();
        assert!((200..600).contains(&steps), "eight in two thousand, of a hundred thousand: {steps}");
    }

    /// The steps of climbers who start on `floors` and go up a hundred floors, by turns.
    fn steps_from(floors: &[u32]) -> usize {
        let mut history = AccessHistory::default();
        let calls = (0..=100).flat_map(|height| floors.iter().map(move |floor| floor + height));
        calls.filter_map(|number| history.record(&spec(1, number), true)).count()
    }

    #[test]
    fn eight_climbers_of_one_tower_are_all_detected() {
        assert_eq!(steps_from(&[1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000]), 800);
    }

    #[test]
    fn a_climber_close_behind_another_is_detected() {
        for distance in [1, 2, 7, 8, 9] {
            assert_eq!(steps_from(&[1000 + distance, 1000]), 200, "{distance} floors behind");
        }
    }

    #[test]
    fn a_climb_starts_at_the_first_floor_that_memory_missed() {
        let mut history = AccessHistory::default();
        let mut up = |number, was_missed| history.record(&spec(1, number), was_missed).is_some();
        assert!(!up(5, true) && !up(6, false), "memory has what is there");
        assert!(up(7, true));
        assert!(!up(7, false), "once more is no step");
        assert!(up(8, false), "what was made ahead is in memory");
        assert!(!up(100, false) && !up(101, false), "somebody else is not taken along");
        assert!(up(9, false));
    }

    #[test]
    fn climbers_in_many_towers_are_all_detected() {
        let mut history = AccessHistory::default();
        let calls = (0..3).flat_map(|height| (0..4000).map(move |seed| (seed, 10 + height)));
        assert_eq!(calls.filter_map(|(seed, number)| history.record(&spec(seed, number), true)).count(), 8000);
    }

    #[test]
    fn the_number_of_remembered_towers_is_bounded() {
        let mut history = AccessHistory::default();
        (0..20_000).for_each(|seed| _ = history.record(&spec(seed, 10), true));
        assert!(history.current.len() + history.previous.len() <= 2 * TOWERS_PER_MAP);
        assert!(history.record(&spec(19_999, 11), true).is_some(), "of those asked for last");
        assert!(history.record(&spec(0, 11), true).is_none());
    }
}
