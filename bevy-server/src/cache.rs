//! The cache chains as a Bevy resource: one for callers without a tenant, and one for each tenant.

use std::{sync::Arc, time::Duration};

use bevy::prelude::*;
use floor_cache::Chain;
use futures_util::future::join_all;
use prometheus::Registry;

use tokio::runtime::Handle;

use crate::{
    chain_metrics,
    config::Config,
    generation::GenerationQueue,
    start_error::StartError,
    tenants::{TenantCounts, TenantId, TenantNames},
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
        chain_metrics::register(common.clone(), registry)?;
        if config.tenants.is_empty() {
            return Ok(Self(common.into()));
        }
        let names = config.tenant_names();
        let counts = TenantCounts::register(&names, registry)?;
        let own = config.tenants.iter().zip(counts).map(|(tenant, counts)| {
            let source = Arc::new(queue.for_tenant(&tenant.name, counts.clone()));
            let chain = floor_cache::assemble_beside(&common, &tenant.cache, &config.tuning, source)?;
            Ok((chain, counts))
        });
        let own = own.collect::<Result<Vec<_>, StartError>>()?;
        Ok(Self(Chains::new(common, names, own, registry)?))
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

/// The chain of a tenant, and its counts.
#[derive(Debug)]
struct TenantChain {
    chain: Chain,
    counts: Arc<TenantCounts>,
}

impl From<Chain> for Chains {
    /// A server without tenants.
    fn from(common: Chain) -> Self {
        Self { common, tenants: Arc::new([]), names: TenantNames::default() }
    }
}

impl Chains {
    /// The chain `common` of callers without a tenant, and those of tenants, in the order of `names`. Exports what the
    /// tiers of tenants hold.
    ///
    /// # Errors
    /// If `registry` already has the metrics of tenants.
    pub fn new(
        common: Chain,
        names: TenantNames,
        tenants: impl IntoIterator<Item = (Chain, Arc<TenantCounts>)>,
        registry: &Registry,
    ) -> prometheus::Result<Self> {
        let tenants = tenants.into_iter().map(|(chain, counts)| TenantChain { chain, counts }).collect();
        let chains = Self { common, tenants, names };
        let of_tenants = chains.all().filter_map(|(tenant, chain)| Some((tenant?.to_owned(), chain.clone())));
        chain_metrics::register_tenants(of_tenants.collect(), registry)?;
        Ok(chains)
    }

    /// The chain of callers of `tenant`.
    #[must_use]
    #[inline]
    pub fn of(&self, tenant: Option<TenantId>) -> &Chain {
        tenant.map_or(&self.common, |tenant| &self.tenants[tenant.index()].chain)
    }

    /// The counts of `tenant`.
    pub(crate) fn counts(&self, tenant: TenantId) -> &TenantCounts {
        &self.tenants[tenant.index()].counts
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
