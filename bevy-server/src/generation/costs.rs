//! What generating costs: run time and CPU time of a cell of each kind, and the time to wake a worker. The
//! [queue](super::queue) shares the workers' time by it, and predicts the response time of new floors.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use floor_cache::{Class, Key, Made};

/// The cost of a cell of a kind that was not generated yet, in picoseconds.
const INITIAL_CELL_COST: u64 = 10_000;

/// The cost of a floor in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cost {
    /// On a worker, from start to end.
    pub(super) run: u64,
    pub(super) cpu: u64,
}

/// Running means, in which a new value has a weight of a sixteenth. Readers need no lock, and a lost update is one value
/// fewer.
#[derive(Debug, Default)]
pub(super) struct Costs {
    /// Picoseconds of a cell of each class of keys, which is a kind; 0 while unknown.
    run: [AtomicU64; Class::COUNT],
    cpu: [AtomicU64; Class::COUNT],
    /// Nanoseconds from a push to a worker that was idle.
    wake_up: AtomicU64,
}

impl Costs {
    /// Nanoseconds to generate `cells` cells of the kind of `key`.
    pub(super) fn run(&self, key: &Key, cells: u64) -> u64 {
        let known = self.run[key.class().index()].load(Relaxed);
        cells * if known == 0 { INITIAL_CELL_COST } else { known } / 1000
    }

    /// The cost of `cells` cells of the kind of `key`, once one was generated.
    pub(super) fn measured(&self, key: &Key, cells: u64) -> Option<Cost> {
        let nanoseconds = |of: &[AtomicU64; Class::COUNT]| match of[key.class().index()].load(Relaxed) {
            0 => None,
            cell => Some(cells * cell / 1000),
        };
        Some(Cost { run: nanoseconds(&self.run)?, cpu: nanoseconds(&self.cpu)? })
    }

    /// Nanoseconds to an idle worker and back: a thread wakes at each end.
    pub(super) fn dispatch(&self) -> u64 {
        2 * self.wake_up.load(Relaxed)
    }

    /// Records the cost of a floor of `cells` cells.
    pub(super) fn record(&self, key: &Key, cells: u64, made: &Made) {
        let class = key.class().index();
        for (mean, took) in [(&self.run[class], made.took), (&self.cpu[class], made.cpu)] {
            // A cost of zero means that it is unknown.
            add(mean, (took.as_nanos() as u64).saturating_mul(1000) / cells.max(1));
        }
    }

    pub(super) fn record_wake_up(&self, took: Duration) {
        add(&self.wake_up, took.as_nanos() as u64);
    }
}

/// A single value counts as at most this many times the mean: its thread may have been suspended.
const OUTLIER: u64 = 8;

fn add(mean: &AtomicU64, value: u64) {
    let value = value.max(1);
    let old = mean.load(Relaxed);
    let new = if old == 0 { value } else { old - old / 16 + value.min(OUTLIER * old) / 16 };
    mean.store(new.max(1), Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_unknown_until_a_floor_of_the_kind_was_generated() {
        let (costs, key) = (Costs::default(), Key::new([0; Key::LEN - 1], Class::new(1)));
        assert_eq!((costs.measured(&key, 100), costs.run(&key, 100)), (None, 1000));
        let made = |micros| Made {
            value: bytes::Bytes::new(),
            took: Duration::from_micros(micros),
            cpu: Duration::from_micros(micros / 2),
        };
        costs.record(&key, 10_000, &made(200));
        assert_eq!(costs.measured(&key, 5_000), Some(Cost { run: 100_000, cpu: 50_000 }));
        assert_eq!(costs.measured(&Key::new([0; Key::LEN - 1], Class::new(2)), 100), None);
        (0..100).for_each(|_| costs.record(&key, 10_000, &made(400)));
        let run = costs.run(&key, 10_000);
        assert!((380_000..=400_000).contains(&run), "{run}");
        costs.record(&key, 10_000, &made(1_000_000));
        assert!(costs.run(&key, 10_000) < 600_000, "a suspended thread");
    }
}
