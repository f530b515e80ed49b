//! Sealed towers (docs/daily-towers.md). The server reveals a floor to a player who has climbed the one below it.
//!
//! Sealed floors have chains of their own, of memory alone. No store outside this process has one.

use std::sync::Arc;

use bevy::prelude::*;
use floor_cache::{CallerId, Chain, ChainConfig, LruConfig, Source, SourceError, TierKind};

use crate::{
    cache::Chains,
    config::Config,
    generation::{GenerationQueue, TenantSource},
    start_error::StartError,
    tenants::{TenantId, TenantNames},
    tower_keys::TowerKeys,
};

/// Memory for sealed floors, of callers without a tenant and of each tenant, in bytes: some 500 floors.
pub(crate) const FLOOR_BYTES: u64 = 4 << 20;

/// Adds [`SealedTowers`].
#[derive(Debug)]
pub struct TowersPlugin(SealedTowers);

impl TowersPlugin {
    /// The sealed towers of the keys of `config`; `None` without keys. Floors come from `queue`, in chains beside `chains`.
    ///
    /// # Errors
    /// If a chain cannot be built.
    pub fn open(config: &Config, queue: &GenerationQueue, chains: &Chains) -> Result<Option<Self>, StartError> {
        let Some(keys) = config.tower_keys.as_ref().and_then(TowerKeys::open) else { return Ok(None) };
        let memory = |config: &ChainConfig| ChainConfig {
            chain: vec![TierKind::Lru],
            lru: LruConfig { capacity: FLOOR_BYTES, ttl: None },
            ..config.clone()
        };
        let beside = |cache: &ChainConfig, source: Arc<dyn Source>| {
            floor_cache::assemble_beside(chains.of(None), &memory(cache), &config.tuning, source)
        };
        let common = beside(&config.cache, Arc::new(queue.clone()))?;
        let tenants = config.tenants.iter().zip(chains.tenant_sources()).map(|(tenant, source)| {
            Ok(TenantTowers { chain: beside(&tenant.cache, source.clone())?, source: source.clone() })
        });
        let tenants = tenants.collect::<Result<_, StartError>>()?;
        queue.set_tower_keys(keys.clone());
        let (queue, names) = (queue.clone(), chains.names().clone());
        Ok(Some(Self(SealedTowers(Arc::new(Towers { keys, queue, common, tenants, names })))))
    }
}

impl Plugin for TowersPlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(self.0.clone());
    }
}

/// What climbs of sealed towers need. Cheap to clone.
#[derive(Resource, Debug, Clone)]
pub struct SealedTowers(Arc<Towers>);

#[derive(Debug)]
struct Towers {
    keys: TowerKeys,
    queue: GenerationQueue,
    common: Chain,
    tenants: Vec<TenantTowers>,
    names: TenantNames,
}

#[derive(Debug)]
struct TenantTowers {
    chain: Chain,
    source: Arc<TenantSource>,
}

impl SealedTowers {
    pub(crate) fn keys(&self) -> &TowerKeys {
        &self.0.keys
    }

    /// The chain of the sealed floors of a tenant.
    pub(crate) fn chain(&self, tenant: Option<TenantId>) -> &Chain {
        tenant.map_or(&self.0.common, |tenant| &self.0.tenants[tenant.index()].chain)
    }

    /// The name of a tenant in receipts; empty without one.
    pub(crate) fn tenant_name(&self, tenant: Option<TenantId>) -> &str {
        tenant.map_or("", |tenant| self.0.names.name(tenant))
    }

    /// Charges a caller for work that takes as long as to generate so many cells.
    ///
    /// # Errors
    /// [`SourceError::Limited`].
    pub(crate) fn charge(&self, caller: CallerId, tenant: Option<TenantId>, cells: u64) -> Result<(), SourceError> {
        let source = tenant.map(|tenant| &*self.0.tenants[tenant.index()].source);
        self.0.queue.charge_work(caller, cells, source)
    }
}
