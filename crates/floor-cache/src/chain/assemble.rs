//! Builds a chain from its configuration, or checks a configuration without opening a store.

use std::sync::Arc;

use tokio::runtime::Handle;

use super::{builder::ChainBuilder, handle::Chain};
#[cfg(feature = "redis")]
use crate::layers::{Timeout, Timeouts};
#[cfg(any(feature = "lmdb", feature = "redis", feature = "sled"))]
use crate::tiers;
use crate::{
    config::{ChainConfig, TierKind, Tuning},
    open_error::OpenError,
    source::Source,
};

/// Builds the chain that `config` describes, in front of `source`.
///
/// Spawns its tasks on `runtime`; the caller need not be on one of its threads. An
/// unreachable Redis is no error: the tier connects at its first request.
///
/// # Errors
/// When the configuration is inconsistent or a store cannot be opened.
pub fn assemble(config: &ChainConfig, source: Arc<dyn Source>, runtime: &Handle) -> Result<Chain, OpenError> {
    assemble_tuned(config, &Tuning::default(), source, runtime)
}

/// As [`assemble`], with settings that configuration files do not have.
///
/// # Errors
/// As [`assemble`].
pub fn assemble_tuned(
    config: &ChainConfig,
    tuning: &Tuning,
    source: Arc<dyn Source>,
    runtime: &Handle,
) -> Result<Chain, OpenError> {
    Ok(open_tiers(ChainBuilder::new(config, tuning, runtime)?, config)?.build(source))
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
    Ok(open_tiers(ChainBuilder::beside(first, config, tuning)?, config)?.build(source))
}

/// Adds the tiers of `config` to `chain`.
fn open_tiers<'a>(mut chain: ChainBuilder<'a>, config: &ChainConfig) -> Result<ChainBuilder<'a>, OpenError> {
    for (position, kind) in config.chain.iter().enumerate() {
        if config.chain[..position].contains(kind) {
            return Err(OpenError::DuplicateTier(*kind));
        }
        chain = match kind {
            TierKind::Lru => chain.memory(kind.name(), &config.lru)?,
            #[cfg(feature = "lmdb")]
            TierKind::Lmdb => {
                let lmdb = tiers::LmdbTier::open(&config.lmdb, chain.envelope())?;
                chain.tier(lmdb, crate::config::Admit::All)?
            }
            #[cfg(feature = "sled")]
            TierKind::Sled => {
                let sled = tiers::SledTier::open(&config.sled, chain.envelope())?;
                chain.tier(sled, crate::config::Admit::All)?
            }
            #[cfg(feature = "redis")]
            TierKind::Redis => {
                let redis = tiers::RedisTier::open(&config.redis, chain.envelope(), &chain.runtime)?;
                chain.tier(Timeout::new(redis, Timeouts::new(config.redis.timeout)), config.redis.admit)?
            }
            #[cfg(not(all(feature = "lmdb", feature = "redis", feature = "sled")))]
            missing => return Err(OpenError::MissingTier(*missing)),
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
        missing if !missing.is_built() => Err(OpenError::MissingTier(*missing)),
        #[cfg(feature = "lmdb")]
        TierKind::Lmdb => tiers::LmdbTier::check(&config.lmdb),
        #[cfg(feature = "sled")]
        TierKind::Sled => tiers::directory::check(kind.name(), &config.sled.path, &["conf", "db"]),
        _ => Ok(()),
    };
    let checked = config.chain.iter().map(store);
    #[cfg(feature = "redis")]
    let checked = checked.chain([tiers::RedisTier::check(&config.redis)]);
    checked.filter_map(Result::err).collect()
}
