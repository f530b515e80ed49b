//! What the latest results say about the server, for a game's display.

use bevy::prelude::*;
use tonic::Code;

use crate::ClientError;

/// The server of the plugin. Changes in [`PreUpdate`], with the results that the plugin inserts.
#[derive(Resource, Debug, Clone, PartialEq, Eq, Reflect)]
#[reflect(Resource, Debug, Clone, PartialEq)]
pub struct FloorServer {
    /// Its URL. Empty if the floors are generated in the game.
    pub url: String,
    /// Whether it answers.
    pub status: FloorServerStatus,
}

/// Whether the floor server answers, as the latest result shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Reflect)]
#[reflect(Debug, Clone, PartialEq)]
pub enum FloorServerStatus {
    /// No call has ended yet.
    Untried,
    /// It answered, with a floor or with an error status of its own.
    Answering,
    /// It could not be reached, or not in time.
    Unreachable,
    /// There is no server: the floors are generated in the game.
    Offline,
}

impl FloorServerStatus {
    /// The status after a call failed.
    pub(super) fn after(error: &ClientError) -> Self {
        match error {
            ClientError::Status(status) if status.code != Code::DeadlineExceeded => Self::Answering,
            ClientError::Invalid { .. } | ClientError::Malformed { .. } => Self::Answering,
            _ => Self::Unreachable,
        }
    }
}
