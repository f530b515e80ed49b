//! Exports the counts of the tiers to Prometheus. It reads them at each scrape.

use std::{
    path::Path,
    sync::{Arc, Weak},
};

use prometheus::{
    Gauge, GaugeVec, IntCounterVec, Opts,
    core::{Collector, Desc},
    proto::MetricFamily,
};

use crate::{
    layers::Counts,
    producer::Producer,
    stack::{LowerTier, TierStack},
    tier::TierStats,
    tiers::directory,
};

/// What the tiers of one chain hold, were asked for and cost: `floors_tier_requests_total`, `floors_tier_bytes`,
/// `floors_store_free_bytes`, `floors_breaker_state` and more.
///
/// The hot path counts in cheap per-tier counters; a scrape sums them up.
#[derive(Debug)]
pub(crate) struct TierCollector {
    stack: Weak<TierStack>,
    producer: Weak<Producer>,
    descriptions: Vec<Desc>,
}

/// Metric families created for one scrape.
struct Families {
    requests: IntCounterVec,
    bytes: GaugeVec,
    limit: GaugeVec,
    entries: GaugeVec,
    store_bytes: GaugeVec,
    store_free: GaugeVec,
    store_capacity: GaugeVec,
    breaker: GaugeVec,
    hit_ratio: GaugeVec,
    probe_cost: GaugeVec,
    generation_cost: GaugeVec,
    bypassed: GaugeVec,
    verdict_seconds: GaugeVec,
    reason: GaugeVec,
    cpu_utilisation: Gauge,
    cpu_price: Gauge,
}

impl Families {
    fn new() -> Result<Self, prometheus::Error> {
        let by_tier = |name, help| GaugeVec::new(Opts::new(name, help), &["tier"]);
        Ok(Self {
            requests: IntCounterVec::new(
                Opts::new("floors_tier_requests_total", "Keys that a tier was asked for, by outcome."),
                &["tier", "outcome"],
            )?,
            bytes: by_tier("floors_tier_bytes", "Bytes that a tier holds.")?,
            limit: by_tier(
                "floors_tier_limit_bytes",
                "The bytes beyond which a tier evicts; missing if there is no limit.",
            )?,
            entries: by_tier("floors_tier_entries", "Values that a tier holds.")?,
            store_bytes: by_tier("floors_store_bytes", "Bytes of a tier's files, unused space included.")?,
            store_free: by_tier(
                "floors_store_free_bytes",
                "Bytes that the server may still write to the file system of a tier's files.",
            )?,
            store_capacity: by_tier("floors_store_capacity_bytes", "Size of the file system of a tier's files.")?,
            breaker: by_tier("floors_breaker_state", "A tier's circuit breaker: 0 closed, 1 half-open, 2 open.")?,
            hit_ratio: by_tier("floors_tier_hit_ratio", "Recent share of queries to a tier that find a value.")?,
            probe_cost: by_tier(
                "floors_tier_probe_cost_seconds",
                "Recent response time of a query to a tier for one value.",
            )?,
            generation_cost: by_tier(
                "floors_tier_generation_cost_seconds",
                "Recent response time of generating one of the values that a tier may be asked for, with queueing.",
            )?,
            bypassed: by_tier(
                "floors_tier_bypassed",
                "Recent share of lookups that bypassed a tier: 0 if it is always asked, 1 if never.",
            )?,
            verdict_seconds: by_tier("floors_tier_verdict_seconds", "Time since a tier's verdict last changed.")?,
            reason: GaugeVec::new(
                Opts::new("floors_tier_reason", "Why a tier is asked or bypassed: 1 for the current reason."),
                &["tier", "reason"],
            )?,
            cpu_utilisation: Gauge::new(
                "floors_cpu_utilisation",
                "CPU utilisation, 0 to 1, at the last measurement by a lookup below memory.",
            )?,
            cpu_price: Gauge::new(
                "floors_cpu_price",
                "Seconds of response time that one second of CPU costs the other calls in flight: 0 if cores are idle.",
            )?,
        })
    }

    fn collectors(&self) -> [&dyn Collector; 16] {
        [
            &self.requests,
            &self.bytes,
            &self.limit,
            &self.entries,
            &self.store_bytes,
            &self.store_free,
            &self.store_capacity,
            &self.breaker,
            &self.hit_ratio,
            &self.probe_cost,
            &self.generation_cost,
            &self.bypassed,
            &self.verdict_seconds,
            &self.reason,
            &self.cpu_utilisation,
            &self.cpu_price,
        ]
    }

    fn tier(&self, name: &str, counts: Counts, stats: TierStats, directory: Option<&Path>) {
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
        self.bytes.with_label_values(&[name]).set(stats.bytes as f64);
        self.entries.with_label_values(&[name]).set(stats.entries as f64);
        if stats.limit > 0 {
            self.limit.with_label_values(&[name]).set(stats.limit as f64);
        }
        let Some(directory) = directory else { return };
        self.store_bytes.with_label_values(&[name]).set(stats.disk as f64);
        if let Ok(space) = directory::space(directory) {
            self.store_free.with_label_values(&[name]).set(space.free as f64);
            self.store_capacity.with_label_values(&[name]).set(space.total as f64);
        }
    }

    fn lower_tier(&self, lower: &LowerTier) {
        let (labels, status) = (&[lower.name()], lower.policy.status());
        let (reason, _verdict, since) = lower.verdict(&status);
        self.breaker.with_label_values(labels).set(f64::from(lower.circuit.state() as u8));
        self.hit_ratio.with_label_values(labels).set(status.hit_ratio);
        self.probe_cost.with_label_values(labels).set(status.cost);
        self.generation_cost.with_label_values(labels).set(status.generation);
        self.bypassed.with_label_values(labels).set(1.0 - status.asked_ratio);
        self.reason.with_label_values(&[lower.name(), reason]).set(1.0);
        self.verdict_seconds.with_label_values(labels).set(since.elapsed().as_secs_f64());
    }
}

impl TierCollector {
    pub(crate) fn new(stack: &Arc<TierStack>, producer: &Arc<Producer>) -> Result<Self, prometheus::Error> {
        let families = Families::new()?;
        let descriptions = families.collectors().into_iter().flat_map(Collector::desc).cloned().collect();
        Ok(Self { stack: Arc::downgrade(stack), producer: Arc::downgrade(producer), descriptions })
    }
}

impl Collector for TierCollector {
    fn desc(&self) -> Vec<&Desc> {
        self.descriptions.iter().collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let (Some(stack), Some(producer), Ok(families)) =
            (self.stack.upgrade(), self.producer.upgrade(), Families::new())
        else {
            return Vec::new();
        };
        for tier in &stack.memory {
            families.tier(tier.name(), tier.counts(), tier.stats(), tier.directory());
        }
        for lower in &stack.lower {
            families.tier(lower.name(), lower.meter.counts(), lower.tier.stats(), lower.tier.directory());
            families.lower_tier(lower);
        }
        let (utilisation, cpu) = producer.load.last();
        families.cpu_utilisation.set(utilisation);
        families.cpu_price.set(cpu.price);
        families.collectors().into_iter().flat_map(Collector::collect).collect()
    }
}
