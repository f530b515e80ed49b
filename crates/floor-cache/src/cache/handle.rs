//! [`Cache`], what callers hold.

use std::{error::Error, time::Duration};

use bytes::Bytes;

use super::{
    computations::{Computation, Computations, blocking, polled},
    name::Name,
    workers::Workers,
};
use crate::{
    chain::Chain, metrics::ChainMetrics, report::TierReport, served::Options, source::SourceError, stack::Removal,
};

/// A cache of values that can be computed again. Clones are cheap and share the cache.
///
/// A key is any bytes, and its value never changes: a new version of a value is a new key. A tier below memory is asked
/// only while its answer is expected to cost less than computing; memory is always asked.
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let cache = floor_cache::Cache::builder("primes").memory(64 << 20).build()?;
/// let value = cache.get_or_compute("the first", || async { Ok::<_, std::io::Error>("2") }).await?;
/// assert_eq!(value, "2");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Cache {
    pub(super) chain: Chain,
    pub(super) computations: Computations,
    pub(super) workers: Workers,
}

/// Why there is no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ComputeError {
    /// The function failed, or that of another caller who asked for the same key did. Errors are not cached.
    #[error("computing the value failed: {0}")]
    Failed(String),
}

impl Cache {
    /// The value of `key` from the cheapest tier that has it, or from `compute`.
    ///
    /// Concurrent callers of one key share one computation, and its error. If the future is dropped, a computation that
    /// has begun ends in the background and is stored. Once in a while `compute` runs although a tier has the value: its
    /// cost is not known otherwise.
    ///
    /// The CPU time of `compute` is that of its polls. Work that it hands to other threads counts as waiting. What computes
    /// for more than some 100 microseconds belongs into [`get_or_compute_blocking`](Self::get_or_compute_blocking).
    ///
    /// # Errors
    /// When `compute` fails or panics. A tier that fails is skipped.
    pub async fn get_or_compute<F, V, E>(
        &self,
        key: impl AsRef<[u8]>,
        compute: impl FnOnce() -> F + Send + 'static,
    ) -> Result<Bytes, ComputeError>
    where
        F: Future<Output = Result<V, E>> + Send + 'static,
        V: Into<Bytes>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.get_or(key.as_ref(), |name| polled(name, compute)).await
    }

    /// As [`get_or_compute`](Self::get_or_compute), for a function that computes and does not wait: it runs on a thread
    /// for blocking work, of which as many run at once as the runtime has worker threads. In an async function it would
    /// keep a worker thread from polling, and with it answers of tiers for other callers.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # fn draw(tile: (u32, u32)) -> Result<Vec<u8>, std::io::Error> { Ok(vec![0; 256 * 256]) }
    /// let cache = floor_cache::Cache::builder("tiles").memory(64 << 20).build()?;
    /// let tile = cache.get_or_compute_blocking("8/70/96", || draw((70, 96))).await?;
    /// # assert_eq!(tile.len(), 65_536);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When `compute` fails or panics. A tier that fails is skipped.
    pub async fn get_or_compute_blocking<V, E>(
        &self,
        key: impl AsRef<[u8]>,
        compute: impl FnOnce() -> Result<V, E> + Send + 'static,
    ) -> Result<Bytes, ComputeError>
    where
        V: Into<Bytes>,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        self.get_or(key.as_ref(), |name| blocking(name, self.workers.clone(), compute)).await
    }

    /// The value of `key` from memory, or from a tier or its computation.
    async fn get_or(&self, key: &[u8], computation: impl FnOnce(Name) -> Computation) -> Result<Bytes, ComputeError> {
        let name = Name::new(key);
        if let Some(value) = self.chain.get_now(name.key()).and_then(|hit| name.value(&hit.value)) {
            return Ok(value);
        }
        // Boxed to keep the future of a hit small.
        Box::pin(self.compute(computation(name.clone()), name)).await
    }

    /// The value of `name` from a tier or from a computation of it, which may be `own`.
    async fn compute(&self, own: Computation, name: Name) -> Result<Bytes, ComputeError> {
        let _offer = self.computations.offer(*name.key(), own.clone());
        let served = match self.chain.get(*name.key(), Options::default()).await {
            Ok(served) => name.value(&served.value),
            Err(SourceError::Failed { reason, .. }) => return Err(ComputeError::Failed(reason)),
            // No computation was left: the last caller of a shared one was dropped.
            Err(_) => None,
        };
        match served {
            Some(value) => Ok(value),
            // Or another key has the same hash.
            None => own
                .await
                .map(|computed| name.value(&computed.stored).expect("it is of this name"))
                .map_err(ComputeError::Failed),
        }
    }

    /// Removes `key` from every tier. Other processes keep what they have in memory. Returns how each lower tier fared.
    pub async fn purge(&self, key: impl AsRef<[u8]>) -> Vec<Removal> {
        self.chain.purge(&[*Name::new(key.as_ref()).key()]).await
    }

    /// Counts and costs of each tier in lookup order, then of computing, for people.
    #[must_use]
    pub fn report(&self) -> Vec<TierReport> {
        self.chain.report()
    }

    /// Counts and times, for a monitoring system.
    #[must_use]
    pub fn metrics(&self) -> ChainMetrics {
        self.chain.metrics()
    }

    /// Writes what waits for the lower tiers. `false` if a tier failed or `deadline` passed. The cache stays usable.
    pub async fn flush(&self, deadline: Duration) -> bool {
        self.chain.close(deadline).await
    }
}
