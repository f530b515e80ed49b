//! A circuit breaker around a tier: it stops requests to a tier that keeps failing and probes it later. A panic of the
//! tier is a failure too.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use failsafe::{
    FailurePolicy, Instrument, StateMachine,
    failure_policy::{self, ConsecutiveFailures, OrElse, SuccessRateOverTimeWindow},
};
use futures_util::FutureExt;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tracing::{info, warn};

use super::{Layer, Operation, Reply};
use crate::tier::{Answer, Tier, TierError, TierErrorKind};

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
    /// A copy of the state for readers without the lock. It changes only under the lock.
    state: Arc<AtomicU8>,
    /// Notified when the circuit opens and when a probe ends, for [`probe_due`](Self::probe_due).
    changed: Notify,
}

/// The state under the lock.
struct Inner {
    machine: StateMachine<Policy, StateMirror>,
    pause: Arc<AtomicU64>,
    /// When the pause of an open circuit ends.
    paused_until: Instant,
    /// When the circuit last opened or closed. Half-open counts as open.
    since: Instant,
    /// The call that probes a half-open circuit. One at a time: otherwise each of many callers would wait for the
    /// timeout.
    probe: Option<Probe>,
    probes: u64,
}

/// Identifies a probe, since an earlier one may still be running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Probe(u64);

/// When the circuit opens. Remembers the last pause, which the state machine does not tell.
struct Policy {
    failures: OrElse<ConsecutiveFailures<Backoff>, SuccessRateOverTimeWindow<Backoff>>,
    /// In nanoseconds.
    pause: Arc<AtomicU64>,
}

impl FailurePolicy for Policy {
    fn record_success(&mut self) {
        self.failures.record_success();
    }

    fn mark_dead_on_failure(&mut self) -> Option<Duration> {
        self.failures.mark_dead_on_failure().inspect(|pause| self.pause.store(pause.as_nanos() as u64, Relaxed))
    }

    fn revived(&mut self) {
        self.failures.revived();
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

/// Consecutive failures that open the circuit.
const FAILURES: u32 = 5;

/// The circuit also opens below this success rate over the window, once the window has enough calls.
const SUCCESS_RATE: f64 = 0.5;
const SUCCESS_CALLS: u32 = 20;
const SUCCESS_WINDOW: Duration = Duration::from_secs(10);

/// How long the circuit stays open at first. The time doubles with each consecutive opening, up to the limit.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(16);

/// The sequence of pauses, doubling up to [`LONGEST_PAUSE`].
#[derive(Debug, Clone)]
struct Backoff(Duration);

impl Iterator for Backoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let pause = self.0;
        self.0 = (2 * pause).min(LONGEST_PAUSE);
        Some(pause)
    }
}

impl Circuit {
    /// A closed circuit for the tier `name`.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        let backoff = || Backoff(FIRST_PAUSE);
        let failures = failure_policy::consecutive_failures(FAILURES, backoff()).or_else(
            failure_policy::success_rate_over_time_window(SUCCESS_RATE, SUCCESS_CALLS, SUCCESS_WINDOW, backoff()),
        );
        let (pause, now) = (Arc::<AtomicU64>::default(), Instant::now());
        let state = Arc::new(AtomicU8::new(CircuitState::Closed as u8));
        let machine = StateMachine::new(Policy { failures, pause: pause.clone() }, StateMirror(state.clone()));
        let inner = Inner { machine, pause, paused_until: now, since: now, probe: None, probes: 0 };
        Self { name, inner: Mutex::new(inner), state, changed: Notify::new() }
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
        self.transition(error.as_ref(), |inner| match error {
            None => inner.machine.on_success(),
            Some(_) => inner.machine.on_error(),
        });
    }

    fn permit(&self) -> Option<Permit<'_>> {
        let probe = self.transition(None, |inner| {
            if !inner.machine.is_call_permitted() {
                return None;
            }
            if self.state() != CircuitState::HalfOpen {
                return Some(None);
            }
            if inner.probe.is_some() {
                return None;
            }
            inner.probes += 1;
            inner.probe = Some(Probe(inner.probes));
            Some(inner.probe)
        })?;
        Some(Permit { circuit: self, probe })
    }

    /// Runs `step` and updates everything that depends on the state under one lock. The state machine reports a change
    /// only after it has released its own lock, when another call may have changed it again. `error`: the failure that
    /// `step` records, for the log.
    fn transition<A>(&self, error: Option<&TierError>, step: impl FnOnce(&mut Inner) -> A) -> A {
        let mut inner = self.inner.lock();
        let before = self.state();
        let result = step(&mut inner);
        let after = self.state();
        if after != CircuitState::HalfOpen {
            inner.probe = None;
        }
        if after == CircuitState::Open && before != after {
            inner.paused_until = Instant::now() + Duration::from_nanos(inner.pause.load(Relaxed));
            self.changed.notify_one();
        }
        if (before == CircuitState::Closed) != (after == CircuitState::Closed) {
            inner.since = Instant::now();
        }
        drop(inner);
        match after {
            CircuitState::Open if before != after => {
                warn!(tier = self.name, error = error.map(display), "the tier keeps failing; going on without it");
            }
            CircuitState::Closed if before != after => info!(tier = self.name, "the tier is back"),
            _ => {}
        }
        result
    }
}

/// Permission for one call. A call that is dropped before its end is not recorded.
struct Permit<'a> {
    circuit: &'a Circuit,
    probe: Option<Probe>,
}

impl Permit<'_> {
    fn report<A>(self, result: &Result<A, TierError>) {
        self.circuit.transition(result.as_ref().err(), |inner| match result {
            Ok(_) => inner.machine.on_success(),
            Err(_) => inner.machine.on_error(),
        });
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if self.probe.is_some() {
            self.circuit.transition(None, |inner| {
                if inner.probe == self.probe {
                    inner.probe = None;
                }
            });
            self.circuit.changed.notify_one();
        }
    }
}

impl fmt::Debug for Circuit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Circuit").field("state", &self.state()).finish_non_exhaustive()
    }
}

/// Copies the state of the machine to where it can be read without a lock.
struct StateMirror(Arc<AtomicU8>);

impl StateMirror {
    fn set(&self, state: CircuitState) {
        self.0.store(state as u8, Relaxed);
    }
}

impl Instrument for StateMirror {
    fn on_call_rejected(&self) {}

    fn on_open(&self) {
        self.set(CircuitState::Open);
    }

    fn on_half_open(&self) {
        self.set(CircuitState::HalfOpen);
    }

    fn on_closed(&self) {
        self.set(CircuitState::Closed);
    }
}

fn refused(action: &'static str) -> TierError {
    TierError::new(TierErrorKind::Open, action, "its circuit breaker is open")
}

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
            Operation::Get | Operation::GetMany(_) | Operation::Contains => false,
            Operation::PutMany | Operation::RemoveMany | Operation::RemoveMatching => true,
            Operation::Flush => return catch_panic(operation, || call(&self.inner)),
        };
        let Some(permit) = self.circuit.permit() else { return Answer::Now(Err(refused(self.inner.name()))) };
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
                permit.report(result);
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
