//! Footsteps: which floors were asked for, from the calls to the app, at next to no cost to the calls.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_channel::{Receiver, Sender};
use bevy::prelude::*;
use floor_gen::FloorSpec;
use tokio::time::Instant;

use super::tower::{Sightings, Step};
use crate::lifecycle::{Events, ServerEvent};

/// Steps kept until they are looked at; more are forgotten, which bounds what a busy server spends on them.
const CAPACITY: usize = 32;
/// How long steps are gathered before they are looked at: a climber takes far longer for a floor, and a busy server wakes
/// its app 200 times a second at the most.
const GATHER: Duration = Duration::from_millis(5);
/// How long a climber may rest before being forgotten.
pub(super) const LAPSE: Duration = Duration::from_secs(60);
/// Lapsed climbers are looked for this long after the last step: a little later than it takes to lapse.
const LAPSED: Duration = Duration::from_secs(61);

/// The steps of a moment, oldest first; empty when only time has passed or a floor has been warmed.
#[derive(Message, Debug, Clone, Default)]
pub struct Trail(pub Vec<Step>);

/// Where calls leave their footsteps. Cheap to clone. A call that is part of no climb wakes nobody.
#[derive(Debug, Clone)]
pub struct Footsteps {
    sightings: Arc<Mutex<Sightings>>,
    steps: Sender<Step>,
    taken: Receiver<Step>,
}

impl Default for Footsteps {
    fn default() -> Self {
        let (steps, taken) = async_channel::bounded(CAPACITY);
        Self { sightings: Arc::default(), steps, taken }
    }
}

impl Footsteps {
    /// Notes that a floor of the tower's schedule was asked for, and whether memory did not have it. Never waits: a floor that
    /// is asked for in the same instant as another may be overlooked.
    pub fn leave(&self, spec: FloorSpec, was_missed: bool) {
        let Ok(mut sightings) = self.sightings.try_lock() else { return };
        let step = sightings.note(&spec, was_missed);
        drop(sightings);
        if let Some(step) = step {
            // A full trail forgets this step, not the call.
            let _ = self.steps.try_send(step);
        }
    }
}

/// Wakes the app with each moment's steps, and once more when climbers have had time to lapse.
pub(super) async fn gather(footsteps: Footsteps, events: Events) {
    let taken = footsteps.taken;
    let mut lapse: Option<Instant> = None;
    loop {
        let next = taken.recv();
        let first = match lapse {
            Some(lapse) => tokio::time::timeout_at(lapse, next).await,
            None => Ok(next.await),
        };
        let Ok(first) = first else {
            lapse = None;
            events.send(ServerEvent::Footsteps(Trail::default()));
            continue;
        };
        let Ok(first) = first else { return };
        tokio::time::sleep(GATHER).await;
        let rest = std::iter::from_fn(|| taken.try_recv().ok());
        lapse = Some(Instant::now() + LAPSED);
        events.send(ServerEvent::Footsteps(Trail(std::iter::once(first).chain(rest).collect())));
    }
}
