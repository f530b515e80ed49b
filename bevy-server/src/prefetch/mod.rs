//! Prefetching: generates the next floors of a climber before the climber requests them.
//!
//! Calls record their accesses in an [`AccessRecorder`]. A request for the floor above an earlier one is a [`Step`].
//! Steps create and move climbers. A system prefetches the floors above them through the chain as background work, while no
//! caller waits for generation. Climbers without steps are removed.

mod climber;
mod prefetcher;
mod recorder;
mod tower;

use bevy::prelude::*;

use crate::{config::Config, lifecycle::EventSender, runtime::TokioHandle};

pub(crate) use prefetcher::PrefetchCounts;
pub use prefetcher::Prefetcher;
pub use recorder::AccessRecorder;
pub use tower::{Step, Tower};

/// Floors to prefetch above a climber (docs/decisions/0204-prefetch-two-floors-ahead.md).
const AHEAD: u32 = 2;

/// Prefetches the floors above every climber, and adds the [`AccessRecorder`] where calls record their accesses.
#[derive(Debug)]
pub struct PrefetchPlugin {
    /// Maximum of floors to prefetch above a climber.
    pub ahead: u32,
    /// Maximum of concurrent prefetches.
    pub budget: usize,
}

impl PrefetchPlugin {
    /// `None` if `config` wants no prefetches, or has no tier: there is no place to store prefetched floors.
    #[must_use]
    pub fn new(config: &Config) -> Option<Self> {
        // Half the workers, so that prefetches never occupy all of them.
        let budget = config.generation_threads.div_ceil(2);
        (config.prefetch && !config.cache.chain.is_empty()).then_some(Self { ahead: AHEAD, budget })
    }
}

impl Plugin for PrefetchPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<AccessRecorder>()
            .init_resource::<PrefetchCounts>()
            .init_resource::<recorder::StepBatches>()
            .init_resource::<climber::Climbers>()
            .add_systems(Update, (climber::update_climbers, climber::prefetch, climber::remove_inactive).chain());
    }

    fn finish(&self, app: &mut App) {
        let world = app.world();
        let prefetcher = Prefetcher::new(self, world);
        let (recorder, batches) = (world.resource::<AccessRecorder>(), world.resource::<recorder::StepBatches>());
        let events = world.resource::<EventSender>().clone();
        let send_batches = recorder::send_batches(recorder.clone(), batches.clone(), events);
        world.resource::<TokioHandle>().spawn(send_batches);
        app.insert_resource(prefetcher);
    }
}
