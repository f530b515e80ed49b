//! Other implementations of the floor service. The command `serving` compares our server with them.

mod bare_hyper;
mod decoded;
mod static_tonic;

use std::net::SocketAddr;

use clap::ValueEnum;
use floor_gen::FloorSpec;

use crate::floors;

/// An implementation of the floor service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PeerServer {
    /// hyper alone: sends the same framed bytes for every request. The cost of a server that does nothing
    BareHyper,
    /// tonic: sends the same bytes for every request through its encoder. The cost of tonic
    StaticTonic,
    /// tonic with decoded messages in moka: each call clones and encodes one. The usual design
    #[value(name = "tonic-moka-message")]
    CachedMessage,
}

impl PeerServer {
    /// The name on the command line and in records.
    pub fn name(self) -> String {
        self.to_possible_value().expect("no peer is hidden").get_name().to_owned()
    }

    /// Serves at `address` until the process ends.
    pub async fn serve(self, address: SocketAddr) -> anyhow::Result<()> {
        match self {
            Self::BareHyper => bare_hyper::serve(address).await,
            Self::StaticTonic => static_tonic::serve(address).await,
            Self::CachedMessage => decoded::serve(address).await,
        }
    }
}

/// The floor that the servers with one answer send.
fn static_floor() -> floor_gen::Floor<'static> {
    let spec = FloorSpec::resolve(floors::TOWER, floors::NUMBER, 0, 0, None).expect("a floor of the tower");
    floor_gen::generate(&spec)
}
