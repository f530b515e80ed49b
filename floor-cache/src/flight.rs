//! One piece of work for however many ask: the table of keys whose values are being fetched or made.

use std::collections::hash_map::Entry;
use std::{collections::HashMap, fmt, sync::Arc};

use bytes::Bytes;
use futures_util::{FutureExt, future::Shared};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::{
    chain::Step,
    hash::{Hashed, Ready},
    key::Key,
    source::SourceError,
};

/// A value, who had it, and what was asked on the way.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) value: Bytes,
    pub(crate) by: &'static str,
    pub(crate) steps: Arc<[Step]>,
}

/// What becomes of a flight.
pub(crate) type Landing = Result<Found, SourceError>;

/// The keys in flight.
#[derive(Clone)]
pub(crate) struct Flights(Arc<[Mutex<Table>]>);

type Table = HashMap<Hashed, Shared<oneshot::Receiver<Landing>>, Ready>;

/// Calls on different keys seldom meet in one of so many tables.
const TABLES: usize = 16;

/// A caller's part in a flight.
pub(crate) enum Seat {
    /// Nobody works on the key yet: do it and say what became of it.
    Lead(Lead),
    /// Somebody does.
    Wait(Waiter),
}

impl Flights {
    pub(crate) fn new() -> Self {
        Self((0..TABLES).map(|_| Mutex::default()).collect())
    }

    /// Joins the flight of `key`, or starts it.
    pub(crate) fn join(&self, key: Hashed) -> Seat {
        match self.table(&key).lock().entry(key) {
            Entry::Occupied(flight) => Seat::Wait(Waiter { key: *key.key(), landing: flight.get().clone() }),
            Entry::Vacant(place) => {
                let (sender, receiver) = oneshot::channel();
                place.insert(receiver.shared());
                Seat::Lead(Lead { flights: self.clone(), key, sender: Some(sender) })
            }
        }
    }

    fn table(&self, key: &Hashed) -> &Mutex<Table> {
        &self.0[key.shard(TABLES)]
    }
}

/// The duty to say what became of a flight. Dropped without a word (its task panicked or was cut off), it lands the
/// flight as failed, so that nobody waits for ever and the next caller starts anew.
pub(crate) struct Lead {
    flights: Flights,
    key: Hashed,
    sender: Option<oneshot::Sender<Landing>>,
}

impl Lead {
    pub(crate) const fn key(&self) -> &Key {
        self.key.key()
    }

    pub(crate) const fn hashed(&self) -> &Hashed {
        &self.key
    }

    /// Waits for the flight like any other caller, so that the work may go on elsewhere.
    pub(crate) fn waiter(&self) -> Waiter {
        let table = self.flights.table(&self.key).lock();
        let landing = table.get(&self.key).expect("a flight is in the table until its lead is gone").clone();
        Waiter { key: *self.key.key(), landing }
    }

    /// Ends the flight. Whoever comes now starts another, so memory must hold the value already.
    pub(crate) fn land(&mut self, landing: Landing) {
        self.leave();
        if let Some(sender) = self.sender.take() {
            // Fails when everyone has gone away, which is their right.
            let _ = sender.send(landing);
        }
    }

    /// Takes the flight off the table, if this is still its lead.
    fn leave(&self) {
        if self.sender.is_some() {
            self.flights.table(&self.key).lock().remove(&self.key);
        }
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Waits for a flight. May be dropped at any time; the flight goes on.
pub(crate) struct Waiter {
    key: Key,
    landing: Shared<oneshot::Receiver<Landing>>,
}

impl Waiter {
    pub(crate) async fn landing(self) -> Landing {
        let abandoned = |_| SourceError::Failed { key: self.key, reason: "the work was abandoned".to_owned() };
        self.landing.await.map_err(abandoned)?
    }
}

impl fmt::Debug for Flights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let aloft: usize = self.0.iter().map(|table| table.lock().len()).sum();
        f.debug_struct("Flights").field("aloft", &aloft).finish()
    }
}

impl fmt::Debug for Lead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lead").field(self.key()).finish()
    }
}

impl fmt::Debug for Waiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Waiter").field(&self.key).finish()
    }
}
