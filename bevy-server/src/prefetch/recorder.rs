//! Records which floors are requested and sends detected steps to the app, at little cost to the calls.

use std::{sync::Arc, time::Duration};

use async_channel::{Receiver, Sender};
use bevy::prelude::*;
use floor_cache::CallerId;
use tokio::time::Instant;

use super::tower::{AccessHistories, Step, StepOf, Tower};
use crate::lifecycle::{EventSender, ServerEvent};

/// Steps per batch. More are dropped, which bounds the cost on a busy server.
const STEP_CAPACITY: usize = 32;
/// How long steps are collected into a batch: far shorter than a climber needs for a floor, and long enough that a busy
/// server wakes its app at most 200 times a second.
const BATCH_INTERVAL: Duration = Duration::from_millis(5);
/// A climber without a step for this long is removed.
pub(super) const CLIMBER_TIMEOUT: Duration = Duration::from_secs(60);
/// When to check for inactive climbers after the last step: a little after [`CLIMBER_TIMEOUT`].
const TIMEOUT_CHECK_DELAY: Duration = Duration::from_secs(61);

/// The batches of steps that [`send_batches`] sends to the app. Cheap to clone.
#[derive(Resource, Debug, Clone)]
pub(super) struct StepBatches {
    sender: Sender<Vec<StepOf>>,
    receiver: Receiver<Vec<StepOf>>,
}

impl Default for StepBatches {
    fn default() -> Self {
        let (sender, receiver) = async_channel::unbounded();
        Self { sender, receiver }
    }
}

impl StepBatches {
    pub(super) fn send(&self, batch: Vec<StepOf>) {
        // The channel is unbounded and never closes.
        let _ = self.sender.try_send(batch);
    }

    /// Removes the steps of every batch, oldest first.
    pub(super) fn drain(&self) -> impl Iterator<Item = StepOf> {
        std::iter::from_fn(|| self.receiver.try_recv().ok()).flatten()
    }
}

/// Records accesses. Cheap to clone. Only a step wakes the app.
#[derive(Resource, Debug, Clone)]
pub struct AccessRecorder {
    histories: Arc<AccessHistories>,
    sender: Sender<StepOf>,
    receiver: Receiver<StepOf>,
}

impl Default for AccessRecorder {
    fn default() -> Self {
        let (sender, receiver) = async_channel::bounded(STEP_CAPACITY);
        Self { histories: Arc::default(), sender, receiver }
    }
}

impl AccessRecorder {
    /// Records an access of `caller` to a scheduled floor of `tower`, and whether memory missed it. Never waits: a
    /// concurrent access may be missed.
    pub fn record(&self, caller: CallerId, tower: Tower, number: u32, was_missed: bool) {
        if let Some(step) = self.histories.record(Step { tower, number }, was_missed) {
            // If the channel is full, the step is dropped.
            let _ = self.sender.try_send(StepOf { step, caller });
        }
    }
}

/// Sends batches of steps, and wakes the app for each of them and when climbers may have timed out.
pub(super) async fn send_batches(recorder: AccessRecorder, batches: StepBatches, events: EventSender) {
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
            events.send(ServerEvent::Wake);
            continue;
        };
        let Ok(first) = first else { return };
        tokio::time::sleep(BATCH_INTERVAL).await;
        let rest = std::iter::from_fn(|| receiver.try_recv().ok());
        timeout_check = Some(Instant::now() + TIMEOUT_CHECK_DELAY);
        batches.send(std::iter::once(first).chain(rest).collect());
        events.send(ServerEvent::Wake);
    }
}
