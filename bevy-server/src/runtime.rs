//! The tokio runtime as a Bevy resource.

use bevy::prelude::*;
use tokio::runtime::Handle;

/// The tokio runtime, for plugins and systems.
#[derive(Resource, Debug, Clone, Deref)]
pub struct TokioHandle(pub Handle);
