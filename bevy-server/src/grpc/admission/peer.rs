//! Who makes a call: the caller of its token, of the connection, or behind a trusted proxy the one that the proxy names.

use std::time::Duration;

use http::HeaderMap;
use tonic::Status;

use crate::{
    auth::{Authenticator, LastToken},
    callers::{Caller, Callers, UNKNOWN_ADDRESS},
    grpc::status,
};

/// The other end of a connection.
pub(in crate::grpc) struct Peer {
    /// The caller of the connection.
    caller: Caller,
    /// Finds the callers of calls, if the peer is a trusted proxy.
    behind_proxy: Option<Callers>,
    /// Knows the tokens that callers need. `None`: they need none.
    authenticator: Option<Authenticator>,
    last_token: LastToken,
}

/// Who makes a call.
#[derive(Debug)]
pub(in crate::grpc) struct Identity {
    /// The caller; for a refused call that of the connection.
    pub(in crate::grpc) caller: Caller,
    /// Why the caller may not call.
    pub(in crate::grpc) refusal: Option<Status>,
    /// Whether callers need a token, so that answers are not for others.
    pub(in crate::grpc) needs_token: bool,
}

impl From<Caller> for Identity {
    fn from(caller: Caller) -> Self {
        Self { caller, refusal: None, needs_token: false }
    }
}

impl Peer {
    /// The peer of a connection of `caller`. If it is a trusted proxy, `behind_proxy` finds the caller of each call.
    pub(in crate::grpc) fn new(
        caller: Caller,
        behind_proxy: Option<Callers>,
        authenticator: Option<Authenticator>,
    ) -> Self {
        Self { caller, behind_proxy, authenticator, last_token: LastToken::default() }
    }

    /// The caller of the connection.
    pub(in crate::grpc) const fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The caller with these headers: the caller of its token if callers need one, else an
    /// [anonymous](Self::anonymous) one.
    pub(in crate::grpc) fn identify(&self, headers: &HeaderMap) -> Identity {
        let Some(authenticator) = &self.authenticator else { return self.anonymous(headers).into() };
        let needs_token = true;
        let address = match &self.behind_proxy {
            None => self.caller.address(),
            Some(callers) => callers.forwarded_address(headers).unwrap_or(UNKNOWN_ADDRESS),
        };
        match authenticator.caller(headers, address, &self.last_token) {
            Ok(caller) => Identity { caller, refusal: None, needs_token },
            Err(denied) => {
                Identity { caller: self.anonymous(headers), refusal: Some(status::denied(&denied)), needs_token }
            }
        }
    }

    /// The caller of a call without a token.
    pub(in crate::grpc) fn anonymous(&self, headers: &HeaderMap) -> Caller {
        match &self.behind_proxy {
            None => self.caller.clone(),
            // A proxy that names no caller is not the caller, and has none of its rights.
            Some(callers) => callers.forwarded(headers).unwrap_or_else(|| callers.unknown()),
        }
    }

    /// How long the caller behind a trusted proxy may not call, because it has reset too many calls. A connection of its
    /// own would have ended; this one has calls of others.
    pub(in crate::grpc) fn beyond_resets(&self, headers: &HeaderMap) -> Option<Duration> {
        self.behind_proxy.as_ref()?.beyond_budget(headers)
    }
}
