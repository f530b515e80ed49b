//! Generates floors on Bevy's task pool. The cache chain calls [`GenerationQueue`] on a miss.
//!
//! A miss puts a job into a bounded queue, which is fair between callers, and waits on a oneshot. Workers on the
//! `AsyncComputeTaskPool` take jobs, generate, encode and reply. Each occupies a thread of the pool until the queue stops,
//! so a job never waits for a frame of the app. Each worker reuses the scratch memory of its generator.

mod costs;
mod fair_queue;
mod queue;
mod refusals;
mod worker;

use bevy::{app::TaskPoolThreadAssignmentPolicy, prelude::*, tasks::AsyncComputeTaskPool};
use prometheus::Registry;

pub use queue::GenerationQueue;
pub(crate) use queue::TenantSource;
pub(crate) use worker::panic_message;

use crate::{callers::Callers, config::Config, packs::Packs, reload::Reload};

/// Adds the [`GenerationQueue`], Bevy's task pools, and the workers that serve the queue, one per thread of the
/// `AsyncComputeTaskPool`.
#[derive(Debug)]
pub struct GenerationPlugin {
    queue: GenerationQueue,
}

impl GenerationPlugin {
    /// The queue of `config`, for floors of `packs` that `callers` ask for.
    ///
    /// # Errors
    /// If `registry` already has the metrics of a queue.
    pub fn new(config: &Config, callers: &Callers, packs: &Packs, registry: &Registry) -> prometheus::Result<Self> {
        let (workers, rate) = (config.generation_threads, config.cells_per_second);
        let waiting = queue::max_waiting(workers);
        let queue = GenerationQueue::new(waiting, workers, rate, callers.clone(), packs.clone(), registry)?;
        queue.set_quotas(config);
        Ok(Self { queue })
    }

    /// For the chains that end in it.
    #[must_use]
    pub const fn queue(&self) -> &GenerationQueue {
        &self.queue
    }
}

impl Plugin for GenerationPlugin {
    fn build(&self, app: &mut App) {
        app.add_plugins(task_pools(self.queue.0.workers))
            .insert_resource(self.queue.clone())
            .add_systems(Startup, start_workers)
            .add_observer(apply_quotas);
    }
}

/// Task pools with `threads` threads for generation and as few as possible for everything else.
fn task_pools(threads: usize) -> TaskPoolPlugin {
    let exactly = |threads| TaskPoolThreadAssignmentPolicy {
        min_threads: threads,
        max_threads: threads,
        percent: 0.0,
        on_thread_spawn: None,
        on_thread_destroy: None,
    };
    TaskPoolPlugin {
        task_pool_options: TaskPoolOptions {
            min_total_threads: threads + 2,
            max_total_threads: usize::MAX,
            io: exactly(1),
            async_compute: exactly(threads),
            compute: exactly(1),
        },
    }
}

fn apply_quotas(mut reload: On<'_, '_, Reload>, queue: Res<'_, GenerationQueue>) {
    queue.set_quotas(&reload.config);
    reload
        .apply(|key| key.starts_with("limits.") || (key.starts_with("tenants.") && key.ends_with(".cells_per_second")));
}

fn start_workers(generation: Res<'_, GenerationQueue>) {
    for _ in 0..generation.0.workers {
        let queue = generation.0.clone();
        AsyncComputeTaskPool::get().spawn(async move { worker::run(&queue) }).detach();
    }
}
