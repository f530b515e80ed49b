//! Turns a panic in a tier into an error of that tier.

use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::FutureExt;

use super::{Layer, Operation, Reply};
use crate::tier::{Answer, Tier, TierError, TierErrorKind};

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

impl<T: Tier> Layer for CatchPanic<T> {
    type Inner = T;

    fn inner(&self) -> &T {
        &self.0
    }

    /// Catches a panic in the call or, if the answer is a future, in its polls.
    fn run<'a, R: Reply>(&'a self, operation: Operation, call: impl FnOnce(&'a T) -> Answer<'a, R>) -> Answer<'a, R> {
        let panicked =
            move |_panic| Err(TierError::new(TierErrorKind::Internal, operation.as_str(), "the tier panicked"));
        match catch_unwind(AssertUnwindSafe(|| call(&self.0))) {
            Ok(Answer::Now(result)) => Answer::Now(result),
            Ok(Answer::Later(work)) => {
                Answer::later(async move { AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(panicked) })
            }
            Err(panic) => Answer::Now(panicked(panic)),
        }
    }
}
