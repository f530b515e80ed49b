//! Memory budgets that callers share: which there are, and how much of one a caller gets.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use super::Caller;

/// Requests that are being received, and calls that wait for their floors: 16 of the largest messages, and what their
/// calls hold.
const RECEIVING_BYTES: usize = 65 << 20;
/// Watches of health, which last as long as their callers want: 512.
const WATCHES_BYTES: usize = 16 << 20;
/// Of these, what one caller may have: 32.
const WATCHES_BYTES_OF_CLIENT: usize = 1 << 20;
/// What a caller without other bytes may have of an exhausted budget: a floor, so that others cannot shut it out.
const ALWAYS_ALLOWED: usize = 64 << 10;
/// The part of a budget for strangers, if callers can prove who they are.
const STRANGERS_PART: usize = 4;

/// The memory budgets of the port. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Budgets {
    /// Responses that wait to be sent.
    pub(crate) unsent: Budget,
    /// Requests that are being received, and calls that wait for their floors.
    pub(crate) receiving: Budget,
    /// Watches of health.
    pub(crate) watches: Budget,
}

impl Budgets {
    /// Budgets with `unsent` bytes for responses that wait to be sent. If `can_prove`, callers can prove who they are, and
    /// those who do share no budget with strangers.
    #[must_use]
    pub fn new(unsent: usize, can_prove: bool) -> Self {
        let new = |limit, of_one, counter| Budget::new(limit, of_one, can_prove, counter);
        Self {
            unsent: new(unsent, usize::MAX, Caller::unsent),
            receiving: new(RECEIVING_BYTES, usize::MAX, Caller::receiving),
            watches: new(WATCHES_BYTES, WATCHES_BYTES_OF_CLIENT, Caller::watches),
        }
    }

    /// Bytes in use, and the most that were in use since the last call.
    pub(crate) fn take_peak(&self) -> (usize, usize) {
        let budgets = [&self.unsent, &self.receiving, &self.watches];
        let peaks = budgets.map(Budget::take_peak);
        (peaks.iter().map(|(used, _)| used).sum(), peaks.iter().map(|(_, peak)| peak).sum())
    }
}

/// A memory budget that callers share. A caller gets at most as much as it leaves free, so that one caller never takes
/// all of it (dynamic thresholds: A. Choudhury and E. Hahne, "Dynamic Queue Length Thresholds", 1998). Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Budget(Arc<BudgetState>);

#[derive(Debug)]
struct BudgetState {
    /// Of callers that are addresses.
    strangers: Pool,
    /// Of callers that have proved who they are. `None`: none can, and all share the one pool.
    proved: Option<Pool>,
    /// The most that one caller may have.
    of_one: usize,
    /// Selects the counter of a caller.
    counter: fn(&Caller) -> &CallerUse,
}

#[derive(Debug)]
struct Pool {
    /// In bytes.
    limit: usize,
    used: AtomicUsize,
    /// The most that was in use since [`take_peak`](Budget::take_peak).
    peak: AtomicUsize,
}

/// The bytes that one caller has of a budget.
#[derive(Debug, Default)]
pub(crate) struct CallerUse(AtomicUsize);

/// Bytes of a budget, returned when dropped.
#[derive(Debug)]
pub(crate) struct Reserved {
    budget: Budget,
    caller: Caller,
    bytes: usize,
}

impl Budget {
    fn new(limit: usize, of_one: usize, can_prove: bool, counter: fn(&Caller) -> &CallerUse) -> Self {
        let pool = |limit| Pool { limit, used: AtomicUsize::new(0), peak: AtomicUsize::new(0) };
        let strangers = if can_prove { limit / STRANGERS_PART } else { limit };
        let proved = can_prove.then(|| pool(limit - strangers));
        Self(Arc::new(BudgetState { strangers: pool(strangers), proved, of_one, counter }))
    }

    /// Reserves `bytes` for `caller`. `None` if the caller would then have more than is left free. A caller that has
    /// nothing else gets 64 KiB even of an exhausted budget.
    #[must_use]
    pub(crate) fn try_reserve(&self, caller: &Caller, bytes: usize) -> Option<Reserved> {
        let pool = self.pool(caller);
        let reserved = self.reserve_in(pool, caller, bytes);
        self.is_allowed(pool, caller, bytes, 0).then_some(reserved)
    }

    /// Whether [`try_reserve`](Self::try_reserve) would succeed now. It writes nothing, so that calls on several cores do
    /// not wait for one another.
    pub(crate) fn has_room(&self, caller: &Caller, bytes: usize) -> bool {
        self.is_allowed(self.pool(caller), caller, bytes, bytes)
    }

    /// Whether `caller` may have `bytes`, of which `missing` are not counted yet.
    fn is_allowed(&self, pool: &Pool, caller: &Caller, bytes: usize, missing: usize) -> bool {
        let used = pool.used.load(Relaxed) + missing;
        let of_caller = (self.0.counter)(caller).0.load(Relaxed) + missing;
        // What a caller has alone may take all that is free.
        let is_alone = of_caller == bytes;
        let threshold = if is_alone { bytes } else { pool.limit.saturating_sub(used).min(self.0.of_one) };
        let is_allowed = used <= pool.limit && of_caller <= threshold;
        is_allowed || (is_alone && bytes <= ALWAYS_ALLOWED)
    }

    /// Whether `caller` has more than is left free.
    pub(crate) fn is_exceeded_by(&self, caller: &Caller) -> bool {
        let pool = self.pool(caller);
        let free = pool.limit.saturating_sub(pool.used.load(Relaxed));
        (self.0.counter)(caller).0.load(Relaxed) > free
    }

    /// Counts `bytes` that cannot be refused any more.
    #[must_use]
    pub(crate) fn reserve(&self, caller: &Caller, bytes: usize) -> Reserved {
        self.reserve_in(self.pool(caller), caller, bytes)
    }

    fn reserve_in(&self, pool: &Pool, caller: &Caller, bytes: usize) -> Reserved {
        let used = pool.used.fetch_add(bytes, Relaxed) + bytes;
        // Mostly only read.
        if used > pool.peak.load(Relaxed) {
            pool.peak.fetch_max(used, Relaxed);
        }
        (self.0.counter)(caller).0.fetch_add(bytes, Relaxed);
        Reserved { budget: self.clone(), caller: caller.clone(), bytes }
    }

    /// Bytes in use, and the most that were in use since the last call.
    pub(crate) fn take_peak(&self) -> (usize, usize) {
        let pools = [Some(&self.0.strangers), self.0.proved.as_ref()];
        pools.into_iter().flatten().fold((0, 0), |(all, peak), pool| {
            let used = pool.used.load(Relaxed);
            (all + used, peak + pool.peak.swap(used, Relaxed))
        })
    }

    fn pool(&self, caller: &Caller) -> &Pool {
        match &self.0.proved {
            Some(proved) if caller.is_authenticated() => proved,
            _ => &self.0.strangers,
        }
    }

    fn give_back(&self, caller: &Caller, bytes: usize) {
        self.pool(caller).used.fetch_sub(bytes, Relaxed);
        (self.0.counter)(caller).0.fetch_sub(bytes, Relaxed);
    }
}

impl Reserved {
    /// Splits off `bytes`, or as many as there are.
    #[must_use]
    pub(crate) fn split(&mut self, bytes: usize) -> Self {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Self { budget: self.budget.clone(), caller: self.caller.clone(), bytes }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.budget.give_back(&self.caller, self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::{callers::Callers, config::CallerIdentity};

    fn callers() -> Callers {
        Callers::new(CallerIdentity::default())
    }

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    /// As many pieces of `bytes` as `caller` gets.
    fn fill(budget: &Budget, caller: &Caller, bytes: usize) -> Vec<Reserved> {
        std::iter::from_fn(|| budget.try_reserve(caller, bytes)).collect()
    }

    #[test]
    fn one_client_gets_half_and_others_still_get_some() {
        let callers = callers();
        let caller = |last: u8| callers.at(address(last));
        let budget = Budgets::new(1000, false).unsent;
        let first = fill(&budget, &caller(1), 10);
        assert_eq!(first.len(), 50);
        assert!(!budget.is_exceeded_by(&caller(1)));
        let beyond = budget.reserve(&caller(1), 1);
        assert!(budget.is_exceeded_by(&caller(1)) && !budget.is_exceeded_by(&caller(2)));
        drop(beyond);
        let second = fill(&budget, &caller(2), 10);
        assert_eq!(second.len(), 25);
        let third = fill(&budget, &caller(3), 10);
        assert!(!third.is_empty(), "a third client gets some");
        drop((first, second, third));
        assert_eq!(budget.take_peak().0, 0);
    }

    #[test]
    fn a_single_response_may_take_all_that_is_free_and_no_more() {
        let caller = callers().at(address(1));
        let budget = Budgets::new(1_000_000, false).unsent;
        assert!(budget.try_reserve(&caller, 1_000_001).is_none());
        let mut all = budget.try_reserve(&caller, 1_000_000).unwrap();
        assert!(budget.try_reserve(&caller, 1).is_none());
        let part = all.split(400_000);
        drop(all);
        assert_eq!(budget.take_peak().0, 400_000);
        drop(part);
        assert_eq!(budget.take_peak(), (0, 400_000), "the peak since the last call");
    }

    #[test]
    fn strangers_take_nothing_from_callers_with_proof() {
        let callers = callers();
        let budgets = Budgets::new(64 << 20, true);
        let known = callers.named("game", address(1));
        for budget in [&budgets.unsent, &budgets.receiving, &budgets.watches] {
            let before = fill(budget, &known, 16 << 10).len();
            let strangers: Vec<_> =
                (1..=200).flat_map(|last| fill(budget, &callers.at(address(last)), 16 << 10)).collect();
            assert!(before >= 64 && strangers.len() >= 200, "{before} {}", strangers.len());
            assert_eq!(fill(budget, &known, 16 << 10).len(), before);
            let single = budget.try_reserve(&callers.at(address(201)), ALWAYS_ALLOWED);
            assert!(single.is_some(), "a single call of a stranger still passes");
        }
    }

    #[test]
    fn one_client_has_few_watches_and_leaves_others_theirs() {
        let callers = callers();
        let budget = Budgets::new(0, false).watches;
        assert_eq!(fill(&budget, &callers.at(address(1)), 32 << 10).len(), 32);
    }
}
