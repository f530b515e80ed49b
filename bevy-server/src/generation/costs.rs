//! What generating costs: run time and CPU time of a cell of each kind of a pack, and the time to wake a worker. The
//! [queue](super::queue) shares the workers' time by it, and predicts the response time of new floors.

use std::{
    collections::HashMap,
    sync::{
        PoisonError, RwLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use floor_cache::{Class, Key, Made};
use floor_gen::PackHash;

use crate::key;

/// The cost of a cell of a kind that was not generated yet, in picoseconds.
const INITIAL_CELL_COST: u64 = 10_000;

/// The cost of a floor in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cost {
    /// On a worker, from start to end.
    pub(super) run: u64,
    pub(super) cpu: u64,
}

/// What generating costs, of the built-in pack and of each other one: a pack's own generator may take a thousand times as
/// long as ours.
#[derive(Debug, Default)]
pub(super) struct Costs {
    built_in: CellCosts,
    packs: RwLock<HashMap<PackHash, CellCosts>>,
    /// Nanoseconds from a push to a worker that was idle.
    wake_up: AtomicU64,
}

/// The most packs with costs of their own. With more, those that come later share those of the built-in pack.
const PACKS: usize = 256;

/// Running means, in which a new value has a weight of a sixteenth. Readers need no lock, and a lost update is one value
/// fewer.
#[derive(Debug, Default)]
struct CellCosts {
    /// Picoseconds of a cell of each class of keys, which is a kind; 0 while unknown.
    run: [AtomicU64; Class::COUNT],
    cpu: [AtomicU64; Class::COUNT],
}

impl CellCosts {
    /// Nanoseconds for `cells` cells of the class `index`, once one was generated.
    fn of(&self, index: usize, cells: u64) -> Option<Cost> {
        let nanoseconds = |of: &[AtomicU64; Class::COUNT]| match of[index].load(Relaxed) {
            0 => None,
            cell => Some(cells.saturating_mul(cell) / 1000),
        };
        Some(Cost { run: nanoseconds(&self.run)?, cpu: nanoseconds(&self.cpu)? })
    }

    fn record(&self, index: usize, cells: u64, made: &Made) {
        for (mean, took) in [(&self.run[index], made.took), (&self.cpu[index], made.cpu)] {
            // A cost of zero means that it is unknown.
            add(mean, (took.as_nanos() as u64).saturating_mul(1000) / cells.max(1));
        }
    }
}

impl Costs {
    /// Nanoseconds to generate `cells` cells of the kind and pack of `key`.
    pub(super) fn run(&self, key: &Key, cells: u64) -> u64 {
        self.measured(key, cells).map_or(cells * INITIAL_CELL_COST / 1000, |cost| cost.run)
    }

    /// The cost of `cells` cells of the kind and pack of `key`, once one was generated.
    pub(super) fn measured(&self, key: &Key, cells: u64) -> Option<Cost> {
        self.read(key, |costs| costs.of(key.class().index(), cells))
    }

    /// Nanoseconds to an idle worker and back: a thread wakes at each end.
    pub(super) fn dispatch(&self) -> u64 {
        2 * self.wake_up.load(Relaxed)
    }

    /// Records the cost of a floor of `cells` cells.
    pub(super) fn record(&self, key: &Key, cells: u64, made: &Made) {
        let pack = key::pack_hash(key);
        let is_known = |packs: &HashMap<_, _>| packs.len() >= PACKS || packs.contains_key(&pack);
        if pack != PackHash::BUILT_IN && !is_known(&self.packs.read().unwrap_or_else(PoisonError::into_inner)) {
            self.packs.write().unwrap_or_else(PoisonError::into_inner).entry(pack).or_default();
        }
        self.read(key, |costs| costs.record(key.class().index(), cells, made));
    }

    pub(super) fn record_wake_up(&self, took: Duration) {
        add(&self.wake_up, took.as_nanos() as u64);
    }

    /// Reads the costs of the pack of `key`.
    fn read<R>(&self, key: &Key, read: impl FnOnce(&CellCosts) -> R) -> R {
        let pack = key::pack_hash(key);
        if pack == PackHash::BUILT_IN {
            return read(&self.built_in);
        }
        let packs = self.packs.read().unwrap_or_else(PoisonError::into_inner);
        read(packs.get(&pack).unwrap_or(&self.built_in))
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
    use floor_gen::{FloorSpec, Kind};

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

    #[test]
    fn a_pack_has_costs_of_its_own() {
        let key = |pack| key::of(&FloorSpec::of_pack(PackHash(pack), 1, 1, 100, 100, Kind::Standard).unwrap());
        let took = |micros| {
            let time = Duration::from_micros(micros);
            Made { value: bytes::Bytes::new(), took: time, cpu: time }
        };
        let costs = Costs::default();
        costs.record(&key(0), 10_000, &took(100));
        assert_eq!(costs.run(&key(7), 10_000), 100_000, "as ours until it is known");
        costs.record(&key(7), 10_000, &took(50_000));
        assert_eq!([0, 7, 8].map(|pack| costs.run(&key(pack), 10_000)), [100_000, 50_000_000, 100_000]);
        (100..).take(2 * PACKS).for_each(|pack| costs.record(&key(pack), 10_000, &took(100)));
        assert_eq!(costs.packs.read().unwrap().len(), PACKS);
    }
}
