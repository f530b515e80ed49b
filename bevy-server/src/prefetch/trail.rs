//! Footsteps: which floors were asked for, from the calls to the app, at next to no cost to the calls.

use std::time::Duration;

use async_channel::{Receiver, Sender};
use bevy::prelude::*;
use floor_gen::FloorSpec;
use tokio::time::Instant;

use super::tower::{Sightings, Step};
use crate::lifecycle::{Events, ServerEvent};

/// Footsteps kept until they are looked at; more are forgotten, which bounds what a busy server spends on them.
const CAPACITY: usize = 32;
/// How long footsteps are gathered before they are looked at: a climber takes far longer for a floor, and a busy server
/// wakes its app 200 times a second at the most.
const GATHER: Duration = Duration::from_millis(5);
/// How long a climber may rest before being forgotten.
pub(super) const LAPSE: Duration = Duration::from_secs(60);
/// Lapsed climbers are looked for this long after the last step: a little later than it takes to lapse.
const LAPSED: Duration = Duration::from_secs(61);

/// The steps of a moment, oldest first; empty when only time has passed or a floor has been warmed.
#[derive(Message, Debug, Clone, Default)]
pub struct Trail(pub Vec<Step>);

/// Where calls leave their footsteps. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Footsteps(Sender<FloorSpec>, Receiver<FloorSpec>);

impl Default for Footsteps {
    fn default() -> Self {
        let (sender, receiver) = async_channel::bounded(CAPACITY);
        Self(sender, receiver)
    }
}

impl Footsteps {
    /// Notes that a floor of the tower's schedule was asked for. Never waits.
    pub fn leave(&self, spec: FloorSpec) {
        // A full trail forgets this step, not the call.
        let _ = self.0.try_send(spec);
    }
}

/// Wakes the app with each moment's steps, and once more when climbers have had time to lapse. Calls that tell of no
/// climb never reach it.
pub(super) async fn gather(footsteps: Footsteps, events: Events) {
    let mut sightings = Sightings::default();
    let mut lapse: Option<Instant> = None;
    loop {
        let next = footsteps.1.recv();
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
        let rest = std::iter::from_fn(|| footsteps.1.try_recv().ok());
        let steps: Vec<_> = std::iter::once(first).chain(rest).filter_map(|spec| sightings.note(&spec)).collect();
        if !steps.is_empty() {
            lapse = Some(Instant::now() + LAPSED);
            events.send(ServerEvent::Footsteps(Trail(steps)));
        }
    }
}
