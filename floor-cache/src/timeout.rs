//! A deadline for every request to a tier.

use std::{future::Future, time::Duration};

use bytes::Bytes;

use crate::{
    key::Key,
    tier::{Answer, Tier, TierError, TierErrorKind, TierStats},
};

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

    fn bound<'a, A: Send + 'a>(&self, action: &'static str, answer: Answer<'a, A>) -> Answer<'a, A> {
        bounded(self.limit, action, answer)
    }

    fn bound_write<'a>(&self, action: &'static str, answer: Answer<'a, ()>) -> Answer<'a, ()> {
        bounded(WRITE_TIMEOUT_FACTOR * self.limit, action, answer)
    }
}

fn bounded<'a, A: Send + 'a>(limit: Duration, action: &'static str, answer: Answer<'a, A>) -> Answer<'a, A> {
    match answer {
        Answer::Now(result) => Answer::Now(result),
        Answer::Later(work) => Answer::later(within(limit, action, work)),
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

impl<T: Tier> Tier for Timeout<T> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn waits(&self) -> bool {
        self.inner.waits()
    }

    fn get<'a>(&'a self, key: &'a Key) -> Answer<'a, Option<Bytes>> {
        self.bound("get", self.inner.get(key))
    }

    fn get_many<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, Vec<Option<Bytes>>> {
        self.bound("get many", self.inner.get_many(keys))
    }

    fn put_many<'a>(&'a self, entries: &'a [(Key, Bytes)]) -> Answer<'a, ()> {
        self.bound_write("put many", self.inner.put_many(entries))
    }

    fn batch_bytes(&self) -> usize {
        self.inner.batch_bytes()
    }

    fn remove_many<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, ()> {
        self.bound_write("remove many", self.inner.remove_many(keys))
    }

    fn contains<'a>(&'a self, key: &'a Key) -> Answer<'a, bool> {
        self.bound("contains", self.inner.contains(key))
    }

    fn stats(&self) -> TierStats {
        self.inner.stats()
    }

    fn flush(&self) -> Answer<'_, ()> {
        self.bound_write("flush", self.inner.flush())
    }

    /// Without a deadline: the duration depends on the amount of data, and no caller waits.
    fn compact(&self) -> Answer<'_, ()> {
        self.inner.compact()
    }
}
