//! Stops asking a tier that keeps failing, and asks again later.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{
            AtomicBool, AtomicU8,
            Ordering::{AcqRel, Relaxed, Release},
        },
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
    machine: StateMachine<Policy, Watch>,
    state: Arc<AtomicU8>,
    /// When it last opened or closed; to be half-open is to be open still.
    since: Arc<Mutex<Instant>>,
    /// One call at a time finds out whether the tier is back; else a burst of callers would each wait for its timeout.
    probing: AtomicBool,
}

type Policy = OrElse<ConsecutiveFailures<Pauses>, SuccessRateOverTimeWindow<Pauses>>;

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
struct Pauses(Duration);

impl Iterator for Pauses {
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
        let pause = || Pauses(FIRST_PAUSE);
        let policy = failure_policy::consecutive_failures(FAILURES, pause()).or_else(
            failure_policy::success_rate_over_time_window(SUCCESS_RATE, SUCCESS_CALLS, SUCCESS_WINDOW, pause()),
        );
        let state = Arc::new(AtomicU8::new(CircuitState::Closed as u8));
        let since = Arc::new(Mutex::new(Instant::now()));
        let watch = Watch { name, state: state.clone(), since: since.clone() };
        Self { machine: StateMachine::new(policy, watch), state, since, probing: AtomicBool::new(false) }
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
        *self.since.lock()
    }

    /// Opens it, as if the tier had failed until it opened.
    pub fn trip(&self) {
        while self.state() != CircuitState::Open {
            self.machine.on_error();
        }
    }

    /// What `work` comes to, while it is let.
    pub(crate) async fn guard<A>(&self, work: impl Future<Output = Result<A, TierError>>) -> Result<A, TierError> {
        let Some(permit) = self.permit() else { return Err(refused("guard")) };
        let result = work.await;
        permit.report(&result);
        result
    }

    fn permit(&self) -> Option<Permit<'_>> {
        if !self.machine.is_call_permitted() {
            return None;
        }
        let probe = self.state() == CircuitState::HalfOpen;
        if probe && self.probing.swap(true, AcqRel) {
            return None;
        }
        Some(Permit { circuit: self, probe })
    }
}

/// Leave for one call. A call that is dropped before it ended says nothing about the tier.
struct Permit<'a> {
    circuit: &'a Circuit,
    probe: bool,
}

impl Permit<'_> {
    fn report<A>(self, result: &Result<A, TierError>) {
        match result {
            Ok(_) => self.circuit.machine.on_success(),
            Err(_) => self.circuit.machine.on_error(),
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if self.probe {
            self.circuit.probing.store(false, Release);
        }
    }
}

impl fmt::Debug for Circuit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Circuit").field("state", &self.state()).finish_non_exhaustive()
    }
}

/// Keeps the state where metrics and reports can read it without the machine's lock.
struct Watch {
    name: &'static str,
    state: Arc<AtomicU8>,
    since: Arc<Mutex<Instant>>,
}

impl Instrument for Watch {
    fn on_call_rejected(&self) {}

    fn on_open(&self) {
        let before = self.state.swap(CircuitState::Open as u8, Relaxed);
        if before == CircuitState::Closed as u8 {
            *self.since.lock() = Instant::now();
        }
        warn!(tier = self.name, "the tier keeps failing; going on without it");
    }

    fn on_half_open(&self) {
        self.state.store(CircuitState::HalfOpen as u8, Relaxed);
    }

    fn on_closed(&self) {
        let before = self.state.swap(CircuitState::Closed as u8, Relaxed);
        if before != CircuitState::Closed as u8 {
            *self.since.lock() = Instant::now();
            info!(tier = self.name, "the tier is back");
        }
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

    /// A tier that takes no writes (a full disk, a replica, a server out of memory) has answered, and may still be read: its
    /// refusal says nothing for or against it. Nor does a write that takes too long, since it may be large; nor, of a tier
    /// that has to be waited for, one that succeeds, since it had longer than a reader has.
    fn put_many<'a>(&'a self, entries: &'a [(Key, Bytes)]) -> Answer<'a, ()> {
        let Some(permit) = self.circuit.permit() else { return Answer::Now(Err(refused(self.inner.name()))) };
        let waits = self.inner.waits();
        self.inner.put_many(entries).inspect(move |result| {
            let says_nothing = match result {
                Ok(()) => waits,
                Err(error) => matches!(error.kind(), TierErrorKind::Refused | TierErrorKind::Timeout),
            };
            if !says_nothing {
                permit.report(result);
            }
        })
    }

    fn batch_bytes(&self) -> usize {
        self.inner.batch_bytes()
    }

    fn remove_many<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, ()> {
        self.guarded(move |tier| tier.remove_many(keys))
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
