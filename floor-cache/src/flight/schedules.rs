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

use super::{Flights, Found, Landing, Lead, Seat};
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
struct House {
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

impl House {
    fn new() -> Arc<Self> {
        Arc::new(Self { flights: Flights::new(), memory: Mutex::default(), made: AtomicU32::new(0) })
    }

    fn peek(&self) -> Option<Found> {
        self.memory.lock().clone()
    }

    async fn get(self: Arc<Self>, priority: Priority) -> Landing {
        if let Some(found) = self.peek() {
            return Ok(found);
        }
        let aboard = self.flights.board(key(), priority, |_| self.peek());
        if let Some(lead) = aboard.lead {
            drop(future::spawn(self.make(lead)));
        }
        aboard.waiter.landing().await
    }

    async fn make(self: Arc<Self>, mut lead: Lead) {
        future::yield_now().await;
        let found = value(self.made.fetch_add(1, SeqCst));
        lead.deliver(found.clone(), |_, _| *self.memory.lock() = Some(found));
    }

    fn aloft(&self) -> usize {
        self.flights.0.iter().map(|table| table.lock().len()).sum()
    }
}

#[test]
fn however_many_ask_one_value_is_made() {
    let explore = || {
        future::block_on(async {
            let house = House::new();
            let callers: Vec<_> = (0..4).map(|_| future::spawn(house.clone().get(Priority::Foreground))).collect();
            for caller in callers {
                let landing = caller.await.expect("a caller ends");
                assert_eq!(landing.expect("it is made").value, value(0).value);
            }
            assert_eq!(house.made.load(SeqCst), 1);
            assert_eq!(house.aloft(), 0);
        });
    };
    check_random(explore, SCHEDULES);
}

#[test]
fn who_goes_away_takes_nothing_with_him() {
    let explore = || {
        future::block_on(async {
            let house = House::new();
            let fickle: Vec<_> = (0..2).map(|_| future::spawn(house.clone().get(Priority::Foreground))).collect();
            let patient: Vec<_> = (0..2).map(|_| future::spawn(house.clone().get(Priority::Foreground))).collect();
            fickle.iter().for_each(future::JoinHandle::abort);
            for caller in patient {
                caller.await.expect("a caller ends").expect("it is made");
            }
            for caller in fickle {
                // Cut off, or done before that.
                drop(caller.await);
            }
            // Who is cut off between two awaits goes on to the next, perhaps with a flight that finds the value in memory. One
            // that never lands has shuttle give up here.
            while house.aloft() > 0 {
                future::yield_now().await;
            }
            assert_eq!(house.made.load(SeqCst), 1);
        });
    };
    check_random(explore, SCHEDULES);
}

#[test]
fn work_that_is_cut_off_leaves_nobody_waiting_and_the_next_caller_starts_anew() {
    let explore = || {
        future::block_on(async {
            let house = House::new();
            // Its task is dropped before it has said a word.
            let Seat::Lead(lead) = house.flights.join(key(), Priority::Foreground) else {
                panic!("nobody else is there yet")
            };
            let cut_off = future::spawn(async move {
                future::yield_now().await;
                drop(lead);
            });
            let callers: Vec<_> = (0..3).map(|_| future::spawn(house.clone().get(Priority::Foreground))).collect();
            for caller in callers {
                // Each ends: with the value of a later flight, or told that the work was abandoned.
                match caller.await.expect("a caller ends") {
                    Ok(found) => assert_eq!(found.value, value(0).value),
                    Err(error) => assert!(matches!(error, SourceError::Failed { .. }), "{error}"),
                }
            }
            cut_off.await.expect("it ends");
            assert_eq!(house.aloft(), 0);
            house.clone().get(Priority::Foreground).await.expect("it is made");
            assert_eq!(house.made.load(SeqCst), 1);
        });
    };
    check_random(explore, SCHEDULES);
}

#[test]
fn a_caller_overtakes_what_nobody_waits_for_and_neither_takes_the_others_flight_away() {
    let explore = || {
        future::block_on(async {
            let house = House::new();
            let asks = [Priority::Background, Priority::Foreground, Priority::Background, Priority::Foreground];
            let asks: Vec<_> = asks.into_iter().map(|priority| future::spawn(house.clone().get(priority))).collect();
            for ask in asks {
                ask.await.expect("it ends").expect("it is made");
            }
            let made = house.made.load(SeqCst);
            assert!((1..=2).contains(&made), "one for those who wait, one for nobody: {made}");
            assert_eq!(house.aloft(), 0);
        });
    };
    check_random(explore, SCHEDULES);
}

#[test]
fn who_comes_after_a_flight_was_left_behind_is_not_given_what_it_found() {
    let explore = || {
        future::block_on(async {
            let flights = Flights::new();
            let lead = || match flights.join(key(), Priority::Foreground) {
                Seat::Lead(lead) => lead,
                Seat::Wait(_) => panic!("the flight was left behind, or none began"),
            };
            let mut old = lead();
            flights.leave_behind(&key());
            let landing = future::spawn(async move { old.land(Ok(value(0))) });
            let mut new = lead();
            let Seat::Wait(late) = flights.join(key(), Priority::Foreground) else {
                panic!("the old flight took the new one off the table")
            };
            new.land(Ok(value(1)));
            assert_eq!(late.landing().await.expect("it landed").value, value(1).value);
            landing.await.expect("it ends");
        });
    };
    check_random(explore, SCHEDULES);
}
