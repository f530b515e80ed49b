//! Checks a configuration without opening a store.

use crate::{
    config::{ChainConfig, TierKind},
    open_error::OpenError,
    tiers::{RedisTier, directory},
};

/// What would stop [`assemble`](crate::assemble()) from opening the tiers of `config`, as far as it can be found without
/// creating files or connecting: a directory that cannot be written, a tier that this build lacks, an invalid Redis URL
/// or TLS options that do not fit it. The options of Redis are checked even if the chain does not use it.
#[must_use]
pub fn check(config: &ChainConfig) -> Vec<OpenError> {
    let store = |kind: &TierKind| match kind {
        TierKind::Lru | TierKind::Redis => Ok(()),
        TierKind::Lmdb => directory::check(kind.name(), &config.lmdb.path),
        TierKind::Sled if !cfg!(feature = "sled") => Err(OpenError::MissingTier(*kind)),
        TierKind::Sled => directory::check(kind.name(), &config.sled.path),
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
