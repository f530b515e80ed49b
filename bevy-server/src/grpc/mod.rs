//! gRPC: `floors.v1.FloorService`, health, reflection, gRPC-Web and Connect on one port.
//!
//! Three layers, from the socket to the floor:
//!
//! - `connection` accepts, coalesces what a connection writes, and drains;
//! - `routing` gives a request to the floor service or, in `tonic_services`, to health and reflection;
//! - `calls` is the floor service, one file per RPC; `framing` says how its messages are framed, `web` and `connect` have
//!   what is special about gRPC-Web and Connect.
//!
//! Tiers store floors as gRPC frames, so the floor service implements HTTP itself and passes stored bytes to the
//! transport.

mod call_counts;
mod calls;
mod certificates;
mod connect;
mod connection;
mod cors;
mod framing;
mod offload;
mod plugin;
mod request_body;
mod routing;
mod server;
mod status;
mod tonic_services;
mod unread_body;
mod web;

pub use call_counts::{InFlight, InFlightGuard, RequestMetrics};
pub use calls::{FloorBody, FloorService, ServiceDeps};
use calls::{GuardedBytes, OK_TRAILERS};
pub use certificates::Certificates;
pub use floor_proto::{rpc::Rpc, v1::floor_service_server::SERVICE_NAME};
pub use plugin::GrpcPlugin;
pub use server::GrpcServer;
