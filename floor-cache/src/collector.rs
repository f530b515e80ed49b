//! Shows the tiers' counts to Prometheus, read from where they are kept when they are asked for.

use std::sync::Weak;

use prometheus::{
    GaugeVec, IntCounterVec, IntGaugeVec, Opts,
    core::{Collector, Desc},
    proto::MetricFamily,
};

use crate::{
    link::Link,
    links::Links,
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
    hit_ratio: GaugeVec,
    probe_cost: GaugeVec,
    generation_cost: GaugeVec,
    bypassed: GaugeVec,
    verdict_seconds: GaugeVec,
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
            hit_ratio: GaugeVec::new(
                Opts::new("floors_tier_hit_ratio", "The share of questions to a tier that find a value, of late."),
                &["tier"],
            )?,
            probe_cost: GaugeVec::new(
                Opts::new("floors_tier_probe_cost_seconds", "What asking a tier for one value costs, of late."),
                &["tier"],
            )?,
            generation_cost: GaugeVec::new(
                Opts::new(
                    "floors_tier_generation_cost_seconds",
                    "What making one of the values would cost that a tier may be asked for, of late.",
                ),
                &["tier"],
            )?,
            bypassed: GaugeVec::new(
                Opts::new(
                    "floors_tier_bypassed",
                    "Whether a tier is passed by, since asking it does not pay or is forbidden: 0 or 1.",
                ),
                &["tier"],
            )?,
            verdict_seconds: GaugeVec::new(
                Opts::new("floors_tier_verdict_seconds", "For how long a tier's verdict has been what it is."),
                &["tier"],
            )?,
        })
    }

    fn collectors(&self) -> [&dyn Collector; 9] {
        [
            &self.requests,
            &self.bytes,
            &self.entries,
            &self.breaker,
            &self.hit_ratio,
            &self.probe_cost,
            &self.generation_cost,
            &self.bypassed,
            &self.verdict_seconds,
        ]
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

impl Families {
    fn link(&self, link: &Link) {
        let (labels, standing) = (&[link.name()], link.policy.standing());
        self.breaker.with_label_values(labels).set(f64::from(link.circuit.state() as u8));
        self.hit_ratio.with_label_values(labels).set(standing.hit_ratio);
        self.probe_cost.with_label_values(labels).set(standing.cost.as_secs_f64());
        self.generation_cost.with_label_values(labels).set(standing.generation.as_secs_f64());
        self.bypassed.with_label_values(labels).set(f64::from(u8::from(standing.is_bypassed())));
        self.verdict_seconds.with_label_values(labels).set(link.verdict_since(&standing).elapsed().as_secs_f64());
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
            families.link(link);
        }
        families.collectors().into_iter().flat_map(Collector::collect).collect()
    }
}
