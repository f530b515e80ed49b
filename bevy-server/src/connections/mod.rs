//! Accepts connections within limits, for the gRPC port and the operations port.

mod accept;
mod limits;
mod port;
mod socket;

pub(crate) use accept::Acceptor;
pub(crate) use limits::{Admitted, ConnectionLimiter, Refusal};
pub(crate) use port::BoundPort;
pub(crate) use socket::bound_socket;
