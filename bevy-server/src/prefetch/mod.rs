//! Prefetching by demand: a climber's next floors are made before the climber gets there.
//!
//! Every climber is an entity. Calls leave [`Footsteps`]; one that asks for the floor above another is a [`Step`], which
//! makes or moves a climber, and a system warms the floors above through the chain, as background work, while nobody
//! waits for generation. Climbers who have stopped lapse.

mod climber;
mod tower;
mod trail;

use bevy::prelude::*;
use floor_cache::Chain;
use prometheus::Registry;
use tokio::runtime::Handle;

use crate::{generation::Generation, lifecycle::Events};

pub use climber::Lookahead;
pub use tower::{Step, Tower};
pub use trail::{Footsteps, Trail};

/// Warms the floors above every climber.
#[derive(Debug)]
pub struct PrefetchPlugin {
    /// Floors made ahead of a climber.
    pub ahead: u32,
    /// Where calls leave their footsteps.
    pub footsteps: Footsteps,
    /// What is warmed.
    pub chain: Chain,
    /// What it must not get in the way of.
    pub generation: Generation,
    /// Floors that may be in the making for climbers at once.
    pub budget: usize,
    /// On whose threads the chain is asked.
    pub runtime: Handle,
    /// Where `floors_prefetches_total{outcome}` is registered.
    pub registry: Registry,
}

impl Plugin for PrefetchPlugin {
    fn build(&self, app: &mut App) {
        let events = app.world().resource::<Events>().clone();
        let lookahead = match Lookahead::new(self, events.clone()) {
            Ok(lookahead) => lookahead,
            Err(error) => panic!("floors_prefetches_total is registered twice: {error}"),
        };
        self.runtime.spawn(trail::gather(self.footsteps.clone(), events));
        app.insert_resource(lookahead)
            .init_resource::<climber::Climbers>()
            .add_message::<Trail>()
            .add_systems(Update, (climber::follow, climber::warm, climber::lapse).chain());
    }
}
