//! Stops asking a module that fails again and again.

#[cfg(feature = "modules")]
use {
    failsafe::{CircuitBreaker as _, Config, Error, StateMachine, backoff, failure_policy},
    std::{sync::Mutex, time::Duration},
};

use crate::ModuleError;

/// So many failures in a row close a module for `PAUSE`.
#[cfg(feature = "modules")]
const MOST_FAILURES: u32 = 20;
#[cfg(feature = "modules")]
const PAUSE: Duration = Duration::from_secs(10);

/// A breaker of calls. In an engine of the caller's there is none, since its target may have no clock.
pub(super) struct Breaker {
    #[cfg(feature = "modules")]
    machine: StateMachine<failure_policy::ConsecutiveFailures<backoff::Constant>, ()>,
    /// What went wrong last.
    #[cfg(feature = "modules")]
    fault: Mutex<String>,
}

#[cfg(feature = "modules")]
impl Breaker {
    pub(super) fn new() -> Self {
        let policy = failure_policy::consecutive_failures(MOST_FAILURES, backoff::constant(PAUSE));
        Self { machine: Config::new().failure_policy(policy).build(), fault: Mutex::default() }
    }

    /// What `run` returns. Does not run it after too many failures.
    pub(super) fn call<T>(&self, pack: &str, run: impl FnOnce() -> Result<T, String>) -> Result<T, ModuleError> {
        let pack = || pack.to_owned();
        // Noted before the failure is counted, so that a breaker that is open always has a reason.
        let run = || run().inspect_err(|fault| super::lock(&self.fault).clone_from(fault));
        self.machine.call(run).map_err(|error| match error {
            Error::Inner(fault) => ModuleError::Fault { pack: pack(), fault },
            Error::Rejected => ModuleError::Closed { pack: pack(), fault: super::lock(&self.fault).clone() },
        })
    }
}

#[cfg(not(feature = "modules"))]
impl Breaker {
    pub(super) const fn new() -> Self {
        Self {}
    }

    #[allow(clippy::unused_self, reason = "the other breaker needs it")]
    pub(super) fn call<T>(&self, pack: &str, run: impl FnOnce() -> Result<T, String>) -> Result<T, ModuleError> {
        run().map_err(|fault| ModuleError::Fault { pack: pack.to_owned(), fault })
    }
}
