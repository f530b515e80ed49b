//! Footsteps: which floors were asked for, from the calls to the app, at next to no cost to the calls.

use std::time::Duration;

use async_channel::{Receiver, Sender};
use bevy::prelude::*;
use floor_gen::{FloorSpec, Kind};

use super::tower::{Sightings, Step};
use crate::lifecycle::{Events, ServerEvent};

/// Footsteps kept until the app looks; more are forgotten. A server so busy has no time for prefetching anyway.
const CAPACITY: usize = 128;
/// How long footsteps are gathered before the app is woken for them: a climber takes far longer for a floor, and a
/// busy server wakes its app 200 times a second at the most.
const GATHER: Duration = Duration::from_millis(5);
/// How long a climber may rest before being forgotten.
pub(super) const LAPSE: Duration = Duration::from_secs(60);
/// Looked for lapsed climbers this long after the last footstep: a little later than it takes to lapse.
const LAPSED: Duration = Duration::from_secs(61);

/// The footsteps of a moment, oldest first; empty when only time has passed.
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
    /// Notes that a floor was asked for. Never waits. A floor asked for by a kind that its tower would not give it is
    /// no step of a climb.
    pub fn leave(&self, spec: FloorSpec) {
        if Kind::scheduled(spec.seed(), spec.number()) == spec.kind() {
            // A full trail forgets this step, not the call.
            let _ = self.0.try_send(spec);
        }
    }
}

/// Wakes the app with each moment's steps of climbers, and once more when they have had time to lapse. Calls that tell
/// of no climb never reach it.
pub(super) async fn gather(footsteps: Footsteps, events: Events) {
    let mut sightings = Sightings::default();
    let mut climbers = false;
    loop {
        let first = if climbers {
            tokio::time::timeout(LAPSED, footsteps.1.recv()).await
        } else {
            Ok(footsteps.1.recv().await)
        };
        let Ok(first) = first else {
            climbers = false;
            events.send(ServerEvent::Footsteps(Trail::default()));
            continue;
        };
        let Ok(first) = first else { return };
        tokio::time::sleep(GATHER).await;
        let rest = std::iter::from_fn(|| footsteps.1.try_recv().ok());
        let steps: Vec<_> = std::iter::once(first).chain(rest).filter_map(|spec| sightings.note(&spec)).collect();
        if !steps.is_empty() {
            climbers = true;
            events.send(ServerEvent::Footsteps(Trail(steps)));
        }
    }
}
