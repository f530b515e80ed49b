//! Leases: of several servers that miss a value at once, one generates it and the others wait for a bounded time.
//! [`MissLookup`](super::miss_lookup::MissLookup) uses them for keys that the shared tier missed.
//!
//! A lease is advisory. Values are immutable and follow from their keys, so a server without a lease, or with an
//! expired one, writes the same bytes. A lost lease costs work, never a value.

use std::{
    convert::Infallible,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use parking_lot::Mutex;
use prometheus::{IntCounter, IntCounterVec};
use tokio::runtime::Handle;

use crate::{
    config::Lease,
    key::Key,
    layers::Circuit,
    lease_store::{Claim, LeaseStore, Token},
    policy::CpuCost,
    producer::{GenerateResult, Producer},
    sampler::{Draw, Sampler},
    source::GenerationRequest,
};

/// The leases of one chain. `tier` is the index of the lower tier that servers share.
#[derive(Debug)]
pub(crate) struct Leases {
    pub(crate) tier: usize,
    mode: Lease,
    store: Arc<dyn LeaseStore>,
    circuit: Arc<Circuit>,
    runtime: Handle,
    /// Recent share of leases whose value another server was generating or had generated.
    found_ratio: Mutex<f64>,
    counts: Counts,
}

/// `floors_leases_total{outcome}`: keys by the outcome of their lease.
#[derive(Debug)]
struct Counts {
    taken: IntCounter,
    found: IntCounter,
    overdue: IntCounter,
    failed: IntCounter,
}

/// Initial value of the found ratio, the weight of a new sample, and its lower bound. The bound keeps a benefit for
/// other servers: the first server to take a lease finds no other. It makes a miss at most a sixteenth slower if no
/// other server wants the value.
const FIRST_FOUND_RATIO: f64 = 0.5;
const FOUND_RATIO_WEIGHT: f64 = 1.0 / 32.0;
const LEAST_FOUND_RATIO: f64 = 1.0 / 16.0;

/// One in 64 values that are not worth a lease takes one, to measure the ratio.
const SAMPLED: Sampler = Sampler::one_in(64);

/// Bounds of the duration of a lease, which is the predicted response time of generating the value. The lease is renewed while the value is
/// generated. The lower bound allows for a busy server that renews late; the upper bound limits the wait for a server
/// that died.
const SHORTEST: Duration = Duration::from_millis(25);
const LONGEST: Duration = Duration::from_secs(1);

/// A lease is renewed after a third of its duration, so that one renewal may be lost.
const RENEWAL_DIVISOR: u32 = 3;

/// A server waits for another's lease at most this many times the lease duration.
const MAX_WAIT_FACTOR: u32 = 2;

/// The first poll is after an eighth of the generation cost. The pause then doubles up to a quarter of the lease
/// duration.
const FIRST_PAUSE_DIVISOR: u32 = 8;
const LAST_PAUSE_DIVISOR: u32 = 4;

/// The resolution of tokio's timer.
const TIMER_STEP: Duration = Duration::from_millis(1);

/// The outcome of acquiring a lease.
enum LeaseOutcome {
    /// This server holds the lease and generates the value.
    Acquired(LeaseGuard),
    /// Another server has generated the value.
    Found(Bytes),
    /// This server generates without a lease: the holder takes too long, or the lease store failed.
    Unleased,
}

/// The outcome of [`Leases::generate_once`].
pub(crate) enum Leased {
    /// Another server generated the value.
    Found(Bytes),
    /// This server generated the value. A lease that it holds must be kept until the value is stored.
    Generated(GenerateResult, Option<LeaseGuard>),
}

impl Leases {
    pub(crate) fn new(
        tier: usize,
        mode: Lease,
        store: Arc<dyn LeaseStore>,
        runtime: Handle,
        totals: &IntCounterVec,
    ) -> Self {
        let count = |outcome| totals.with_label_values(&[outcome]);
        Self {
            tier,
            mode,
            store,
            circuit: Arc::new(Circuit::new("redis leases")),
            runtime,
            found_ratio: Mutex::new(FIRST_FOUND_RATIO),
            counts: Counts {
                taken: count("taken"),
                found: count("found"),
                overdue: count("overdue"),
                failed: count("failed"),
            },
        }
    }

    /// Whether `key` is worth a lease. A lease costs a query and saves a generation if another server has started or
    /// finished it. `costs` returns the seconds of a query and the price of CPU time.
    pub(crate) fn is_worthwhile(&self, producer: &Producer, key: &Key, costs: impl FnOnce() -> (f64, CpuCost)) -> bool {
        match self.mode {
            Lease::On => return true,
            Lease::Off => return false,
            Lease::Auto => {}
        }
        let Some(generation) = producer.forecast(&[*key]) else { return false };
        let (query, cpu) = costs();
        let cost = query + cpu.price * cpu.overhead;
        let found_ratio = self.found_ratio.lock().max(LEAST_FOUND_RATIO);
        let saved = found_ratio * (generation.response + cpu.price * (generation.cpu + cpu.overhead));
        saved > cost || SAMPLED.picks(Draw::next())
    }

    fn learn(&self, found: bool) {
        let mut ratio = self.found_ratio.lock();
        *ratio += FOUND_RATIO_WEIGHT * (f64::from(u8::from(found)) - *ratio);
    }

    /// Generates a value under a lease, or waits for another server to do so.
    pub(crate) async fn generate_once(&self, producer: &Producer, request: GenerationRequest) -> Leased {
        match self.acquire(producer, &request.key).await {
            LeaseOutcome::Found(value) => Leased::Found(value),
            LeaseOutcome::Unleased => Leased::Generated(producer.generate(request).await, None),
            LeaseOutcome::Acquired(guard) => {
                let made = tokio::select! {
                    made = producer.generate(request) => made,
                    never = guard.renew() => match never {},
                };
                let guard = made.is_ok().then_some(guard);
                Leased::Generated(made, guard)
            }
        }
    }

    /// Acquires the lease of `key`, or waits until the value exists or the wait is too long.
    async fn acquire(&self, producer: &Producer, key: &Key) -> LeaseOutcome {
        let cost = Duration::from_secs_f64(producer.forecast(&[*key]).map_or(0.0, |forecast| forecast.response));
        let expiry = cost.clamp(SHORTEST, LONGEST);
        let token = self.store.token();
        let started = Instant::now();
        let mut holder: Option<(Token, Instant)> = None;
        let mut pause = (expiry.min(cost) / FIRST_PAUSE_DIVISOR).max(TIMER_STEP);
        loop {
            match self.circuit.guard(self.store.claim(key, token, expiry)).await {
                Ok(Claim::Acquired) => {
                    self.learn(holder.is_some());
                    self.counts.taken.inc();
                    let (store, circuit, runtime) = (self.store.clone(), self.circuit.clone(), self.runtime.clone());
                    return LeaseOutcome::Acquired(LeaseGuard {
                        store,
                        circuit,
                        runtime,
                        key: *key,
                        token,
                        expiry,
                        released: false,
                    });
                }
                Ok(Claim::Value(value)) => {
                    self.learn(true);
                    self.counts.found.inc();
                    return LeaseOutcome::Found(value);
                }
                Ok(Claim::Unusable) => {
                    self.counts.failed.inc();
                    return LeaseOutcome::Unleased;
                }
                Ok(Claim::HeldByOther(token)) => {
                    // A new holder restarts the wait: the previous one died or let its lease expire.
                    let since = match holder {
                        Some((known, since)) if known == token => since,
                        _ => Instant::now(),
                    };
                    holder = Some((token, since));
                    let max_wait = MAX_WAIT_FACTOR * expiry;
                    if since.elapsed() >= max_wait || started.elapsed() >= MAX_WAIT_FACTOR * LONGEST {
                        self.counts.overdue.inc();
                        return LeaseOutcome::Unleased;
                    }
                }
                Err(error) => {
                    tracing::debug!(%key, %error, "no lease could be taken; generating without one");
                    self.counts.failed.inc();
                    return LeaseOutcome::Unleased;
                }
            }
            tokio::time::sleep(pause).await;
            pause = (2 * pause).min(expiry / LAST_PAUSE_DIVISOR);
        }
    }
}

/// A lease held by this server. Dropping it releases the lease, unless a value has replaced it.
pub(crate) struct LeaseGuard {
    store: Arc<dyn LeaseStore>,
    circuit: Arc<Circuit>,
    runtime: Handle,
    key: Key,
    token: Token,
    expiry: Duration,
    released: bool,
}

impl LeaseGuard {
    /// Renews the lease while this is polled, until another server holds it.
    ///
    /// Each renewal is a spawned task, because a request that is dropped before its reply closes the connection, which
    /// readers share.
    async fn renew(&self) -> Infallible {
        loop {
            tokio::time::sleep(self.expiry / RENEWAL_DIVISOR).await;
            let (store, circuit) = (self.store.clone(), self.circuit.clone());
            let (key, token, expiry) = (self.key, self.token, self.expiry);
            let renewal = async move { circuit.guard(store.renew(&key, token, expiry)).await };
            if let Ok(Ok(false)) = self.runtime.spawn(renewal).await {
                return std::future::pending().await;
            }
        }
    }

    /// Renews the lease in the background until the write of the value is done. If the tier stored the value, the value
    /// has replaced the lease. Otherwise the lease is released.
    pub(crate) fn keep_until(self, written: impl Future<Output = bool> + Send + 'static) {
        self.runtime.clone().spawn(async move {
            let is_taken = tokio::select! {
                is_taken = written => is_taken,
                never = self.renew() => match never {},
            };
            if is_taken {
                self.disarm();
            }
        });
    }

    /// The stored value has replaced the lease, so there is nothing to release.
    fn disarm(mut self) {
        self.released = true;
    }
}

impl Drop for LeaseGuard {
    fn drop(&mut self) {
        if self.released {
            return;
        }
        let (store, key, token) = (self.store.clone(), self.key, self.token);
        self.runtime.spawn(async move {
            if let Err(error) = store.release(&key, token).await {
                tracing::debug!(%key, %error, "a lease could not be released; it will expire");
            }
        });
    }
}
