//! Starts prefetches within a budget, and wakes the app when another may start.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
};

use bevy::prelude::*;
use floor_cache::{CallerId, Options, Priority};
use floor_gen::FloorSpec;
use tokio::runtime::Handle;

use super::PrefetchPlugin;
use crate::{
    cache::Chains,
    generation::GenerationQueue,
    key,
    lifecycle::{EventSender, ServerEvent},
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
    pub(super) counts: PrefetchCounts,
}

/// How many floors were prefetched for climbers, and how many of them were used or wasted. Cheap to clone.
#[derive(Resource, Debug, Clone, Default, Deref)]
pub(crate) struct PrefetchCounts(Arc<Outcomes>);

#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    pub(crate) prefetched: AtomicU64,
    pub(crate) used: AtomicU64,
    pub(crate) wasted: AtomicU64,
}

impl Prefetcher {
    pub(super) fn new(plugin: &PrefetchPlugin, world: &World) -> Self {
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
            counts: world.resource::<PrefetchCounts>().clone(),
        };
        let generation = prefetcher.generation.clone();
        prefetcher.runtime.spawn(async move {
            loop {
                generation.idle().await;
                in_progress.wake();
            }
        });
        prefetcher
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
        let (chain, counts) = (self.chains.of(tenant).clone(), self.counts.clone());
        let key = key::of(spec);
        let guard = self.in_progress.begin();
        self.runtime.spawn(async move {
            let options = Options { priority: Priority::Background, caller, ..Options::default() };
            if chain.get(key, options).await.is_ok() {
                counts.prefetched.fetch_add(1, Ordering::Relaxed);
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
