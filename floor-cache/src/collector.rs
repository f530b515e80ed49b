//! Shows the tiers' counts to Prometheus, read from where they are kept when they are asked for.

use std::sync::Weak;

use prometheus::{
    GaugeVec, IntCounterVec, IntGaugeVec, Opts,
    core::{Collector, Desc},
    proto::MetricFamily,
};

use crate::{
    chain::Links,
    metered::Counts,
    tier::{Tier, TierStats},
};

/// `floors_tier_requests_total`, `floors_tier_bytes`, `floors_tier_entries` and `floors_breaker_state` of one chain.
///
/// The hot path counts where counting is cheapest; this sums up when somebody looks.
#[derive(Debug)]
pub(crate) struct TierCollector {
    links: Weak<Links>,
    descriptions: Vec<Desc>,
}

/// Fresh, empty families: filled, shown and dropped on each collection.
struct Families {
    requests: IntCounterVec,
    bytes: IntGaugeVec,
    entries: IntGaugeVec,
    breaker: GaugeVec,
}

impl Families {
    fn new() -> Result<Self, prometheus::Error> {
        Ok(Self {
            requests: IntCounterVec::new(
                Opts::new("floors_tier_requests_total", "Keys that a tier was asked for, by what became of it."),
                &["tier", "outcome"],
            )?,
            bytes: IntGaugeVec::new(Opts::new("floors_tier_bytes", "Bytes that a tier holds."), &["tier"])?,
            entries: IntGaugeVec::new(Opts::new("floors_tier_entries", "Values that a tier holds."), &["tier"])?,
            breaker: GaugeVec::new(
                Opts::new("floors_breaker_state", "A tier's circuit breaker: 0 closed, 1 half-open, 2 open."),
                &["tier"],
            )?,
        })
    }

    fn collectors(&self) -> [&dyn Collector; 4] {
        [&self.requests, &self.bytes, &self.entries, &self.breaker]
    }

    fn tier(&self, name: &str, counts: Counts, stats: TierStats) {
        for (outcome, count) in [
            ("hit", counts.hits),
            ("miss", counts.misses),
            ("error", counts.errors),
            ("timeout", counts.timeouts),
            ("bypass", counts.bypasses),
            ("corrupt", stats.corrupt),
        ] {
            self.requests.with_label_values(&[name, outcome]).inc_by(count);
        }
        self.bytes.with_label_values(&[name]).set(i64::try_from(stats.bytes).unwrap_or(i64::MAX));
        self.entries.with_label_values(&[name]).set(i64::try_from(stats.entries).unwrap_or(i64::MAX));
    }
}

impl TierCollector {
    pub(crate) fn new(links: Weak<Links>) -> Result<Self, prometheus::Error> {
        let families = Families::new()?;
        let descriptions = families.collectors().into_iter().flat_map(Collector::desc).cloned().collect();
        Ok(Self { links, descriptions })
    }
}

impl Collector for TierCollector {
    fn desc(&self) -> Vec<&Desc> {
        self.descriptions.iter().collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let (Some(links), Ok(families)) = (self.links.upgrade(), Families::new()) else { return Vec::new() };
        for tier in &links.memory {
            families.tier(tier.name(), tier.counts(), tier.stats());
        }
        for link in &links.lower {
            families.tier(link.name(), link.meter.counts(), link.tier.stats());
            families.breaker.with_label_values(&[link.name()]).set(f64::from(link.circuit.state() as u8));
        }
        families.collectors().into_iter().flat_map(Collector::collect).collect()
    }
}
