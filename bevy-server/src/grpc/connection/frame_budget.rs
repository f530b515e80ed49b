//! Who pays for the frames of an HTTP/2 connection that lead to nothing: its client, or behind a trusted proxy the client
//! of each request.

use floor_cache::ClientId;
use floor_http2::FrameBudget;
use http::HeaderMap;

use crate::clients::Clients;

/// The payers of one connection.
#[derive(Debug)]
pub(super) enum Payers {
    /// The client of the connection, which ends when its budget is used up.
    Client(Clients, ClientId),
    /// The clients that a trusted proxy names. The connection goes on, because it has calls of others: the next calls of
    /// a client without budget are refused. The frames of the proxy itself are not limited.
    BehindProxy(Clients),
}

impl FrameBudget for Payers {
    fn take(&mut self, payer: Option<u64>) -> bool {
        match (self, payer) {
            (Self::Client(clients, client), _) => clients.take_frame(*client),
            (Self::BehindProxy(clients), Some(payer)) => {
                clients.charge_frame(ClientId(payer));
                true
            }
            (Self::BehindProxy(_), None) => true,
        }
    }

    fn payer(&self, headers: &HeaderMap) -> Option<u64> {
        match self {
            Self::Client(..) => None,
            Self::BehindProxy(clients) => Some(clients.forwarded_id(headers).0),
        }
    }

    fn is_shared(&self) -> bool {
        matches!(self, Self::BehindProxy(_))
    }
}
