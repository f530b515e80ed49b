//! Where the plugin's floors come from: a server, or the generator in the game.

use std::sync::Arc;

#[cfg(feature = "offline")]
use floor_pack::LoadedPack;

#[cfg(feature = "offline")]
use crate::offline::OfflineFloors;
use crate::{Answer, CallOptions, ClientError, Floor, FloorSpec};
#[cfg(not(target_family = "wasm"))]
use crate::{FloorClient, server::Server};

use super::{FloorServer, FloorServerStatus};

/// A source of floors, not yet opened.
#[derive(Debug, Clone)]
pub(super) enum Source {
    #[cfg(not(target_family = "wasm"))]
    Server(Arc<Server>),
    #[cfg(feature = "offline")]
    Offline(Arc<LoadedPack>),
}

impl Source {
    /// The resource before the first call.
    pub(super) fn status(&self) -> FloorServer {
        match self {
            #[cfg(not(target_family = "wasm"))]
            Self::Server(server) => FloorServer { url: server.url().to_owned(), status: FloorServerStatus::Untried },
            #[cfg(feature = "offline")]
            Self::Offline(_) => FloorServer { url: String::new(), status: FloorServerStatus::Offline },
        }
    }

    /// Needs a tokio runtime.
    #[cfg_attr(target_family = "wasm", expect(unused_variables, reason = "there are no calls"))]
    pub(super) fn open(&self, options: CallOptions) -> OpenSource {
        match self {
            #[cfg(not(target_family = "wasm"))]
            Self::Server(server) => {
                OpenSource::Server(FloorClient::open_lazily(Arc::clone(server)).with_options(options))
            }
            #[cfg(feature = "offline")]
            Self::Offline(pack) => OpenSource::Offline(Box::new(OfflineFloors::of(Arc::clone(pack)))),
        }
    }
}

/// A source of floors on the client thread.
pub(super) enum OpenSource {
    #[cfg(not(target_family = "wasm"))]
    Server(FloorClient),
    #[cfg(feature = "offline")]
    Offline(Box<OfflineFloors>),
}

impl OpenSource {
    pub(super) async fn get(&self, spec: FloorSpec) -> Result<Answer<Floor>, ClientError> {
        match self {
            #[cfg(not(target_family = "wasm"))]
            Self::Server(client) => client.get(spec).await,
            #[cfg(feature = "offline")]
            Self::Offline(floors) => floors.get(&spec),
        }
    }
}
