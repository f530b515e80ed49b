//! The cache chain as a Bevy resource.

use bevy::prelude::*;
use floor_cache::Chain;

/// Inserts the chain as a resource.
#[derive(Debug)]
pub struct CachePlugin {
    /// The chain.
    pub chain: Chain,
}

impl Plugin for CachePlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(ChainResource(self.chain.clone()));
    }
}

/// The cache chain, for systems.
#[derive(Resource, Debug, Clone, Deref)]
pub struct ChainResource(Chain);
