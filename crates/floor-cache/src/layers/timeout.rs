//! A deadline for every request to a tier.

use std::{future::Future, time::Duration};

use super::{Layer, Operation, Reply, Timeouts};
use crate::tier::{Answer, Tier, TierError, TierErrorKind};

/// A tier whose answers end within a deadline, with [`TierErrorKind::Timeout`] if necessary. An answer that is ready
/// passes unchanged.
#[derive(Debug)]
pub struct Timeout<T> {
    inner: T,
    timeouts: Timeouts,
}

impl<T> Timeout<T> {
    /// Ends each answer of `inner` by `timeouts`.
    pub const fn new(inner: T, timeouts: Timeouts) -> Self {
        Self { inner, timeouts }
    }
}

impl<T: Tier> Layer for Timeout<T> {
    type Inner = T;

    fn inner(&self) -> &T {
        &self.inner
    }

    fn run<'a, R: Reply>(&'a self, operation: Operation, call: impl FnOnce(&'a T) -> Answer<'a, R>) -> Answer<'a, R> {
        match call(&self.inner) {
            Answer::Now(result) => Answer::Now(result),
            Answer::Later(work) => Answer::later(within(self.timeouts.of(operation), operation.as_str(), work)),
        }
    }
}

/// Runs `work` for at most `timeout`.
async fn within<A>(
    timeout: Duration,
    action: &'static str,
    work: impl Future<Output = Result<A, TierError>>,
) -> Result<A, TierError> {
    match tokio::time::timeout(timeout, work).await {
        Ok(result) => result,
        Err(_elapsed) => {
            Err(TierError::new(TierErrorKind::Timeout, action, format!("no answer within {} ms", timeout.as_millis())))
        }
    }
}
