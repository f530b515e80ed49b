//! A chain as it is deployed, with its files, and with every floor in every tier.

use std::time::{Duration, Instant};

use benches::{floors::Entries, pregenerated::filled_chain, stores};
use floor_cache::{Bypass, Chain, ChainConfig, LmdbConfig, TierKind};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::COUNT;

/// A chain with the resources that it uses; every tier has every floor.
pub(super) struct Fixture {
    pub(super) chain: Chain,
    pub(super) runtime: Runtime,
    pub(super) entries: Entries,
    _data: TempDir,
}

impl Fixture {
    /// A chain of `tiers`, of memory and LMDB, with new files. Every tier is asked.
    pub(super) fn open(tiers: &[TierKind]) -> Self {
        let (runtime, data, entries) =
            (stores::runtime(), tempfile::tempdir().expect("a directory"), Entries::floors(COUNT));
        let config = ChainConfig {
            chain: tiers.to_vec(),
            bypass: Bypass::Off,
            value_version: floor_gen::GENERATOR_VERSION,
            lmdb: LmdbConfig { path: data.path().join("lmdb"), ..LmdbConfig::default() },
            ..ChainConfig::default()
        };
        let chain = filled_chain(&config, &entries, &runtime);
        Self { chain, runtime, entries, _data: data }
    }

    /// Times `steps` calls of `work`. Asserts that each returns `each` floors and that all are hits of the first tier.
    pub(super) fn timed_hits(&self, steps: u64, each: usize, work: impl AsyncFn(&Chain, u64) -> usize) -> Duration {
        let hits = || self.chain.report()[0].hits;
        let before = hits();
        let (took, answered) = self.runtime.block_on(async {
            let mut answered = 0;
            let started = Instant::now();
            for step in 0..steps {
                answered += work(&self.chain, step).await as u64;
            }
            (started.elapsed(), answered)
        });
        assert_eq!(answered, steps * each as u64, "every call was answered, with every floor");
        assert_eq!(hits() - before, answered, "every answer was a hit of the first tier");
        took
    }
}
