//! Quotas: what one caller may use of something in a time, such as the cells that it may have generated. A token may have a
//! rate of its own.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use floor_cache::CallerId;
use floor_proto::limits::MAX_BATCH_CELLS;

/// Callers whose use is remembered. Beyond it, those that are not remembered share one quota.
const MAX_CLIENTS: usize = 65_536;
/// The least time between two removals of callers without use. Each reads all that are remembered.
const REMOVAL_INTERVAL: Duration = Duration::from_secs(1);
/// The caller that stands for all that are not remembered.
const OTHERS: CallerId = CallerId(u64::MAX);

/// What a caller may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quota {
    /// Cells per second; `None` for no limit.
    pub(crate) cells_per_second: Option<u64>,
    /// Cells at once, after a pause.
    pub(crate) burst_cells: u64,
}

impl Quota {
    /// The quota of generation: after a pause, the largest batch at once.
    pub(crate) const fn of_cells(cells_per_second: Option<u64>) -> Self {
        Self { cells_per_second, burst_cells: MAX_BATCH_CELLS }
    }
}

/// The quotas of all callers, by the generic cell rate algorithm (ITU-T I.371): per caller one time, at which its use
/// so far would be paid off.
#[derive(Debug)]
pub(crate) struct Quotas {
    started: Instant,
    state: Mutex<State>,
}

/// Cells that a caller was charged for. They are given back when this is dropped before they are generated.
#[derive(Debug)]
pub(crate) struct Charge {
    quotas: Arc<Quotas>,
    caller: CallerId,
    cells: u64,
}

impl Charge {
    /// Charges `caller` for `cells`.
    ///
    /// # Errors
    /// When its quota does not allow that many: how long to wait.
    pub(crate) fn new(quotas: &Arc<Quotas>, caller: CallerId, cells: u64) -> Result<Self, Duration> {
        quotas.charge(caller, cells)?;
        Ok(Self { quotas: quotas.clone(), caller, cells })
    }

    /// The cells are generated now.
    pub(crate) fn spend(mut self) {
        self.cells = 0;
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if self.cells > 0 {
            self.quotas.refund(self.caller, self.cells);
        }
    }
}

#[derive(Debug)]
struct State {
    quota: Quota,
    /// The cells per second of callers with a rate of their own; `None` for no limit.
    rates: HashMap<CallerId, Option<u64>>,
    /// When the use of a caller is paid off, in nanoseconds since the start.
    paid_off: HashMap<CallerId, u128>,
    /// The size at which callers without use are removed next, and the earliest time, in nanoseconds since the start.
    remove_at: usize,
    remove_after: u128,
}

impl Quotas {
    pub(crate) fn new(quota: Quota) -> Self {
        let (rates, paid_off) = (HashMap::new(), HashMap::new());
        let state = State { quota, rates, paid_off, remove_at: 1024, remove_after: 0 };
        Self { started: Instant::now(), state: Mutex::new(state) }
    }

    /// Replaces the limits. What callers have used stays.
    pub(crate) fn set(&self, quota: Quota) {
        self.lock().quota = quota;
    }

    /// Replaces the rates of the callers that have one of their own. What callers have used stays.
    pub(crate) fn set_rates(&self, rates: HashMap<CallerId, Option<u64>>) {
        self.lock().rates = rates;
    }

    /// Charges `caller` for `cells`.
    ///
    /// # Errors
    /// If the caller's quota does not allow as many now: how long until it does.
    pub(crate) fn charge(&self, caller: CallerId, cells: u64) -> Result<(), Duration> {
        let now = self.started.elapsed().as_nanos();
        let mut state = self.lock();
        let Some(rate) = state.rate(caller) else { return Ok(()) };
        let caller = state.entry(caller, now);
        let burst = nanoseconds(state.quota.burst_cells, rate);
        let paid_off = state.paid_off.entry(caller).or_default();
        let after = now.max(*paid_off) + nanoseconds(cells, rate);
        if let Some(wait) = wait(after, now + burst) {
            return Err(wait);
        }
        *paid_off = after;
        Ok(())
    }

    /// Charges `caller` for `cells` also beyond its quota, up to twice the burst. Returns how long it is beyond.
    pub(crate) fn charge_beyond(&self, caller: CallerId, cells: u64) -> Option<Duration> {
        let now = self.started.elapsed().as_nanos();
        let mut state = self.lock();
        let rate = state.rate(caller)?;
        let caller = state.entry(caller, now);
        let burst = nanoseconds(state.quota.burst_cells, rate);
        let paid_off = state.paid_off.entry(caller).or_default();
        *paid_off = (now.max(*paid_off) + nanoseconds(cells, rate)).min(now + 2 * burst);
        wait(*paid_off, now + burst)
    }

    /// How long `caller` is beyond its quota. `None` if it is not.
    pub(crate) fn beyond(&self, caller: CallerId) -> Option<Duration> {
        let now = self.started.elapsed().as_nanos();
        let mut state = self.lock();
        let rate = state.rate(caller)?;
        let caller = state.entry(caller, now);
        let burst = nanoseconds(state.quota.burst_cells, rate);
        wait(*state.paid_off.get(&caller)?, now + burst)
    }

    fn refund(&self, caller: CallerId, cells: u64) {
        let mut state = self.lock();
        let Some(rate) = state.rate(caller) else { return };
        if let Some(paid_off) = state.paid_off.get_mut(&caller) {
            *paid_off = paid_off.saturating_sub(nanoseconds(cells, rate));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The cells per second of `caller`; `None` for no limit.
    fn rate(&self, caller: CallerId) -> Option<u64> {
        self.rates.get(&caller).copied().unwrap_or(self.quota.cells_per_second)
    }

    /// The caller under which the use of `caller` is counted.
    fn entry(&mut self, caller: CallerId, now: u128) -> CallerId {
        if self.paid_off.len() >= self.remove_at && now >= self.remove_after {
            self.remove_after = now + REMOVAL_INTERVAL.as_nanos();
            self.paid_off.retain(|_, paid_off| *paid_off > now);
            self.remove_at = (2 * self.paid_off.len()).clamp(1024, MAX_CLIENTS);
        }
        let is_known = self.paid_off.len() < MAX_CLIENTS
            || self.paid_off.contains_key(&caller)
            // Their number is bounded by the tokens file, so that other callers cannot take their places.
            || self.rates.contains_key(&caller);
        if is_known { caller } else { OTHERS }
    }
}

/// The time from `allowed` to `paid_off`, in nanoseconds. `None` if it is not later.
fn wait(paid_off: u128, allowed: u128) -> Option<Duration> {
    let wait = paid_off.checked_sub(allowed).filter(|wait| *wait > 0)?;
    Some(Duration::from_nanos(u64::try_from(wait).unwrap_or(u64::MAX)))
}

/// The time in which `cells` are earned at `rate` cells per second.
fn nanoseconds(cells: u64, rate: u64) -> u128 {
    u128::from(cells) * 1_000_000_000 / u128::from(rate.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: CallerId = CallerId(1);
    const B: CallerId = CallerId(2);

    fn quotas(rate: u64) -> Quotas {
        Quotas::new(Quota { cells_per_second: Some(rate), burst_cells: 1000 })
    }

    #[test]
    fn a_client_gets_its_burst_and_then_its_rate() {
        let quotas = quotas(10);
        assert_eq!(quotas.charge(A, 600), Ok(()));
        assert_eq!(quotas.charge(A, 400), Ok(()));
        let wait = quotas.charge(A, 100).unwrap_err();
        assert!((9.0..=10.0).contains(&wait.as_secs_f64()), "{wait:?}");
        assert_eq!(quotas.charge(B, 1000), Ok(()), "another client has its own quota");
    }

    #[test]
    fn what_is_not_generated_is_given_back() {
        let quotas = Arc::new(quotas(1));
        let charge = Charge::new(&quotas, A, 1000).expect("its burst");
        Charge::new(&quotas, A, 100).expect_err("the burst is used up");
        drop(charge);
        Charge::new(&quotas, A, 1000).expect("the burst was given back").spend();
        Charge::new(&quotas, A, 100).expect_err("the burst is spent");
    }

    #[test]
    fn without_a_limit_everything_is_allowed_and_nothing_is_remembered() {
        let quotas = Quotas::new(Quota { cells_per_second: None, burst_cells: 1000 });
        assert_eq!(quotas.charge(A, u64::MAX), Ok(()));
        assert!(quotas.lock().paid_off.is_empty());
        quotas.set(Quota { cells_per_second: Some(1), burst_cells: 1000 });
        quotas.charge(A, 1001).unwrap_err();
    }

    #[test]
    fn a_client_with_a_rate_of_its_own_has_that_one() {
        let quotas = quotas(10);
        let unlimited = CallerId(3);
        quotas.set_rates(HashMap::from([(B, Some(1)), (unlimited, None)]));
        for caller in [A, B] {
            assert_eq!(quotas.charge(caller, 1000), Ok(()), "the burst is the same for all");
        }
        let wait = |caller| quotas.charge(caller, 100).unwrap_err().as_secs_f64();
        assert!((9.0..=10.0).contains(&wait(A)), "{}", wait(A));
        assert!((99.0..=100.0).contains(&wait(B)), "{}", wait(B));
        assert_eq!(quotas.charge(unlimited, u64::MAX), Ok(()));
        quotas.set(Quota { cells_per_second: None, burst_cells: 1000 });
        assert_eq!(quotas.charge(A, u64::MAX), Ok(()));
        quotas.charge(B, 1000).expect_err("its own rate holds without a common one");
        quotas.set_rates(HashMap::new());
        assert_eq!(quotas.charge(B, u64::MAX), Ok(()));
    }

    #[test]
    fn what_is_charged_beyond_a_quota_is_bounded() {
        let quotas = quotas(1000);
        assert_eq!((quotas.charge_beyond(A, 1000), quotas.beyond(A)), (None, None));
        let wait = quotas.charge_beyond(A, 10_000).unwrap();
        assert_eq!(wait, Duration::from_secs(1), "one second of the burst and as long again");
        assert!(quotas.beyond(A).unwrap() <= wait);
        assert_eq!(quotas.beyond(B), None);
        quotas.charge(A, 1).unwrap_err();
    }

    #[test]
    fn the_memory_for_clients_is_bounded() {
        let quotas = quotas(1);
        for caller in 1..=2 * MAX_CLIENTS as u64 {
            let _ = quotas.charge(CallerId(caller), 10);
        }
        assert!(quotas.lock().paid_off.len() <= MAX_CLIENTS + 1);
    }
}
