//! Who pays for the frames of an HTTP/2 connection that lead to nothing: its client, or behind a trusted proxy the client
//! of each request.

use floor_cache::CallerId;
use floor_http2::FrameBudget;
use http::HeaderMap;

use crate::callers::Callers;

/// The payers of one connection.
#[derive(Debug)]
pub(super) enum Payers {
    /// The client of the connection, which ends when its budget is used up.
    Caller(Callers, CallerId),
    /// The clients that a trusted proxy names. The connection goes on, because it has calls of others: the next calls of
    /// a client without budget are refused. The frames of the proxy itself are not limited.
    BehindProxy(Callers),
}

impl FrameBudget for Payers {
    fn take(&mut self, payer: Option<u64>) -> bool {
        match (self, payer) {
            (Self::Caller(callers, caller), _) => callers.take_frame(*caller),
            (Self::BehindProxy(callers), Some(payer)) => {
                callers.charge_frame(CallerId(payer));
                true
            }
            (Self::BehindProxy(_), None) => true,
        }
    }

    fn payer(&self, headers: &HeaderMap) -> Option<u64> {
        match self {
            Self::Caller(..) => None,
            Self::BehindProxy(callers) => Some(callers.forwarded_id(headers).0),
        }
    }

    fn is_shared(&self) -> bool {
        matches!(self, Self::BehindProxy(_))
    }
}
