//! The traits of a tier, its answers and its errors. Every store in [`tiers`](crate::tiers) implements it.

use std::{
    fmt,
    future::Future,
    path::{Path, PathBuf},
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::future::BoxFuture;

use crate::key::{Key, KeyPattern};

/// A store for values.
///
/// Every implementation passes the contract suite (`tests/contract/`). Values are immutable, so a key always has the
/// same value. All methods may be called concurrently.
pub trait Tier: TierAdmin + fmt::Debug + Send + Sync + 'static {
    /// The name in configuration, metrics and responses, as [`TierKind::name`](crate::TierKind::name) has it.
    fn name(&self) -> &'static str;

    /// Whether the tier is in another process, and answers [`Later`](Answer::Later).
    fn waits(&self) -> bool {
        false
    }

    /// The value of `key`, or `None`. A stored value that fails its checks counts in [`TierStats::corrupt`], is treated
    /// as missing, and is removed with the tier's next write at the latest.
    fn get<'a>(&'a self, key: &'a Key) -> Answer<'a, Option<Bytes>>;

    /// The values of `keys`, in the same order, in one round trip or transaction.
    fn get_many<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, Vec<Option<Bytes>>>;

    /// Stores every entry that fits, in one round trip or transaction. Not atomic.
    fn put_many<'a>(&'a self, entries: &'a [(Key, Bytes)]) -> Answer<'a, ()>;

    /// Bytes of values for one [`put_many`](Self::put_many). The chain does not send more, except for a single larger
    /// value.
    fn batch_bytes(&self) -> usize {
        usize::MAX
    }

    /// Asks for `keys`, which no tier has, as a lookup of one and of several values asks. The chain calls it to see
    /// whether a tier that failed answers again.
    fn probe<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, ()> {
        Answer::later(async move { self.get_many(keys).await.map(drop) })
    }

    /// Removes `keys`. A missing key is no error.
    fn remove_many<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, ()>;

    /// Makes stored values durable, if the tier supports that.
    fn flush(&self) -> Answer<'_, ()> {
        Answer::Now(Ok(()))
    }
}

/// What operators see of a tier and do with it. No lookup uses it.
pub trait TierAdmin {
    /// Whether `key` is stored, without reading or checking the value. Does not count as a use.
    fn contains<'a>(&'a self, key: &'a Key) -> Answer<'a, bool>;

    /// The current size. Cheap and never waits; a remote tier may return its last known size.
    fn stats(&self) -> TierStats;

    /// Brings [`stats`](Self::stats) up to date if the tier has to ask another machine for them. Does nothing by default.
    /// Whatever the state of that machine, it takes a bounded time and makes a bounded number of requests.
    fn refresh_stats(&self) -> Answer<'_, ()> {
        Answer::Now(Ok(()))
    }

    /// Removes one batch of the entries whose keys match `pattern`, from `from` on, or from the start. The batch is
    /// small enough that other calls wait for it for milliseconds only. An entry that is stored after the first batch
    /// has begun may stay. By default a tier cannot do it.
    fn remove_matching<'a>(
        &'a self,
        pattern: &'a KeyPattern,
        from: Option<&'a ScanPosition>,
    ) -> Answer<'a, RemovedBatch> {
        let (_, _) = (pattern, from);
        let reason = "it cannot find entries by a pattern of their keys";
        Answer::Now(Err(TierError::new(TierErrorKind::Refused, "remove by pattern", reason)))
    }

    /// The directory of its files; `None` if it has none on this machine.
    fn directory(&self) -> Option<&Path> {
        None
    }

    /// Bytes on the disk of stores that could not be used and were put aside; `None` for a tier without files. May look
    /// at the disk.
    fn aside_bytes(&self) -> Option<u64> {
        None
    }

    /// Copies its store into a new directory beside its own, while it is in use. Blocks until the copy is complete.
    ///
    /// # Errors
    /// [`TierErrorKind::Refused`] if the tier has no store that it can copy, or the disk has no space.
    fn back_up(&self) -> Result<Backup, TierError> {
        let reason = "it has no store that can be copied while it is in use";
        Err(TierError::new(TierErrorKind::Refused, "back up the tier", reason))
    }
}

/// How far a removal by pattern has come in a tier. Only that tier can read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanPosition(pub(crate) Vec<u8>);

/// One batch of a removal by pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedBatch {
    /// Entries that were removed.
    pub entries: u64,
    /// Where the next batch begins; `None` after the last.
    pub next: Option<ScanPosition>,
}

/// A copy of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    /// The directory, which the tier can open as its own.
    pub path: PathBuf,
    /// The length of its files.
    pub bytes: u64,
}

/// The answer of a tier: ready, or a future.
///
/// A tier in this process answers [`Now`](Answer::Now), which allocates no future. A remote tier answers
/// [`Later`](Answer::Later). Both implement [`Future`].
pub enum Answer<'a, T> {
    /// The result.
    Now(Result<T, TierError>),
    /// A future of the result.
    Later(BoxFuture<'a, Result<T, TierError>>),
}

impl<'a, T> Answer<'a, T> {
    /// An answer that is a future.
    pub fn later(work: impl Future<Output = Result<T, TierError>> + Send + 'a) -> Self {
        Self::Later(Box::pin(work))
    }

    /// Calls `look` with the result when it is ready.
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
                Err(TierError::new(TierErrorKind::Internal, "answer", AlreadyPolled)),
            )),
        }
    }
}

/// The error of polling a completed answer. Zero-sized, so that boxing it allocates nothing.
#[derive(Debug, thiserror::Error)]
#[error("polled after it was ready")]
struct AlreadyPolled;

impl<T: fmt::Debug> fmt::Debug for Answer<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now(result) => f.debug_tuple("Now").field(result).finish(),
            Self::Later(_) => f.write_str("Later(..)"),
        }
    }
}

/// The size of a tier.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TierStats {
    /// Values.
    pub entries: u64,
    /// Bytes that count against the tier's limit.
    pub bytes: u64,
    /// Invalid values found since the start.
    pub corrupt: u64,
    /// The limit of `bytes`; 0 if there is none.
    pub limit: u64,
    /// Bytes of its files, unused space included; 0 if it has no local files.
    pub disk: u64,
    /// What the tier does not tell.
    pub unknown: UnknownStats,
}

/// The figures of [`TierStats`] that a tier does not tell, because its server has not answered yet or does not allow
/// it. They are 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UnknownStats {
    /// The number of values.
    pub entries: bool,
    /// The bytes, and their limit.
    pub bytes: bool,
}

/// The failure of a tier. It never reaches a client: the chain continues without the tier.
#[derive(Debug, thiserror::Error)]
#[error("{action}: {source}")]
pub struct TierError {
    kind: TierErrorKind,
    action: &'static str,
    source: Box<dyn std::error::Error + Send + Sync>,
}

/// How a tier failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TierErrorKind {
    /// No answer within the tier's deadline.
    Timeout,
    /// Cannot be reached.
    Unreachable,
    /// Reached, but it refused: read-only, out of memory.
    Refused,
    /// Its disk has no space. What it has can still be read.
    Full,
    /// Its breaker is open.
    Open,
    /// Anything else.
    Internal,
}

impl TierError {
    /// An error of `action`, which names the attempted operation and its target.
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
