//! A circuit breaker around a tier: it stops requests to a tier that keeps failing and probes it later. A panic of the
//! tier is a failure too.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use futures_util::FutureExt;
use tokio::sync::Notify;
use tracing::{info, warn};

use super::{Layer, Operation, Reply};
use crate::{
    sync::Mutex,
    tier::{Answer, Tier, TierError, TierErrorKind},
};

/// A tier behind a circuit breaker. While the breaker is open, every answer is [`TierErrorKind::Open`] at once.
///
/// A panic becomes an error: a bug in a store or its library costs the chain that tier, not the call. A panic can leave
/// only the tier's own state inconsistent, since nothing is shared with it.
#[derive(Debug)]
pub struct Breaker<T> {
    inner: T,
    circuit: Arc<Circuit>,
}

impl<T> Breaker<T> {
    /// Asks `inner` while `circuit` permits it.
    pub const fn new(inner: T, circuit: Arc<Circuit>) -> Self {
        Self { inner, circuit }
    }
}

/// The state of a breaker, shared with metrics and reports.
pub struct Circuit {
    name: &'static str,
    inner: Mutex<Inner>,
    /// A [`CircuitState`], for readers without the lock. It changes only under the lock.
    state: AtomicU8,
    /// Notified when the circuit opens and when a probe ends, for [`probe_due`](Self::probe_due).
    changed: Notify,
}

/// The state under the lock.
struct Inner {
    failures: Failures,
    /// The failures of each kind of lookup: many that succeed do not hide that all of the other kind fail.
    of_lookups: [Failures; 2],
    /// How long the circuit will stay open the next time.
    pause: Duration,
    /// When the pause of an open circuit ends.
    paused_until: Instant,
    /// When the circuit last opened or closed. Half-open counts as open.
    since: Instant,
    /// Why it last opened.
    cause: Option<Arc<str>>,
    /// The kind of lookups whose failures opened it, if those of another kind succeed.
    failing: Option<Lookup>,
    /// The call that probes a half-open circuit. One at a time: otherwise each of many callers would wait for the
    /// timeout.
    probe: Option<Probe>,
    probes: u64,
}

/// Identifies a probe, since an earlier one may still be running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Probe(u64);

/// A lookup of one value, or of several. A tier may fail one kind only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lookup {
    One,
    Several,
}

impl Lookup {
    const fn of(operation: Operation) -> Option<Self> {
        match operation {
            Operation::Get | Operation::GetMany(1) => Some(Self::One),
            Operation::GetMany(_) => Some(Self::Several),
            _ => None,
        }
    }
}

/// The failures of a closed circuit.
struct Failures {
    in_row: u32,
    /// Calls and failures, which count e times less after each [`RATE_WINDOW`].
    calls: f64,
    failed: f64,
    last: Instant,
}

impl Failures {
    const fn none(now: Instant) -> Self {
        Self { in_row: 0, calls: 0.0, failed: 0.0, last: now }
    }

    fn record(&mut self, failed: bool, now: Instant) {
        let kept = (-(now - self.last).div_duration_f64(RATE_WINDOW)).exp();
        let failure = u8::from(failed);
        (self.calls, self.failed, self.last) =
            (self.calls.mul_add(kept, 1.0), self.failed.mul_add(kept, failure.into()), now);
        self.in_row = if failed { self.in_row + 1 } else { 0 };
    }

    fn are_too_many(&self) -> bool {
        self.in_row >= FAILURES || self.calls >= RATE_CALLS && self.failed > FAILURE_RATE * self.calls
    }
}

/// The state of a [`Circuit`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum CircuitState {
    /// Every call goes through.
    Closed = 0,
    /// One call at a time goes through as a probe.
    HalfOpen = 1,
    /// No call goes through.
    Open = 2,
}

impl CircuitState {
    /// Its name in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::HalfOpen => "half-open",
            Self::Open => "open",
        }
    }
}

/// Failures in a row that open the circuit.
const FAILURES: u32 = 5;

/// The circuit also opens above this rate of failures over the window, once the window has so many calls.
const FAILURE_RATE: f64 = 0.5;
const RATE_CALLS: f64 = 20.0;
const RATE_WINDOW: Duration = Duration::from_secs(10);

/// How long the circuit stays open at first. The time doubles with each probe that fails, up to the limit.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(16);

impl Circuit {
    /// A closed circuit for the tier `name`.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        let now = Instant::now();
        let inner = Inner {
            failures: Failures::none(now),
            of_lookups: [Failures::none(now), Failures::none(now)],
            pause: FIRST_PAUSE,
            paused_until: now,
            since: now,
            cause: None,
            failing: None,
            probe: None,
            probes: 0,
        };
        Self {
            name,
            inner: Mutex::new(inner),
            state: AtomicU8::new(CircuitState::Closed as u8),
            changed: Notify::new(),
        }
    }

    /// The current state.
    #[must_use]
    pub fn state(&self) -> CircuitState {
        match self.state.load(Relaxed) {
            0 => CircuitState::Closed,
            1 => CircuitState::HalfOpen,
            _ => CircuitState::Open,
        }
    }

    /// When the circuit last opened or closed.
    #[must_use]
    pub fn since(&self) -> Instant {
        self.inner.lock().since
    }

    /// Completes when the pause of the open circuit has ended and no call probes the tier. For one task.
    pub(crate) async fn probe_due(&self) {
        loop {
            match self.next_probe() {
                Some(due) if due <= Instant::now() => return,
                Some(due) => tokio::time::sleep_until(due.into()).await,
                None => self.changed.notified().await,
            }
        }
    }

    /// When a call may probe the tier. `None` while the circuit is closed or a call probes the tier.
    fn next_probe(&self) -> Option<Instant> {
        let inner = self.inner.lock();
        let may_probe = self.state() != CircuitState::Closed && inner.probe.is_none();
        may_probe.then_some(inner.paused_until)
    }

    /// Records a query to a tier in this process that was answered after `took`. Such a query blocks its thread, so it is
    /// a failure if it took longer than `limit`, the time of generating.
    pub(crate) fn record_local(&self, took: Duration, limit: Duration) {
        let error = (took > limit).then(|| {
            let took = format!("a query took {took:?}, longer than generating");
            TierError::new(TierErrorKind::Timeout, "ask a local tier", took)
        });
        self.record(None, error.as_ref());
    }

    /// Permission for `operation`, or why there is none. If only lookups of one kind fail, nothing else but
    /// a probe of both goes through: its success would say nothing.
    fn permit(&self, operation: Operation) -> Result<Permit<'_>, IsOpen> {
        let lookup = Lookup::of(operation);
        if self.state() == CircuitState::Closed {
            return Ok(Permit { circuit: self, lookup, probe: None });
        }
        let mut inner = self.inner.lock();
        let is_other = inner.failing.is_some() && inner.failing != lookup && operation != Operation::Probe;
        if is_other || inner.probe.is_some() || Instant::now() < inner.paused_until {
            return Err(IsOpen(inner.cause.clone()));
        }
        self.set(CircuitState::HalfOpen);
        inner.probes += 1;
        inner.probe = Some(Probe(inner.probes));
        Ok(Permit { circuit: self, lookup, probe: inner.probe })
    }

    /// Records an answer to `lookup`, or the failure `error`. An answer that was asked for before the circuit opened
    /// says as much about the tier as that of a probe; while the circuit is open, it is too old.
    fn record(&self, lookup: Option<Lookup>, error: Option<&TierError>) {
        let mut inner = self.inner.lock();
        match (self.state(), error) {
            (CircuitState::Closed, error) => {
                let now = Instant::now();
                inner.failures.record(error.is_some(), now);
                let of_kind = lookup.map(|lookup| &mut inner.of_lookups[lookup as usize]);
                let is_kind_failing = of_kind.is_some_and(|failures| {
                    failures.record(error.is_some(), now);
                    failures.are_too_many()
                });
                let is_failing = inner.failures.are_too_many();
                if is_failing || is_kind_failing {
                    inner.failing = lookup.filter(|_| !is_failing);
                    self.open(&mut inner, error);
                    inner.since = now;
                }
            }
            (CircuitState::HalfOpen, Some(error)) => self.open(&mut inner, Some(error)),
            (CircuitState::HalfOpen, None) => self.close(&mut inner),
            (CircuitState::Open, _) => {}
        }
    }

    fn open(&self, inner: &mut Inner, error: Option<&TierError>) {
        self.set(CircuitState::Open);
        inner.paused_until = Instant::now() + inner.pause;
        inner.pause = (2 * inner.pause).min(LONGEST_PAUSE);
        inner.probe = None;
        inner.cause = error.map(|error| error.to_string().into());
        self.changed.notify_one();
        warn!(tier = self.name, error = error.map(display), "the tier keeps failing; going on without it");
    }

    fn close(&self, inner: &mut Inner) {
        self.set(CircuitState::Closed);
        let now = Instant::now();
        (inner.failures, inner.pause, inner.since, inner.probe) = (Failures::none(now), FIRST_PAUSE, now, None);
        inner.of_lookups = [Failures::none(now), Failures::none(now)];
        info!(tier = self.name, "the tier is back");
    }

    fn set(&self, state: CircuitState) {
        self.state.store(state as u8, Relaxed);
    }
}

/// Permission for one call. A call that is dropped before its end is not recorded.
struct Permit<'a> {
    circuit: &'a Circuit,
    lookup: Option<Lookup>,
    probe: Option<Probe>,
}

impl Permit<'_> {
    fn report(self, error: Option<&TierError>) {
        self.circuit.record(self.lookup, error);
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if self.probe.is_none() {
            return;
        }
        let mut inner = self.circuit.inner.lock();
        if inner.probe == self.probe {
            inner.probe = None;
            self.circuit.changed.notify_one();
        }
    }
}

impl fmt::Debug for Circuit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Circuit").field("state", &self.state()).finish_non_exhaustive()
    }
}

/// Why a circuit refuses a request: the failure that opened it.
#[derive(Debug, thiserror::Error)]
#[error("its circuit breaker is open; the last failure: {}", .0.as_deref().unwrap_or("none"))]
struct IsOpen(Option<Arc<str>>);

impl<T: Tier> Layer for Breaker<T> {
    type Inner = T;

    fn inner(&self) -> &T {
        &self.inner
    }

    /// Refuses reads and changes while the circuit is open.
    ///
    /// The success of a query to a tier in this process is not recorded here: the lookup knows how long it may take
    /// (`Circuit::record_local`). Of the results of a change, these are not recorded: a success, because changes say
    /// nothing about the time of a query; a refusal (a full disk, a replica, a server out of memory), because the tier may
    /// still be readable; a timeout, because a change may be large.
    fn run<'a, R: Reply>(&'a self, operation: Operation, call: impl FnOnce(&'a T) -> Answer<'a, R>) -> Answer<'a, R> {
        let is_change = match operation {
            Operation::Get | Operation::GetMany(_) | Operation::Contains | Operation::Probe => false,
            Operation::PutMany | Operation::RemoveMany | Operation::RemoveMatching => true,
            Operation::Flush => return catch_panic(operation, || call(&self.inner)),
        };
        let permit = match self.circuit.permit(operation) {
            Ok(permit) => permit,
            Err(is_open) => return Answer::Now(Err(TierError::new(TierErrorKind::Open, self.inner.name(), is_open))),
        };
        let waits = self.inner.waits();
        catch_panic(operation, || call(&self.inner)).inspect(move |result| {
            let is_neutral = match result {
                Ok(_) => is_change || !waits,
                Err(error) => {
                    use TierErrorKind::{Full, Refused, Timeout};
                    is_change && matches!(error.kind(), Full | Refused | Timeout)
                }
            };
            if !is_neutral {
                permit.report(result.as_ref().err());
            }
        })
    }
}

/// The answer that `call` starts. A panic in the call or, if the answer is a future, in its polls becomes an error.
fn catch_panic<'a, R: Reply>(operation: Operation, call: impl FnOnce() -> Answer<'a, R>) -> Answer<'a, R> {
    let panicked = move |_panic| Err(TierError::new(TierErrorKind::Internal, operation.as_str(), "the tier panicked"));
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Answer::Now(result)) => Answer::Now(result),
        Ok(Answer::Later(work)) => {
            Answer::later(async move { AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(panicked) })
        }
        Err(panic) => Answer::Now(panicked(panic)),
    }
}
