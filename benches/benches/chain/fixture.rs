//! A chain as it is deployed, with its files and its Redis, and with every floor in every tier.

use std::time::{Duration, Instant};

use benches::{floors::Entries, pregenerated::filled_chain, redis_server::RedisServer, stores};
use floor_cache::{Bypass, Chain, ChainConfig, LmdbConfig, RedisConfig, SledConfig, TierKind};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::COUNT;

/// Long, so that a busy machine gives a slow figure and not a failed bench.
const REDIS_TIMEOUT: Duration = Duration::from_secs(5);

/// The tiers of the longest chain, in lookup order. Redis is last: it is left out without redis-server.
const DEEPEST: [TierKind; 4] = [TierKind::Lru, TierKind::Lmdb, TierKind::Sled, TierKind::Redis];

/// Chains of one tier to four.
pub(super) fn chains() -> Vec<&'static [TierKind]> {
    let deepest = if RedisServer::is_available() { DEEPEST.len() } else { DEEPEST.len() - 1 };
    (1..=deepest).map(|depth| &DEEPEST[..depth]).collect()
}

/// A chain with the resources that it uses; every tier has every floor.
pub(super) struct Fixture {
    pub(super) chain: Chain,
    pub(super) runtime: Runtime,
    pub(super) entries: Entries,
    _redis: Option<RedisServer>,
    _data: TempDir,
}

impl Fixture {
    /// A chain of `tiers` with new files and, if it has Redis, a new server. Every tier is asked.
    pub(super) fn open(tiers: &[TierKind]) -> Self {
        let (runtime, data, entries) =
            (stores::runtime(), tempfile::tempdir().expect("a directory"), Entries::floors(COUNT));
        let redis = tiers.contains(&TierKind::Redis).then(|| RedisServer::start().expect("redis-server starts"));
        let config = ChainConfig {
            chain: tiers.to_vec(),
            bypass: Bypass::Off,
            value_version: floor_gen::GENERATOR_VERSION,
            lmdb: LmdbConfig { path: data.path().join("lmdb"), ..LmdbConfig::default() },
            sled: SledConfig { path: data.path().join("sled"), ..SledConfig::default() },
            redis: match &redis {
                Some(server) => RedisConfig { url: server.tcp_url(), timeout: REDIS_TIMEOUT, ..RedisConfig::default() },
                None => RedisConfig::default(),
            },
            ..ChainConfig::default()
        };
        let chain = filled_chain(&config, &entries, &runtime);
        Self { chain, runtime, entries, _redis: redis, _data: data }
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

/// The name of a chain in benches.
pub(super) fn name(tiers: &[TierKind]) -> String {
    tiers.iter().map(|tier| tier.name()).collect::<Vec<_>>().join("+")
}
