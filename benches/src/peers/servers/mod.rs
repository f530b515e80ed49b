//! Other ways to serve the same floors, each in a process of its own: what our server is held against.

mod bare_hyper;
mod coalescing_hyper;
mod decoded;
mod static_tonic;
mod tile_messages;

use std::net::SocketAddr;

use floor_gen::{FloorSpec, Kind};
use floor_proto::v1;
use tonic::Status;

/// A way to serve floors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerServer {
    /// hyper alone: bytes framed beforehand, whatever is asked. What a server that does nothing costs.
    BareHyper,
    /// The same behind our server's own transport. What our service adds to it can be told from this.
    CoalescingHyper,
    /// tonic, the same bytes through its encoder, whatever is asked. What tonic costs.
    StaticTonic,
    /// tonic and moka, which holds the decoded message: cloned and encoded a call. What most would write.
    CachedMessage,
    /// tonic and moka, which holds the floor as generated: converted and encoded a call.
    CachedCells,
    /// tonic and moka, which holds the earlier shape: cloned and encoded a call, a message a tile.
    TileMessages,
}

impl PeerServer {
    /// Every one.
    pub const ALL: [Self; 6] = [
        Self::BareHyper,
        Self::CoalescingHyper,
        Self::StaticTonic,
        Self::CachedMessage,
        Self::CachedCells,
        Self::TileMessages,
    ];

    /// Its name on the command line and in records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BareHyper => "bare-hyper",
            Self::CoalescingHyper => "gathered-hyper",
            Self::StaticTonic => "static-tonic",
            Self::CachedMessage => "tonic-moka-message",
            Self::CachedCells => "tonic-moka-cells",
            Self::TileMessages => "tonic-moka-tiles",
        }
    }

    /// The one of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|peer| peer.name() == name)
    }

    /// Whether it can answer a batch.
    #[must_use]
    pub const fn batches(self) -> bool {
        matches!(self, Self::CachedMessage | Self::CachedCells)
    }

    /// Serves at `address` until the process ends.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub async fn serve(self, address: SocketAddr) -> anyhow::Result<()> {
        match self {
            Self::BareHyper => bare_hyper::serve(address).await,
            Self::CoalescingHyper => coalescing_hyper::serve(address).await,
            Self::StaticTonic => static_tonic::serve(address).await,
            Self::CachedMessage => decoded::serve_messages(address).await,
            Self::CachedCells => decoded::serve_cells(address).await,
            Self::TileMessages => tile_messages::serve(address).await,
        }
    }
}

/// What a request asks for, resolved as our server does it.
fn resolved(spec: Option<v1::FloorSpec>) -> Result<FloorSpec, Status> {
    let spec = spec.ok_or_else(|| Status::invalid_argument("spec is missing"))?;
    let kind = (spec.kind != 0).then(|| Kind::from_number(spec.kind.unsigned_abs())).flatten();
    FloorSpec::resolve(spec.seed, spec.number, spec.width, spec.height, kind)
        .map_err(|error| Status::invalid_argument(error.to_string()))
}

/// The floor that the static servers answer everything with.
fn static_floor() -> floor_gen::Floor {
    let spec = FloorSpec::resolve(crate::floors::TOWER, crate::floors::NUMBER, 0, 0, None);
    floor_gen::generate(&spec.expect("a floor of the tower"))
}
