//! Layers around a tier: each adds one property to any tier. [`ChainBuilder`](crate::ChainBuilder) wraps every lower
//! tier in them.
//!
//! A layer implements [`Layer`], a single method for all operations, and is then a [`Tier`] itself.

use std::{fmt, path::Path, time::Duration};

use bytes::Bytes;

use crate::{
    key::{Key, KeyPattern},
    tier::{Answer, Backup, RemovedBatch, ScanPosition, Tier, TierAdmin, TierError, TierStats},
};

mod breaker;
mod metered;
mod timeout;

pub use breaker::{Breaker, Circuit, CircuitState};
pub(crate) use metered::{Meter, Metered};
pub use timeout::Timeout;

/// A tier that wraps another one.
pub trait Layer: fmt::Debug + Send + Sync + 'static {
    /// The wrapped tier.
    type Inner: Tier;

    /// The wrapped tier.
    fn inner(&self) -> &Self::Inner;

    /// Runs `operation`, which `call` starts on the wrapped tier.
    fn run<'a, R: Reply>(
        &'a self,
        operation: Operation,
        call: impl FnOnce(&'a Self::Inner) -> Answer<'a, R>,
    ) -> Answer<'a, R>;
}

/// An operation of a [`Tier`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    /// [`Tier::get`].
    Get,
    /// [`Tier::get_many`] for so many keys.
    GetMany(usize),
    /// [`Tier::put_many`].
    PutMany,
    /// [`Tier::remove_many`].
    RemoveMany,
    /// [`TierAdmin::contains`].
    Contains,
    /// [`Tier::probe`].
    Probe,
    /// [`TierAdmin::remove_matching`].
    RemoveMatching,
    /// [`Tier::flush`].
    Flush,
}

impl Operation {
    /// The operation as errors name it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::GetMany(_) => "get many",
            Self::PutMany => "put many",
            Self::RemoveMany => "remove many",
            Self::Contains => "contains",
            Self::Probe => "probe",
            Self::RemoveMatching => "remove by pattern",
            Self::Flush => "flush",
        }
    }
}

/// How long the operations of a tier may take.
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    /// Of a query, for which a caller may wait.
    pub query: Duration,
    /// Of a write, a removal or a flush: they carry more data, and no caller waits for them.
    pub change: Duration,
}

impl Timeouts {
    /// `timeout` for a query, and eight times that for a change.
    #[must_use]
    pub const fn new(timeout: Duration) -> Self {
        Self { query: timeout, change: timeout.saturating_mul(8) }
    }

    pub(crate) const fn of(self, operation: Operation) -> Duration {
        match operation {
            Operation::Get | Operation::GetMany(_) | Operation::Contains | Operation::Probe => self.query,
            Operation::PutMany | Operation::RemoveMany | Operation::RemoveMatching | Operation::Flush => self.change,
        }
    }
}

/// The result of an [`Operation`].
pub trait Reply: Send + 'static {
    /// The number of values found.
    fn hits(&self) -> usize {
        0
    }
}

impl Reply for () {}

impl Reply for bool {}

impl Reply for RemovedBatch {}

impl Reply for Option<Bytes> {
    fn hits(&self) -> usize {
        usize::from(self.is_some())
    }
}

impl Reply for Vec<Option<Bytes>> {
    fn hits(&self) -> usize {
        self.iter().flatten().count()
    }
}

impl<L: Layer> Tier for L {
    fn name(&self) -> &'static str {
        self.inner().name()
    }

    fn waits(&self) -> bool {
        self.inner().waits()
    }

    fn get<'a>(&'a self, key: &'a Key) -> Answer<'a, Option<Bytes>> {
        self.run(Operation::Get, move |tier| tier.get(key))
    }

    fn get_many<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, Vec<Option<Bytes>>> {
        self.run(Operation::GetMany(keys.len()), move |tier| tier.get_many(keys))
    }

    fn put_many<'a>(&'a self, entries: &'a [(Key, Bytes)]) -> Answer<'a, ()> {
        self.run(Operation::PutMany, move |tier| tier.put_many(entries))
    }

    fn batch_bytes(&self) -> usize {
        self.inner().batch_bytes()
    }

    fn probe<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, ()> {
        self.run(Operation::Probe, move |tier| tier.probe(keys))
    }

    fn remove_many<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, ()> {
        self.run(Operation::RemoveMany, move |tier| tier.remove_many(keys))
    }

    fn flush(&self) -> Answer<'_, ()> {
        self.run(Operation::Flush, Tier::flush)
    }
}

impl<L: Layer> TierAdmin for L {
    fn contains<'a>(&'a self, key: &'a Key) -> Answer<'a, bool> {
        self.run(Operation::Contains, move |tier| tier.contains(key))
    }

    fn remove_matching<'a>(
        &'a self,
        pattern: &'a KeyPattern,
        from: Option<&'a ScanPosition>,
    ) -> Answer<'a, RemovedBatch> {
        self.run(Operation::RemoveMatching, move |tier| tier.remove_matching(pattern, from))
    }

    fn stats(&self) -> TierStats {
        self.inner().stats()
    }

    /// Neither limited nor counted: the tier bounds it itself, and no call waits for it.
    fn refresh_stats(&self) -> Answer<'_, ()> {
        self.inner().refresh_stats()
    }

    fn directory(&self) -> Option<&Path> {
        self.inner().directory()
    }

    fn aside_bytes(&self) -> Option<u64> {
        self.inner().aside_bytes()
    }

    /// Neither limited nor counted, as [`refresh_stats`](TierAdmin::refresh_stats).
    fn back_up(&self) -> Result<Backup, TierError> {
        self.inner().back_up()
    }
}
