//! Turns a panic in a tier into an error of that tier.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use futures_util::FutureExt;

use crate::{
    key::Key,
    tier::{Answer, Tier, TierError, TierErrorKind, TierStats},
};

/// A tier whose panics become errors: a bug in a store or its library costs the chain that tier, not the call. A panic
/// can leave only the tier's own state inconsistent, since nothing is shared with it.
#[derive(Debug)]
pub struct CatchPanic<T>(T);

impl<T> CatchPanic<T> {
    /// Catches the panics of `inner`.
    pub const fn new(inner: T) -> Self {
        Self(inner)
    }
}

fn panicked(action: &'static str) -> TierError {
    TierError::new(TierErrorKind::Internal, action, "the tier panicked")
}

/// Calls `ask` and catches a panic in the call or, if the answer is a future, in its polls.
fn catching<'a, A: Send + 'a>(action: &'static str, ask: impl FnOnce() -> Answer<'a, A>) -> Answer<'a, A> {
    match catch_unwind(AssertUnwindSafe(ask)) {
        Ok(Answer::Now(result)) => Answer::Now(result),
        Ok(Answer::Later(work)) => Answer::later(async move {
            AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_panic| Err(panicked(action)))
        }),
        Err(_panic) => Answer::Now(Err(panicked(action))),
    }
}

impl<T: Tier> Tier for CatchPanic<T> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn waits(&self) -> bool {
        self.0.waits()
    }

    fn get<'a>(&'a self, key: &'a Key) -> Answer<'a, Option<Bytes>> {
        catching("get", || self.0.get(key))
    }

    fn get_many<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, Vec<Option<Bytes>>> {
        catching("get many", || self.0.get_many(keys))
    }

    fn put_many<'a>(&'a self, entries: &'a [(Key, Bytes)]) -> Answer<'a, ()> {
        catching("put many", || self.0.put_many(entries))
    }

    fn batch_bytes(&self) -> usize {
        self.0.batch_bytes()
    }

    fn remove_many<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, ()> {
        catching("remove many", || self.0.remove_many(keys))
    }

    fn contains<'a>(&'a self, key: &'a Key) -> Answer<'a, bool> {
        catching("contains", || self.0.contains(key))
    }

    fn stats(&self) -> TierStats {
        self.0.stats()
    }

    fn flush(&self) -> Answer<'_, ()> {
        catching("flush", || self.0.flush())
    }

    fn compact(&self) -> Answer<'_, ()> {
        catching("compact", || self.0.compact())
    }
}
