//! What a connection needs beside the server's URL: trusted authorities, a client certificate, a token.

use crate::Token;

/// Options of a connection. A server at `https://` whose certificate the system trusts needs none.
///
/// With the feature `tls`:
///
/// ```no_run
/// use floor_client::{Certificates, ConnectOptions, FloorClient, Identity, Token};
///
/// # async fn example() -> Result<(), floor_client::ClientError> {
/// let options = ConnectOptions::new()
///     .ca(Certificates::read("ca.pem")?)
///     .identity(Identity::read("client.pem", "client.key")?)
///     .token(Token::read("token")?);
/// let client = FloorClient::connect_with("https://floors.example:50051", &options).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct ConnectOptions {
    #[cfg(feature = "tls")]
    pub(crate) tls: crate::tls::TlsOptions,
    pub(crate) token: Option<Token>,
    pub(crate) allow_plaintext_token: bool,
}

impl ConnectOptions {
    /// The authorities of the system, no client certificate and no token.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sends `authorization: Bearer TOKEN` with every call. Over `http://` only to this machine, see
    /// [`allow_plaintext_token`](Self::allow_plaintext_token).
    #[must_use]
    pub fn token(mut self, token: Token) -> Self {
        self.token = Some(token);
        self
    }

    /// Allows a token over `http://` to another machine, where whoever can read the network can read it. For networks
    /// that encrypt by themselves, such as a service mesh or a VPN.
    #[must_use]
    pub const fn allow_plaintext_token(mut self, allow: bool) -> Self {
        self.allow_plaintext_token = allow;
        self
    }
}

#[cfg(not(feature = "tls"))]
impl ConnectOptions {
    pub(crate) const fn requires_tls(&self) -> bool {
        false
    }

    pub(crate) const fn has_identity(&self) -> bool {
        false
    }
}
