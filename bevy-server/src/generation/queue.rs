//! The bounded queue of generation jobs.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use async_channel::{Receiver, Sender, TrySendError};
use bevy::{prelude::*, tasks::futures_lite::future};
use floor_cache::{Class, Key, Made, Priority, Source, SourceError};
use floor_gen::Kind;
use futures_util::{FutureExt, future::BoxFuture};
use prometheus::{IntGauge, Registry};
use tokio::sync::{Notify, oneshot};

use crate::key;

/// Background jobs (prefetches, audits) that may wait. Smaller than the foreground queue, so that they are dropped
/// first.
const BACKGROUND_CAPACITY: usize = 64;
/// Every so many jobs, a worker takes a background job even if callers wait: a caller may be waiting for a floor whose
/// prefetch is in the background queue.
const BACKGROUND_INTERVAL: u32 = 16;

/// The bounded queue of generation jobs, and the [`Source`] behind the chain. Cheap to clone.
#[derive(Debug, Clone, Resource)]
pub struct GenerationQueue(pub(super) Arc<Queue>);

#[derive(Debug)]
pub(super) struct Queue {
    foreground: (Sender<Job>, Receiver<Job>),
    background: (Sender<Job>, Receiver<Job>),
    waiting: IntGauge,
    /// Notified when no caller waits any more, if that was requested: a busy queue empties thousands of times a second,
    /// and each notification wakes a thread.
    idle: Notify,
    idle_wake_requested: AtomicBool,
    pub(super) workers: usize,
    /// Running mean of the time per floor, in nanoseconds.
    mean_ns: AtomicU64,
}

/// A floor to generate.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) key: Key,
    pub(super) reply: oneshot::Sender<Result<Made, SourceError>>,
}

impl GenerationQueue {
    /// A queue for at most `capacity` foreground jobs and for `workers` workers.
    ///
    /// # Errors
    /// If `registry` already has `floors_generation_queue`.
    pub fn new(capacity: usize, workers: usize, registry: &Registry) -> prometheus::Result<Self> {
        let waiting = IntGauge::new("floors_generation_queue", "Floors waiting for the task pool.")?;
        registry.register(Box::new(waiting.clone()))?;
        Ok(Self(Arc::new(Queue {
            foreground: async_channel::bounded(capacity),
            background: async_channel::bounded(BACKGROUND_CAPACITY),
            waiting,
            idle: Notify::new(),
            idle_wake_requested: AtomicBool::new(false),
            workers,
            mean_ns: AtomicU64::new(0),
        })))
    }

    /// Whether the foreground queue accepts another job.
    #[must_use]
    pub fn has_capacity(&self) -> bool {
        !self.0.foreground.0.is_full() && !self.0.foreground.0.is_closed()
    }

    /// Whether a caller waits for a worker.
    #[must_use]
    pub fn has_waiting_callers(&self) -> bool {
        !self.0.foreground.0.is_empty()
    }

    /// Requests that [`idle`](Self::idle) completes when no caller waits for a worker any more. Check
    /// [`has_waiting_callers`](Self::has_waiting_callers) after this call, not before it.
    pub fn request_idle_wake(&self) {
        self.0.idle_wake_requested.store(true, Ordering::SeqCst);
    }

    /// Waits until no caller waits for a worker, if [`request_idle_wake`](Self::request_idle_wake) was called. For one
    /// waiter.
    pub async fn idle(&self) {
        self.0.idle.notified().await;
    }

    /// Refuses new jobs. Workers end after the queued jobs.
    pub fn stop(&self) {
        self.0.foreground.0.close();
        self.0.background.0.close();
    }
}

impl Source for GenerationQueue {
    fn generate(&self, key: Key, priority: Priority) -> BoxFuture<'static, Result<Made, SourceError>> {
        let answer = self.0.push(key, priority);
        async move { answer?.await.unwrap_or(Err(SourceError::Stopped)) }.boxed()
    }

    fn class_name(&self, class: Class) -> &'static str {
        Kind::from_number(class.index() as u32).map_or("unknown", Kind::name)
    }

    /// Cells: within a kind, generation time is about proportional to them.
    fn size(&self, key: &Key) -> u32 {
        key::spec(key).map_or(1, |spec| u32::from(spec.width()) * u32::from(spec.height()))
    }

    fn workers(&self) -> usize {
        self.0.workers
    }

    fn describe(&self, key: &Key) -> String {
        key::spec(key).map_or_else(|| key.to_string(), |spec| format!("{spec:?}"))
    }
}

impl Queue {
    fn push(&self, key: Key, priority: Priority) -> Result<oneshot::Receiver<Result<Made, SourceError>>, SourceError> {
        let (reply, answer) = oneshot::channel();
        let queue = match priority {
            Priority::Foreground => &self.foreground.0,
            Priority::Background => &self.background.0,
        };
        self.waiting.inc();
        queue.try_send(Job { key, reply }).map_err(|refused| {
            self.waiting.dec();
            match refused {
                TrySendError::Full(_) => self.busy_error(queue.len()),
                TrySendError::Closed(_) => SourceError::Stopped,
            }
        })?;
        Ok(answer)
    }

    /// The retry delay is the estimated time for half of the queue.
    fn busy_error(&self, queued: usize) -> SourceError {
        let each = self.mean_ns.load(Ordering::Relaxed) / self.workers as u64;
        let half = Duration::from_nanos(each.saturating_mul(queued as u64 / 2));
        SourceError::Busy { queued, retry_after: half.clamp(Duration::from_millis(1), Duration::from_secs(5)) }
    }

    /// The next job of a worker, foreground first. `None` if both queues are closed and empty.
    pub(super) async fn next(&self, job_number: u32) -> Option<Job> {
        if job_number.is_multiple_of(BACKGROUND_INTERVAL)
            && let Ok(job) = self.background.1.try_recv()
        {
            self.waiting.dec();
            return Some(job);
        }
        let foreground = async { self.recv_foreground().await };
        let background = async { self.background.1.recv().await.ok() };
        // `or` polls its first future first, so a background job is taken only if no caller waits.
        let job = match future::or(foreground, background).await {
            Some(job) => Some(job),
            None => self.recv_foreground().await.or_else(|| self.background.1.try_recv().ok()),
        };
        if job.is_some() {
            self.waiting.dec();
        }
        job
    }

    async fn recv_foreground(&self) -> Option<Job> {
        let job = self.foreground.1.recv().await.ok();
        if self.foreground.1.is_empty()
            && self.idle_wake_requested.load(Ordering::SeqCst)
            && self.idle_wake_requested.swap(false, Ordering::SeqCst)
        {
            self.idle.notify_one();
        }
        job
    }

    pub(super) fn record_duration(&self, took: Duration) {
        let sample = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let mean = self.mean_ns.load(Ordering::Relaxed);
        let next = if mean == 0 { sample } else { mean - mean / 16 + sample / 16 };
        self.mean_ns.store(next, Ordering::Relaxed);
    }
}
