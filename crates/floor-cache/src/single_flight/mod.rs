//! Single flight: concurrent lookups of one key share one fetch. This module has the table of keys in flight.

use std::{collections::HashMap, fmt, sync::Arc};

use bytes::Bytes;
use futures_util::{FutureExt, future::Shared};
use tokio::sync::oneshot;

#[cfg(test)]
mod schedules;
#[cfg(test)]
use schedules::Mutex;

#[cfg(not(test))]
use crate::sync::Mutex;
use crate::{
    hash::{Hashed, IdentityHasher},
    key::{Key, KeyPattern},
    served::{Found, Options},
    source::{Demand, DemandGuard, GenerationRequest, Priority, SourceError},
};

/// The outcome of a flight.
pub(crate) type FlightResult = Result<Found, SourceError>;

/// The keys in flight.
#[derive(Clone)]
pub(crate) struct Flights(Arc<[Mutex<Table>]>);

type Table = HashMap<Hashed, Flight, IdentityHasher>;

struct Flight {
    outcome: Shared<oneshot::Receiver<FlightResult>>,
    demand: Demand,
    priority: Priority,
    id: Arc<()>,
}

/// Sharded, so that calls for different keys rarely contend.
const TABLES: usize = 16;

/// What a caller does for its value.
pub(crate) enum Join {
    /// Nothing: an earlier flight has stored it.
    Found(Found),
    /// Waits for the flight of another caller.
    Wait(Waiter),
    /// Leads a flight, which it must complete, and waits for it.
    Lead(Leader, Waiter),
}

impl Flights {
    pub(crate) fn new() -> Self {
        Self((0..TABLES).map(|_| Mutex::default()).collect())
    }

    /// Joins the flight of `key` or starts one, then calls `peek` to look in memory again: an earlier flight may have
    /// completed and stored the value since the caller looked.
    pub(crate) fn join(&self, key: Hashed, options: Options, peek: impl FnOnce(&Hashed) -> Option<Found>) -> Join {
        let (mut leader, waiter) = match self.lead(key, options) {
            Ok(leads) => leads,
            Err(waiter) => return Join::Wait(waiter),
        };
        let Some(found) = peek(&key) else { return Join::Lead(leader, waiter) };
        leader.complete(Ok(found.clone()));
        Join::Found(found)
    }

    /// Starts a flight of `key`, which the caller must complete, or joins the one that exists.
    ///
    /// A foreground caller does not join a background flight, which may wait behind every caller or be rejected. It
    /// starts its own flight, and later callers join that one. No caller joins a flight that its source has abandoned.
    fn lead(&self, key: Hashed, options: Options) -> Result<(Leader, Waiter), Waiter> {
        let Options { priority, caller, .. } = options;
        let mut table = self.table(&key).lock();
        if let Some(flight) = table.get(&key)
            && (flight.priority == Priority::Foreground || priority == Priority::Background)
            && let Some(demand) = flight.demand.join(caller)
        {
            return Err(Waiter { key: *key.key(), outcome: flight.outcome.clone(), _demand: Some(demand) });
        }
        let (sender, receiver) = oneshot::channel();
        let (outcome, id, demand) = (receiver.shared(), Arc::new(()), Demand::none());
        let waiter = Waiter { key: *key.key(), outcome: outcome.clone(), _demand: demand.join(caller) };
        table.insert(key, Flight { outcome, demand: demand.clone(), priority, id: id.clone() });
        Ok((Leader { flights: self.clone(), key, demand, id, sender: Some(sender) }, waiter))
    }

    /// Removes the flight of `key` from the table. Its waiters still get its outcome; the next caller starts a new
    /// flight.
    pub(crate) fn forget(&self, key: &Hashed) {
        self.table(key).lock().remove(key);
    }

    /// Removes the flights of every key that matches `pattern`, as [`forget`](Self::forget) does.
    pub(crate) fn forget_matching(&self, pattern: &KeyPattern) {
        self.0.iter().for_each(|table| table.lock().retain(|key, _| !pattern.matches(key.key())));
    }

    fn table(&self, key: &Hashed) -> &Mutex<Table> {
        &self.0[key.shard(TABLES)]
    }
}

/// A guard that completes a flight. If it is dropped before (its task panicked or was cancelled), the flight fails: its
/// waiters get an error, and the next caller starts a new one.
pub(crate) struct Leader {
    flights: Flights,
    key: Hashed,
    demand: Demand,
    /// Identifies this flight, since another may have replaced it in the table.
    id: Arc<()>,
    sender: Option<oneshot::Sender<FlightResult>>,
}

impl Leader {
    pub(crate) const fn key(&self) -> &Key {
        self.key.key()
    }

    pub(crate) const fn hashed(&self) -> &Hashed {
        &self.key
    }

    /// A request to generate the value with `options`.
    pub(crate) fn request(&self, options: Options) -> GenerationRequest {
        options.request(*self.key(), self.demand.clone())
    }

    /// Calls `store` to put the value into memory, then completes the flight, so that later callers find the value
    /// there.
    pub(crate) fn store_and_complete(&mut self, found: Found, store: impl FnOnce(&Hashed, &Bytes)) {
        store(&self.key, &found.value);
        self.complete(Ok(found));
    }

    /// Completes the flight. The next caller starts a new one, so memory must already hold the value.
    pub(crate) fn complete(&mut self, outcome: FlightResult) {
        self.remove_flight();
        if let Some(sender) = self.sender.take() {
            // Fails if no waiter is left, which is no error.
            let _ = sender.send(outcome);
        }
    }

    /// Removes the flight from the table, unless it was completed or replaced.
    fn remove_flight(&self) {
        let mut table = self.flights.table(&self.key).lock();
        if table.get(&self.key).is_some_and(|flight| Arc::ptr_eq(&flight.id, &self.id)) {
            table.remove(&self.key);
        }
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        self.remove_flight();
    }
}

/// Waits for the outcome of a flight. Dropping it does not stop the flight.
pub(crate) struct Waiter {
    key: Key,
    outcome: Shared<oneshot::Receiver<FlightResult>>,
    _demand: Option<DemandGuard>,
}

impl Waiter {
    pub(crate) async fn outcome(self) -> FlightResult {
        let abandoned = |_| SourceError::Failed { key: self.key, reason: "the work was abandoned".to_owned() };
        self.outcome.await.map_err(abandoned)?
    }
}

impl fmt::Debug for Flights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let in_flight: usize = self.0.iter().map(|table| table.lock().len()).sum();
        f.debug_struct("Flights").field("in_flight", &in_flight).finish()
    }
}
