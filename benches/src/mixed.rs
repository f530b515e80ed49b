//! A mixed load: eighty gets, ten puts and ten removals in a hundred.

/// One operation, and the step in visiting order whose floor it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Get a floor that is there.
    Get(u64),
    /// Put back the floor that was removed last.
    Put(u64),
    /// Remove a floor that is there.
    Remove(u64),
}

/// The operation at `step`: of ten steps the first removes a floor, eight get others, and the last puts it back. So every get
/// finds its floor, every removal too, and every put is of a floor that is not there, however long the run is and
/// whatever the number of floors, as long as there are more than ten.
#[must_use]
pub const fn operation(step: u64) -> Operation {
    match step % CYCLE {
        0 => Operation::Remove(step),
        9 => Operation::Put(last_removed(step)),
        _ => Operation::Get(step),
    }
}

/// How many of the first `steps` are gets.
#[must_use]
pub const fn gets(steps: u64) -> u64 {
    steps / CYCLE * 8 + (steps % CYCLE).saturating_sub(1)
}

/// The step at which a floor was last removed, at `step` or before. After a run that ended between the two, that floor is
/// still to be put back.
#[must_use]
pub const fn last_removed(step: u64) -> u64 {
    step - step % CYCLE
}

const CYCLE: u64 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_get_and_removal_finds_its_floor_and_every_put_brings_one_back() {
        let mut there: Vec<bool> = vec![true; 16];
        let index = |step: u64| (step % 16) as usize;
        let mut counted = 0;
        for step in 0..1000 {
            assert_eq!(gets(step), counted);
            match operation(step) {
                Operation::Get(at) => {
                    assert!(there[index(at)]);
                    counted += 1;
                }
                Operation::Remove(at) => assert!(std::mem::replace(&mut there[index(at)], false)),
                Operation::Put(at) => assert!(!std::mem::replace(&mut there[index(at)], true)),
            }
        }
        assert_eq!(counted, 800);
        assert!(there.iter().all(|there| *there));
    }
}
