//! The cache chain as a Bevy resource.

use bevy::prelude::*;
use floor_cache::Chain;

/// The cache chain, for plugins and systems.
#[derive(Resource, Debug, Clone, Deref)]
pub struct ChainResource(pub Chain);
