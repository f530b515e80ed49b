//! Routing: from a request of a connection to the service that answers it.

mod router;
mod service;

pub(super) use router::Router;
pub use service::FloorService;
