//! The interface of the source behind the last tier, which generates the values that no tier has.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use bytes::Bytes;
use futures_util::future::BoxFuture;

use crate::{
    key::{Class, Key},
    sync::Mutex,
};

/// Generates values. A [`Chain`](crate::Chain) calls it when no tier has a value.
pub trait Source: fmt::Debug + Send + Sync + 'static {
    /// Generates the value of `request.key`.
    ///
    /// Dropping the future may or may not stop the generation.
    fn generate(&self, request: GenerationRequest) -> BoxFuture<'static, Result<Made, SourceError>>;

    /// The name of a class in metrics and reports.
    fn class_name(&self, class: Class) -> &'static str;

    /// The classes that exist. Their metrics are there, at 0, before their first value: a rate needs a sample from
    /// before it.
    fn classes(&self) -> Vec<Class> {
        Vec::new()
    }

    /// Predicts the cost of generating the values of `keys` now, together. `None` while it is unknown.
    fn forecast(&self, keys: &[Key]) -> Option<Forecast>;
}

/// The predicted cost of values generated now, together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecast {
    /// Seconds until the last value is ready, with the wait in the queue.
    pub response: f64,
    /// Seconds on workers for all values, one after the other.
    pub run: f64,
    /// CPU seconds of all values.
    pub cpu: f64,
}

/// A request to generate a value.
#[derive(Debug, Clone)]
pub struct GenerationRequest {
    /// The key of the value.
    pub key: Key,
    /// Whether a caller waits for the value.
    pub priority: Priority,
    /// The caller on whose behalf it is generated.
    pub caller: CallerId,
    /// The callers that wait for it now.
    pub demand: Demand,
}

impl GenerationRequest {
    /// A request in the background, for the server itself.
    pub(crate) fn background(key: Key) -> Self {
        Self { key, priority: Priority::Background, caller: CallerId::default(), demand: Demand::always() }
    }
}

/// The count of abandoned work, beyond any number of callers.
const ABANDONED: usize = usize::MAX;

/// The lookups that wait for a value, by caller. A [`Source`] reads it to skip work that no caller waits for, and to serve
/// work in the place of the caller that is served first. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Demand(Arc<DemandState>);

#[derive(Debug, Default)]
struct DemandState {
    callers: AtomicUsize,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    /// How many lookups of each caller wait.
    callers: HashMap<CallerId, usize>,
    observer: Option<Box<dyn DemandObserver>>,
}

/// Is told which callers wait for a value. It is called under the lock of the demand, so it must not wait for another
/// caller.
pub trait DemandObserver: Send + Sync {
    /// The first lookup of `caller` waits.
    fn joined(&self, caller: CallerId);
    /// The last lookup of `caller` has left.
    fn left(&self, caller: CallerId);
}

/// A caller that waits, until it is dropped.
#[derive(Debug)]
pub(crate) struct DemandGuard {
    demand: Demand,
    caller: CallerId,
}

impl Demand {
    /// The demand for work that is always wanted, such as measurements of the server itself.
    #[must_use]
    pub fn always() -> Self {
        Self(Arc::new(DemandState { callers: AtomicUsize::new(1), ..DemandState::default() }))
    }

    /// No caller yet.
    pub(crate) fn none() -> Self {
        Self(Arc::default())
    }

    /// Whether a caller waits.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        !matches!(self.0.callers.load(SeqCst), 0 | ABANDONED)
    }

    /// Abandons the work if no caller waits: later callers start it anew. Returns whether it is abandoned; the source
    /// then answers with [`SourceError::Abandoned`].
    #[must_use]
    pub fn abandon(&self) -> bool {
        matches!(self.0.callers.compare_exchange(0, ABANDONED, SeqCst, SeqCst), Ok(_) | Err(ABANDONED))
    }

    /// Tells `observer` of the callers that wait now, and of each that joins or leaves.
    pub fn observe(&self, observer: impl DemandObserver + 'static) {
        let mut waiting = self.0.waiting.lock();
        waiting.callers.keys().for_each(|caller| observer.joined(*caller));
        waiting.observer = Some(Box::new(observer));
    }

    /// Counts a caller of `caller`, unless the work is abandoned.
    pub(crate) fn join(&self, caller: CallerId) -> Option<DemandGuard> {
        let add = |callers: usize| (callers != ABANDONED).then(|| callers + 1);
        self.0.callers.fetch_update(SeqCst, SeqCst, add).ok()?;
        let mut waiting = self.0.waiting.lock();
        let callers = waiting.callers.entry(caller).or_default();
        *callers += 1;
        if let (1, Some(observer)) = (*callers, &waiting.observer) {
            observer.joined(caller);
        }
        Some(DemandGuard { demand: self.clone(), caller })
    }
}

impl Drop for DemandGuard {
    fn drop(&mut self) {
        let DemandState { callers, waiting } = &*self.demand.0;
        let mut waiting = waiting.lock();
        if let Some(of_caller) = waiting.callers.get_mut(&self.caller) {
            *of_caller -= 1;
            if *of_caller == 0 {
                waiting.callers.remove(&self.caller);
                waiting.observer.iter().for_each(|observer| observer.left(self.caller));
            }
        }
        drop(waiting);
        callers.fetch_sub(1, SeqCst);
    }
}

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiting").field("callers", &self.callers).finish_non_exhaustive()
    }
}

/// Identifies a caller to the [`Source`], which may share its work fairly between callers. 0 is the server itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CallerId(pub u64);

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
    #[error("the generation queue is full ({queued} wait); try again in {} ms", retry_after.as_millis())]
    Busy {
        /// Values that wait in the queue.
        queued: usize,
        /// How long to wait before trying again.
        retry_after: Duration,
    },
    /// The caller, or a group of callers, has used up what it may have generated.
    #[error("{who} has used up its quota of generation; try again in {} ms", retry_after.as_millis())]
    Limited {
        /// Whose quota it is, as the subject of a sentence.
        who: &'static str,
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
    use super::*;

    #[test]
    fn work_is_abandoned_only_without_callers_and_then_for_good() {
        let demand = Demand::none();
        let join = || demand.join(CallerId(7));
        let (first, second) = (join().unwrap(), join().unwrap());
        drop(first);
        assert!(demand.is_wanted() && !demand.abandon());
        drop(second);
        assert!(!demand.is_wanted() && demand.abandon() && demand.abandon());
        assert!(join().is_none(), "a later caller starts the work anew");
        assert!(!Demand::always().abandon());
    }

    /// The callers that it was told of, with a sign for those that left.
    #[derive(Clone, Default)]
    struct Told(Arc<Mutex<Vec<i64>>>);

    impl DemandObserver for Told {
        fn joined(&self, caller: CallerId) {
            self.0.lock().push(caller.0 as i64);
        }

        fn left(&self, caller: CallerId) {
            self.0.lock().push(-(caller.0 as i64));
        }
    }

    #[test]
    fn an_observer_learns_of_each_client_once() {
        let (demand, told) = (Demand::none(), Told::default());
        let join = |caller| demand.join(CallerId(caller));
        let early = join(1);
        demand.observe(told.clone());
        let (again, other) = (join(1), join(2));
        drop(early);
        drop(other);
        drop(again);
        assert_eq!(*told.0.lock(), [1, 2, -2, -1]);
    }
}
