//! Generating floors on Bevy's task pool: the one bounded channel at which tokio and Bevy meet.
//!
//! A miss puts a job into the queue and waits on a oneshot; workers on the `AsyncComputeTaskPool` take jobs, generate,
//! encode and answer directly. No frame passes in between, so a floor never waits for one. Each worker keeps a
//! generator, whose scratch memory is reused from floor to floor.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use async_channel::{Receiver, Sender, TrySendError};
use bevy::{
    app::TaskPoolThreadAssignmentPolicy,
    prelude::*,
    tasks::{AsyncComputeTaskPool, futures_lite::future},
};
use floor_cache::{Class, Key, Made, Priority, Source, SourceError};
use floor_gen::{Generator, Kind};
use futures_util::{FutureExt, future::BoxFuture};
use prometheus::{IntGauge, Registry};
use tokio::sync::{Notify, oneshot};

use crate::{key, wire};

/// Floors that may wait without a caller, at the most: prefetches and audits are dropped sooner than calls.
const BACKGROUND_CAPACITY: usize = 64;
/// However many callers wait, every so many-th floor a worker makes is one from the background, if any waits there: a
/// caller who asks for a floor that is being prefetched waits for that very job.
const BACKGROUND_INTERVAL: u32 = 16;

/// Starts the workers that answer a [`GenerationQueue`] queue.
#[derive(Debug)]
pub struct GenerationPlugin {
    /// The queue.
    pub generation: GenerationQueue,
    /// How many workers, which is how many threads the `AsyncComputeTaskPool` should have.
    pub workers: usize,
}

impl Plugin for GenerationPlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(self.generation.clone())
            .insert_resource(Workers(self.workers))
            .add_systems(Startup, start_workers);
    }
}

/// The task pools of a server that generates on `threads` threads and does little else in Bevy.
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

#[derive(Resource)]
struct Workers(usize);

fn start_workers(generation: Res<'_, GenerationQueue>, workers: Res<'_, Workers>) {
    for _ in 0..workers.0 {
        AsyncComputeTaskPool::get().spawn(run_worker(generation.0.clone())).detach();
    }
}

/// The queue in front of the task pool. Cheap to clone; the [`Source`] behind the chain.
#[derive(Debug, Clone, Resource)]
pub struct GenerationQueue(Arc<Queue>);

#[derive(Debug)]
struct Queue {
    foreground: (Sender<Job>, Receiver<Job>),
    background: (Sender<Job>, Receiver<Job>),
    waiting: IntGauge,
    /// Told when the last waiting caller got a worker, if somebody wants to know: a busy queue empties thousands of times a
    /// second, and each telling wakes a thread.
    idle: Notify,
    idle_wake_requested: AtomicBool,
    workers: usize,
    /// A running mean of what a floor takes, in nanoseconds.
    mean_ns: AtomicU64,
}

#[derive(Debug)]
struct Job {
    key: Key,
    reply: oneshot::Sender<Result<Made, SourceError>>,
}

impl GenerationQueue {
    /// A queue for at most `capacity` waiting floors and `workers` workers.
    ///
    /// # Errors
    /// When `registry` has `floors_generation_queue` already.
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

    /// Whether a call that misses every tier would get a place.
    #[must_use]
    pub fn has_capacity(&self) -> bool {
        !self.0.foreground.0.is_full() && !self.0.foreground.0.is_closed()
    }

    /// Whether a caller waits for a worker.
    #[must_use]
    pub fn has_waiting_callers(&self) -> bool {
        !self.0.foreground.0.is_empty()
    }

    /// Has [`idle`](Self::idle) told when the last of the callers who wait has got a worker. Nobody may wait any more by
    /// then: look after this, not before.
    pub fn request_idle_wake(&self) {
        self.0.idle_wake_requested.store(true, Ordering::SeqCst);
    }

    /// Waits until the last waiting caller has got a worker, after [`request_idle_wake`](Self::request_idle_wake). For one to ask.
    pub async fn idle(&self) {
        self.0.idle.notified().await;
    }

    /// Refuses further floors and lets the workers end once those waiting are made.
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

    /// Cells: within a kind, what a floor costs is about proportional to them.
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

    /// Says to come back when half of what waits should be done.
    fn busy_error(&self, queued: usize) -> SourceError {
        let each = self.mean_ns.load(Ordering::Relaxed) / self.workers as u64;
        let half = Duration::from_nanos(each.saturating_mul(queued as u64 / 2));
        SourceError::Busy { queued, retry_after: half.clamp(Duration::from_millis(1), Duration::from_secs(5)) }
    }

    /// A worker's `job_number`-th job, callers' first; `None` when both lanes are closed and empty.
    async fn next(&self, job_number: u32) -> Option<Job> {
        if job_number.is_multiple_of(BACKGROUND_INTERVAL)
            && let Ok(job) = self.background.1.try_recv()
        {
            self.waiting.dec();
            return Some(job);
        }
        let foreground = async { self.recv_foreground().await };
        let background = async { self.background.1.recv().await.ok() };
        // `or` polls the first first, so a background job is taken only while no caller waits.
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

    fn record_duration(&self, took: Duration) {
        let sample = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let mean = self.mean_ns.load(Ordering::Relaxed);
        let next = if mean == 0 { sample } else { mean - mean / 16 + sample / 16 };
        self.mean_ns.store(next, Ordering::Relaxed);
    }
}

async fn run_worker(queue: Arc<Queue>) {
    let mut generator = Generator::new();
    let mut job_number = 0u32;
    while let Some(job) = queue.next(job_number).await {
        job_number = job_number.wrapping_add(1);
        if job.reply.is_closed() {
            continue;
        }
        let result = generate_floor(&mut generator, job.key);
        match &result {
            Ok(made) => queue.record_duration(made.took),
            Err(error) => {
                tracing::error!(%error, "a floor could not be generated");
                // What a panic left in the scratch memory is not to be trusted.
                generator = Generator::new();
            }
        }
        let _ = job.reply.send(result);
    }
}

/// Generates and encodes the floor of `key`. A panic is this floor's failure alone.
fn generate_floor(generator: &mut Generator, key: Key) -> Result<Made, SourceError> {
    let failed = |reason: String| SourceError::Failed { key, reason };
    let spec = key::spec(&key).ok_or_else(|| failed("the key names no floor of this generator".to_owned()))?;
    let (started, cpu) = (Instant::now(), thread_cpu());
    let value = catch_unwind(AssertUnwindSafe(|| wire::framed(&generator.generate(&spec))))
        .map_err(|panic| failed(format!("{spec:?}: {}", panic_message(panic.as_ref()))))?;
    let took = started.elapsed();
    let cpu = cpu.zip(thread_cpu()).map_or(took, |(before, after)| after.saturating_sub(before));
    Ok(Made { value, took, cpu })
}

/// CPU time of this thread so far; `None` where the system does not tell.
#[cfg(unix)]
fn thread_cpu() -> Option<Duration> {
    rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime).try_into().ok()
}

#[cfg(not(unix))]
fn thread_cpu() -> Option<Duration> {
    None
}

/// What a panic said.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message")
}
