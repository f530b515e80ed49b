//! Tests of single flight under thousands of schedules: shuttle decides at each lock and await which task runs next.
//!
//! The tests use the real table of flights over shuttle's mutex, and the chain's steps [`Flights::join`] and
//! [`Leader::store_and_complete`]. The fixture adds the rest of the chain: a lookup in memory first, and a generation
//! in its own task.

use std::sync::Arc;

use bytes::Bytes;
use shuttle::{
    check_random, future,
    sync::atomic::{AtomicU32, Ordering::SeqCst},
};

use super::{FlightResult, Flights, Join, Leader};
use crate::{
    hash::Hashed,
    key::{Class, Key},
    served::{Found, Options},
    source::{Priority, SourceError},
};

/// A mutex of shuttle with the interface of this crate's.
#[derive(Default)]
pub(super) struct Mutex<T>(shuttle::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(super) fn lock(&self) -> shuttle::sync::MutexGuard<'_, T> {
        self.0.lock().expect("no thread panics while it holds the lock")
    }
}

/// Schedules per test. All tests together take a few seconds.
const SCHEDULES: usize = 3000;

/// A chain of one key: memory, flights and a counting source.
struct Fixture {
    flights: Flights,
    memory: Mutex<Option<Found>>,
    made: AtomicU32,
}

fn key() -> Hashed {
    Hashed::new(&Key::new([7; Key::LEN - 1], Class::new(1)))
}

fn options(priority: Priority) -> Options {
    Options { priority, ..Options::default() }
}

/// The `number`th generated value.
fn value(number: u32) -> Found {
    Found { value: Bytes::from(vec![number as u8]), by: "generated", steps: Arc::new([]) }
}

impl Fixture {
    fn new() -> Arc<Self> {
        Arc::new(Self { flights: Flights::new(), memory: Mutex::default(), made: AtomicU32::new(0) })
    }

    fn peek(&self) -> Option<Found> {
        self.memory.lock().clone()
    }

    async fn get(self: Arc<Self>, priority: Priority) -> FlightResult {
        if let Some(found) = self.peek() {
            return Ok(found);
        }
        let waiter = match self.flights.join(key(), options(priority), |_| self.peek()) {
            Join::Found(found) => return Ok(found),
            Join::Wait(waiter) => waiter,
            Join::Lead(leader, waiter) => {
                drop(future::spawn(self.make(leader)));
                waiter
            }
        };
        waiter.outcome().await
    }

    async fn make(self: Arc<Self>, mut leader: Leader) {
        future::yield_now().await;
        let found = value(self.made.fetch_add(1, SeqCst));
        leader.store_and_complete(found.clone(), |_, _| *self.memory.lock() = Some(found));
    }

    fn in_flight(&self) -> usize {
        self.flights.0.iter().map(|table| table.lock().len()).sum()
    }
}

#[test]
fn concurrent_callers_share_one_generation() {
    let explore = || {
        future::block_on(async {
            let fixture = Fixture::new();
            let callers: Vec<_> = (0..4).map(|_| future::spawn(fixture.clone().get(Priority::Foreground))).collect();
            for caller in callers {
                let outcome = caller.await.expect("a caller ends");
                assert_eq!(outcome.expect("the value is generated").value, value(0).value);
            }
            assert_eq!(fixture.made.load(SeqCst), 1);
            assert_eq!(fixture.in_flight(), 0);
        });
    };
    check_random(explore, SCHEDULES);
}

#[test]
fn a_cancelled_caller_cancels_no_other() {
    let explore = || {
        future::block_on(async {
            let fixture = Fixture::new();
            let cancelled: Vec<_> = (0..2).map(|_| future::spawn(fixture.clone().get(Priority::Foreground))).collect();
            let remaining: Vec<_> = (0..2).map(|_| future::spawn(fixture.clone().get(Priority::Foreground))).collect();
            cancelled.iter().for_each(future::JoinHandle::abort);
            for caller in remaining {
                caller.await.expect("a caller ends").expect("the value is generated");
            }
            for caller in cancelled {
                // Cancelled, or finished before.
                drop(caller.await);
            }
            // A cancelled caller runs on to its next await, and may have started a flight that finds the value in
            // memory. Shuttle stops the test here if a flight never completes.
            while fixture.in_flight() > 0 {
                future::yield_now().await;
            }
            assert_eq!(fixture.made.load(SeqCst), 1);
        });
    };
    check_random(explore, SCHEDULES);
}

#[test]
fn a_dropped_leader_fails_its_waiters_and_the_next_caller_starts_again() {
    let explore = || {
        future::block_on(async {
            let fixture = Fixture::new();
            // The task of this leader is dropped before it completes the flight.
            let Ok((leader, _waiter)) = fixture.flights.lead(key(), options(Priority::Foreground)) else {
                panic!("no other flight exists yet")
            };
            let cut_off = future::spawn(async move {
                future::yield_now().await;
                drop(leader);
            });
            let callers: Vec<_> = (0..3).map(|_| future::spawn(fixture.clone().get(Priority::Foreground))).collect();
            for caller in callers {
                // Each call ends with the value of a later flight or with the error of the dropped one.
                match caller.await.expect("a caller ends") {
                    Ok(found) => assert_eq!(found.value, value(0).value),
                    Err(error) => assert!(matches!(error, SourceError::Failed { .. }), "{error}"),
                }
            }
            cut_off.await.expect("it ends");
            assert_eq!(fixture.in_flight(), 0);
            fixture.clone().get(Priority::Foreground).await.expect("the value is generated");
            assert_eq!(fixture.made.load(SeqCst), 1);
        });
    };
    check_random(explore, SCHEDULES);
}

#[test]
fn a_foreground_caller_replaces_a_background_flight_and_neither_removes_the_other() {
    let explore = || {
        future::block_on(async {
            let fixture = Fixture::new();
            let priorities = [Priority::Background, Priority::Foreground, Priority::Background, Priority::Foreground];
            let callers: Vec<_> =
                priorities.into_iter().map(|priority| future::spawn(fixture.clone().get(priority))).collect();
            for caller in callers {
                caller.await.expect("it ends").expect("the value is generated");
            }
            let made = fixture.made.load(SeqCst);
            assert!((1..=2).contains(&made), "one foreground and at most one background generation: {made}");
            assert_eq!(fixture.in_flight(), 0);
        });
    };
    check_random(explore, SCHEDULES);
}

#[test]
fn a_caller_after_forget_does_not_get_the_value_of_the_forgotten_flight() {
    let explore = || {
        future::block_on(async {
            let flights = Flights::new();
            let leader = || match flights.lead(key(), options(Priority::Foreground)) {
                Ok((leader, _waiter)) => leader,
                Err(_) => panic!("the flight was forgotten, or none existed"),
            };
            let mut old = leader();
            flights.forget(&key());
            let outcome = future::spawn(async move { old.complete(Ok(value(0))) });
            let mut new = leader();
            let Err(late) = flights.lead(key(), options(Priority::Foreground)) else {
                panic!("the old flight removed the new one from the table")
            };
            new.complete(Ok(value(1)));
            assert_eq!(late.outcome().await.expect("it completed").value, value(1).value);
            outcome.await.expect("it ends");
        });
    };
    check_random(explore, SCHEDULES);
}
