//! What a connection needs beside the server's URL: trusted authorities, a client certificate, a token.

use rustls::ClientConfig;
use tonic::transport::ClientTlsConfig;

use crate::{Certificates, CredentialError, Identity, Token, tls::rustls_config, transport::CONNECT_TIMEOUT};

/// Options of a connection. A server at `https://` whose certificate the system trusts needs none.
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
    pub(crate) ca: Option<Certificates>,
    pub(crate) identity: Option<Identity>,
    pub(crate) server_name: Option<String>,
    pub(crate) token: Option<Token>,
    pub(crate) allow_plaintext_token: bool,
}

impl ConnectOptions {
    /// The authorities of the system, no client certificate and no token.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Trusts these authorities in place of those of the system.
    #[must_use]
    pub fn ca(mut self, ca: Certificates) -> Self {
        self.ca = Some(ca);
        self
    }

    /// The client certificate, for a server that asks for one.
    #[must_use]
    pub fn identity(mut self, identity: Identity) -> Self {
        self.identity = Some(identity);
        self
    }

    /// The name that the server's certificate must have, if it is not the host in the URL: for a server that is reached
    /// by its address or through a tunnel.
    #[must_use]
    pub fn server_name(mut self, name: impl Into<String>) -> Self {
        self.server_name = Some(name.into());
        self
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

    /// The TLS options as a configuration of rustls, for a program that opens connections of its own to the same
    /// machines. It offers no application protocol.
    ///
    /// # Errors
    /// If [`ca`](Self::ca) is not set and the system has no list of trusted authorities.
    pub fn rustls_config(&self) -> Result<ClientConfig, CredentialError> {
        let invalid = |error: rustls::Error| CredentialError::new("the TLS configuration", error.to_string());
        let config = rustls_config(self.authorities()?.0).map_err(invalid)?;
        match &self.identity {
            None => Ok(config.with_no_client_auth()),
            Some(identity) => {
                let (chain, key) = identity.for_rustls();
                config.with_client_auth_cert(chain, key).map_err(invalid)
            }
        }
    }

    pub(crate) fn tonic_config(&self) -> Result<ClientTlsConfig, CredentialError> {
        let mut config =
            ClientTlsConfig::new().trust_anchors(self.authorities()?.0.roots.iter().cloned()).timeout(CONNECT_TIMEOUT);
        if let Some(identity) = &self.identity {
            config = config.identity(identity.for_tonic());
        }
        if let Some(name) = &self.server_name {
            config = config.domain_name(name.clone());
        }
        Ok(config)
    }

    fn authorities(&self) -> Result<Certificates, CredentialError> {
        self.ca.clone().map_or_else(Certificates::of_the_system, Ok)
    }

    /// Whether an option is set that only TLS can use.
    pub(crate) fn requires_tls(&self) -> bool {
        self.ca.is_some() || self.identity.is_some() || self.server_name.is_some()
    }
}
