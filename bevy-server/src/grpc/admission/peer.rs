//! Who makes a call: the caller of its token, of the connection, or behind a trusted proxy the one that the proxy names.

use std::time::Duration;

use http::HeaderMap;
use tonic::Status;

use crate::{
    auth::{Authenticator, LastToken},
    clients::{Client, Clients, UNKNOWN_ADDRESS},
    grpc::status,
};

/// The other end of a connection.
pub(in crate::grpc) struct Peer {
    /// The client of the connection.
    client: Client,
    /// Finds the clients of calls, if the peer is a trusted proxy.
    behind_proxy: Option<Clients>,
    /// Knows the tokens that callers need. `None`: they need none.
    authenticator: Option<Authenticator>,
    last_token: LastToken,
}

/// Who makes a call.
#[derive(Debug)]
pub(in crate::grpc) struct Caller {
    /// The client; for a refused call that of the connection.
    pub(in crate::grpc) client: Client,
    /// Why the client may not call.
    pub(in crate::grpc) refusal: Option<Status>,
    /// Whether callers need a token, so that answers are not for others.
    pub(in crate::grpc) needs_token: bool,
}

impl From<Client> for Caller {
    fn from(client: Client) -> Self {
        Self { client, refusal: None, needs_token: false }
    }
}

impl Peer {
    /// The peer of a connection of `client`. If it is a trusted proxy, `behind_proxy` finds the client of each call.
    pub(in crate::grpc) fn new(
        client: Client,
        behind_proxy: Option<Clients>,
        authenticator: Option<Authenticator>,
    ) -> Self {
        Self { client, behind_proxy, authenticator, last_token: LastToken::default() }
    }

    /// The client of the connection.
    pub(in crate::grpc) const fn client(&self) -> &Client {
        &self.client
    }

    /// The caller with these headers: the client of its token if callers need one, else an
    /// [anonymous](Self::anonymous) one.
    pub(in crate::grpc) fn caller(&self, headers: &HeaderMap) -> Caller {
        let Some(authenticator) = &self.authenticator else { return self.anonymous(headers).into() };
        let needs_token = true;
        let address = match &self.behind_proxy {
            None => self.client.address(),
            Some(clients) => clients.forwarded_address(headers).unwrap_or(UNKNOWN_ADDRESS),
        };
        match authenticator.client(headers, address, &self.last_token) {
            Ok(client) => Caller { client, refusal: None, needs_token },
            Err(denied) => {
                Caller { client: self.anonymous(headers), refusal: Some(status::denied(&denied)), needs_token }
            }
        }
    }

    /// The client of a call without a token.
    pub(in crate::grpc) fn anonymous(&self, headers: &HeaderMap) -> Client {
        match &self.behind_proxy {
            None => self.client.clone(),
            // A proxy that names no client is not the client, and has none of its rights.
            Some(clients) => clients.forwarded(headers).unwrap_or_else(|| clients.unknown()),
        }
    }

    /// How long the client behind a trusted proxy may not call, because it has reset too many calls. A connection of its
    /// own would have ended; this one has calls of others.
    pub(in crate::grpc) fn beyond_resets(&self, headers: &HeaderMap) -> Option<Duration> {
        self.behind_proxy.as_ref()?.beyond_budget(headers)
    }
}
