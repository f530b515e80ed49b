//! Starts prefetches within a budget, and wakes the app when another may start.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use bevy::prelude::*;
use floor_cache::{CallerId, Options, Priority};
use floor_gen::FloorSpec;
use prometheus::{IntCounterVec, Opts, Registry};
use tokio::runtime::Handle;

use super::PrefetchPlugin;
use crate::{
    cache::Chains,
    generation::GenerationQueue,
    key,
    lifecycle::{EventSender, ServerEvent},
    metrics::MetricsRegistry,
    packs::Packs,
    runtime::TokioHandle,
    tenants::TenantId,
};

/// Starts prefetches within a budget.
#[derive(Resource, Debug)]
pub struct Prefetcher {
    /// Maximum of floors to prefetch above a climber.
    pub(super) ahead: u32,
    budget: usize,
    in_progress: InProgress,
    chains: Chains,
    generation: GenerationQueue,
    /// The packs of the towers.
    pub(super) packs: Packs,
    runtime: Handle,
    outcomes: IntCounterVec,
}

impl Prefetcher {
    pub(super) fn new(plugin: &PrefetchPlugin, world: &World) -> prometheus::Result<Self> {
        let events = world.resource::<EventSender>().clone();
        let in_progress = InProgress { count: Arc::default(), wake_requested: Arc::default(), events };
        let prefetcher = Self {
            ahead: plugin.ahead,
            budget: plugin.budget,
            in_progress: in_progress.clone(),
            chains: world.resource::<Chains>().clone(),
            generation: world.resource::<GenerationQueue>().clone(),
            packs: world.resource::<Packs>().clone(),
            runtime: world.resource::<TokioHandle>().0.clone(),
            outcomes: outcomes(world.resource::<MetricsRegistry>())?,
        };
        let generation = prefetcher.generation.clone();
        prefetcher.runtime.spawn(async move {
            loop {
                generation.idle().await;
                in_progress.wake();
            }
        });
        Ok(prefetcher)
    }

    /// Counts `floors` of one outcome.
    pub(super) fn count(&self, outcome: &str, floors: usize) {
        self.outcomes.with_label_values(&[outcome]).inc_by(floors as u64);
    }

    /// Whether another prefetch may start: the budget has room and no caller waits for generation.
    pub(super) fn may_prefetch(&self) -> bool {
        self.in_progress.count.load(Ordering::SeqCst) < self.budget && !self.generation.has_waiting_callers()
    }

    /// Requests a wake-up of the app, then checks again. Returns true if a prefetch may start and the wake-up was not
    /// sent meanwhile.
    pub(super) fn may_prefetch_or_request_wake(&self) -> bool {
        self.in_progress.wake_requested.store(true, Ordering::SeqCst);
        self.generation.request_idle_wake();
        self.may_prefetch() && self.in_progress.wake_requested.swap(false, Ordering::SeqCst)
    }

    /// Fetches the floor through the chain of `tenant`, as background work of `caller`, which pays for it if it is
    /// generated.
    pub(super) fn start_prefetch(&self, spec: &FloorSpec, tenant: Option<TenantId>, caller: CallerId) {
        let (chain, outcomes) = (self.chains.of(tenant).clone(), self.outcomes.clone());
        let key = key::of(spec);
        let guard = self.in_progress.begin();
        self.runtime.spawn(async move {
            let options = Options { priority: Priority::Background, caller, ..Options::default() };
            if chain.get(key, options).await.is_ok() {
                outcomes.with_label_values(&["prefetched"]).inc();
            }
            drop(guard);
        });
    }
}

/// The running prefetches, and whether to wake the app when one ends.
#[derive(Debug, Clone)]
struct InProgress {
    count: Arc<AtomicUsize>,
    /// Whether a climber waits for the budget or for callers to be served.
    wake_requested: Arc<AtomicBool>,
    events: EventSender,
}

impl InProgress {
    /// Counts a prefetch until the guard is dropped.
    fn begin(&self) -> PrefetchGuard {
        self.count.fetch_add(1, Ordering::SeqCst);
        PrefetchGuard(self.clone())
    }

    /// Wakes the app if that was requested.
    fn wake(&self) {
        if self.wake_requested.swap(false, Ordering::SeqCst) {
            self.events.send(ServerEvent::Wake);
        }
    }
}

/// Counts one running prefetch.
struct PrefetchGuard(InProgress);

impl Drop for PrefetchGuard {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::SeqCst);
        self.0.wake();
    }
}

/// `floors_prefetches_total{outcome}`: prefetched, and of these used or wasted.
fn outcomes(registry: &Registry) -> prometheus::Result<IntCounterVec> {
    let help = "Floors prefetched for climbers, from a tier or generation, and those of them that were used or wasted.";
    let outcomes = IntCounterVec::new(Opts::new("floors_prefetches_total", help), &["outcome"])?;
    registry.register(Box::new(outcomes.clone()))?;
    for outcome in ["prefetched", "used", "wasted"] {
        outcomes.with_label_values(&[outcome]).inc_by(0);
    }
    Ok(outcomes)
}
