//! The cache chains as a Bevy resource: one for callers without a tenant, and one for each tenant.

use std::{sync::Arc, time::Duration};

use bevy::prelude::*;
use floor_cache::{Chain, TierKind, layers::CircuitState};
use futures_util::future::join_all;
use prometheus::{
    GaugeVec, IntCounterVec, Opts, Registry,
    core::{Collector, Desc},
    proto::MetricFamily,
};

use crate::tenants::{TenantCounts, TenantId, TenantNames};

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
        if !chains.names.is_empty() {
            registry.register(Box::new(TenantCollector::new(chains.clone())?))?;
        }
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

/// What the tiers of tenants hold and were asked for. The tiers of callers without a tenant have metrics of their own.
struct TenantCollector {
    chains: Chains,
    descriptions: Vec<Desc>,
}

/// Metric families created for one scrape.
struct Families {
    requests: IntCounterVec,
    bytes: GaugeVec,
    limit: GaugeVec,
    writes: IntCounterVec,
    breaker: GaugeVec,
    aside: GaugeVec,
}

impl Families {
    fn new() -> prometheus::Result<Self> {
        let requests = Opts::new(
            "floors_tenant_tier_requests_total",
            "Keys that a tier was asked for by calls of a tenant, by outcome.",
        );
        let bytes = Opts::new("floors_tenant_tier_bytes", "Bytes that a tier holds for a tenant.");
        let help = "The bytes beyond which a tier evicts floors of a tenant; missing if there is no limit.";
        let limit = Opts::new("floors_tenant_tier_limit_bytes", help);
        let help = "Values written to a lower tier in the background for a tenant, by outcome.";
        let writes = Opts::new("floors_tenant_tier_writes_total", help);
        let help = "The circuit breaker of a tenant's tier: 0 closed, 1 half-open, 2 open.";
        let breaker = Opts::new("floors_tenant_breaker_state", help);
        let help = "Bytes on the disk of a tenant's store that could not be used and was put aside.";
        let aside = Opts::new("floors_tenant_store_aside_bytes", help);
        Ok(Self {
            requests: IntCounterVec::new(requests, &["tenant", "tier", "outcome"])?,
            bytes: GaugeVec::new(bytes, &["tenant", "tier"])?,
            limit: GaugeVec::new(limit, &["tenant", "tier"])?,
            writes: IntCounterVec::new(writes, &["tenant", "tier", "outcome"])?,
            breaker: GaugeVec::new(breaker, &["tenant", "tier"])?,
            aside: GaugeVec::new(aside, &["tenant", "tier"])?,
        })
    }

    fn collectors(&self) -> [&dyn Collector; 6] {
        [&self.requests, &self.bytes, &self.limit, &self.writes, &self.breaker, &self.aside]
    }

    fn add(&self, tenant: &str, chain: &Chain) {
        for tier in chain.metrics().tiers {
            if let Some(aside) = tier.aside {
                self.aside.with_label_values(&[tenant, tier.name]).set(aside.bytes as f64);
            }
        }
        // The report ends with generation, which holds nothing.
        for (report, holdings) in chain.report().into_iter().zip(chain.holdings()) {
            let outcomes = [
                ("hit", report.hits),
                ("miss", report.misses),
                ("error", report.errors),
                ("bypass", report.bypasses),
                ("corrupt", holdings.stats.corrupt),
            ];
            for (outcome, count) in outcomes {
                self.requests.with_label_values(&[tenant, report.name, outcome]).inc_by(count);
            }
            let labels = &[tenant, report.name];
            if let Some(writes) = holdings.writes {
                let outcomes = [
                    ("stored", writes.stored),
                    ("failed", writes.failed),
                    ("dropped", writes.dropped),
                    ("refused", writes.refused),
                ];
                for (outcome, count) in outcomes {
                    self.writes.with_label_values(&[tenant, report.name, outcome]).inc_by(count);
                }
                let states = [CircuitState::HalfOpen, CircuitState::Open];
                let state = states.into_iter().find(|state| state.as_str() == report.verdict);
                let state = state.unwrap_or(CircuitState::Closed);
                self.breaker.with_label_values(labels).set(f64::from(state as u8));
            }
            if report.name == TierKind::Redis.name() {
                // It counts the floors of all who use it.
                continue;
            }
            self.bytes.with_label_values(labels).set(holdings.stats.bytes as f64);
            if holdings.stats.limit > 0 {
                self.limit.with_label_values(labels).set(holdings.stats.limit as f64);
            }
        }
    }
}

impl TenantCollector {
    fn new(chains: Chains) -> prometheus::Result<Self> {
        let families = Families::new()?;
        let descriptions = families.collectors().into_iter().flat_map(Collector::desc).cloned().collect();
        Ok(Self { chains, descriptions })
    }
}

impl Collector for TenantCollector {
    fn desc(&self) -> Vec<&Desc> {
        self.descriptions.iter().collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let Ok(families) = Families::new() else { return Vec::new() };
        for (tenant, chain) in self.chains.all() {
            tenant.into_iter().for_each(|tenant| families.add(tenant, chain));
        }
        families.collectors().into_iter().flat_map(Collector::collect).collect()
    }
}
