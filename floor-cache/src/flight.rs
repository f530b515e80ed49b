//! One piece of work for however many ask: the table of keys whose values are being fetched or made.

use std::{collections::HashMap, fmt, sync::Arc};

use bytes::Bytes;
use futures_util::{FutureExt, future::Shared};
#[cfg(not(test))]
use parking_lot::Mutex;
use tokio::sync::oneshot;

#[cfg(test)]
mod schedules;
#[cfg(test)]
use schedules::Mutex;

use crate::{
    hash::{Hashed, IdentityHasher},
    key::Key,
    served::Step,
    source::{Priority, SourceError},
};

/// A value, who had it, and what was asked on the way.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) value: Bytes,
    pub(crate) by: &'static str,
    pub(crate) steps: Arc<[Step]>,
}

/// What becomes of a flight.
pub(crate) type FlightResult = Result<Found, SourceError>;

/// The keys in flight.
#[derive(Clone)]
pub(crate) struct Flights(Arc<[Mutex<Table>]>);

type Table = HashMap<Hashed, Flight, IdentityHasher>;

struct Flight {
    outcome: Shared<oneshot::Receiver<FlightResult>>,
    priority: Priority,
    id: Arc<()>,
}

/// Calls on different keys seldom meet in one of so many tables.
const TABLES: usize = 16;

/// A caller's part in a flight.
enum Role {
    /// Nobody works on the key yet: do it and say what became of it.
    Leader(Leader),
    /// Somebody does.
    Waiter(Waiter),
}

/// What a caller has who is aboard a flight.
pub(crate) struct Join {
    pub(crate) waiter: Waiter,
    /// The caller's duty, if the flight began with him and has not landed yet.
    pub(crate) leader: Option<Leader>,
    /// Whether it began with another.
    pub(crate) coalesced: bool,
}

impl Flights {
    pub(crate) fn new() -> Self {
        Self((0..TABLES).map(|_| Mutex::default()).collect())
    }

    /// Joins the flight of `key`, or starts it, and then has a `peek` at memory once more: since the caller looked, a flight of
    /// the same key may have landed and left its value there.
    pub(crate) fn join(&self, key: Hashed, priority: Priority, peek: impl FnOnce(&Hashed) -> Option<Found>) -> Join {
        match self.assign_role(key, priority) {
            Role::Waiter(waiter) => Join { waiter, leader: None, coalesced: true },
            Role::Leader(mut leader) => {
                let waiter = leader.waiter();
                let leader = match peek(leader.hashed()) {
                    Some(found) => {
                        leader.complete(Ok(found));
                        None
                    }
                    None => Some(leader),
                };
                Join { waiter, leader, coalesced: false }
            }
        }
    }

    /// Joins the flight of `key`, or starts it.
    ///
    /// A caller does not wait for work that nobody waited for: that may stand in a queue behind every caller, or be turned
    /// away where a caller is not. It starts a flight of its own, which those who come after join.
    fn assign_role(&self, key: Hashed, priority: Priority) -> Role {
        let mut table = self.table(&key).lock();
        if let Some(flight) = table.get(&key)
            && (flight.priority == Priority::Foreground || priority == Priority::Background)
        {
            return Role::Waiter(Waiter { key: *key.key(), outcome: flight.outcome.clone() });
        }
        let (sender, receiver) = oneshot::channel();
        let (outcome, id) = (receiver.shared(), Arc::new(()));
        table.insert(key, Flight { outcome: outcome.clone(), priority, id: id.clone() });
        Role::Leader(Leader { flights: self.clone(), key, outcome, id, sender: Some(sender) })
    }

    /// Takes the flight of `key` off the table, if there is one. It goes on for those who wait for it; who comes now starts
    /// another.
    pub(crate) fn forget(&self, key: &Hashed) {
        self.table(key).lock().remove(key);
    }

    fn table(&self, key: &Hashed) -> &Mutex<Table> {
        &self.0[key.shard(TABLES)]
    }
}

/// The duty to say what became of a flight. Dropped without a word (its task panicked or was cut off), it lands the
/// flight as failed, so that nobody waits for ever and the next caller starts anew.
pub(crate) struct Leader {
    flights: Flights,
    key: Hashed,
    outcome: Shared<oneshot::Receiver<FlightResult>>,
    /// Tells this lead from the one that may have overtaken it.
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

    /// Waits for the flight like any other caller, so that the work may go on elsewhere.
    fn waiter(&self) -> Waiter {
        Waiter { key: *self.key.key(), outcome: self.outcome.clone() }
    }

    /// Has `store` put what was found into memory, and then ends the flight: whoever comes after looks there first.
    pub(crate) fn store_and_complete(&mut self, found: Found, store: impl FnOnce(&Hashed, &Bytes)) {
        store(&self.key, &found.value);
        self.complete(Ok(found));
    }

    /// Ends the flight. Whoever comes now starts another, so memory must hold the value already.
    pub(crate) fn complete(&mut self, outcome: FlightResult) {
        self.remove_flight();
        if let Some(sender) = self.sender.take() {
            // Fails when everyone has gone away, which is their right.
            let _ = sender.send(outcome);
        }
    }

    /// Takes the flight off the table, if it has not landed and was not overtaken.
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

/// Waits for a flight. May be dropped at any time; the flight goes on.
pub(crate) struct Waiter {
    key: Key,
    outcome: Shared<oneshot::Receiver<FlightResult>>,
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

impl fmt::Debug for Leader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Leader").field(self.key()).finish()
    }
}

impl fmt::Debug for Waiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Waiter").field(&self.key).finish()
    }
}
