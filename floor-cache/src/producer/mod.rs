//! The producer: generates values with the source and measures what that costs. It does not know the tiers; the chain's
//! lookups sit above both.

mod generations;

use std::{panic::AssertUnwindSafe, sync::Arc, time::Instant};

use futures_util::FutureExt;
use tokio::runtime::Handle;

pub(crate) use self::generations::Generations;
use crate::{
    key::Key,
    policy::{CpuCost, Forecast, GenerationCost, LoadMonitor, Work},
    report::TierReport,
    source::{Made, Priority, Source, SourceError},
};

/// The source with its counts, its costs and the load that it causes.
#[derive(Debug)]
pub(crate) struct Producer {
    source: Arc<dyn Source>,
    generations: Generations,
    cost: GenerationCost,
    pub(crate) load: LoadMonitor,
    runtime: Handle,
}

pub(crate) type GenerateResult = Result<Made, SourceError>;

impl Producer {
    pub(crate) fn new(source: Arc<dyn Source>, generations: Generations, load: LoadMonitor, runtime: Handle) -> Self {
        let cost = GenerationCost::new(source.workers());
        Self { source, generations, cost, load, runtime }
    }

    /// Generates the value of `key` for a call and counts it.
    pub(crate) async fn generate(&self, key: Key, priority: Priority) -> GenerateResult {
        let made = self.generate_uncounted(key, priority).await?;
        self.generations.count(self.source.class_name(key.class()), &made);
        Ok(made)
    }

    /// Calls the source and records the cost of the generation. A panic of the source becomes an error of this key.
    pub(crate) async fn generate_uncounted(&self, key: Key, priority: Priority) -> GenerateResult {
        let started = Instant::now();
        let in_progress = self.cost.begin(self.work(&key), priority == Priority::Background);
        let work = AssertUnwindSafe(async { self.source.generate(key, priority).await });
        let panicked = |_| Err(SourceError::Failed { key, reason: "the generator panicked".to_owned() });
        let made = work.catch_unwind().await.unwrap_or_else(panicked)?;
        in_progress.finish(started.elapsed(), made.took, made.cpu);
        self.generations.count_cpu(made.cpu);
        Ok(made)
    }

    /// Generates `key` in the background once per class, so that the policy has a generation cost to compare with.
    /// Without it, a tier that has every value would always be asked, however slow it is.
    pub(crate) fn sample_cost(self: &Arc<Self>, key: Key) {
        if !self.cost.is_known(key.class()) && self.generations.claim_cost_sample(key.class()) {
            let producer = self.clone();
            self.runtime.spawn(async move {
                if let Err(error) = producer.generate(key, Priority::Background).await {
                    tracing::debug!(%error, "the cost of generation could not be measured");
                }
                producer.generations.release_cost_sample(key.class());
            });
        }
    }

    /// Cost of generating the values of `keys` now, together. `None` while it is unknown.
    pub(crate) fn forecast<'k>(&self, keys: impl IntoIterator<Item = &'k Key>) -> Option<Forecast> {
        self.cost.forecast(keys.into_iter().map(|key| self.work(key)))
    }

    /// Class and size of the value of `key`, on which its cost depends.
    fn work(&self, key: &Key) -> Work {
        Work { class: key.class(), size: self.source.size(key) }
    }

    /// The current price of CPU time. `lookups` returns the keys looked up in the tiers so far.
    pub(crate) fn cpu_cost(&self, now: Instant, lookups: impl FnOnce() -> u64) -> CpuCost {
        self.load.cpu_cost(now, || (lookups() + self.generations.total(), self.generations.cpu_seconds()))
    }

    /// A description of the value of `key` for logs.
    pub(crate) fn describe(&self, key: &Key) -> String {
        self.source.describe(key)
    }

    /// Counts and costs since the start.
    pub(crate) fn report(&self) -> TierReport {
        self.generations.report()
    }
}
