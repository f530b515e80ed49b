//! The chain as a part of the app.

use bevy::prelude::*;
use floor_cache::Chain;

/// Makes the chain known to systems.
#[derive(Debug)]
pub struct CachePlugin {
    /// The chain, open already.
    pub chain: Chain,
}

impl Plugin for CachePlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(ChainResource(self.chain.clone()));
    }
}

/// Where systems get floors.
#[derive(Resource, Debug, Clone, Deref)]
pub struct ChainResource(Chain);
