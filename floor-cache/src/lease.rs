//! One server makes what several miss at once: the others wait for it a little, and no longer.
//!
//! A lease is advice. Values are immutable and follow from their keys, so whoever makes one without a lease, or writes one
//! after its lease has gone to another, writes the same bytes: what is lost is work, never a value.

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
    breaker::Circuit,
    chain_inner::ChainInner,
    config::Lease,
    flight::{Found, Leader},
    key::{Class, Key},
    metered::Mean,
    miss_lookup,
    purge::PurgeEpoch,
    sampler::{Draw, Sampler},
    served::{Outcome, Step},
    source::Priority,
    tiers::redis::{Claim, RedisLeases, Token},
};

/// The leases of the values that the lower tier at `tier` shares with other servers.
#[derive(Debug)]
pub(crate) struct Leases {
    pub(crate) tier: usize,
    mode: Lease,
    store: Arc<RedisLeases>,
    circuit: Arc<Circuit>,
    /// How long a value takes here from the wish to the value, waiting for a turn included, by class.
    turnaround: [Mean; Class::COUNT],
    /// The share of leases, of late, that were wanted for what another server was generating or had generated.
    found_ratio: Mutex<f64>,
    counts: Counts,
}

/// What became of the keys that a lease was wanted for: `floors_leases_total{outcome}`.
#[derive(Debug)]
struct Counts {
    taken: IntCounter,
    found: IntCounter,
    overdue: IntCounter,
    failed: IntCounter,
}

/// The share of leases for what another server generates too is taken to be this before one was wanted. It is taken to be no less than the least: the first server to want a lease finds no other,
/// and the others profit. So a lease that nobody else wants makes a miss a sixteenth slower at the most.
const FIRST_FOUND_RATIO: f64 = 0.5;
const FOUND_WEIGHT: f64 = 1.0 / 32.0;
const LEAST_FOUND_RATIO: f64 = 1.0 / 16.0;

/// Of the values that are not worth a lease, one in this many takes one, to learn whether that has changed.
const SAMPLED: Sampler = Sampler::one_in(64);

/// A lease lasts as long as making a value does, waiting for a turn included, within these bounds, and is renewed while the
/// value is being made. So however many values wait here, each is renewed a few times. At the least: what a busy server may be late in renewing. At the most: how long a server that died is waited for.
const SHORTEST: Duration = Duration::from_millis(25);
const LONGEST: Duration = Duration::from_secs(1);

/// A lease is renewed when a third of it is over, so that one renewal may be lost.
const RENEWAL_DIVISOR: u32 = 3;

/// Another's lease is waited for so many times as long as the value would take here.
const MAX_WAIT_FACTOR: u32 = 2;

/// Who has the key is asked again after an eighth of what the value costs, then half as often each time, but four times
/// in the life of a lease.
const FIRST_PAUSE_DIVISOR: u32 = 8;
const LAST_PAUSE_DIVISOR: u32 = 4;

/// What the timer counts in.
const TIMER_STEP: Duration = Duration::from_millis(1);

/// Whose turn it is to make a value.
enum LeaseOutcome {
    /// Ours.
    Acquired(LeaseGuard),
    /// Nobody's any more.
    Found(Bytes),
    /// Ours all the same: the other takes too long, or it cannot be found out.
    Unleased,
}

impl Leases {
    pub(crate) fn new(tier: usize, mode: Lease, store: RedisLeases, totals: &IntCounterVec) -> Self {
        let count = |outcome| totals.with_label_values(&[outcome]);
        Self {
            tier,
            mode,
            store: Arc::new(store),
            circuit: Arc::new(Circuit::new("redis leases")),
            turnaround: Default::default(),
            found_ratio: Mutex::new(FIRST_FOUND_RATIO),
            counts: Counts {
                taken: count("taken"),
                found: count("found"),
                overdue: count("overdue"),
                failed: count("failed"),
            },
        }
    }

    /// Whether the value of `key`, which is about to be generated, is worth a lease: taking one costs a question, and spares a
    /// generation when another server has begun or finished it.
    pub(crate) fn is_worthwhile(&self, inner: &ChainInner, key: &Key) -> bool {
        match self.mode {
            Lease::On => return true,
            Lease::Off => return false,
            Lease::Auto => {}
        }
        let Some(generation) = inner.forecast([key].into_iter()) else { return false };
        let query = inner.lower[self.tier].policy.query_seconds().unwrap_or_default();
        let cpu = inner.cpu_cost(Instant::now());
        let cost = query + cpu.price * cpu.overhead;
        let found_ratio = self.found_ratio.lock().max(LEAST_FOUND_RATIO);
        let saved = found_ratio * (generation.response + cpu.price * (generation.cpu + cpu.overhead));
        saved > cost || SAMPLED.picks(Draw::next())
    }

    fn learn(&self, found: bool) {
        let mut ratio = self.found_ratio.lock();
        *ratio += FOUND_WEIGHT * (f64::from(u8::from(found)) - *ratio);
    }

    /// Has the value of `leader` made here or elsewhere, and lands it. One that was made elsewhere was found: it is not kept
    /// when there was a purge since `epoch`.
    pub(crate) async fn generate_once(
        &self,
        inner: &ChainInner,
        mut leader: Leader,
        steps: &[Step],
        priority: Priority,
        epoch: PurgeEpoch,
    ) {
        let key = *leader.key();
        let started = Instant::now();
        let (made, guard) = match self.acquire(inner, &key).await {
            LeaseOutcome::Found(value) => {
                if let Some(_permit) = inner.purges.fill_permit(epoch) {
                    inner.promote(leader.hashed(), &value, self.tier);
                }
                let by = inner.lower[self.tier].name();
                let step = Step { tier: by, outcome: Outcome::Hit, took: started.elapsed() };
                let steps = steps.iter().copied().chain([step]).collect();
                return leader.complete(Ok(Found { value, by, steps }));
            }
            LeaseOutcome::Unleased => (self.generate(inner, key, priority).await, None),
            LeaseOutcome::Acquired(guard) => {
                let made = tokio::select! {
                    made = self.generate(inner, key, priority) => made,
                    never = guard.renew() => match never {},
                };
                let guard = made.is_ok().then_some(guard);
                (made, guard)
            }
        };
        miss_lookup::complete_with(inner, &mut leader, made, steps);
        if let Some(guard) = guard {
            guard.keep_until(inner.lower[self.tier].writes.written());
        }
    }

    async fn generate(&self, inner: &ChainInner, key: Key, priority: Priority) -> miss_lookup::GenerateResult {
        let started = Instant::now();
        let made = miss_lookup::generate_counted(inner, key, priority).await;
        if made.is_ok() {
            self.turnaround[key.class().index()].add(started.elapsed());
        }
        made
    }

    /// Waits until it is our turn to make the value of `key`, or somebody has made it.
    async fn acquire(&self, inner: &ChainInner, key: &Key) -> LeaseOutcome {
        let cost = Duration::from_secs_f64(inner.forecast([key].into_iter()).map_or(0.0, |forecast| forecast.response));
        let turnaround = self.turnaround[key.class().index()].get();
        let expiry = turnaround.max(cost).clamp(SHORTEST, LONGEST);
        let token = self.store.token();
        let started = Instant::now();
        let mut holder: Option<(Token, Instant)> = None;
        let mut pause = (expiry.min(cost) / FIRST_PAUSE_DIVISOR).max(TIMER_STEP);
        loop {
            match self.circuit.guard(self.store.claim(key, token, expiry)).await {
                Ok(Claim::Acquired) => {
                    self.learn(holder.is_some());
                    self.counts.taken.inc();
                    let (store, circuit, runtime) = (self.store.clone(), self.circuit.clone(), inner.runtime.clone());
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
                    // Another holder is another wait: the one before has died, or was too slow for its own lease.
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
                    tracing::debug!(%key, %error, "no lease could be taken; going on without");
                    self.counts.failed.inc();
                    return LeaseOutcome::Unleased;
                }
            }
            tokio::time::sleep(pause).await;
            pause = (2 * pause).min(expiry / LAST_PAUSE_DIVISOR);
        }
    }
}

/// A lease that is ours. Dropped while the value is not made, it is given up, so that the next server need not wait for its
/// end.
struct LeaseGuard {
    store: Arc<RedisLeases>,
    circuit: Arc<Circuit>,
    runtime: Handle,
    key: Key,
    token: Token,
    expiry: Duration,
    released: bool,
}

impl LeaseGuard {
    /// Keeps the lease for as long as this is polled, or until it is found to be another's.
    ///
    /// Each renewal is a task of its own, which comes to its end: one that was given up half-way would hang up the connection,
    /// which readers share.
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

    /// Keeps the lease until the value, which is made, is `written` over it, which takes as long as the queue of writes. A
    /// value that the tier does not take leaves the lease to be given up, one that was dropped leaves it to end.
    fn keep_until(self, written: impl Future<Output = bool> + Send + 'static) {
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

    /// The value lies over the lease.
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
                tracing::debug!(%key, %error, "a lease was not released; it will end by itself");
            }
        });
    }
}
