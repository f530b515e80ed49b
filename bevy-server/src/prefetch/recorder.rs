//! AccessRecorder: which floors were asked for, from the calls to the app, at next to no cost to the calls.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_channel::{Receiver, Sender};
use bevy::prelude::*;
use floor_gen::FloorSpec;
use tokio::time::Instant;

use super::tower::{AccessHistory, Step};
use crate::lifecycle::{EventSender, ServerEvent};

/// Steps kept until they are looked at; more are forgotten, which bounds what a busy server spends on them.
const STEP_CAPACITY: usize = 32;
/// How long steps are gathered before they are looked at: a climber takes far longer for a floor, and a busy server wakes
/// its app 200 times a second at the most.
const BATCH_INTERVAL: Duration = Duration::from_millis(5);
/// How long a climber may rest before being forgotten.
pub(super) const CLIMBER_TIMEOUT: Duration = Duration::from_secs(60);
/// Lapsed climbers are looked for this long after the last step: a little later than it takes to lapse.
const TIMEOUT_CHECK_DELAY: Duration = Duration::from_secs(61);

/// The steps of a moment, oldest first; empty when only time has passed or a floor has been warmed.
#[derive(Message, Debug, Clone, Default)]
pub struct StepBatch(pub Vec<Step>);

/// Where calls leave their footsteps. Cheap to clone. A call that is part of no climb wakes nobody.
#[derive(Debug, Clone)]
pub struct AccessRecorder {
    history: Arc<Mutex<AccessHistory>>,
    sender: Sender<Step>,
    receiver: Receiver<Step>,
}

impl Default for AccessRecorder {
    fn default() -> Self {
        let (sender, receiver) = async_channel::bounded(STEP_CAPACITY);
        Self { history: Arc::default(), sender, receiver }
    }
}

impl AccessRecorder {
    /// Notes that a floor of the tower's schedule was asked for, and whether memory did not have it. Never waits: a floor that
    /// is asked for in the same instant as another may be overlooked.
    pub fn record(&self, spec: FloorSpec, was_missed: bool) {
        let Ok(mut history) = self.history.try_lock() else { return };
        let step = history.record(&spec, was_missed);
        drop(history);
        if let Some(step) = step {
            // A full trail forgets this step, not the call.
            let _ = self.sender.try_send(step);
        }
    }
}

/// Wakes the app with each moment's steps, and once more when climbers have had time to lapse.
pub(super) async fn send_batches(recorder: AccessRecorder, events: EventSender) {
    let receiver = recorder.receiver;
    let mut timeout_check: Option<Instant> = None;
    loop {
        let next = receiver.recv();
        let first = match timeout_check {
            Some(timeout_check) => tokio::time::timeout_at(timeout_check, next).await,
            None => Ok(next.await),
        };
        let Ok(first) = first else {
            timeout_check = None;
            events.send(ServerEvent::Steps(StepBatch::default()));
            continue;
        };
        let Ok(first) = first else { return };
        tokio::time::sleep(BATCH_INTERVAL).await;
        let rest = std::iter::from_fn(|| receiver.try_recv().ok());
        timeout_check = Some(Instant::now() + TIMEOUT_CHECK_DELAY);
        events.send(ServerEvent::Steps(StepBatch(std::iter::once(first).chain(rest).collect())));
    }
}
