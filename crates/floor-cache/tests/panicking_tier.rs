//! Tests that a panicking tier fails no call, and that the chain uses it again when it is healthy.

mod fixture;

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};

use bytes::Bytes;
use fixture::{build_chain, fake_source::value_of, key, keys, wait_until};
use floor_cache::{Admit, Answer, Bypass, ChainConfig, Key, Options, Tier, TierAdmin, TierError, TierStats, Tuning};

/// A tier that panics at every call until it is healthy.
#[derive(Debug, Default)]
struct Panicking {
    healthy: AtomicBool,
}

impl Panicking {
    fn answer<T>(&self, answer: T) -> Answer<'_, T> {
        assert!(self.healthy.load(SeqCst), "the tier is not healthy");
        Answer::Now(Ok(answer))
    }
}

/// Shared by the chain and the test.
#[derive(Debug)]
struct SharedTier(Arc<Panicking>);

impl Tier for SharedTier {
    fn name(&self) -> &'static str {
        "panicking"
    }

    fn get<'a>(&'a self, _key: &'a Key) -> Answer<'a, Option<Bytes>> {
        self.0.answer(None)
    }

    fn get_many<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, Vec<Option<Bytes>>> {
        self.0.answer(vec![None; keys.len()])
    }

    fn put_many<'a>(&'a self, _entries: &'a [(Key, Bytes)]) -> Answer<'a, ()> {
        self.0.answer(())
    }

    fn remove_many<'a>(&'a self, _keys: &'a [Key]) -> Answer<'a, ()> {
        Answer::later(async { Err::<(), TierError>(io_error()) })
    }
}

impl TierAdmin for SharedTier {
    fn contains<'a>(&'a self, _key: &'a Key) -> Answer<'a, bool> {
        self.0.answer(false)
    }

    fn stats(&self) -> TierStats {
        TierStats::default()
    }
}

fn io_error() -> TierError {
    TierError::new(floor_cache::TierErrorKind::Internal, "remove", io::Error::other("it is not there"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panicking_tier_fails_no_call_and_is_used_again_when_healthy() {
    let tier = Arc::new(Panicking::default());
    let config = ChainConfig { bypass: Bypass::Off, ..ChainConfig::default() };
    let chain = build_chain(&config, &Tuning::default(), |chain| chain.tier(SharedTier(tier.clone()), Admit::All));
    for key in keys(0..50) {
        assert_eq!(chain.get(key, Options::default()).await.unwrap().value, value_of(&key));
    }
    assert!(chain.get_many(&keys(50..100), Options::default()).await.is_ok());
    chain.remove_many(&keys(0..1)).await;
    assert!(matches!(chain.contains(&key(1, 1)).await[..], [("panicking", Err(_))]));
    assert_eq!(chain.report()[0].verdict, "open");
    tier.healthy.store(true, SeqCst);
    wait_until("it is asked again", || {
        let again = chain.get(key(7, 1), Options::default());
        futures_util::FutureExt::now_or_never(again);
        chain.report()[0].verdict == "probed"
    })
    .await;
}
