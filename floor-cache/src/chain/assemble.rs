//! Builds a chain from its configuration, or checks a configuration without opening a store.

use std::sync::Arc;

use prometheus::Registry;
use tokio::runtime::Handle;

use super::{builder::ChainBuilder, handle::Chain};
use crate::{
    config::{Admit, ChainConfig, TierKind, Tuning},
    layers::{Timeout, Timeouts},
    open_error::OpenError,
    source::Source,
    tiers::{LmdbTier, RedisTier, directory},
};

/// Builds the chain that `config` describes, in front of `source`.
///
/// Registers its metrics in `registry`. Spawns its tasks on `runtime`; the caller need not be on one of its threads. An
/// unreachable Redis is no error: the tier connects at its first request.
///
/// # Errors
/// When the configuration is inconsistent or a store cannot be opened.
pub fn assemble(
    config: &ChainConfig,
    source: Arc<dyn Source>,
    registry: &Registry,
    runtime: &Handle,
) -> Result<Chain, OpenError> {
    assemble_tuned(config, &Tuning::default(), source, registry, runtime)
}

/// As [`assemble`], with settings that configuration files do not have.
///
/// # Errors
/// As [`assemble`].
pub fn assemble_tuned(
    config: &ChainConfig,
    tuning: &Tuning,
    source: Arc<dyn Source>,
    registry: &Registry,
    runtime: &Handle,
) -> Result<Chain, OpenError> {
    open_tiers(ChainBuilder::new(config, tuning, registry, runtime)?, config, runtime)?.build(source)
}

/// Builds the chain that `config` describes beside `first`, as [`ChainBuilder::beside`] has it.
///
/// # Errors
/// As [`assemble`].
pub fn assemble_beside(
    first: &Chain,
    config: &ChainConfig,
    tuning: &Tuning,
    source: Arc<dyn Source>,
) -> Result<Chain, OpenError> {
    open_tiers(ChainBuilder::beside(first, config, tuning)?, config, first.runtime())?.build(source)
}

/// Adds the tiers of `config` to `chain`.
fn open_tiers<'a>(
    mut chain: ChainBuilder<'a>,
    config: &ChainConfig,
    runtime: &Handle,
) -> Result<ChainBuilder<'a>, OpenError> {
    for (position, kind) in config.chain.iter().enumerate() {
        if config.chain[..position].contains(kind) {
            return Err(OpenError::DuplicateTier(*kind));
        }
        let envelope = chain.envelope();
        chain = match kind {
            TierKind::Lru => chain.memory(kind.name(), &config.lru)?,
            TierKind::Lmdb => chain.tier(LmdbTier::open(&config.lmdb, envelope)?, Admit::All)?,
            #[cfg(feature = "sled")]
            TierKind::Sled => chain.tier(crate::tiers::SledTier::open(&config.sled, envelope)?, Admit::All)?,
            #[cfg(not(feature = "sled"))]
            TierKind::Sled => return Err(OpenError::MissingTier(*kind)),
            TierKind::Redis => {
                let redis = RedisTier::open(&config.redis, envelope, runtime)?;
                chain.tier(Timeout::new(redis, Timeouts::new(config.redis.timeout)), config.redis.admit)?
            }
        };
    }
    Ok(chain)
}

/// What would stop [`assemble`] from opening the tiers of `config`, as far as it can be found without
/// creating files or connecting: a directory or a file that cannot be written, a map beyond the address space, a tier that this build lacks, an invalid Redis URL
/// or TLS options that do not fit it. The options of Redis are checked even if the chain does not use it.
#[must_use]
pub fn check(config: &ChainConfig) -> Vec<OpenError> {
    let store = |kind: &TierKind| match kind {
        TierKind::Lru | TierKind::Redis => Ok(()),
        TierKind::Lmdb => LmdbTier::check(&config.lmdb),
        TierKind::Sled if !cfg!(feature = "sled") => Err(OpenError::MissingTier(*kind)),
        TierKind::Sled => directory::check(kind.name(), &config.sled.path, &["conf", "db"]),
    };
    let redis = RedisTier::check(&config.redis);
    config.chain.iter().map(store).chain([redis]).filter_map(Result::err).collect()
}

#[cfg(all(test, not(feature = "sled")))]
mod tests {
    use super::*;

    #[test]
    fn a_tier_that_the_build_lacks_is_named() {
        let config = ChainConfig { chain: vec![TierKind::Sled], ..ChainConfig::default() };
        let [problem] = &check(&config)[..] else { panic!("one problem") };
        assert!(problem.to_string().starts_with("cache.chain names sled, which this build lacks"), "{problem}");
    }
}
