//! The cost of a hit and of a write against the number of entries in a store. Ten million small values fit.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use benches::{
    floors::numbered_key,
    stores::Store,
    timing::{answered, median},
};
use bytes::Bytes;
use floor_cache::{Key, TierKind};

use crate::Curve;

/// Bytes of a value.
const VALUE: usize = 64;

/// Entries written in one call.
const BATCH: u32 = 1000;

/// Lookups of a sample, and the number of samples, whose median is the result.
const LOOKUPS: u32 = 2000;
const SAMPLES: usize = 21;

/// A store is not filled further if that takes longer at the rate of the last step.
const MAX_FILL_TIME: Duration = Duration::from_secs(300);

/// Bytes of memory, or of the map, that hold ten million entries.
const CAPACITY: u64 = 16 << 30;

pub(crate) fn measure(most: u32) -> Vec<Curve> {
    let mut curves = Vec::new();
    for kind in [TierKind::Lru, TierKind::Lmdb, TierKind::Sled] {
        let (mut hits, mut puts) = (Vec::new(), Vec::<(f64, f64)>::new());
        let store = Store::open_with(kind, CAPACITY, CAPACITY);
        let mut stored = 0;
        for power in 3..=most {
            let entries = 10_u32.pow(power);
            let expected = puts.last().map_or(0.0, |(_, micros)| micros / 1e6 * f64::from(entries - stored));
            if expected > MAX_FILL_TIME.as_secs_f64() {
                eprintln!("left out: {entries} entries in {}, which would take {expected:.0} s to put", kind.name());
                break;
            }
            let took = fill(&store, stored..entries);
            puts.push((f64::from(entries), took.as_secs_f64() * 1e6 / f64::from(entries - stored)));
            stored = entries;
            hits.push((f64::from(entries), hit(&store, entries)));
        }
        let curve = |what: &str, points| Curve {
            what: format!("{} of {}", what, kind.name()),
            size: "entries",
            cost: "us",
            points,
        };
        curves.push(curve("a hit", hits));
        curves.push(curve("a put, a thousand at a time,", puts));
    }
    curves
}

fn fill(store: &Store, numbers: std::ops::Range<u32>) -> Duration {
    let value = Bytes::from(vec![1; VALUE]);
    let mut took = Duration::ZERO;
    for first in numbers.clone().step_by(BATCH as usize) {
        let last = numbers.end.min(first + BATCH);
        let entries: Vec<(Key, Bytes)> = (first..last).map(|number| (numbered_key(0, number), value.clone())).collect();
        let started = Instant::now();
        store.runtime.block_on(answered(store.tier.put_many(&entries))).expect("the store takes them");
        took += started.elapsed();
    }
    took
}

/// The microseconds of a hit. Consecutive keys are far apart.
fn hit(store: &Store, entries: u32) -> f64 {
    let sample = |sample: usize| {
        let keys: Vec<Key> = (0..LOOKUPS)
            .map(|step| {
                numbered_key(0, ((sample as u64 * 104_729 + u64::from(step) * 7_919) % u64::from(entries)) as u32)
            })
            .collect();
        store.runtime.block_on(async {
            let started = Instant::now();
            for key in &keys {
                let found = black_box(answered(store.tier.get(key)).await);
                assert!(found.is_ok_and(|found| found.is_some()), "every lookup is a hit");
            }
            started.elapsed().as_secs_f64() * 1e6 / f64::from(LOOKUPS)
        })
    };
    median((0..SAMPLES).map(sample))
}
