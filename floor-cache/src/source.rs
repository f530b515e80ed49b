//! The interface of the generator behind the last tier.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use tokio::runtime::Handle;

use crate::key::{Class, Key};

/// Generates values. A [`Chain`](crate::Chain) calls it when no tier has a value.
pub trait Source: fmt::Debug + Send + Sync + 'static {
    /// Generates the value of `request.key`.
    ///
    /// Dropping the future may or may not stop the generation.
    fn generate(&self, request: GenerationRequest) -> BoxFuture<'static, Result<Made, SourceError>>;

    /// Generates the value of `request.key` and sends it to `reply`, without a task that waits for it where the source
    /// can do without. Does not block. Preferably sends on a thread of `runtime`, and several values at once: each value
    /// that is sent alone wakes a thread.
    fn generate_then(&self, request: GenerationRequest, reply: Reply, runtime: &Handle) {
        let made = self.generate(request);
        runtime.spawn(async move { reply.send(made.await) });
    }

    /// A description of the value of `key` for logs.
    fn describe(&self, key: &Key) -> String {
        key.to_string()
    }

    /// The name of a class in metrics and reports.
    fn class_name(&self, class: Class) -> &'static str;

    /// The classes that exist. Their metrics are there, at 0, before their first value: a rate needs a sample from
    /// before it.
    fn classes(&self) -> Vec<Class> {
        Vec::new()
    }

    /// The amount of work for the value of `key`, in units of the source's choice. Within a class, the cost is assumed
    /// to be proportional to it.
    fn size(&self, _key: &Key) -> u32 {
        1
    }

    /// The most values generated at the same time. The chain predicts queueing from it.
    fn workers(&self) -> usize {
        1
    }
}

/// A request to generate a value.
#[derive(Debug, Clone)]
pub struct GenerationRequest {
    /// The key of the value.
    pub key: Key,
    /// Whether a caller waits for the value.
    pub priority: Priority,
    /// The client on whose behalf it is generated.
    pub client: ClientId,
    /// The callers that wait for it now.
    pub demand: Demand,
}

impl GenerationRequest {
    /// A request in the background, for the server itself.
    pub(crate) fn background(key: Key) -> Self {
        Self { key, priority: Priority::Background, client: ClientId::default(), demand: Demand::always() }
    }
}

/// The count of abandoned work, beyond any number of callers.
const ABANDONED: usize = usize::MAX;

/// The callers that wait for a value. A [`Source`] reads it to skip work that no caller waits for. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Demand(Arc<AtomicUsize>);

/// A caller that waits, until it is dropped.
#[derive(Debug)]
pub(crate) struct DemandGuard(Arc<AtomicUsize>);

impl Demand {
    /// The demand for work that is always wanted, such as measurements of the server itself.
    #[must_use]
    pub fn always() -> Self {
        Self(Arc::new(AtomicUsize::new(1)))
    }

    /// No caller yet.
    pub(crate) fn none() -> Self {
        Self(Arc::default())
    }

    /// Whether a caller waits.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        !matches!(self.0.load(SeqCst), 0 | ABANDONED)
    }

    /// Abandons the work if no caller waits: later callers start it anew. Returns whether it is abandoned; the source
    /// then answers with [`SourceError::Abandoned`].
    #[must_use]
    pub fn abandon(&self) -> bool {
        matches!(self.0.compare_exchange(0, ABANDONED, SeqCst, SeqCst), Ok(_) | Err(ABANDONED))
    }

    /// Counts a caller, unless the work is abandoned.
    pub(crate) fn join(&self) -> Option<DemandGuard> {
        let add = |callers: usize| (callers != ABANDONED).then(|| callers + 1);
        self.0.fetch_update(SeqCst, SeqCst, add).ok()?;
        Some(DemandGuard(Arc::clone(&self.0)))
    }
}

impl Drop for DemandGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// Identifies a client to the [`Source`], which may share its work fairly between clients. 0 is the server itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ClientId(pub u64);

/// Receives the value of a request. Dropped before, it receives an error.
pub struct Reply {
    key: Key,
    receive: Option<Receive>,
}

type Receive = Box<dyn FnOnce(Result<Made, SourceError>) + Send>;

impl Reply {
    /// Calls `receive` once, with the value of `key` or an error. `receive` must not block.
    pub fn new(key: Key, receive: impl FnOnce(Result<Made, SourceError>) + Send + 'static) -> Self {
        Self { key, receive: Some(Box::new(receive)) }
    }

    /// Sends the outcome.
    pub fn send(mut self, outcome: Result<Made, SourceError>) {
        if let Some(receive) = self.receive.take() {
            receive(outcome);
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if let Some(receive) = self.receive.take() {
            let panicked = || SourceError::Failed { key: self.key, reason: "the generator panicked".to_owned() };
            receive(Err(if thread::panicking() { panicked() } else { SourceError::Stopped }));
        }
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").field("key", &self.key).finish_non_exhaustive()
    }
}

/// A value generated by the [`Source`].
#[derive(Debug, Clone)]
pub struct Made {
    /// The value as it is cached and sent.
    pub value: Bytes,
    /// Time from the start on a worker to the value. Queueing is not included.
    pub took: Duration,
    /// CPU time of the generation; the same as `took` where it cannot be measured.
    pub cpu: Duration,
}

/// Whether a caller waits for the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Priority {
    /// A caller waits.
    #[default]
    Foreground,
    /// No caller waits: foreground work goes first.
    Background,
}

/// Why a [`Source`] did not generate a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// Its queue is full.
    #[error("the generation queue is full ({queued} floors wait); try again in {} ms", retry_after.as_millis())]
    Busy {
        /// Values that wait in the queue.
        queued: usize,
        /// How long to wait before trying again.
        retry_after: Duration,
    },
    /// The client has used up what it may have generated.
    #[error("this client has used up its quota of generated floors; try again in {} ms", retry_after.as_millis())]
    Limited {
        /// How long to wait before trying again.
        retry_after: Duration,
    },
    /// No caller waited for the value any more. A caller never sees this error.
    #[error("no caller waits for the value any more")]
    Abandoned,
    /// It is shutting down.
    #[error("generation has stopped")]
    Stopped,
    /// The generation of this key failed.
    #[error("generating {key} failed: {reason}")]
    Failed {
        /// The key.
        key: Key,
        /// The error message of the source.
        reason: String,
    },
}

#[cfg(test)]
mod tests {
    use std::{panic, sync::mpsc};

    use super::*;

    const KEY: Key = Key::new([7; Key::LEN - 1], Class::new(0));

    #[test]
    fn a_reply_that_is_dropped_sends_why() {
        let (sender, outcomes) = mpsc::channel();
        let reply = || {
            let sender = sender.clone();
            Reply::new(KEY, move |outcome| sender.send(outcome).unwrap())
        };
        drop(reply());
        assert!(matches!(outcomes.try_recv(), Ok(Err(SourceError::Stopped))));
        let held = reply();
        panic::catch_unwind(panic::AssertUnwindSafe(|| {
            let _held = held;
            panic!("as a source might");
        }))
        .unwrap_err();
        let failed = SourceError::Failed { key: KEY, reason: "the generator panicked".to_owned() };
        assert_eq!(outcomes.try_recv().unwrap().unwrap_err(), failed);
        reply().send(Err(SourceError::Abandoned));
        assert_eq!(outcomes.try_iter().map(Result::unwrap_err).collect::<Vec<_>>(), [SourceError::Abandoned], "once");
    }

    #[test]
    fn work_is_abandoned_only_without_callers_and_then_for_good() {
        let demand = Demand::none();
        let (first, second) = (demand.join().unwrap(), demand.join().unwrap());
        drop(first);
        assert!(demand.is_wanted() && !demand.abandon());
        drop(second);
        assert!(!demand.is_wanted() && demand.abandon() && demand.abandon());
        assert!(demand.join().is_none(), "a later caller starts the work anew");
        assert!(!Demand::always().abandon());
    }
}
