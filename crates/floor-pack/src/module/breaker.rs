//! Stops asking a module that fails again and again.

#[cfg(feature = "modules")]
use {
    failsafe::{CircuitBreaker as _, Config, Error, StateMachine, backoff, failure_policy},
    std::time::Duration,
};

/// So many failures in a row close a module for `PAUSE`.
#[cfg(feature = "modules")]
const MOST_FAILURES: u32 = 20;
#[cfg(feature = "modules")]
const PAUSE: Duration = Duration::from_secs(10);

/// A breaker of calls. In an engine of the caller's there is none, since its target may have no clock.
pub(super) struct Breaker(
    #[cfg(feature = "modules")] StateMachine<failure_policy::ConsecutiveFailures<backoff::Constant>, ()>,
);

#[cfg(feature = "modules")]
impl Breaker {
    pub(super) fn new() -> Self {
        let policy = failure_policy::consecutive_failures(MOST_FAILURES, backoff::constant(PAUSE));
        Self(Config::new().failure_policy(policy).build())
    }

    /// What `run` returns, or `None` as the error if it was not run.
    pub(super) fn call<T>(&self, run: impl FnOnce() -> Result<T, String>) -> Result<T, Option<String>> {
        self.0.call(run).map_err(|error| match error {
            Error::Inner(fault) => Some(fault),
            Error::Rejected => None,
        })
    }
}

#[cfg(not(feature = "modules"))]
impl Breaker {
    pub(super) const fn new() -> Self {
        Self()
    }

    #[allow(clippy::unused_self, reason = "the other breaker needs it")]
    pub(super) fn call<T>(&self, run: impl FnOnce() -> Result<T, String>) -> Result<T, Option<String>> {
        run().map_err(Some)
    }
}
