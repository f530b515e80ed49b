//! Stops asking a tier that keeps failing, and asks again later.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use failsafe::FailurePolicy as _;
use failsafe::{
    Instrument, StateMachine,
    failure_policy::{self, ConsecutiveFailures, OrElse, SuccessRateOverTimeWindow},
};
use parking_lot::Mutex;
use tracing::{info, warn};

use crate::{
    key::Key,
    tier::{Answer, Tier, TierError, TierErrorKind, TierStats},
};

/// A tier behind a circuit breaker: while that is open, every answer is [`TierErrorKind::Open`], at once.
#[derive(Debug)]
pub struct Breaker<T> {
    inner: T,
    circuit: Arc<Circuit>,
}

impl<T> Breaker<T> {
    /// Asks `inner` while `circuit` lets it.
    pub const fn new(inner: T, circuit: Arc<Circuit>) -> Self {
        Self { inner, circuit }
    }
}

/// Whether a tier may be asked.
pub struct Circuit {
    name: &'static str,
    inner: Mutex<Inner>,
    /// What the switch does, for those who only look. It changes under the switch's lock alone.
    state: Arc<AtomicU8>,
}

/// What changes together.
struct Inner {
    machine: StateMachine<Policy, StateMirror>,
    /// When it last opened or closed; to be half-open is to be open still.
    since: Instant,
    /// One call at a time finds out whether the tier is back; else a burst of callers would each wait for its timeout.
    probe: Option<Probe>,
    probes: u64,
    /// It does not even try before then.
    held_until: Option<Instant>,
}

/// Tells the call that finds out from one of an earlier time that has not ended yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Probe(u64);

type Policy = OrElse<ConsecutiveFailures<Backoff>, SuccessRateOverTimeWindow<Backoff>>;

/// What a [`Circuit`] is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum CircuitState {
    /// Every call goes through.
    Closed = 0,
    /// One call at a time goes through, to see.
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

/// So many failures in a row open the circuit.
const FAILURES: u32 = 5;

/// So does a share of successes below this, over the window, once there were enough calls to say.
const SUCCESS_RATE: f64 = 0.5;
const SUCCESS_CALLS: u32 = 20;
const SUCCESS_WINDOW: Duration = Duration::from_secs(10);

/// How long it stays open the first time; each further time in a row it stays open twice as long, up to a limit.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(16);

/// The lengths of the pauses.
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
        let pause = || Backoff(FIRST_PAUSE);
        let policy = failure_policy::consecutive_failures(FAILURES, pause()).or_else(
            failure_policy::success_rate_over_time_window(SUCCESS_RATE, SUCCESS_CALLS, SUCCESS_WINDOW, pause()),
        );
        let state = Arc::new(AtomicU8::new(CircuitState::Closed as u8));
        let machine = StateMachine::new(policy, StateMirror(state.clone()));
        let inner = Inner { machine, since: Instant::now(), probe: None, probes: 0, held_until: None };
        Self { name, inner: Mutex::new(inner), state }
    }

    /// What it is doing.
    #[must_use]
    pub fn state(&self) -> CircuitState {
        match self.state.load(Relaxed) {
            0 => CircuitState::Closed,
            1 => CircuitState::HalfOpen,
            _ => CircuitState::Open,
        }
    }

    /// When it last opened after having been closed, or closed again.
    #[must_use]
    pub fn since(&self) -> Instant {
        self.inner.lock().since
    }

    /// Opens it, as if the tier had failed until it opened, and for `pause` at the least.
    pub fn trip(&self, pause: Duration) {
        self.transition(|inner| {
            for _ in 0..FAILURES {
                if self.state() != CircuitState::Open {
                    inner.machine.on_error();
                }
            }
            inner.held_until = Some(Instant::now() + pause);
        });
    }

    /// What `work` comes to, while it is let.
    pub(crate) async fn guard<A>(&self, work: impl Future<Output = Result<A, TierError>>) -> Result<A, TierError> {
        let Some(permit) = self.permit() else { return Err(refused("guard")) };
        let result = work.await;
        permit.report(&result);
        result
    }

    fn permit(&self) -> Option<Permit<'_>> {
        let probe = self.transition(|inner| {
            if inner.held_until.is_some_and(|until| Instant::now() < until) {
                return None;
            }
            inner.held_until = None;
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

    /// Takes a step, and all that follows from it, before anyone else takes one: the machine tells of a change only after it
    /// has let go of its own lock, when another call may have gone further already.
    fn transition<A>(&self, step: impl FnOnce(&mut Inner) -> A) -> A {
        let mut inner = self.inner.lock();
        let before = self.state();
        let result = step(&mut inner);
        let after = self.state();
        if after != CircuitState::HalfOpen {
            inner.probe = None;
        }
        if (before == CircuitState::Closed) != (after == CircuitState::Closed) {
            inner.since = Instant::now();
        }
        drop(inner);
        match after {
            CircuitState::Open if before != after => {
                warn!(tier = self.name, "the tier keeps failing; going on without it");
            }
            CircuitState::Closed if before != after => info!(tier = self.name, "the tier is back"),
            _ => {}
        }
        result
    }
}

/// Leave for one call. A call that is dropped before it ended says nothing about the tier.
struct Permit<'a> {
    circuit: &'a Circuit,
    probe: Option<Probe>,
}

impl Permit<'_> {
    fn report<A>(self, result: &Result<A, TierError>) {
        self.circuit.transition(|inner| match result {
            Ok(_) => inner.machine.on_success(),
            Err(_) => inner.machine.on_error(),
        });
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if self.probe.is_some() {
            self.circuit.transition(|inner| {
                if inner.probe == self.probe {
                    inner.probe = None;
                }
            });
        }
    }
}

impl fmt::Debug for Circuit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Circuit").field("state", &self.state()).finish_non_exhaustive()
    }
}

/// Keeps the state where metrics and reports can read it without a lock.
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
    TierError::new(TierErrorKind::Open, action, "it failed too often of late")
}

impl<T: Tier> Breaker<T> {
    fn guarded<'a, A: Send + 'a>(&'a self, ask: impl FnOnce(&'a T) -> Answer<'a, A>) -> Answer<'a, A> {
        match self.circuit.permit() {
            Some(permit) => ask(&self.inner).inspect(move |result| permit.report(result)),
            None => Answer::Now(Err(refused(self.inner.name()))),
        }
    }

    /// The same for what changes the tier. One that takes no changes (a full disk, a replica, a server out of memory) has
    /// answered, and may still be read: its refusal says nothing for or against it. Nor does a change that takes too long, since
    /// it may be large; nor, of a tier that has to be waited for, one that succeeds, since it had longer than a reader has.
    fn guarded_change<'a>(&'a self, change: impl FnOnce(&'a T) -> Answer<'a, ()>) -> Answer<'a, ()> {
        let Some(permit) = self.circuit.permit() else { return Answer::Now(Err(refused(self.inner.name()))) };
        let waits = self.inner.waits();
        change(&self.inner).inspect(move |result| {
            let is_neutral = match result {
                Ok(()) => waits,
                Err(error) => matches!(error.kind(), TierErrorKind::Refused | TierErrorKind::Timeout),
            };
            if !is_neutral {
                permit.report(result);
            }
        })
    }
}

impl<T: Tier> Tier for Breaker<T> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn waits(&self) -> bool {
        self.inner.waits()
    }

    fn get<'a>(&'a self, key: &'a Key) -> Answer<'a, Option<Bytes>> {
        self.guarded(move |tier| tier.get(key))
    }

    fn get_many<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, Vec<Option<Bytes>>> {
        self.guarded(move |tier| tier.get_many(keys))
    }

    fn put_many<'a>(&'a self, entries: &'a [(Key, Bytes)]) -> Answer<'a, ()> {
        self.guarded_change(move |tier| tier.put_many(entries))
    }

    fn batch_bytes(&self) -> usize {
        self.inner.batch_bytes()
    }

    fn remove_many<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, ()> {
        self.guarded_change(move |tier| tier.remove_many(keys))
    }

    fn contains<'a>(&'a self, key: &'a Key) -> Answer<'a, bool> {
        self.guarded(move |tier| tier.contains(key))
    }

    fn stats(&self) -> TierStats {
        self.inner.stats()
    }

    fn flush(&self) -> Answer<'_, ()> {
        self.inner.flush()
    }

    fn compact(&self) -> Answer<'_, ()> {
        self.inner.compact()
    }
}
