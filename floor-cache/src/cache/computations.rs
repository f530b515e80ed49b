//! The functions of the callers that wait, as the source of a chain.

use std::{
    collections::{HashMap, hash_map::Entry},
    error::Error,
    future::{Future, ready},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::{
    FutureExt,
    future::{BoxFuture, Shared},
};

use super::name::Name;
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
    cpu: Duration,
}

/// A function that runs when it is first polled, at most once, for all who wait.
pub(super) type Computation = Shared<BoxFuture<'static, Result<Computed, String>>>;

/// `compute` for the value of `name`.
pub(super) fn computation<F, V, E>(name: Name, compute: impl FnOnce() -> F + Send + 'static) -> Computation
where
    F: Future<Output = Result<V, E>> + Send + 'static,
    V: Into<Bytes>,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    let value = async move {
        let value = compute().await.map_err(|error| error.into().to_string())?;
        Ok(name.stored(value.into()))
    };
    Timed { work: value.boxed(), cpu: Duration::ZERO }.boxed().shared()
}

/// Measures the CPU time of the polls of `work`.
struct Timed {
    work: BoxFuture<'static, Result<Bytes, String>>,
    cpu: Duration,
}

impl Future for Timed {
    type Output = Result<Computed, String>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let before = thread_cpu_time();
        let polled = self.work.as_mut().poll(cx);
        self.cpu += thread_cpu_time().saturating_sub(before);
        polled.map_ok(|stored| Computed { stored, cpu: self.cpu })
    }
}

/// The computations that callers offer while they wait, by key, and what computing costs. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Computations(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    offered: Mutex<HashMap<Key, Offered>>,
    took: AtomicMean,
    cpu: AtomicMean,
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
        let this = self.clone();
        async move {
            let started = Instant::now();
            let Computed { stored: value, cpu } =
                computation.await.map_err(|reason| SourceError::Failed { key, reason })?;
            let took = started.elapsed();
            this.0.took.add(took);
            this.0.cpu.add(cpu);
            Ok(Made { value, took, cpu })
        }
        .boxed()
    }

    fn class_name(&self, _: Class) -> &'static str {
        "computed"
    }

    fn forecast(&self, keys: &[Key]) -> Option<Forecast> {
        let (took, count) = (self.0.took.get(), keys.len() as f64);
        let response = took.as_secs_f64();
        let forecast = Forecast { response, run: response * count, cpu: self.0.cpu.get().as_secs_f64() * count };
        (!took.is_zero()).then_some(forecast)
    }
}
