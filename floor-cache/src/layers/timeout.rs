//! A deadline for every request to a tier.

use std::{future::Future, time::Duration};

use super::{Layer, Operation, Reply};
use crate::tier::{Answer, Tier, TierError, TierErrorKind};

/// A tier whose answers end within a deadline, with [`TierErrorKind::Timeout`] if necessary.
///
/// An answer that is ready passes unchanged. Writes, removals and flushes have eight times the deadline: they carry
/// more data, and no caller waits for them.
#[derive(Debug)]
pub struct Timeout<T> {
    inner: T,
    limit: Duration,
}

/// The deadline of a change as a multiple of the deadline of a query.
pub(crate) const WRITE_TIMEOUT_FACTOR: u32 = 8;

impl<T> Timeout<T> {
    /// Limits each query to `limit`, and each change to eight times `limit`.
    pub const fn new(inner: T, limit: Duration) -> Self {
        Self { inner, limit }
    }
}

impl<T: Tier> Layer for Timeout<T> {
    type Inner = T;

    fn inner(&self) -> &T {
        &self.inner
    }

    fn run<'a, R: Reply>(&'a self, operation: Operation, call: impl FnOnce(&'a T) -> Answer<'a, R>) -> Answer<'a, R> {
        let limit = match operation {
            Operation::Get | Operation::GetMany(_) | Operation::Contains => self.limit,
            Operation::PutMany | Operation::RemoveMany | Operation::Flush => WRITE_TIMEOUT_FACTOR * self.limit,
            // Its duration depends on the amount of data, and no caller waits.
            Operation::Compact => return call(&self.inner),
        };
        match call(&self.inner) {
            Answer::Now(result) => Answer::Now(result),
            Answer::Later(work) => Answer::later(within(limit, operation.as_str(), work)),
        }
    }
}

/// Runs `work` with a deadline of `limit`.
pub(crate) async fn within<A>(
    limit: Duration,
    action: &'static str,
    work: impl Future<Output = Result<A, TierError>>,
) -> Result<A, TierError> {
    match tokio::time::timeout(limit, work).await {
        Ok(result) => result,
        Err(_elapsed) => {
            Err(TierError::new(TierErrorKind::Timeout, action, format!("no answer within {} ms", limit.as_millis())))
        }
    }
}
