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

use crate::{lifecycle::EventSender, runtime::TokioHandle};

pub use prefetcher::Prefetcher;
pub use recorder::AccessRecorder;
pub use tower::{Step, Tower};

/// Prefetches the floors above every climber, and adds the [`AccessRecorder`] where calls record their accesses.
///
/// Needs the resources of the chain, the generation queue, the metrics and the runtime, and the
/// [`LifecyclePlugin`](crate::lifecycle::LifecyclePlugin).
#[derive(Debug)]
pub struct PrefetchPlugin {
    /// Maximum of floors to prefetch above a climber.
    pub ahead: u32,
    /// Maximum of concurrent prefetches.
    pub budget: usize,
}

impl Plugin for PrefetchPlugin {
    fn build(&self, app: &mut App) {
        let (recorder, batches) = (AccessRecorder::default(), recorder::StepBatches::default());
        let world = app.world();
        let prefetcher = Prefetcher::new(self, world).expect("no other plugin registers floors_prefetches_total");
        let events = world.resource::<EventSender>().clone();
        let send_batches = recorder::send_batches(recorder.clone(), batches.clone(), events);
        world.resource::<TokioHandle>().spawn(send_batches);
        app.insert_resource(recorder)
            .insert_resource(batches)
            .insert_resource(prefetcher)
            .init_resource::<climber::Climbers>()
            .add_systems(Update, (climber::update_climbers, climber::prefetch, climber::remove_inactive).chain());
    }
}
