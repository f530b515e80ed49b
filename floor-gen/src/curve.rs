//! The difficulty curve: strength by floor number, and by progress from entry to exit.

/// Progress at the exit; the entry has 0.
pub(crate) const FULL_PROGRESS: u32 = 1_000;

/// Parts of a floor, each a rest and a rise.
pub(crate) const ACTS: u32 = 3;
/// Share of an act that its rest takes, in thousandths.
const REST: u32 = 280;

/// The base level of the monsters, traps and loot of a floor: sqrt(4 * number) - 1, which is 1 on floor 1 and 1,999 on
/// floor 1,000,000.
pub(crate) const fn level_of_floor(number: u32) -> u32 {
    (4 * number).isqrt() - 1
}

/// The strength of a room at `progress` (of [`FULL_PROGRESS`]), in thousandths of a full room. Each of the three acts
/// rests, then rises above the act before.
pub(crate) const fn intensity(progress: u32) -> u32 {
    let progress = if progress < FULL_PROGRESS { progress } else { FULL_PROGRESS - 1 };
    let act = progress * ACTS / FULL_PROGRESS;
    let within = progress * ACTS % FULL_PROGRESS;
    if within < REST { 100 + 80 * act } else { 450 + 150 * act + (within - REST) * 350 / (FULL_PROGRESS - REST) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_act_rests_then_rises_above_the_act_before() {
        let peak = |act: u32| intensity((act + 1) * FULL_PROGRESS / ACTS - 1);
        let rest = |act: u32| intensity(act * FULL_PROGRESS / ACTS + 10);
        assert!(rest(0) < rest(1) && rest(1) < rest(2) && rest(2) < peak(0));
        assert!(peak(0) < peak(1) && peak(1) < peak(2));
        assert_eq!(intensity(FULL_PROGRESS), intensity(FULL_PROGRESS - 1));
    }

    #[test]
    fn floors_grow_harder() {
        assert_eq!([1, 10, 100, 1_000_000].map(level_of_floor), [1, 5, 19, 1_999]);
    }
}
