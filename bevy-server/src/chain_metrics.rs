//! Exports the metrics of chains to Prometheus: all of the chain of callers without a tenant, and of the chains of tenants
//! what their tiers hold and were asked for. They are read at each scrape.

use floor_cache::{
    Chain, ChainMetrics, TierKind,
    metrics::{LowerTierMetrics, TierMetrics},
};
use prometheus::Registry;

use crate::metrics::{Family, register_families};

/// Registers the metrics of `chain`: what its tiers hold, were asked for and cost, and what was generated.
///
/// # Errors
/// If `registry` already has the metrics of a chain.
pub fn register(chain: Chain, registry: &Registry) -> prometheus::Result<()> {
    register_families(registry, move || {
        let chain = chain.metrics();
        tiers(&chain).into_iter().chain(lower_tiers(&chain)).chain(generation(&chain)).collect()
    })
}

/// Registers what the tiers of tenants hold and were asked for, by the names of the tenants.
///
/// # Errors
/// If `registry` already has the metrics of tenants.
pub(crate) fn register_tenants(chains: Vec<(String, Chain)>, registry: &Registry) -> prometheus::Result<()> {
    register_families(registry, move || {
        let chains: Vec<_> = chains.iter().map(|(tenant, chain)| (tenant.as_str(), chain.metrics())).collect();
        tenant_tiers(&chains)
    })
}

/// What the tiers hold and were asked for.
fn tiers(chain: &ChainMetrics) -> Vec<Family> {
    let outcomes = chain.tiers.iter().flat_map(|tier| {
        let (errors, timeouts) = (tier.requests.errors, tier.requests.timeouts);
        let outcomes = requests(tier).into_iter().chain([("error", errors), ("timeout", timeouts)]);
        outcomes.map(|(outcome, count)| ([tier.name, outcome], count))
    });
    let put_aside = chain.tiers.iter().filter_map(|tier| Some(([tier.name], tier.aside?.stores)));
    let gauge = |name, help, value: fn(&TierMetrics) -> Option<f64>| {
        let tiers = chain.tiers.iter().filter_map(|tier| Some(([tier.name], value(tier)?)));
        Family::gauge(name, help, ["tier"], tiers)
    };
    let help = "Keys that a tier was asked for, by outcome.";
    let requests = Family::counter("floors_tier_requests_total", help, ["tier", "outcome"], outcomes);
    let help = "Stores of a tier that this process put aside at its start.";
    let put_aside = Family::counter("floors_stores_put_aside_total", help, ["tier"], put_aside);
    vec![
        requests,
        put_aside,
        gauge("floors_tier_bytes", "Bytes that a tier holds.", |tier| {
            (!tier.stats.unknown.bytes).then_some(tier.stats.bytes as f64)
        }),
        gauge("floors_tier_limit_bytes", "The bytes beyond which a tier evicts; missing if there is no limit.", limit),
        gauge("floors_tier_entries", "Values that a tier holds.", |tier| {
            (!tier.stats.unknown.entries).then_some(tier.stats.entries as f64)
        }),
        gauge("floors_store_bytes", "Bytes of a tier's files, unused space included.", |tier| {
            tier.has_directory.then_some(tier.stats.disk as f64)
        }),
        gauge(
            "floors_store_free_bytes",
            "Bytes that the server may still write to the file system of a tier's files.",
            |tier| Some(tier.space?.free as f64),
        ),
        gauge("floors_store_capacity_bytes", "Size of the file system of a tier's files.", |tier| {
            Some(tier.space?.total as f64)
        }),
        gauge(
            "floors_store_aside_bytes",
            "Bytes on the disk of a store of the tier that could not be used and was put aside.",
            bytes_aside,
        ),
    ]
}

/// How the tiers below memory are used, and what they cost.
fn lower_tiers(chain: &ChainMetrics) -> Vec<Family> {
    let lower = || chain.tiers.iter().filter_map(|tier| Some((tier.name, tier.lower.as_ref()?)));
    let gauge = |name, help, value: fn(&LowerTierMetrics) -> f64| {
        Family::gauge(name, help, ["tier"], lower().map(|(tier, lower)| ([tier], value(lower))))
    };
    let outcomes =
        lower().flat_map(|(tier, lower)| writes(lower).map(move |(outcome, count)| ([tier, outcome], count)));
    let reasons = lower().map(|(tier, lower)| ([tier, lower.reason], 1.0));
    let operations = lower().flat_map(|(tier, lower)| lower.times.iter().map(move |(op, times)| ([tier, *op], times)));
    let help = "Values written to a lower tier in the background, by outcome.";
    let writes = Family::counter("floors_tier_writes_total", help, ["tier", "outcome"], outcomes);
    let help = "Why a tier is asked or bypassed: 1 for the current reason.";
    let reason = Family::gauge("floors_tier_reason", help, ["tier", "reason"], reasons);
    vec![
        writes,
        reason,
        Family::histogram("floors_tier_seconds", "Time that a tier took.", ["tier", "op"], operations),
        gauge("floors_breaker_state", "A tier's circuit breaker: 0 closed, 1 half-open, 2 open.", breaker),
        gauge("floors_tier_hit_ratio", "Recent share of queries to a tier that find a value.", |tier| tier.hit_ratio),
        gauge("floors_tier_probe_cost_seconds", "Recent response time of a query to a tier for one value.", |tier| {
            tier.query_cost
        }),
        gauge(
            "floors_tier_generation_cost_seconds",
            "Recent response time of generating one of the values that a tier may be asked for, with queueing.",
            |tier| tier.generation_cost,
        ),
        gauge(
            "floors_tier_bypassed",
            "Recent share of lookups that bypassed a tier: 0 if it is always asked, 1 if never.",
            |tier| 1.0 - tier.asked_ratio,
        ),
        gauge("floors_tier_verdict_seconds", "Time since a tier's verdict last changed.", |tier| {
            tier.since.as_secs_f64()
        }),
    ]
}

/// What was generated, and the price of it.
fn generation(chain: &ChainMetrics) -> Vec<Family> {
    let counts = chain.generations.iter().map(|kind| ([kind.class], kind.times.count));
    let times = chain.generations.iter().map(|kind| ([kind.class], &kind.times));
    let gauge = |name, help, value| Family::gauge(name, help, [], [([], value)]);
    let help = "Floors that a call got from another call's lookup.";
    vec![
        Family::counter("floors_generations_total", "Floors generated, by kind.", ["kind"], counts),
        Family::histogram("floors_generation_seconds", "Time to generate a floor, without queueing.", ["kind"], times),
        Family::counter("floors_coalesced_total", help, [], [([], chain.coalesced)]),
        gauge(
            "floors_cpu_utilisation",
            "CPU utilisation, 0 to 1, at the last measurement by a lookup below memory.",
            chain.cpu_utilisation,
        ),
        gauge(
            "floors_cpu_price",
            "Seconds of response time that one second of CPU costs the other calls in flight: 0 if cores are idle.",
            chain.cpu_price,
        ),
    ]
}

/// What the tiers of tenants hold and were asked for.
fn tenant_tiers(chains: &[(&str, ChainMetrics)]) -> Vec<Family> {
    let tiers = || chains.iter().flat_map(|(tenant, chain)| chain.tiers.iter().map(move |tier| (*tenant, tier)));
    let gauge = |name, help, value: fn(&TierMetrics) -> Option<f64>| {
        let tiers = tiers().filter_map(|(tenant, tier)| Some(([tenant, tier.name], value(tier)?)));
        Family::gauge(name, help, ["tenant", "tier"], tiers)
    };
    let requests = tiers().flat_map(|(tenant, tier)| {
        let errors = tier.requests.errors + tier.requests.timeouts;
        let outcomes = requests(tier).into_iter().chain([("error", errors)]);
        outcomes.map(move |(outcome, count)| ([tenant, tier.name, outcome], count))
    });
    let writes = tiers().flat_map(|(tenant, tier)| {
        let outcomes = tier.lower.iter().flat_map(writes);
        outcomes.map(move |(outcome, count)| ([tenant, tier.name, outcome], count))
    });
    let labels = ["tenant", "tier", "outcome"];
    let help = "Keys that a tier was asked for by calls of a tenant, by outcome.";
    let requests = Family::counter("floors_tenant_tier_requests_total", help, labels, requests);
    let help = "Values written to a lower tier in the background for a tenant, by outcome.";
    let writes = Family::counter("floors_tenant_tier_writes_total", help, labels, writes);
    vec![
        requests,
        writes,
        gauge("floors_tenant_tier_bytes", "Bytes that a tier holds for a tenant.", |tier| {
            is_counted_alone(tier).then_some(tier.stats.bytes as f64)
        }),
        gauge(
            "floors_tenant_tier_limit_bytes",
            "The bytes beyond which a tier evicts floors of a tenant; missing if there is no limit.",
            |tier| limit(tier).filter(|_| is_counted_alone(tier)),
        ),
        gauge(
            "floors_tenant_breaker_state",
            "The circuit breaker of a tenant's tier: 0 closed, 1 half-open, 2 open.",
            |tier| tier.lower.as_ref().map(breaker),
        ),
        gauge(
            "floors_tenant_store_aside_bytes",
            "Bytes on the disk of a tenant's store that could not be used and was put aside.",
            bytes_aside,
        ),
    ]
}

/// Not so Redis, which counts the floors of all who use it.
fn is_counted_alone(tier: &TierMetrics) -> bool {
    tier.name != TierKind::Redis.name()
}

/// The outcomes of requests, except for errors.
fn requests(tier: &TierMetrics) -> [(&'static str, u64); 4] {
    let (requests, corrupt) = (tier.requests, tier.stats.corrupt);
    [("hit", requests.hits), ("miss", requests.misses), ("bypass", requests.bypasses), ("corrupt", corrupt)]
}

fn writes(tier: &LowerTierMetrics) -> impl Iterator<Item = (&'static str, u64)> + use<> {
    let writes = tier.writes;
    let kept = [("stored", writes.stored), ("refused", writes.refused)];
    kept.into_iter().chain([("failed", writes.failed), ("dropped", writes.dropped)])
}

fn limit(tier: &TierMetrics) -> Option<f64> {
    Some(tier.stats.limit as f64).filter(|limit| *limit > 0.0)
}

fn bytes_aside(tier: &TierMetrics) -> Option<f64> {
    Some(tier.aside?.bytes as f64)
}

fn breaker(tier: &LowerTierMetrics) -> f64 {
    f64::from(tier.breaker as u8)
}
