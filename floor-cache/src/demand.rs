//! Demand: how many callers wait for a value. A source reads it to skip work that no caller waits for.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

/// The count of abandoned work, beyond any number of callers.
const ABANDONED: usize = usize::MAX;

/// The callers that wait for a value. Cheap to clone.
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
    /// then answers with [`SourceError::Abandoned`](crate::SourceError::Abandoned).
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

#[cfg(test)]
mod tests {
    use super::*;

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
