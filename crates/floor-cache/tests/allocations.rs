//! Tests that the hot path does not allocate.

mod fixture;

use std::{hint::black_box, slice};

use fixture::{
    fake_source::{FakeSource, value_of},
    keys,
};
use floor_cache::{Chain, ChainBuilder, ChainConfig, LruConfig, Options, Tier, Tuning, tiers::LruTier};
use futures_util::FutureExt;

/// Allocations of `work` on this thread.
fn allocations(work: impl FnOnce()) -> u64 {
    allocation_counter::measure(work).count_total
}

/// A chain of two tiers in memory that hold the keys 0 to 99.
fn chain(runtime: &tokio::runtime::Runtime) -> Chain {
    let config = ChainConfig::default();
    let tuning = Tuning::default();
    let chain = ChainBuilder::new(&config, &tuning, runtime.handle())
        .and_then(|chain| chain.memory("lru", &LruConfig::default()))
        .and_then(|chain| chain.memory("second", &LruConfig::default()))
        .expect("it opens")
        .build(std::sync::Arc::new(FakeSource::default()));
    keys(0..100).iter().for_each(|key| chain.put(*key, &value_of(key)));
    chain
}

#[test]
fn a_hit_in_memory_allocates_nothing() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let chain = chain(&runtime);
    let held = keys(0..100);
    // One lookup in 1,024 is timed and may allocate; the others may not.
    let timed = 5;
    let count = allocations(|| {
        for _ in 0..10 {
            for key in &held {
                assert!(black_box(chain.get_now(key)).is_some());
            }
        }
    });
    assert!(count <= timed, "{count} allocations in 1,000 hits");
    let count = allocations(|| {
        for _ in 0..10 {
            for key in &held {
                let served = chain.get(*key, Options::default()).now_or_never();
                assert!(black_box(served).unwrap().is_ok());
            }
        }
    });
    assert!(count <= timed, "{count} allocations in 1,000 awaited hits");
}

#[test]
fn awaiting_a_ready_answer_allocates_nothing() {
    let tier = LruTier::new(&LruConfig::default());
    let held = keys(0..100);
    held.iter().for_each(|key| drop(tier.put_many(&[(*key, value_of(key))])));
    let count = allocations(|| {
        for key in &held {
            assert!(black_box(tier.get(key).now_or_never()).unwrap().unwrap().is_some());
        }
    });
    assert_eq!(count, 0);
}

#[test]
fn a_batch_of_hits_allocates_only_its_result() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let chain = chain(&runtime);
    let ten = keys(0..10);
    let count = allocations(|| {
        for _ in 0..100 {
            let served = chain.get_many(&ten, Options::default()).now_or_never();
            assert_eq!(black_box(served).unwrap().unwrap().len(), 10);
        }
    });
    assert!((100..=105).contains(&count), "{count} allocations in 100 batches");
}

#[test]
fn remove_and_contains_allocate_nothing() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let chain = chain(&runtime);
    let held = keys(0..100);
    let count = allocations(|| {
        for key in &held {
            assert!(black_box(chain.contains_now(key)));
            chain.remove_many(slice::from_ref(key)).now_or_never().unwrap();
            assert!(!black_box(chain.contains_now(key)));
        }
    });
    assert_eq!(count, 0);
}
