//! Threads for functions that compute without waiting.

use std::{
    collections::VecDeque,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use tokio::runtime::Handle;

use crate::sync::Mutex;

/// Runs jobs on the blocking threads of a runtime, in the order in which they come. The system shares the cores between
/// them and the threads that poll tasks, so an answer of a tier does not wait for the end of a computation. Clones share
/// the threads.
#[derive(Clone)]
pub(super) struct Workers(Arc<Inner>);

type Job = Box<dyn FnOnce() + Send>;

struct Inner {
    queue: Mutex<Queue>,
    most: usize,
    runtime: Handle,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Job>,
    running: usize,
}

impl Workers {
    /// At most `most` threads at once.
    pub(super) fn new(most: usize, runtime: Handle) -> Self {
        Self(Arc::new(Inner { queue: Mutex::default(), most, runtime }))
    }

    pub(super) fn run(&self, job: Job) {
        let mut queue = self.0.queue.lock();
        queue.waiting.push_back(job);
        if queue.running < self.0.most {
            queue.running += 1;
            let workers = self.clone();
            self.0.runtime.spawn_blocking(move || workers.work());
        }
    }

    /// Runs jobs until none waits. One that panics drops what it would have answered with.
    fn work(&self) {
        while let Some(job) = self.next() {
            let _ = catch_unwind(AssertUnwindSafe(job));
        }
    }

    fn next(&self) -> Option<Job> {
        let mut queue = self.0.queue.lock();
        let job = queue.waiting.pop_front();
        if job.is_none() {
            queue.running -= 1;
        }
        job
    }
}

impl fmt::Debug for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workers").field("most", &self.0.most).finish_non_exhaustive()
    }
}
