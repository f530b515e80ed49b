//! Prefetching by demand: a climber's next floors are made before the climber gets there.
//!
//! Every climber is an entity. Calls leave [`AccessRecorder`]; one that asks for the floor above another is a [`Step`], which
//! makes or moves a climber, and a system warms the floors above through the chain, as background work, while nobody
//! waits for generation. Climbers who have stopped lapse.

mod climber;
mod recorder;
mod tower;

use bevy::prelude::*;
use floor_cache::Chain;
use prometheus::Registry;
use tokio::runtime::Handle;

use crate::{generation::GenerationQueue, lifecycle::EventSender};

pub use climber::Prefetcher;
pub use recorder::{AccessRecorder, StepBatch};
pub use tower::{Step, Tower};

/// Warms the floors above every climber.
#[derive(Debug)]
pub struct PrefetchPlugin {
    /// Floors made ahead of a climber.
    pub ahead: u32,
    /// Where calls leave their footsteps.
    pub access_recorder: AccessRecorder,
    /// What is warmed.
    pub chain: Chain,
    /// What it must not get in the way of.
    pub generation: GenerationQueue,
    /// Floors that may be in the making for climbers at once.
    pub budget: usize,
    /// On whose threads the chain is asked.
    pub runtime: Handle,
    /// Where `floors_prefetches_total{outcome}` is registered.
    pub registry: Registry,
}

impl Plugin for PrefetchPlugin {
    fn build(&self, app: &mut App) {
        let events = app.world().resource::<EventSender>().clone();
        let prefetcher = match Prefetcher::new(self, events.clone()) {
            Ok(prefetcher) => prefetcher,
            Err(error) => panic!("floors_prefetches_total is registered twice: {error}"),
        };
        self.runtime.spawn(recorder::send_batches(self.access_recorder.clone(), events));
        app.insert_resource(prefetcher)
            .init_resource::<climber::Climbers>()
            .add_message::<StepBatch>()
            .add_systems(Update, (climber::update_climbers, climber::prefetch, climber::remove_inactive).chain());
    }
}
