//! The tier trait: what a place that keeps values must do to stand in a chain.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::future::BoxFuture;

use crate::key::Key;

/// A place that keeps values.
///
/// Every implementation passes the same contract suite (`tests/contract.rs`). Values are immutable: putting the same
/// key twice is putting the same value twice. All methods may be called from many threads at once.
pub trait Tier: fmt::Debug + Send + Sync + 'static {
    /// Its name in configuration, metrics and responses: `lru`, `redis`, `lmdb`, `sled`.
    fn name(&self) -> &'static str;

    /// Whether its answers come [`Later`](Answer::Later): then it is asked from a task of the runtime, and what it is
    /// asked is not tried on the caller's own stack first.
    fn waits(&self) -> bool {
        false
    }

    /// The value of `key`, or `None` when it is not here. A stored value that fails its checks is not here: it is
    /// counted in [`TierStats::corrupt`] and removed, at the latest with the tier's next write.
    fn get<'a>(&'a self, key: &'a Key) -> Answer<'a, Option<Bytes>>;

    /// The values of `keys`, position by position, in one round trip or one transaction.
    fn get_many<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, Vec<Option<Bytes>>>;

    /// Keeps every entry that it has room for, in one round trip or one transaction. Not all or nothing.
    fn put_many<'a>(&'a self, entries: &'a [(Key, Bytes)]) -> Answer<'a, ()>;

    /// Bytes of values that [`put_many`](Self::put_many) takes in one round trip or one transaction. The chain gives it no
    /// more at once, but for a value that is longer alone.
    fn batch_bytes(&self) -> usize {
        usize::MAX
    }

    /// Forgets `keys`; those not here are no error.
    fn remove_many<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, ()>;

    /// Whether `key` is here, without reading or checking the value and without counting as a use of it.
    fn contains<'a>(&'a self, key: &'a Key) -> Answer<'a, bool>;

    /// What it holds now. Cheap; never waits. A remote tier may answer what it last knew.
    fn stats(&self) -> TierStats;

    /// Makes what was put durable, as far as the tier is durable at all.
    fn flush(&self) -> Answer<'_, ()> {
        Answer::Now(Ok(()))
    }

    /// Gives back what room it can. May take long: called from a thread that may wait, and never beside a write of the
    /// chain. By default there is nothing to do but to [`flush`](Self::flush).
    fn compact(&self) -> Answer<'_, ()> {
        self.flush()
    }
}

/// What a tier says: at once, or later.
///
/// A tier in this process answers [`Now`](Answer::Now), so a hit in memory costs no allocation and no await; a tier
/// across a network answers [`Later`](Answer::Later). It is a future either way.
pub enum Answer<'a, T> {
    /// Answered.
    Now(Result<T, TierError>),
    /// To be awaited.
    Later(BoxFuture<'a, Result<T, TierError>>),
}

impl<'a, T> Answer<'a, T> {
    /// An answer to be awaited.
    pub fn later(work: impl Future<Output = Result<T, TierError>> + Send + 'a) -> Self {
        Self::Later(Box::pin(work))
    }

    /// Shows the result to `look` once it is there.
    pub fn inspect(self, look: impl FnOnce(&Result<T, TierError>) + Send + 'a) -> Self
    where
        T: Send + 'a,
    {
        match self {
            Self::Now(result) => {
                look(&result);
                Self::Now(result)
            }
            Self::Later(work) => Self::later(async move {
                let result = work.await;
                look(&result);
                result
            }),
        }
    }
}

impl<T: Unpin> Future for Answer<'_, T> {
    type Output = Result<T, TierError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            Self::Later(work) => work.as_mut().poll(cx),
            Self::Now(result) => Poll::Ready(std::mem::replace(
                result,
                Err(TierError::new(TierErrorKind::Internal, "answer", GivenAlready)),
            )),
        }
    }
}

/// What is left in the place of an answer that was given. Of no size, so that boxing it allocates nothing.
#[derive(Debug, thiserror::Error)]
#[error("polled after it was ready")]
struct GivenAlready;

impl<T: fmt::Debug> fmt::Debug for Answer<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now(result) => f.debug_tuple("Now").field(result).finish(),
            Self::Later(_) => f.write_str("Later(..)"),
        }
    }
}

/// What a tier holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TierStats {
    /// Values.
    pub entries: u64,
    /// Bytes, as the tier counts them against its bound.
    pub bytes: u64,
    /// Stored values found wrong and removed, since the start.
    pub corrupt: u64,
    /// Bytes that it lets the oldest values go to stay under; 0 where it has no bound of its own.
    pub limit: u64,
    /// Bytes of its files, free room in them included; 0 where it has none here.
    pub disk: u64,
}

/// A tier failed to do what it was asked. Never reaches a client: the chain goes on without the tier.
#[derive(Debug, thiserror::Error)]
#[error("{action}: {source}")]
pub struct TierError {
    kind: TierErrorKind,
    action: &'static str,
    source: Box<dyn std::error::Error + Send + Sync>,
}

/// How a tier failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TierErrorKind {
    /// No answer within the tier's deadline.
    Timeout,
    /// Cannot be reached.
    Unreachable,
    /// Reached, but it refused: read-only, out of memory, full.
    Refused,
    /// Its breaker is open.
    Open,
    /// Anything else.
    Internal,
}

impl TierError {
    /// `action` says what was tried, and on what.
    pub fn new(
        kind: TierErrorKind,
        action: &'static str,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self { kind, action, source: source.into() }
    }

    /// How it failed.
    #[must_use]
    pub const fn kind(&self) -> TierErrorKind {
        self.kind
    }
}
