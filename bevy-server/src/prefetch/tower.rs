//! Towers, and the access history that detects climbers.

use std::{
    collections::HashMap,
    hash::{Hash, Hasher},
    mem,
    sync::Mutex,
};

use floor_cache::CallerId;
use floor_gen::{FloorSpec, PackHash, View};

use crate::{packs::Packs, tenants::TenantId};

/// The scheduled floors of one seed in one size, of one version of a pack, for callers of one tenant: what others ask
/// for says nothing of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tower {
    pack: PackHash,
    seed: u64,
    /// As requested: 0 leaves them to the pack, whose authored floors have sizes of their own.
    width: u16,
    height: u16,
    view: View,
    tenant: Option<TenantId>,
}

/// In three words: every hit hashes its tower, and SipHash takes as long for two bytes as for eight.
impl Hash for Tower {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let tenant = self.tenant.map_or(0, |tenant| 1 + tenant.index() as u64);
        let sides = u64::from(self.width) | u64::from(self.height) << 16;
        let rest = sides | (self.view as u64) << 32 | tenant << 40;
        [self.pack.0, self.seed, rest].into_iter().for_each(|word| state.write_u64(word));
    }
}

impl Tower {
    /// The tower of a floor for which a caller of `tenant` asked with `sides`, width and height.
    #[must_use]
    pub fn of(spec: &FloorSpec, tenant: Option<TenantId>, sides: (u32, u32)) -> Self {
        let (width, height) = match spec.pack() {
            PackHash::BUILT_IN => (spec.width(), spec.height()),
            // They were resolved, so they fit.
            _ => (u16::try_from(sides.0).unwrap_or(0), u16::try_from(sides.1).unwrap_or(0)),
        };
        Self { pack: spec.pack(), seed: spec.seed(), width, height, view: spec.view(), tenant }
    }

    /// Its history among [`HISTORIES`].
    const fn history(&self) -> usize {
        // Spreads all bits over the highest (D. Knuth, The Art of Computer Programming, 6.4, multiplicative hashing).
        let spread = (self.seed ^ self.pack.0).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (spread >> (u64::BITS - HISTORIES.ilog2())) as usize
    }

    /// The tenant of its callers.
    pub(super) const fn tenant(&self) -> Option<TenantId> {
        self.tenant
    }

    /// The floor with that number, or `None` if the tower has none.
    #[must_use]
    pub fn floor(&self, packs: &Packs, number: u32) -> Option<FloorSpec> {
        let spec = packs.of(self.pack)?.resolve(self.seed, number, self.width.into(), self.height.into(), None).ok()?;
        Some(spec.with_view(self.view))
    }
}

/// A request for the floor above a recently requested one, if memory missed this floor or one of an earlier step of the
/// same climb.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Step {
    /// The tower.
    pub tower: Tower,
    /// The requested floor.
    pub number: u32,
}

/// A step, and the caller that took it.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepOf {
    pub(super) step: Step,
    pub(super) caller: CallerId,
}

/// Histories with a lock each.
const HISTORIES: usize = 16;

/// Towers per map. In all histories about 5,000 towers are remembered, more than there are climbers, and at most twice as
/// many (1.6 MB).
const TOWERS_PER_MAP: usize = 320;

/// Remembered floors per tower, which limits the climbers that are detected in it. Few, because random requests follow
/// one of these floors by chance: in a tower of 2,000 floors, one request in 250.
const FLOORS_PER_TOWER: usize = 8;

/// The last floors requested in recently used towers. When the current map is full it replaces the previous one, whose
/// remaining towers are forgotten.
#[derive(Debug, Default)]
struct AccessHistory {
    current: HashMap<Tower, TowerHistory>,
    previous: HashMap<Tower, TowerHistory>,
}

/// The histories of all towers. Cores that serve different towers mostly do not meet in one.
#[derive(Debug, Default)]
pub(super) struct AccessHistories([Padded; HISTORIES]);

/// On cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Padded(Mutex<AccessHistory>);

impl AccessHistories {
    /// Records a request, and whether memory missed it. Returns the step, if it is one. Never waits: a concurrent request
    /// may be missed.
    pub(super) fn record(&self, step: Step, was_missed: bool) -> Option<Step> {
        let Padded(history) = &self.0[step.tower.history()];
        history.try_lock().ok()?.record(step, was_missed)
    }
}

/// The last floors requested in one tower, without duplicates, latest first.
#[derive(Debug, Default)]
struct TowerHistory([Access; FLOORS_PER_TOWER]);

/// A request for a floor.
#[derive(Debug, Clone, Copy, Default)]
struct Access {
    /// 0 for an empty slot.
    number: u32,
    /// Whether a climber's last step led here.
    is_climber: bool,
}

impl AccessHistory {
    /// Records a request, and whether memory missed it. Returns the step, if it is one.
    fn record(&mut self, step: Step, was_missed: bool) -> Option<Step> {
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
    /// Records a request for floor `number`. Returns whether it is a step. It replaces the earlier request for the same
    /// floor, or else for the floor below, or else the oldest.
    ///
    /// A climb starts only with a floor that memory missed: for floors in memory a prefetch is useless, and most chance
    /// hits are there.
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

    fn step(seed: u64, number: u32) -> Step {
        Step { tower: Tower::of(&FloorSpec::resolve(seed, number, 0, 0, None).unwrap(), None, (0, 0)), number }
    }

    #[test]
    fn steps_are_distinguished_from_other_calls() {
        let mut history = AccessHistory::default();
        let mut is_step = |seed, number| history.record(step(seed, number), true).is_some();
        assert!(!is_step(1, 1), "there is no floor below the first");
        assert!(!is_step(1, 5), "one request is no step");
        assert!(!is_step(1, 5), "the same floor again is no step");
        assert!(is_step(1, 6));
        assert!(!is_step(2, 7), "another tower");
        assert!(!is_step(1, 500), "far from the first climber");
        assert!(is_step(1, 7), "the other request does not end the climb");
        assert!(is_step(1, 501));
        assert!(!is_step(1, 501), "a repeated floor is no step");
        assert!(!is_step(1, 3), "going down is no step");
    }

    #[test]
    fn random_access_gives_steps_only_by_chance() {
        let mut history = AccessHistory::default();
        let mut state = 1_u32;
        let mut random_floor = || {
            // The generator of Numerical Recipes; its high bits are random enough.
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % 2000 + 1
        };
        let steps = (0..100_000).filter_map(|_| history.record(step(1, random_floor()), true)).count();
        assert!((200..600).contains(&steps), "about 8 of 2,000 among 100,000 requests: {steps}");
    }

    /// The number of steps of climbers who start on `floors` and each climb a hundred floors, in turn.
    fn steps_from(floors: &[u32]) -> usize {
        let mut history = AccessHistory::default();
        let calls = (0..=100).flat_map(|height| floors.iter().map(move |floor| floor + height));
        calls.filter_map(|number| history.record(step(1, number), true)).count()
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
        let mut is_step = |number, was_missed| history.record(step(1, number), was_missed).is_some();
        assert!(!is_step(5, true) && !is_step(6, false), "memory had the floor");
        assert!(is_step(7, true));
        assert!(!is_step(7, false), "a repeated floor is no step");
        assert!(is_step(8, false), "prefetched floors are in memory");
        assert!(!is_step(100, false) && !is_step(101, false), "a step elsewhere does not continue this climb");
        assert!(is_step(9, false));
    }

    #[test]
    fn climbers_in_many_towers_are_all_detected() {
        let history = AccessHistories::default();
        let mut steps_of = |shift: u32| {
            let calls = (0..3).flat_map(|height| (1..=4000_u64).map(move |seed| (seed << shift, 10 + height)));
            calls.filter_map(|(seed, number)| history.record(step(seed, number), true)).count()
        };
        // Games number towers in the lowest bits, or in higher ones.
        assert_eq!([0, 20, 40, 52].map(&mut steps_of), [8000; 4]);
    }

    #[test]
    fn the_number_of_remembered_towers_is_bounded() {
        let mut history = AccessHistory::default();
        (0..20_000).for_each(|seed| _ = history.record(step(seed, 10), true));
        assert!(history.current.len() + history.previous.len() <= 2 * TOWERS_PER_MAP);
        assert!(history.record(step(19_999, 11), true).is_some(), "this tower was used last");
        assert!(history.record(step(0, 11), true).is_none());
    }
}
