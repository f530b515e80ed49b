//! The options of a connection with TLS.

use rustls::ClientConfig;
use tonic::transport::ClientTlsConfig;

use crate::{
    Certificates, ConnectOptions, CredentialError, Identity,
    tls::{TlsOptions, rustls_config},
    transport::CONNECT_TIMEOUT,
};

impl ConnectOptions {
    /// Trusts these authorities in place of those of the system.
    #[must_use]
    pub fn ca(mut self, ca: Certificates) -> Self {
        self.tls.ca = Some(ca);
        self
    }

    /// The client certificate, for a server that asks for one.
    #[must_use]
    pub fn identity(mut self, identity: Identity) -> Self {
        self.tls.identity = Some(identity);
        self
    }

    /// The name that the server's certificate must have, if it is not the host in the URL: for a server that is reached
    /// by its address or through a tunnel.
    #[must_use]
    pub fn server_name(mut self, name: impl Into<String>) -> Self {
        self.tls.server_name = Some(name.into());
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
        match &self.tls.identity {
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
        if let Some(identity) = &self.tls.identity {
            config = config.identity(identity.for_tonic());
        }
        if let Some(name) = &self.tls.server_name {
            config = config.domain_name(name.clone());
        }
        Ok(config)
    }

    fn authorities(&self) -> Result<Certificates, CredentialError> {
        self.tls.ca.clone().map_or_else(Certificates::of_the_system, Ok)
    }

    /// Whether an option is set that only TLS can use.
    pub(crate) fn requires_tls(&self) -> bool {
        let TlsOptions { ca, identity, server_name } = &self.tls;
        ca.is_some() || identity.is_some() || server_name.is_some()
    }

    pub(crate) const fn has_identity(&self) -> bool {
        self.tls.identity.is_some()
    }
}
