//! The cache chains as a Bevy resource: one for callers without a tenant, and one for each tenant.

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use bevy::prelude::*;
use floor_cache::Chain;
use futures_util::future::join_all;
use prometheus::Registry;

use tokio::runtime::Handle;

use crate::{
    chain_metrics,
    config::Config,
    generation::{GenerationQueue, TenantSource},
    start_error::StartError,
    tenants::{TenantId, TenantNames},
};

/// Adds the [`Chains`].
#[derive(Debug)]
pub struct CachePlugin(Chains);

impl CachePlugin {
    /// Opens the stores of `config`, in chains that end in `queue`.
    ///
    /// # Errors
    /// What could not be opened, and what to do about it.
    pub fn open(
        config: &Config,
        queue: &GenerationQueue,
        registry: &Registry,
        runtime: &Handle,
    ) -> Result<Self, StartError> {
        let common = floor_cache::assemble_tuned(&config.cache, &config.tuning, Arc::new(queue.clone()), runtime)?;
        let tenants = config.tenants.iter().map(|tenant| {
            let source = Arc::new(queue.for_tenant(&tenant.name));
            let chain = floor_cache::assemble_beside(&common, &tenant.cache, &config.tuning, source.clone())?;
            Ok(TenantChain { chain, source })
        });
        let tenants = tenants.collect::<Result<_, StartError>>()?;
        let chains = Chains { common, tenants, names: config.tenant_names() };
        let read = chains.clone();
        let metrics =
            move || read.all().map(|(tenant, chain)| (tenant.unwrap_or_default().into(), chain.metrics())).collect();
        chain_metrics::register(metrics, registry)?;
        Ok(Self(chains))
    }
}

impl CachePlugin {
    /// The chains, for what opens others beside them.
    pub(crate) const fn chains(&self) -> &Chains {
        &self.0
    }
}

impl Plugin for CachePlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(self.0.clone());
    }
}

/// The chains, for plugins and systems. Cheap to clone. A call uses the chain of its token's tenant and no other.
#[derive(Resource, Debug, Clone)]
pub struct Chains {
    common: Chain,
    tenants: Arc<[TenantChain]>,
    names: TenantNames,
}

/// The chain of a tenant, and the source behind it.
#[derive(Debug)]
struct TenantChain {
    chain: Chain,
    source: Arc<TenantSource>,
}

impl From<Chain> for Chains {
    /// A server without tenants.
    fn from(common: Chain) -> Self {
        Self { common, tenants: Arc::new([]), names: TenantNames::default() }
    }
}

impl Chains {
    /// The chain of callers of `tenant`.
    #[must_use]
    #[inline]
    pub fn of(&self, tenant: Option<TenantId>) -> &Chain {
        tenant.map_or(&self.common, |tenant| &self.tenants[tenant.index()].chain)
    }

    /// What generates for the tenants, in their order.
    pub(crate) fn tenant_sources(&self) -> impl Iterator<Item = &Arc<TenantSource>> {
        self.tenants.iter().map(|tenant| &tenant.source)
    }

    /// The cells that were generated for each tenant, prefetched floors included.
    pub(crate) fn generated_cells(&self) -> impl Iterator<Item = (&str, u64)> {
        let accounts = self.tenant_sources().map(|source| source.account());
        accounts.map(|account| (&*account.name, account.cells.load(Relaxed)))
    }

    /// The names of the tenants.
    #[must_use]
    pub const fn names(&self) -> &TenantNames {
        &self.names
    }

    /// Every chain, with the name of its tenant; first that of callers without one.
    pub fn all(&self) -> impl Iterator<Item = (Option<&str>, &Chain)> {
        let tenants = self.names.iter().map(|(tenant, name)| (Some(name), self.of(Some(tenant))));
        [(None, &self.common)].into_iter().chain(tenants)
    }

    /// Brings the sizes of tiers on other machines up to date, as [`Chain::refresh_stats`].
    pub async fn refresh_stats(&self) {
        join_all(self.all().map(|(_, chain)| chain.refresh_stats())).await;
    }

    /// Writes the queues and flushes the tiers of every chain. `false` if a tier failed or `deadline` passed.
    pub async fn close(&self, deadline: Duration) -> bool {
        join_all(self.all().map(|(_, chain)| chain.close(deadline))).await.into_iter().all(|flushed| flushed)
    }
}
