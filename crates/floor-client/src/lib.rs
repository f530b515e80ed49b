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
//! Features: `tls` (default) for `https://`; `bevy` for `FloorClientPlugin`, with which Bevy games fetch floors; `offline`
//! for `OfflineFloors`, the generator in the program, for games without a server.
//!
//! On wasm32 there are no sockets: without default features the crate has the floors, their checks and what `offline` adds.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[cfg(all(target_family = "wasm", feature = "bevy", not(feature = "offline")))]
compile_error!("on wasm32 the plugin generates its floors: enable the feature `offline` of floor-client");

#[cfg(not(target_family = "wasm"))]
mod causes;
#[cfg(not(target_family = "wasm"))]
mod client;
#[cfg(not(target_family = "wasm"))]
mod climb;
#[cfg(not(target_family = "wasm"))]
mod connect_options;
#[cfg(not(target_family = "wasm"))]
mod credential_error;
mod encoded;
#[cfg_attr(target_family = "wasm", expect(dead_code, reason = "no server answers"))]
mod error;
#[cfg(feature = "offline")]
mod offline;
mod options;
#[cfg(feature = "bevy")]
pub mod plugin;
#[cfg(not(target_family = "wasm"))]
mod retry;
#[cfg(not(target_family = "wasm"))]
mod search;
#[cfg_attr(target_family = "wasm", expect(dead_code, reason = "no server answers"))]
mod served;
#[cfg(not(target_family = "wasm"))]
mod server;
#[cfg(not(target_family = "wasm"))]
mod stream;
#[cfg(all(feature = "tls", not(target_family = "wasm")))]
mod tls;
#[cfg(all(feature = "tls", not(target_family = "wasm")))]
mod tls_options;
#[cfg(all(feature = "tls", not(target_family = "wasm")))]
mod tls_problem;
#[cfg(not(target_family = "wasm"))]
mod token;
#[cfg(not(target_family = "wasm"))]
mod transport;

/// The crate whose configuration [`ConnectOptions::rustls_config`] returns.
#[cfg(all(feature = "tls", not(target_family = "wasm")))]
pub use rustls;
#[cfg(not(target_family = "wasm"))]
pub use {
    client::FloorClient, climb::ClimbFloor, connect_options::ConnectOptions, credential_error::CredentialError,
    search::Search, server::check_url, server::is_loopback, stream::FloorStream, token::Token,
    transport::CONNECT_TIMEOUT,
};
#[cfg(all(feature = "tls", not(target_family = "wasm")))]
pub use {
    tls::{Certificates, Identity},
    tls_problem::TlsProblem,
};

pub use encoded::EncodedFloor;
pub use error::{ClientError, StatusError, Violation};
pub use floor_proto::floor::{Floor, Furniture, InvalidFloor, is_passable};
pub use floor_proto::v1::{
    self, Behaviour, FloorKind, FloorSpec, Pack, PackInfo, RoomRole, ServerInfo, Terrain, TierInfo, View,
};
pub use floor_proto::{
    grid::GridError,
    hash::HashError,
    limits,
    seed::{SeedError, seed},
};
#[cfg(feature = "offline")]
pub use offline::OfflineFloors;
pub use options::CallOptions;
pub use served::{Answer, Served, ServedBy, TraceStep};
/// The gRPC code of a [`StatusError`].
pub use tonic::Code;

/// Compiles the example of the README, which is also that of the manual.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
