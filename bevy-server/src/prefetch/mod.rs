//! Prefetching: generates the next floors of a climber before the climber requests them.
//!
//! Calls record their accesses in an [`AccessRecorder`]. A request for the floor above an earlier one is a [`Step`].
//! Steps create and move climbers, which are entities. A system prefetches the floors above them through the chain as
//! background work, while no caller waits for generation. Climbers without steps are removed.

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

/// Prefetches the floors above every climber.
#[derive(Debug)]
pub struct PrefetchPlugin {
    /// Maximum of floors to prefetch above a climber.
    pub ahead: u32,
    /// Where calls record their accesses.
    pub access_recorder: AccessRecorder,
    /// The chain to prefetch through.
    pub chain: Chain,
    /// The queue whose callers have priority.
    pub generation: GenerationQueue,
    /// Maximum of concurrent prefetches.
    pub budget: usize,
    /// The runtime for prefetches.
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
