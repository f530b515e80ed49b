//! Single flight under thousands of schedules: shuttle decides at each lock and each await who goes on.
//!
//! The table of flights is the real one, over a mutex that shuttle knows, and so are the steps that the chain takes by it: to
//! board a flight, which looks in memory again, and to deliver, which puts the value into memory and lands. Around them
//! stands what the chain does besides: look in memory first, and have the value made in a task of its own.

use std::sync::Arc;

use bytes::Bytes;
use shuttle::{
    check_random, future,
    sync::atomic::{AtomicU32, Ordering::SeqCst},
};

use super::{FlightResult, Flights, Found, Leader, Role};
use crate::{
    hash::Hashed,
    key::{Class, Key},
    source::{Priority, SourceError},
};

/// parking_lot's mutex as shuttle plays it.
#[derive(Default)]
pub(super) struct Mutex<T>(shuttle::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(super) fn lock(&self) -> shuttle::sync::MutexGuard<'_, T> {
        self.0.lock().expect("no panic goes on under a lock")
    }
}

/// Schedules of each test: a few seconds for all of them.
const SCHEDULES: usize = 3000;

/// A chain of one key, as far as flights see it.
struct Fixture {
    flights: Flights,
    memory: Mutex<Option<Found>>,
    made: AtomicU32,
}

fn key() -> Hashed {
    Hashed::new(&Key::new([7; Key::LEN - 1], Class::new(1)))
}

/// The `number`th value that was made.
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
        let join = self.flights.join(key(), priority, |_| self.peek());
        if let Some(leader) = join.leader {
            drop(future::spawn(self.make(leader)));
        }
        join.waiter.outcome().await
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
fn however_many_ask_one_value_is_made() {
    let explore = || {
        future::block_on(async {
            let fixture = Fixture::new();
            let callers: Vec<_> = (0..4).map(|_| future::spawn(fixture.clone().get(Priority::Foreground))).collect();
            for caller in callers {
                let outcome = caller.await.expect("a caller ends");
                assert_eq!(outcome.expect("it is made").value, value(0).value);
            }
            assert_eq!(fixture.made.load(SeqCst), 1);
            assert_eq!(fixture.in_flight(), 0);
        });
    };
    check_random(explore, SCHEDULES);
}

#[test]
fn who_goes_away_takes_nothing_with_him() {
    let explore = || {
        future::block_on(async {
            let fixture = Fixture::new();
            let cancelled: Vec<_> = (0..2).map(|_| future::spawn(fixture.clone().get(Priority::Foreground))).collect();
            let remaining: Vec<_> = (0..2).map(|_| future::spawn(fixture.clone().get(Priority::Foreground))).collect();
            cancelled.iter().for_each(future::JoinHandle::abort);
            for caller in remaining {
                caller.await.expect("a caller ends").expect("it is made");
            }
            for caller in cancelled {
                // Cut off, or done before that.
                drop(caller.await);
            }
            // Who is cut off between two awaits goes on to the next, perhaps with a flight that finds the value in memory. One
            // that never lands has shuttle give up here.
            while fixture.in_flight() > 0 {
                future::yield_now().await;
            }
            assert_eq!(fixture.made.load(SeqCst), 1);
        });
    };
    check_random(explore, SCHEDULES);
}

#[test]
fn work_that_is_cut_off_leaves_nobody_waiting_and_the_next_caller_starts_anew() {
    let explore = || {
        future::block_on(async {
            let fixture = Fixture::new();
            // Its task is dropped before it has said a word.
            let Role::Leader(leader) = fixture.flights.assign_role(key(), Priority::Foreground) else {
                panic!("nobody else is there yet")
            };
            let cut_off = future::spawn(async move {
                future::yield_now().await;
                drop(leader);
            });
            let callers: Vec<_> = (0..3).map(|_| future::spawn(fixture.clone().get(Priority::Foreground))).collect();
            for caller in callers {
                // Each ends: with the value of a later flight, or told that the work was abandoned.
                match caller.await.expect("a caller ends") {
                    Ok(found) => assert_eq!(found.value, value(0).value),
                    Err(error) => assert!(matches!(error, SourceError::Failed { .. }), "{error}"),
                }
            }
            cut_off.await.expect("it ends");
            assert_eq!(fixture.in_flight(), 0);
            fixture.clone().get(Priority::Foreground).await.expect("it is made");
            assert_eq!(fixture.made.load(SeqCst), 1);
        });
    };
    check_random(explore, SCHEDULES);
}

#[test]
fn a_caller_overtakes_what_nobody_waits_for_and_neither_takes_the_others_flight_away() {
    let explore = || {
        future::block_on(async {
            let fixture = Fixture::new();
            let asks = [Priority::Background, Priority::Foreground, Priority::Background, Priority::Foreground];
            let asks: Vec<_> = asks.into_iter().map(|priority| future::spawn(fixture.clone().get(priority))).collect();
            for ask in asks {
                ask.await.expect("it ends").expect("it is made");
            }
            let made = fixture.made.load(SeqCst);
            assert!((1..=2).contains(&made), "one for those who wait, one for nobody: {made}");
            assert_eq!(fixture.in_flight(), 0);
        });
    };
    check_random(explore, SCHEDULES);
}

#[test]
fn who_comes_after_a_flight_was_left_behind_is_not_given_what_it_found() {
    let explore = || {
        future::block_on(async {
            let flights = Flights::new();
            let leader = || match flights.assign_role(key(), Priority::Foreground) {
                Role::Leader(leader) => leader,
                Role::Waiter(_) => panic!("the flight was left behind, or none began"),
            };
            let mut old = leader();
            flights.forget(&key());
            let outcome = future::spawn(async move { old.complete(Ok(value(0))) });
            let mut new = leader();
            let Role::Waiter(late) = flights.assign_role(key(), Priority::Foreground) else {
                panic!("the old flight took the new one off the table")
            };
            new.complete(Ok(value(1)));
            assert_eq!(late.outcome().await.expect("it landed").value, value(1).value);
            outcome.await.expect("it ends");
        });
    };
    check_random(explore, SCHEDULES);
}
