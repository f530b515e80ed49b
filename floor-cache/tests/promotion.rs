//! Layers in memory, one above the other: every lookup is counted once in each layer that it came to, and a hit further down
//! fills the layers above.

mod fixture;

use std::sync::Arc;

use fixture::{
    fake_source::{FakeSource, value_of},
    keys,
};
use floor_cache::{Chain, ChainBuilder, ChainConfig, Key, LruConfig, Tuning};
use prometheus::Registry;
use tokio::runtime::Handle;

/// Room for a few values of up to 4,000 bytes.
const TINY: u64 = 12 << 10;

/// A chain of two layers that both were given `keys`, of which the upper has room for a few. Hits are audited as usual.
fn layers(keys: &[Key]) -> Chain {
    let (config, registry) = (ChainConfig::default(), Registry::new());
    let chain = ChainBuilder::new(&config, &Tuning::default(), &registry, &Handle::current())
        .and_then(|chain| chain.memory("upper", &LruConfig { capacity: TINY, ttl: None }))
        .and_then(|chain| chain.memory("lower", &LruConfig::default()))
        .and_then(|chain| chain.build(Arc::new(FakeSource::default())))
        .expect("it opens");
    keys.iter().for_each(|key| chain.put(*key, &value_of(key)));
    chain
}

/// Hits and misses of the upper layer, then of the lower.
fn counts(chain: &Chain) -> [u64; 4] {
    let report = chain.report();
    [report[0].hits, report[0].misses, report[1].hits, report[1].misses]
}

#[tokio::test(flavor = "multi_thread")]
async fn hits_and_misses_of_two_layers_add_up() {
    let keys = keys(0..1024);
    let chain = layers(&keys);
    // Of one lookup, of a few in a row again and again, and of many times all of them: as a bench asks.
    for steps in [1, 2, 5, 40, 1000, 1024, 100_000, 1, 7, 300_000] {
        let before = counts(&chain);
        for key in keys.iter().cycle().take(steps) {
            let served = chain.get_now(key).expect("the lower layer has them all");
            assert_eq!(served.value, value_of(key));
        }
        let [upper_hits, upper_misses, lower_hits, lower_misses] =
            std::array::from_fn(|i| counts(&chain)[i] - before[i]);
        let steps = steps as u64;
        assert_eq!(upper_hits + upper_misses, steps, "every lookup came to the upper layer");
        assert_eq!(lower_hits, upper_misses, "and where that had nothing, was a hit of the lower");
        assert_eq!(lower_misses, 0, "{steps} lookups");
    }
}

/// What was found below is above the next time: asked for twice in a row, the second is a hit of the upper layer, however
/// many came by between one pair and the next.
#[tokio::test(flavor = "multi_thread")]
async fn a_hit_below_is_a_hit_above_the_next_time() {
    let keys = keys(0..1024);
    let chain = layers(&keys);
    let before = counts(&chain);
    for key in &keys {
        chain.get_now(key).expect("the lower layer has it");
        assert_eq!(chain.get_now(key).expect("both have it").by, "upper");
    }
    let [upper_hits, upper_misses, lower_hits, lower_misses] = std::array::from_fn(|i| counts(&chain)[i] - before[i]);
    assert_eq!(upper_hits + upper_misses, 2 * 1024);
    assert!((1024..1040).contains(&upper_hits), "{upper_hits}: the few that it held, and each one's second");
    assert_eq!((lower_hits, lower_misses), (upper_misses, 0));
    let upper = &chain.report()[0];
    assert!(upper.bytes <= TINY && upper.entries > 1, "{upper:?}");
}
