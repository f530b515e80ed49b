//! Tests of two memory tiers in a row: every lookup is counted once in each tier that it reaches, and a hit in the
//! lower tier fills the upper one.

mod fixture;

use fixture::{build_chain, fake_source::value_of, keys};
use floor_cache::{Chain, ChainConfig, Key, LruConfig, Tuning};

/// Space for a few values of up to 4,000 bytes.
const TINY: u64 = 12 << 10;

/// A chain of two memory tiers that were both given `keys`, of which the upper holds a few.
fn two_tiers(keys: &[Key]) -> Chain {
    let chain = build_chain(&ChainConfig::default(), &Tuning::default(), |chain| {
        let upper = LruConfig { capacity: TINY, ttl: None };
        chain.memory("upper", &upper)?.memory("lower", &LruConfig::default())
    });
    keys.iter().for_each(|key| chain.put(*key, &value_of(key)));
    chain
}

/// Hits and misses of the upper tier, then of the lower.
fn counts(chain: &Chain) -> [u64; 4] {
    let report = chain.report();
    [report[0].hits, report[0].misses, report[1].hits, report[1].misses]
}

#[tokio::test(flavor = "multi_thread")]
async fn hits_and_misses_of_two_tiers_add_up() {
    let keys = keys(0..1024);
    let chain = two_tiers(&keys);
    // One lookup, short repeated runs, and many passes over all keys, as in a bench.
    for steps in [1, 2, 5, 40, 1000, 1024, 100_000, 1, 7, 300_000] {
        let before = counts(&chain);
        for key in keys.iter().cycle().take(steps) {
            let served = chain.get_now(key).expect("the lower tier has every key");
            assert_eq!(served.value, value_of(key));
        }
        let [upper_hits, upper_misses, lower_hits, lower_misses] =
            std::array::from_fn(|i| counts(&chain)[i] - before[i]);
        let steps = steps as u64;
        assert_eq!(upper_hits + upper_misses, steps, "every lookup reaches the upper tier");
        assert_eq!(lower_hits, upper_misses, "every miss there is a hit in the lower tier");
        assert_eq!(lower_misses, 0, "{steps} lookups");
    }
}

/// Of two lookups in a row, the second is a hit in the upper tier, whatever came between the pairs.
#[tokio::test(flavor = "multi_thread")]
async fn a_hit_in_the_lower_tier_fills_the_upper_one() {
    let keys = keys(0..1024);
    let chain = two_tiers(&keys);
    let before = counts(&chain);
    for key in &keys {
        chain.get_now(key).expect("the lower tier has every key");
        assert_eq!(chain.get_now(key).expect("both have it").by, "upper");
    }
    let [upper_hits, upper_misses, lower_hits, lower_misses] = std::array::from_fn(|i| counts(&chain)[i] - before[i]);
    assert_eq!(upper_hits + upper_misses, 2 * 1024);
    assert!((1024..1040).contains(&upper_hits), "{upper_hits}: the few entries that it had, and each second lookup");
    assert_eq!((lower_hits, lower_misses), (upper_misses, 0));
    let upper = &chain.report()[0];
    assert!(upper.bytes <= TINY && upper.entries > 1, "{upper:?}");
}
