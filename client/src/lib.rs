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
//! let answer = client.get(FloorSpec::new(42, 7)).await?;
//! let floor = answer.value;
//! println!("{} rooms, served by {}", floor.rooms().len(), answer.served.by);
//! # Ok(())
//! # }
//! ```
//!
//! `https://` works with the authorities that the system trusts. [`ConnectOptions`] adds an authority of your own, a
//! client certificate and a bearer token:
//!
//! ```no_run
//! use floor_client::{Certificates, ConnectOptions, FloorClient, Token};
//!
//! # async fn example() -> Result<(), floor_client::ClientError> {
//! let options = ConnectOptions::new().ca(Certificates::read("ca.pem")?).token(Token::read("token")?);
//! let client = FloorClient::connect_with("https://floors.example:50051", &options).await?;
//! # Ok(())
//! # }
//! ```
//!
//! The feature `bevy` adds `FloorClientPlugin` for Bevy games. The feature `offline` adds the generator to it, for games
//! without a server.
#![forbid(unsafe_code)]

mod client;
mod connect_options;
mod credential_error;
mod encoded;
mod error;
#[cfg(feature = "offline")]
mod offline;
mod options;
#[cfg(feature = "bevy")]
pub mod plugin;
mod served;
mod server;
mod stream;
mod tls;
mod tls_problem;
mod token;
mod transport;

pub use client::{Answer, FloorClient};
pub use connect_options::ConnectOptions;
pub use credential_error::CredentialError;
pub use encoded::EncodedFloor;
pub use error::{ClientError, StatusError, Violation};
pub use floor_proto::floor::{Floor, InvalidFloor, is_passable};
pub use floor_proto::v1::{
    self, Behaviour, FloorKind, FloorSpec, Pack, PackInfo, RoomRole, ServerInfo, Terrain, TierInfo,
};
pub use floor_proto::{grid::GridError, hash::HashError, limits};
pub use options::CallOptions;
pub use served::{Served, ServedBy, TraceStep};
pub use server::is_loopback;
pub use stream::FloorStream;
pub use tls::{Certificates, Identity};
pub use tls_problem::TlsProblem;
pub use token::Token;
pub use transport::CONNECT_TIMEOUT;

/// Compiles the examples of the README and, in the repository, of the manual.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
#[doc = include_str!("../../docs/clients/rust.md")]
struct Manual;
