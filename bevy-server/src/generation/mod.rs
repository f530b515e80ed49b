//! Generates floors on Bevy's task pool. The cache chain calls [`GenerationQueue`] on a miss.
//!
//! A miss puts a job into a bounded queue, which is fair between clients, and waits on a oneshot. Workers on the
//! `AsyncComputeTaskPool` take jobs, generate, encode and reply. Each occupies a thread of the pool until the queue stops,
//! so a job never waits for a frame of the app. Each worker reuses the scratch memory of its generator.

mod costs;
mod fair_queue;
mod queue;
mod refusals;
mod worker;

use bevy::{app::TaskPoolThreadAssignmentPolicy, prelude::*, tasks::AsyncComputeTaskPool};

pub use queue::GenerationQueue;
pub(crate) use worker::panic_message;

/// Starts the workers that serve the resource [`GenerationQueue`], one per thread of the `AsyncComputeTaskPool`.
#[derive(Debug)]
pub struct GenerationPlugin;

impl Plugin for GenerationPlugin {
    fn build(&self, app: &mut App) {
        app.add_systems(Startup, start_workers);
    }
}

/// Task pools with `threads` threads for generation and as few as possible for everything else.
#[must_use]
pub fn task_pools(threads: usize) -> TaskPoolPlugin {
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

fn start_workers(generation: Res<'_, GenerationQueue>) {
    for _ in 0..generation.0.workers {
        let queue = generation.0.clone();
        AsyncComputeTaskPool::get().spawn(async move { worker::run(&queue) }).detach();
    }
}
