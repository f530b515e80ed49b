//! A mixed sequence of operations: 80 % gets, 10 % puts, 10 % removals. The bench `chain` times it.

/// One operation with the step, in visiting order, of its floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Get a floor that is stored.
    Get(u64),
    /// Put the floor that was removed last.
    Put(u64),
    /// Remove a floor that is stored.
    Remove(u64),
}

/// The operation at `step`. Of ten steps the first removes a floor, eight get others, and the last puts the removed
/// one. With more than ten floors every get and removal finds its floor, and every put stores a missing one.
pub const fn operation(step: u64) -> Operation {
    match step % CYCLE {
        0 => Operation::Remove(step),
        9 => Operation::Put(last_removed(step)),
        _ => Operation::Get(step),
    }
}

/// The number of gets in the first `steps`.
pub const fn gets(steps: u64) -> u64 {
    steps / CYCLE * 8 + (steps % CYCLE).saturating_sub(1)
}

/// The step of the last removal, at `step` or before. Its floor is missing after a run that ends before its put.
pub const fn last_removed(step: u64) -> u64 {
    step - step % CYCLE
}

/// Steps after which the operations repeat.
const CYCLE: u64 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_get_and_removal_finds_its_floor_and_every_put_stores_a_missing_one() {
        let mut stored: Vec<bool> = vec![true; 16];
        let index = |step: u64| (step % 16) as usize;
        let mut counted = 0;
        for step in 0..1000 {
            assert_eq!(gets(step), counted);
            match operation(step) {
                Operation::Get(at) => {
                    assert!(stored[index(at)]);
                    counted += 1;
                }
                Operation::Remove(at) => assert!(std::mem::replace(&mut stored[index(at)], false)),
                Operation::Put(at) => assert!(!std::mem::replace(&mut stored[index(at)], true)),
            }
        }
        assert_eq!(counted, 800);
        assert!(stored.iter().all(|is_stored| *is_stored));
    }
}
