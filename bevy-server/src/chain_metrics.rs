//! Exports the metrics of the chains to Prometheus. They are read at each scrape.

use floor_cache::{
    ChainMetrics, TierKind,
    metrics::{TierMetrics, Times},
};
use prometheus::Registry;

use crate::metrics::{Family, register_families};

/// A chain at one scrape, and its tenant: empty for callers without one.
pub type ChainOf = (Box<str>, ChainMetrics);

/// Registers the metrics of the chains that `read` returns: what their tiers hold, were asked for and cost, and what was
/// generated.
///
/// # Errors
/// If `registry` already has the metrics of chains.
pub fn register(
    read: impl Fn() -> Vec<ChainOf> + Send + Sync + 'static,
    registry: &Registry,
) -> prometheus::Result<()> {
    register_families(registry, move || {
        let chains = read();
        [counts(&chains), sizes(&chains), times(&chains), generation(&chains)].into_iter().flatten().collect()
    })
}

/// The tiers of every chain, each with its tenant.
fn tiers(chains: &[ChainOf]) -> impl Iterator<Item = (&str, &TierMetrics)> {
    chains.iter().flat_map(|(tenant, chain)| chain.tiers.iter().map(move |tier| (&**tenant, tier)))
}

/// What the tiers were asked for and given.
fn counts(chains: &[ChainOf]) -> Vec<Family> {
    let counter = |name, help, outcomes: fn(&TierMetrics) -> Vec<(&'static str, u64)>| {
        let series = tiers(chains).flat_map(|(tenant, tier)| {
            outcomes(tier).into_iter().map(move |(outcome, count)| ([tenant, tier.name, outcome], count))
        });
        Family::counter(name, help, ["tenant", "tier", "outcome"], series)
    };
    vec![
        counter("floors_tier_requests_total", "Keys that a tier was asked for, by outcome.", |tier| {
            let asked = tier.requests;
            let answered = [("hit", asked.hits), ("miss", asked.misses), ("corrupt", tier.stats.corrupt)];
            let unanswered = [("error", asked.errors), ("timeout", asked.timeouts), ("bypass", asked.bypasses)];
            [answered, unanswered].concat()
        }),
        counter("floors_tier_writes_total", "Values written to a lower tier in the background, by outcome.", |tier| {
            let Some(writes) = tier.lower.as_ref().map(|lower| lower.writes) else { return Vec::new() };
            let kept = [("stored", writes.stored), ("refused", writes.refused)];
            [kept, [("failed", writes.failed), ("dropped", writes.dropped)]].concat()
        }),
    ]
}

/// What the tiers hold, and how they are used.
fn sizes(chains: &[ChainOf]) -> Vec<Family> {
    let gauge = |name, help, value: fn(&TierMetrics) -> Option<f64>| {
        let series = tiers(chains).filter_map(|(tenant, tier)| Some(([tenant, tier.name], value(tier)?)));
        Family::gauge(name, help, ["tenant", "tier"], series)
    };
    // Redis counts the floors of all who use it.
    let holding = |name, help, value: fn(&TierMetrics) -> Option<f64>| {
        let tiers = tiers(chains).filter(|(tenant, tier)| tenant.is_empty() || tier.name != TierKind::Redis.name());
        let series = tiers.filter_map(|(tenant, tier)| Some(([tenant, tier.name], value(tier)?)));
        Family::gauge(name, help, ["tenant", "tier"], series)
    };
    let disk = |name, help, value: fn(&TierMetrics) -> Option<f64>| {
        let tiers = chains[0].1.tiers.iter();
        Family::gauge(name, help, ["tier"], tiers.filter_map(|tier| Some(([tier.name], value(tier)?))))
    };
    vec![
        holding("floors_tier_bytes", "Bytes that a tier holds.", |tier| {
            (!tier.stats.unknown.bytes).then_some(tier.stats.bytes as f64)
        }),
        holding(
            "floors_tier_limit_bytes",
            "The bytes beyond which a tier evicts; missing if there is no limit.",
            |tier| Some(tier.stats.limit as f64).filter(|limit| *limit > 0.0),
        ),
        holding("floors_tier_entries", "Values that a tier holds.", |tier| {
            (!tier.stats.unknown.entries).then_some(tier.stats.entries as f64)
        }),
        gauge("floors_store_bytes", "Bytes of a tier's files, unused space included.", |tier| {
            tier.has_directory.then_some(tier.stats.disk as f64)
        }),
        gauge(
            "floors_store_aside_bytes",
            "Bytes on the disk of a store of the tier that could not be used and was put aside.",
            |tier| Some(tier.aside_bytes? as f64),
        ),
        disk(
            "floors_store_free_bytes",
            "Bytes that the server may still write to the file system of a tier's files.",
            |tier| Some(tier.space?.free as f64),
        ),
        disk("floors_store_capacity_bytes", "Size of the file system of a tier's files.", |tier| {
            Some(tier.space?.total as f64)
        }),
        gauge("floors_breaker_state", "A tier's circuit breaker: 0 closed, 1 half-open, 2 open.", |tier| {
            Some(f64::from(tier.lower.as_ref()?.breaker as u8))
        }),
        gauge(
            "floors_tier_bypassed",
            "Recent share of lookups that bypassed a tier: 0 if it is always asked, 1 if never.",
            |tier| Some(1.0 - tier.lower.as_ref()?.asked_ratio),
        ),
    ]
}

/// How long the tiers took, of all chains together: a histogram for each tenant would be many series.
fn times(chains: &[ChainOf]) -> Vec<Family> {
    let mut sums: Vec<([&str; 2], Times)> = Vec::new();
    for (_, tier) in tiers(chains) {
        for (operation, times) in tier.lower.iter().flat_map(|lower| &lower.times) {
            match sums.iter_mut().find(|(labels, _)| *labels == [tier.name, operation]) {
                Some((_, sum)) => sum.add(times),
                None => sums.push(([tier.name, operation], times.clone())),
            }
        }
    }
    let series = sums.iter().map(|(labels, times)| (*labels, times));
    vec![Family::histogram("floors_tier_seconds", "Time that a tier took.", ["tier", "op"], series)]
}

/// What was generated, and what the CPU does. The first chain counts the generations of all.
fn generation(chains: &[ChainOf]) -> Vec<Family> {
    let chain = &chains[0].1;
    let counts = chain.generations.iter().map(|kind| ([kind.class], kind.times.count));
    let times = chain.generations.iter().map(|kind| ([kind.class], &kind.times));
    let coalesced = "Floors that a call got from another call's lookup.";
    let utilisation = "CPU utilisation, 0 to 1, at the last measurement by a lookup below memory.";
    vec![
        Family::counter("floors_generations_total", "Floors generated, by kind.", ["kind"], counts),
        Family::histogram("floors_generation_seconds", "Time to generate a floor, without queueing.", ["kind"], times),
        Family::counter("floors_coalesced_total", coalesced, [], [([], chain.coalesced)]),
        Family::gauge("floors_cpu_utilisation", utilisation, [], [([], chain.cpu_utilisation)]),
    ]
}
