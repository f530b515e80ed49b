//! An exact LRU by bytes, as a reference for the hit ratio of the server's memory tier, and that tier on the same trace.
//!
//! The reference is written for clarity: a map, and an order by last use. It admits every value that fits and evicts the
//! least recently used one, as libCacheSim's `LRU` does.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use floor_cache::{Key, LruConfig, Tier, TierAdmin, tier::Answer, tiers::LruTier};

/// An access: what is requested, and its size in bytes.
pub type Access = (u64, u64);

/// The share of accesses that an exact LRU of `capacity` bytes answers. Empty at the start.
pub fn exact_hit_ratio(accesses: &[Access], capacity: u64) -> f64 {
    let (mut held, mut by_use) = (HashMap::<u64, (u64, u64)>::new(), BTreeMap::<u64, u64>::new());
    let (mut bytes, mut hits) = (0, 0_u64);
    for (now, (id, size)) in (0..).zip(accesses.iter().copied()) {
        if let Some((last_use, _)) = held.get_mut(&id) {
            hits += 1;
            by_use.remove(last_use);
            by_use.insert(now, id);
            *last_use = now;
            continue;
        }
        if size > capacity {
            continue;
        }
        while bytes + size > capacity {
            let Some((_, coldest)) = by_use.pop_first() else { break };
            bytes -= held.remove(&coldest).map_or(0, |(_, size)| size);
        }
        bytes += size;
        held.insert(id, (now, size));
        by_use.insert(now, id);
    }
    hits as f64 / accesses.len().max(1) as f64
}

/// The share of accesses that the server's memory tier answers, with `capacity` bytes for values of these sizes and for
/// their overhead. Empty at the start; what it misses is inserted.
pub fn tier_hit_ratio(accesses: &[Access], capacity: u64) -> f64 {
    let tier = LruTier::new(&LruConfig { capacity, ttl: None });
    let longest = accesses.iter().map(|(_, size)| *size).max().unwrap_or(0);
    let bytes = Bytes::from(vec![0; longest as usize]);
    let mut hits = 0_u64;
    for (id, size) in accesses {
        let key = key(*id);
        match tier.get(&key) {
            Answer::Now(Ok(Some(_))) => hits += 1,
            _ => drop(tier.put_many(&[(key, bytes.slice(..*size as usize))])),
        }
    }
    hits as f64 / accesses.len().max(1) as f64
}

/// Bytes that the memory tier counts for an entry besides its value.
pub fn tier_overhead() -> u64 {
    let tier = LruTier::new(&LruConfig::default());
    drop(tier.put_many(&[(key(0), Bytes::from_static(b"x"))]));
    tier.stats().bytes - 1
}

fn key(id: u64) -> Key {
    crate::floors::numbered_key(id >> 32, id as u32)
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng as _, rngs::SmallRng};
    use rand_distr::{Distribution as _, Zipf};

    use super::*;

    /// 300,000 accesses by Zipf's law to 20,000 values of about the size of floors.
    fn zipf(exponent: f64) -> Vec<Access> {
        let (zipf, mut rng) = (Zipf::new(20_000.0, exponent).unwrap(), SmallRng::seed_from_u64(7));
        (0..300_000).map(|_| zipf.sample(&mut rng) as u64).map(|id| (id, 3000 + id * 7919 % 3000)).collect()
    }

    #[test]
    fn the_reference_evicts_the_least_recently_used() {
        // Two values of one byte fit: 1 and 2, then 3 evicts 2, since 1 was used after it.
        let accesses = [(1, 1), (2, 1), (1, 1), (3, 1), (1, 1), (2, 1)];
        assert_eq!(exact_hit_ratio(&accesses, 2), 2.0 / 6.0);
        assert_eq!(exact_hit_ratio(&[(1, 9), (1, 9)], 2), 0.0, "what does not fit is not admitted");
    }

    /// Accesses that another language generates as easily: the upper bits of Knuth's MMIX generator, cubed, so that low
    /// numbers are requested most.
    fn skewed() -> Vec<Access> {
        let mut state = 7_u64;
        let next = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let upper = state >> 33;
            let cube = (((upper * upper) >> 31) * upper) >> 31;
            let id = (cube * 20_000) >> 31;
            (id + 1, 3000 + id * 7919 % 3000)
        };
        (0..300_000).map(next).collect()
    }

    /// The hits are those of `libcachesim.LRU` of the Python package libcachesim 0.3.5 on the same accesses.
    #[test]
    fn the_reference_has_as_many_hits_as_libcachesim() {
        let accesses = skewed();
        for (mib, hits) in [(1, 33_075.0), (8, 93_734.0), (32, 185_844.0)] {
            assert_eq!(exact_hit_ratio(&accesses, mib << 20), hits / 300_000.0, "{mib} MiB");
        }
    }

    /// The tier is sharded, and its protection against scans makes it better than an LRU where few floors are popular.
    #[test]
    fn the_tier_answers_at_most_a_tenth_of_a_point_less_than_an_exact_lru() {
        let overhead = tier_overhead();
        for exponent in [0.7, 1.0] {
            let accesses = zipf(exponent);
            let with_overhead: Vec<Access> = accesses.iter().map(|(id, size)| (*id, size + overhead)).collect();
            for mib in [4, 16, 64] {
                let exact = exact_hit_ratio(&with_overhead, mib << 20) * 100.0;
                let tier = tier_hit_ratio(&accesses, mib << 20) * 100.0;
                println!("zipf {exponent}, {mib} MiB: {exact:.2} % of an exact LRU, {tier:.2} % of the tier");
                assert!(tier >= exact - 0.1, "zipf {exponent}, {mib} MiB: {tier} % and not {exact} %");
            }
        }
    }
}
