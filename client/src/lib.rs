//! The typed client of the floor server.
//!
//! [`FloorClient`] requests floors. It returns a [`Floor`] whose content hash, grids and coordinates are checked, and
//! [`Served`], which says how the server answered.
//!
//! ```no_run
//! use floor_client::{FloorClient, FloorSpec};
//!
//! # async fn example() -> Result<(), floor_client::ClientError> {
//! let client = FloorClient::connect("http://127.0.0.1:50051").await?;
//! let answer = client.get(FloorSpec { seed: 42, number: 7, ..FloorSpec::default() }).await?;
//! let floor = answer.value;
//! println!("{} rooms, served by {}", floor.rooms().len(), answer.served.by);
//! # Ok(())
//! # }
//! ```
//!
//! The feature `bevy` adds `FloorClientPlugin` for Bevy games.
#![forbid(unsafe_code)]

mod client;
mod encoded;
mod error;
mod floor;
mod options;
#[cfg(feature = "bevy")]
pub mod plugin;
mod served;
mod stream;
mod transport;

pub use client::{Answer, FloorClient};
pub use encoded::EncodedFloor;
pub use error::{ClientError, InvalidFloor, StatusError, Violation};
pub use floor::Floor;
pub use floor_proto::v1::{self, FloorKind, FloorSpec, RoomRole, ServerInfo, Terrain, TierInfo};
pub use floor_proto::{grid::GridError, hash::HashError, limits};
pub use options::CallOptions;
pub use served::{Served, ServedBy, TraceStep};
pub use stream::FloorStream;
pub use transport::CONNECT_TIMEOUT;
