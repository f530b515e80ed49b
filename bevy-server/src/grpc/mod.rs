//! gRPC: `floors.v1.FloorService`, health, reflection, gRPC-Web and Connect on one port.
//!
//! `path` shows a call from top to bottom. `connection` is below it: sockets, TLS, HTTP. Beside it are `admission` (who may
//! use how much), `codecs` (how a call is written over HTTP) and `services` (what the RPCs answer); `health` has health and
//! reflection, which tonic implements.
//!
//! Tiers store floors as gRPC frames, so the floor service implements HTTP itself and passes stored bytes to the
//! transport.

mod admission;
mod answer;
mod body;
mod call_end;
mod call_metrics;
mod certificates;
mod codecs;
mod connection;
mod cors;
mod health;
mod options;
mod path;
mod plugin;
mod routing;
mod server;
mod services;
mod status;
mod stream;
mod unread_body;

pub use admission::{InFlight, InFlightGuard};
pub use body::FloorBody;
pub use call_metrics::RequestMetrics;
pub use certificates::Certificates;
pub use floor_proto::{rpc::Rpc, v1::floor_service_server::SERVICE_NAME};
pub use path::{FloorService, ServiceDeps};
pub use plugin::GrpcPlugin;
pub use server::GrpcServer;
