//! What the tests need around a chain: a real Redis server, a source that can be watched, and a way to wait.
#![allow(dead_code, reason = "each test binary uses a part of it")]

pub(crate) mod authority;
pub(crate) mod bad_road;
pub(crate) mod mill;
pub(crate) mod redis_cluster;
pub(crate) mod redis_server;
pub(crate) mod slow_road;
pub(crate) mod small_disk;

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use floor_cache::{
    Chain, ChainConfig, Class, Key, LmdbConfig, SledConfig, TierKind, TierReport, Tuning, assemble_tuned,
    envelope::{Envelope, Namespace},
};
use mill::Mill;
use prometheus::Registry;
use tempfile::TempDir;
use tokio::runtime::Handle;

/// How long anything may take that is not what a test is about.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Nothing is audited, so that what is made can be counted, and nothing depends on how busy the machine is.
const TUNING: Tuning =
    Tuning { keys: None, compress: false, audit: 0, hedge: true, utilisation: Some(0.0), value_check: None };

/// A chain in front of a [`Mill`], in a directory of its own.
pub(crate) struct Setting {
    pub(crate) chain: Chain,
    pub(crate) mill: Arc<Mill>,
    pub(crate) registry: Registry,
    pub(crate) config: ChainConfig,
    pub(crate) tuning: Tuning,
    pub(crate) directory: Arc<TempDir>,
}

impl Setting {
    /// The chain of `tiers`, to which `adjust` may give other settings.
    pub(crate) fn new(tiers: &[TierKind], adjust: impl FnOnce(&mut ChainConfig)) -> Self {
        Self::tuned(tiers, &TUNING, adjust)
    }

    /// The same in front of a source that generates one value at a time.
    pub(crate) fn serial(tiers: &[TierKind], adjust: impl FnOnce(&mut ChainConfig)) -> Self {
        Self::before(Mill::serial(), tiers, &TUNING, adjust)
    }

    /// The same with `tuning`.
    pub(crate) fn tuned(tiers: &[TierKind], tuning: &Tuning, adjust: impl FnOnce(&mut ChainConfig)) -> Self {
        Self::before(Mill::default(), tiers, tuning, adjust)
    }

    fn before(mill: Mill, tiers: &[TierKind], tuning: &Tuning, adjust: impl FnOnce(&mut ChainConfig)) -> Self {
        let directory = Arc::new(tempfile::tempdir().expect("a directory for the stores"));
        let mut config = ChainConfig {
            chain: tiers.to_vec(),
            lmdb: LmdbConfig { path: directory.path().join("lmdb"), map_size: 64 << 20 },
            sled: SledConfig { path: directory.path().join("sled"), ..SledConfig::default() },
            ..ChainConfig::default()
        };
        adjust(&mut config);
        let mill = Arc::new(mill);
        let registry = Registry::new();
        let chain = assemble_tuned(&config, tuning, mill.clone(), &registry, &Handle::current());
        let chain = chain.expect("the chain opens");
        Self { chain, mill, registry, config, tuning: tuning.clone(), directory }
    }

    /// Closes the chain and opens it again with nothing in memory and a new source.
    pub(crate) async fn reopened(self) -> Self {
        let Self { chain, config, tuning, directory, .. } = self;
        assert!(chain.close(Duration::from_secs(10)).await, "the writes are flushed");
        drop(chain);
        let mut reopened = None;
        // The writers' threads hold the stores until they have seen that the chain is gone.
        until("the stores are free", || {
            let mill = Arc::new(Mill::default());
            let registry = Registry::new();
            reopened = assemble_tuned(&config, &tuning, mill.clone(), &registry, &Handle::current())
                .ok()
                .map(|chain| (chain, mill, registry));
            reopened.is_some()
        })
        .await;
        let (chain, mill, registry) = reopened.expect("just seen");
        Self { chain, mill, registry, config, tuning, directory }
    }

    pub(crate) fn tier(&self, name: &str) -> TierReport {
        self.chain.report().into_iter().find(|tier| tier.name == name).expect("the tier is in the chain")
    }

    /// The sum of the series of `metric` whose labels hold `labels`.
    pub(crate) fn metric(&self, metric: &str, labels: &[(&str, &str)]) -> f64 {
        self.series(metric, labels).iter().map(|m| m.get_counter().get_value() + m.get_gauge().get_value()).sum()
    }

    /// How many observations there are in the series of the histogram `metric` whose labels hold `labels`.
    pub(crate) fn observations(&self, metric: &str, labels: &[(&str, &str)]) -> u64 {
        self.series(metric, labels).iter().map(|m| m.get_histogram().get_sample_count()).sum()
    }

    fn series(&self, metric: &str, labels: &[(&str, &str)]) -> Vec<prometheus::proto::Metric> {
        let families = self.registry.gather();
        let family = families.iter().find(|family| family.name() == metric);
        let series = family.map(|family| family.get_metric()).unwrap_or_default();
        let fits = |m: &&prometheus::proto::Metric| {
            labels.iter().all(|(name, value)| m.get_label().iter().any(|l| l.name() == *name && l.value() == *value))
        };
        series.iter().filter(fits).cloned().collect()
    }
}

/// The `number`th key of `class`.
pub(crate) fn key(number: u64, class: u8) -> Key {
    let mut identity = [0; Key::LEN - 1];
    identity[..8].copy_from_slice(&number.to_le_bytes());
    Key::new(identity, Class::new(class))
}

pub(crate) fn keys(numbers: std::ops::Range<u64>) -> Vec<Key> {
    numbers.map(|number| key(number, 1)).collect()
}

/// What the tests' tiers seal their values in.
pub(crate) fn envelope() -> Envelope {
    Envelope::new(Namespace::new("test").expect("a namespace"), 1)
}

/// Waits until `true`, at most ten seconds.
pub(crate) async fn until(what: &str, mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < Duration::from_secs(10), "not within ten seconds: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// What `open` gives once the store that was dropped just now is free: sled's own threads hold it for a moment longer.
pub(crate) fn when_free<T, E: std::fmt::Display>(open: impl Fn() -> Result<T, E>) -> T {
    let began = Instant::now();
    loop {
        match open() {
            Ok(opened) => return opened,
            Err(error) => assert!(began.elapsed() < PATIENCE, "the store opens: {error}"),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Changes the LMDB in `path`, which is closed, behind the tier's back.
#[allow(unsafe_code)]
pub(crate) fn within_lmdb(path: &Path, change: impl FnOnce(&heed::Env, &mut heed::RwTxn<'_>)) {
    let mut options = heed::EnvOpenOptions::new();
    options.map_size(16 << 20).max_dbs(3);
    // SAFETY: nothing else has the store open; the tier was dropped.
    let env = unsafe { options.open(path) }.expect("it opens");
    let mut txn = env.write_txn().expect("a transaction");
    change(&env, &mut txn);
    txn.commit().expect("it commits");
    env.prepare_for_closing().wait();
}
