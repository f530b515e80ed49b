//! The source as the chain calls it: counts what it generates and what that costs. It does not know the tiers; the chain's
//! lookups sit above both.

use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicU16, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::FutureExt;
use tokio::runtime::Handle;

use crate::{
    admit::ClassSet,
    histogram::{Histogram, nanoseconds},
    key::{Class, Key},
    metrics::GenerationMetrics,
    policy::{CpuCost, LoadMonitor},
    report::{TierReport, micros},
    served::{Found, GENERATED, Outcome, Step},
    source::{Forecast, GenerationRequest, Made, Source, SourceError},
};

/// The source with its counts and the load that it causes.
#[derive(Debug)]
pub(crate) struct CountedSource {
    source: Arc<dyn Source>,
    generations: Generations,
    /// A bit for each class whose cost is being measured.
    measuring: AtomicU16,
    /// Of this process: chains that were built beside one another share it.
    pub(crate) load: Arc<LoadMonitor>,
    runtime: Handle,
}

/// A generated value, and when and for how long it was generated.
#[derive(Debug, Clone)]
pub(crate) struct Generated {
    value: Bytes,
    step: Step,
}

impl Generated {
    /// A value that was requested `since` before now.
    fn new(made: Made, requested: Instant, since: Duration) -> Self {
        let waited = since.saturating_sub(made.took);
        let started = requested + waited;
        let step = Step { tier: GENERATED, outcome: Outcome::Hit, started, took: made.took, waited, error: None };
        Self { value: made.value, step }
    }

    /// The result of a lookup whose value was generated after `steps`.
    pub(crate) fn after(self, steps: &[Step]) -> Found {
        Found { value: self.value, by: GENERATED, steps: steps.iter().cloned().chain([self.step]).collect() }
    }
}

pub(crate) type GenerateResult = Result<Generated, SourceError>;

impl CountedSource {
    pub(crate) fn new(
        source: Arc<dyn Source>,
        generations: Generations,
        load: Arc<LoadMonitor>,
        runtime: Handle,
    ) -> Self {
        Self { source, generations, measuring: AtomicU16::new(0), load, runtime }
    }

    /// Generates a value and counts it. A panic of the source becomes an error of this key.
    pub(crate) async fn generate(&self, request: GenerationRequest) -> GenerateResult {
        let (started, key) = (Instant::now(), request.key);
        let work = AssertUnwindSafe(async { self.source.generate(request).await });
        let panicked = |_| Err(SourceError::Failed { key, reason: "the source panicked".to_owned() });
        let made = work.catch_unwind().await.unwrap_or_else(panicked)?;
        let since = started.elapsed();
        self.generations.cpu_nanoseconds.fetch_add(nanoseconds(made.cpu), Relaxed);
        self.generations.count(key.class(), made.took);
        Ok(Generated::new(made, started, since))
    }

    /// Generates `key` in the background once per class, so that the policy has a generation cost to compare with.
    /// Without it, a tier that has every value would always be asked, however slow it is.
    pub(crate) fn measure_cost(self: &Arc<Self>, key: Key) {
        let class = 1 << key.class().index();
        if self.forecast(&[key]).is_none() && self.measuring.fetch_or(class, Relaxed) & class == 0 {
            let source = self.clone();
            self.runtime.spawn(async move {
                if let Err(error) = source.generate(GenerationRequest::background(key)).await {
                    tracing::debug!(%error, "the cost of generation could not be measured");
                }
                source.measuring.fetch_and(!class, Relaxed);
            });
        }
    }

    /// The predicted cost of generating the values of `keys` now, together. `None` while it is unknown.
    pub(crate) fn forecast(&self, keys: &[Key]) -> Option<Forecast> {
        self.source.forecast(keys)
    }

    /// The values generated so far, and their CPU seconds.
    pub(crate) fn work(&self) -> (u64, f64) {
        let Generations { made, cpu_nanoseconds, .. } = &self.generations;
        (made.load(Relaxed), cpu_nanoseconds.load(Relaxed) as f64 * 1e-9)
    }

    /// The current price of CPU time.
    pub(crate) fn cpu_cost(&self, now: Instant) -> CpuCost {
        self.load.cpu_cost(now)
    }

    /// Counts of another chain, in the same metrics.
    pub(crate) fn generations_beside(&self) -> Generations {
        Generations::of_classes(self.generations.classes.clone())
    }

    /// The generated values by class.
    pub(crate) fn metrics(&self) -> Vec<GenerationMetrics> {
        self.generations.metrics(&*self.source)
    }

    /// The runtime of its tasks.
    pub(crate) const fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Counts and costs since the start.
    pub(crate) fn report(&self) -> TierReport {
        self.generations.report()
    }
}

/// The counts of the source.
#[derive(Debug)]
pub(crate) struct Generations {
    /// Chains that were built beside one another share them.
    classes: Arc<[GenerationHistogram; Class::COUNT]>,
    made: AtomicU64,
    nanoseconds: AtomicU64,
    cpu_nanoseconds: AtomicU64,
    started: Instant,
}

/// From 16 microseconds to half a second.
type GenerationHistogram = Histogram<16>;

impl Default for Generations {
    fn default() -> Self {
        let histogram = |_| GenerationHistogram::new(Duration::from_micros(16));
        Self::of_classes(Arc::new(std::array::from_fn(histogram)))
    }
}

impl Generations {
    fn of_classes(classes: Arc<[GenerationHistogram; Class::COUNT]>) -> Self {
        let zero = || AtomicU64::new(0);
        Self { classes, made: zero(), nanoseconds: zero(), cpu_nanoseconds: zero(), started: Instant::now() }
    }

    /// Counts a value of `class` generated for a call in `took`.
    fn count(&self, class: Class, took: Duration) {
        self.classes[class.index()].observe(took);
        self.made.fetch_add(1, Relaxed);
        self.nanoseconds.fetch_add(nanoseconds(took), Relaxed);
    }

    /// The times of the classes that `source` announces or that have values, by name.
    fn metrics(&self, source: &dyn Source) -> Vec<GenerationMetrics> {
        let announced: ClassSet = source.classes().into_iter().collect();
        let mut named: Vec<GenerationMetrics> = Vec::new();
        for (class, histogram) in (0..).map(Class::new).zip(&*self.classes) {
            let times = histogram.times();
            if times.count == 0 && !announced.contains(class) {
                continue;
            }
            let name = source.class_name(class);
            match named.iter_mut().find(|known| known.class == name) {
                Some(known) => known.times.add(&times),
                None => named.push(GenerationMetrics { class: name, times }),
            }
        }
        named
    }

    fn report(&self) -> TierReport {
        let made = self.made.load(Relaxed);
        let mean = Duration::from_nanos(self.nanoseconds.load(Relaxed) / made.max(1));
        TierReport {
            name: GENERATED,
            hits: made,
            hit_cost_us: micros(mean),
            hit_ratio: 1.0,
            probe_cost_us: micros(mean),
            generation_cost_us: micros(mean),
            asked_ratio: 1.0,
            reason: "configured",
            verdict: "last",
            since: self.started.elapsed(),
            ..TierReport::default()
        }
    }
}
