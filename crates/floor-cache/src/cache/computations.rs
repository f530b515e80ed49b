//! The functions of the callers that wait, as the source of a chain.

use std::{
    collections::{HashMap, hash_map::Entry},
    error::Error,
    future::{Future, ready},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll},
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use tokio::sync::oneshot;

use super::{name::Name, workers::Workers};
use crate::{
    ewma::AtomicMean,
    key::{Class, Key},
    policy::thread_cpu_time,
    source::{Forecast, GenerationRequest, Made, Source, SourceError},
    sync::Mutex,
};

/// What a function computed.
#[derive(Debug, Clone)]
pub(super) struct Computed {
    /// The value in its stored form.
    pub(super) stored: Bytes,
    /// Without the time until a thread runs it.
    took: Duration,
    cpu: Duration,
}

/// A function that runs when it is first polled, at most once, for all who wait.
pub(super) type Computation = Shared<BoxFuture<'static, Result<Computed, String>>>;

/// `compute` for the value of `name`, in the polls of those who wait.
pub(super) fn polled<F, V, E>(name: Name, compute: impl FnOnce() -> F + Send + 'static) -> Computation
where
    F: Future<Output = Result<V, E>> + Send + 'static,
    V: Into<Bytes>,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    let value = async move {
        let value = compute().await.map_err(|error| error.into().to_string())?;
        Ok(name.stored(value.into()))
    };
    Timed { work: value.boxed(), started: None, cpu: Duration::ZERO }.boxed().shared()
}

/// `compute` for the value of `name`, on a thread of `workers`.
pub(super) fn blocking<V, E>(
    name: Name,
    workers: Workers,
    compute: impl FnOnce() -> Result<V, E> + Send + 'static,
) -> Computation
where
    V: Into<Bytes>,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    let computed = async move {
        let (answer, answered) = oneshot::channel();
        let job = move || {
            let (started, before) = (Instant::now(), thread_cpu_time());
            let value = compute().map_err(|error| error.into().to_string());
            let cpu = thread_cpu_time().saturating_sub(before);
            let computed =
                value.map(|value| Computed { stored: name.stored(value.into()), took: started.elapsed(), cpu });
            // All who waited may be gone.
            let _ = answer.send(computed);
        };
        workers.run(Box::new(job));
        answered.await.unwrap_or_else(|_| Err("the function panicked".to_owned()))
    };
    computed.boxed().shared()
}

/// Measures the time of `work`, and the CPU time of its polls.
struct Timed {
    work: BoxFuture<'static, Result<Bytes, String>>,
    started: Option<Instant>,
    cpu: Duration,
}

impl Future for Timed {
    type Output = Result<Computed, String>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let started = *self.started.get_or_insert_with(Instant::now);
        let before = thread_cpu_time();
        let polled = self.work.as_mut().poll(cx);
        self.cpu += thread_cpu_time().saturating_sub(before);
        polled.map_ok(|stored| Computed { stored, took: started.elapsed(), cpu: self.cpu })
    }
}

/// The computations that callers offer while they wait, by key, and what computing costs. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct Computations(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    offered: Mutex<HashMap<Key, Offered>>,
    /// Threads that compute.
    threads: usize,
    /// Computations that have been asked for and have no value yet.
    unfinished: AtomicUsize,
    took: AtomicMean,
    cpu: AtomicMean,
}

/// Counts a computation as unfinished until it is dropped.
struct Unfinished(Computations);

impl Unfinished {
    fn new(of: Computations) -> Self {
        of.0.unfinished.fetch_add(1, Relaxed);
        Self(of)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.0.0.unfinished.fetch_sub(1, Relaxed);
    }
}

/// The computation of a key, and how many callers wait for it.
#[derive(Debug)]
struct Offered {
    computation: Computation,
    callers: usize,
}

/// A caller's offer, until it is dropped.
pub(super) struct Offer {
    of: Computations,
    key: Key,
}

impl Computations {
    /// None yet, for a runtime with so many threads.
    pub(super) fn new(threads: usize) -> Self {
        Self(Arc::new(Inner {
            offered: Mutex::default(),
            threads,
            unfinished: AtomicUsize::new(0),
            took: AtomicMean::default(),
            cpu: AtomicMean::default(),
        }))
    }

    /// Offers `computation` for `key`, unless another caller's is there and not complete.
    pub(super) fn offer(&self, key: Key, computation: Computation) -> Offer {
        match self.0.offered.lock().entry(key) {
            Entry::Vacant(free) => _ = free.insert(Offered { computation, callers: 1 }),
            Entry::Occupied(mut offered) => {
                let offered = offered.get_mut();
                offered.callers += 1;
                if offered.computation.peek().is_some() {
                    offered.computation = computation;
                }
            }
        }
        Offer { of: self.clone(), key }
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        let mut offered = self.of.0.offered.lock();
        if let Entry::Occupied(mut entry) = offered.entry(self.key) {
            entry.get_mut().callers -= 1;
            if entry.get().callers == 0 {
                entry.remove();
            }
        }
    }
}

impl Source for Computations {
    fn generate(&self, request: GenerationRequest) -> BoxFuture<'static, Result<Made, SourceError>> {
        let key = request.key;
        let offered = self.0.offered.lock().get(&key).map(|offered| offered.computation.clone());
        let Some(computation) = offered else { return ready(Err(SourceError::Abandoned)).boxed() };
        let unfinished = Unfinished::new(self.clone());
        async move {
            // Callers that are ready look into the cache first. Otherwise the threads would be busy with computing before
            // anything knew how many callers wait for them.
            tokio::task::yield_now().await;
            let Computed { stored: value, took, cpu } =
                computation.await.map_err(|reason| SourceError::Failed { key, reason })?;
            unfinished.0.0.took.add(took);
            unfinished.0.0.cpu.add(cpu);
            Ok(Made { value, took, cpu })
        }
        .boxed()
    }

    fn class_name(&self, _: Class) -> &'static str {
        "computed"
    }

    /// The threads share the CPU time of the unfinished computations; their other time passes side by side.
    fn forecast(&self, keys: &[Key]) -> Option<Forecast> {
        let took = self.0.took.get().as_secs_f64();
        let cpu = self.0.cpu.get().as_secs_f64() * keys.len() as f64;
        let ahead = self.0.unfinished.load(Relaxed) as f64 * self.0.cpu.get().as_secs_f64();
        let response = took.max((ahead + cpu) / self.0.threads as f64);
        (took > 0.0).then_some(Forecast { response, run: took * keys.len() as f64, cpu })
    }
}
