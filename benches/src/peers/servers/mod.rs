//! Other implementations of the floor service. The command `serving` compares our server with them.

mod bare_hyper;
mod decoded;
mod raw_tonic;

use std::net::SocketAddr;

use floor_gen::{FloorSpec, Kind};
use floor_proto::v1;
use tonic::Status;

/// Floors of a load for many floors.
pub const FLOORS: u32 = 10_000;

/// An implementation of the floor service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerServer {
    /// hyper alone: sends the same framed bytes for every request. The cost of a server that does nothing.
    BareHyper,
    /// tonic: sends the same bytes for every request through its encoder. The cost of tonic.
    StaticTonic,
    /// tonic: sends the bytes of the requested floor from a map of [`FLOORS`] floors that it made at its start. It never
    /// adds or evicts a floor.
    MappedTonic,
    /// tonic with decoded messages in moka: each call clones and encodes one. The usual design.
    CachedMessage,
    /// tonic with a message per tile in moka: each call clones and encodes one floor.
    TileMessages,
}

impl PeerServer {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::BareHyper, Self::StaticTonic, Self::MappedTonic, Self::CachedMessage, Self::TileMessages];

    /// Those that a load for one floor compares.
    pub const OF_ONE_FLOOR: [Self; 4] = [Self::BareHyper, Self::StaticTonic, Self::CachedMessage, Self::TileMessages];

    /// Those that send whichever of [`FLOORS`] floors is requested. The first two send one floor, and tiles of that many
    /// take gigabytes.
    pub const OF_MANY_FLOORS: [Self; 2] = [Self::MappedTonic, Self::CachedMessage];

    /// The name on the command line and in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BareHyper => "bare-hyper",
            Self::StaticTonic => "static-tonic",
            Self::MappedTonic => "tonic-map",
            Self::CachedMessage => "tonic-moka-message",
            Self::TileMessages => "tonic-moka-tiles",
        }
    }

    /// The server called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|peer| peer.name() == name)
    }

    /// Whether it can answer a batch.
    pub const fn batches(self) -> bool {
        matches!(self, Self::CachedMessage)
    }

    /// Serves at `address` until the process ends.
    pub async fn serve(self, address: SocketAddr) -> anyhow::Result<()> {
        match self {
            Self::BareHyper => bare_hyper::serve(address).await,
            Self::StaticTonic => raw_tonic::serve_static(address).await,
            Self::MappedTonic => raw_tonic::serve_map(address).await,
            Self::CachedMessage => decoded::serve(address).await,
            Self::TileMessages => raw_tonic::serve_tiles(address).await,
        }
    }
}

/// The spec of a request, resolved as our server does it.
fn resolved(spec: Option<v1::FloorSpec>) -> Result<FloorSpec, Status> {
    let spec = spec.ok_or_else(|| Status::invalid_argument("spec is missing"))?;
    let kind = (spec.kind != 0).then(|| Kind::from_number(spec.kind.unsigned_abs())).flatten();
    FloorSpec::resolve(spec.seed, spec.number, spec.width, spec.height, kind)
        .map_err(|error| Status::invalid_argument(error.to_string()))
}

/// Floor `number` of ordinary size and kind.
fn spec(number: u32) -> FloorSpec {
    FloorSpec::resolve(crate::floors::TOWER, number, 0, 0, None).expect("a floor of the tower")
}

/// The floor that the servers with one answer send.
fn static_floor() -> floor_gen::Floor {
    floor_gen::generate(&spec(crate::floors::NUMBER))
}
