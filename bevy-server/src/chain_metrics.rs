//! Exports the metrics of a chain to Prometheus. They are read at each scrape.

use floor_cache::{
    Chain, ChainMetrics,
    metrics::{LowerTierMetrics, TierMetrics},
};
use prometheus::{
    Gauge, GaugeVec, IntCounter, IntCounterVec, Opts, Registry,
    core::{Collector, Desc},
    proto::MetricFamily,
};

use crate::metrics::HistogramFamily;

/// Registers the metrics of `chain`: what its tiers hold, were asked for and cost, and what was generated.
///
/// # Errors
/// If `registry` already has the metrics of a chain.
pub fn register(chain: Chain, registry: &Registry) -> prometheus::Result<()> {
    registry.register(Box::new(ChainCollector { descriptions: descriptions()?, chain }))
}

/// The metrics of one chain.
#[derive(Debug)]
struct ChainCollector {
    chain: Chain,
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
    store_aside: GaugeVec,
    stores_put_aside: IntCounterVec,
    writes: IntCounterVec,
    breaker: GaugeVec,
    hit_ratio: GaugeVec,
    query_cost: GaugeVec,
    generation_cost: GaugeVec,
    bypassed: GaugeVec,
    verdict_seconds: GaugeVec,
    reason: GaugeVec,
    generations: IntCounterVec,
    coalesced: IntCounter,
    cpu_utilisation: Gauge,
    cpu_price: Gauge,
}

impl Families {
    fn new() -> prometheus::Result<Self> {
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
            store_aside: by_tier(
                "floors_store_aside_bytes",
                "Bytes on the disk of a store of the tier that could not be used and was put aside.",
            )?,
            stores_put_aside: IntCounterVec::new(
                Opts::new(
                    "floors_stores_put_aside_total",
                    "Stores of a tier that this process put aside at its start.",
                ),
                &["tier"],
            )?,
            writes: IntCounterVec::new(
                Opts::new("floors_tier_writes_total", "Values written to a lower tier in the background, by outcome."),
                &["tier", "outcome"],
            )?,
            breaker: by_tier("floors_breaker_state", "A tier's circuit breaker: 0 closed, 1 half-open, 2 open.")?,
            hit_ratio: by_tier("floors_tier_hit_ratio", "Recent share of queries to a tier that find a value.")?,
            query_cost: by_tier(
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
            generations: IntCounterVec::new(
                Opts::new("floors_generations_total", "Floors generated, by kind."),
                &["kind"],
            )?,
            coalesced: IntCounter::new("floors_coalesced_total", "Floors that a call got from another call's lookup.")?,
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

    fn collectors(&self) -> [&dyn Collector; 21] {
        [
            &self.requests,
            &self.bytes,
            &self.limit,
            &self.entries,
            &self.store_bytes,
            &self.store_free,
            &self.store_capacity,
            &self.store_aside,
            &self.stores_put_aside,
            &self.writes,
            &self.breaker,
            &self.hit_ratio,
            &self.query_cost,
            &self.generation_cost,
            &self.bypassed,
            &self.verdict_seconds,
            &self.reason,
            &self.generations,
            &self.coalesced,
            &self.cpu_utilisation,
            &self.cpu_price,
        ]
    }

    fn tier(&self, tier: &TierMetrics) {
        let (name, requests, stats) = (tier.name, tier.requests, tier.stats);
        for (outcome, count) in [
            ("hit", requests.hits),
            ("miss", requests.misses),
            ("error", requests.errors),
            ("timeout", requests.timeouts),
            ("bypass", requests.bypasses),
            ("corrupt", stats.corrupt),
        ] {
            self.requests.with_label_values(&[name, outcome]).inc_by(count);
        }
        if !stats.unknown.bytes {
            self.bytes.with_label_values(&[name]).set(stats.bytes as f64);
        }
        if !stats.unknown.entries {
            self.entries.with_label_values(&[name]).set(stats.entries as f64);
        }
        if stats.limit > 0 {
            self.limit.with_label_values(&[name]).set(stats.limit as f64);
        }
        if tier.has_directory {
            self.store_bytes.with_label_values(&[name]).set(stats.disk as f64);
        }
        if let Some(aside) = tier.aside {
            self.store_aside.with_label_values(&[name]).set(aside.bytes as f64);
            self.stores_put_aside.with_label_values(&[name]).inc_by(aside.stores);
        }
        if let Some(space) = tier.space {
            self.store_free.with_label_values(&[name]).set(space.free as f64);
            self.store_capacity.with_label_values(&[name]).set(space.total as f64);
        }
        tier.lower.iter().for_each(|lower| self.lower_tier(name, lower));
    }

    fn lower_tier(&self, name: &str, lower: &LowerTierMetrics) {
        let (labels, writes) = (&[name], lower.writes);
        for (outcome, count) in [
            ("stored", writes.stored),
            ("failed", writes.failed),
            ("dropped", writes.dropped),
            ("refused", writes.refused),
        ] {
            self.writes.with_label_values(&[name, outcome]).inc_by(count);
        }
        self.breaker.with_label_values(labels).set(f64::from(lower.breaker as u8));
        self.hit_ratio.with_label_values(labels).set(lower.hit_ratio);
        self.query_cost.with_label_values(labels).set(lower.query_cost);
        self.generation_cost.with_label_values(labels).set(lower.generation_cost);
        self.bypassed.with_label_values(labels).set(1.0 - lower.asked_ratio);
        self.reason.with_label_values(&[name, lower.reason]).set(1.0);
        self.verdict_seconds.with_label_values(labels).set(lower.since.as_secs_f64());
    }

    fn chain(&self, metrics: &ChainMetrics) {
        metrics.tiers.iter().for_each(|tier| self.tier(tier));
        for generations in &metrics.generations {
            self.generations.with_label_values(&[generations.class]).inc_by(generations.times.count);
        }
        self.coalesced.inc_by(metrics.coalesced);
        self.cpu_utilisation.set(metrics.cpu_utilisation);
        self.cpu_price.set(metrics.cpu_price);
    }
}

fn histograms(metrics: &ChainMetrics) -> [MetricFamily; 2] {
    let operations = metrics.tiers.iter().filter_map(|tier| Some((tier.name, &tier.lower.as_ref()?.times)));
    let operations = operations.flat_map(|(tier, times)| times.iter().map(move |(op, times)| (tier, *op, times)));
    let operations = operations.map(|(tier, op, times)| HistogramFamily::series(&[("op", op), ("tier", tier)], times));
    let generations = metrics.generations.iter();
    let generations =
        generations.map(|generations| HistogramFamily::series(&[("kind", generations.class)], &generations.times));
    [TIER_SECONDS.family(operations.collect()), GENERATION_SECONDS.family(generations.collect())]
}

const TIER_SECONDS: HistogramFamily = HistogramFamily("floors_tier_seconds", "Time that a tier took.", &["tier", "op"]);
const GENERATION_SECONDS: HistogramFamily =
    HistogramFamily("floors_generation_seconds", "Time to generate a floor, without queueing.", &["kind"]);

fn descriptions() -> prometheus::Result<Vec<Desc>> {
    let families = Families::new()?;
    let mut descriptions: Vec<Desc> = families.collectors().into_iter().flat_map(Collector::desc).cloned().collect();
    descriptions.extend([TIER_SECONDS.description()?, GENERATION_SECONDS.description()?]);
    Ok(descriptions)
}

impl Collector for ChainCollector {
    fn desc(&self) -> Vec<&Desc> {
        self.descriptions.iter().collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let Ok(families) = Families::new() else { return Vec::new() };
        let metrics = self.chain.metrics();
        families.chain(&metrics);
        families.collectors().into_iter().flat_map(Collector::collect).chain(histograms(&metrics)).collect()
    }
}
