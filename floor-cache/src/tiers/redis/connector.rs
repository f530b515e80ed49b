//! Clients for a Redis server without or with TLS.

use redis::{Client, ClientTlsConfig, RedisError, TlsCertificates};
use rustls::{ClientConfig, RootCertStore, crypto::ring};

use crate::{config::RedisConfig, open_error::OpenError, tls::Tls};

/// The scheme of TLS URLs.
const TLS: &str = "rediss://";

/// The suffix of a URL that disables certificate checks in the library, which would make TLS useless.
const UNCHECKED: &str = "#insecure";

/// A client for the server at `url`.
pub(super) fn client(url: &str, tls: &Tls) -> Result<Client, RedisError> {
    if !url.starts_with(TLS) {
        return Client::open(url);
    }
    // rustls needs a process-wide provider; the first one installed stays.
    let _ = ring::default_provider().install_default();
    let identity = tls.cert.as_ref().zip(tls.key.as_ref());
    let client_tls = identity
        .map(|(cert, key)| ClientTlsConfig { client_cert: cert.pem().to_vec(), client_key: key.pem().to_vec() });
    let root_cert = tls.ca.as_ref().map(|ca| ca.pem().to_vec());
    Client::build_with_tls(url, TlsCertificates { client_tls, root_cert })
}

/// Checks the TLS options at startup. The library reports errors at the first connection or never.
pub(super) fn check(config: &RedisConfig) -> Result<(), OpenError> {
    let refuse = |reason: String| Err(OpenError::RedisTls(reason));
    let tls = &config.tls;
    if !config.url.starts_with(TLS) && *tls != Tls::default() {
        let url = config.redacted_url();
        return refuse(format!(
            "they are for a server that speaks TLS; write {TLS} in cache.redis.url, which is {url:?}"
        ));
    }
    if config.url.ends_with(UNCHECKED) {
        return refuse(format!("a URL that ends in {UNCHECKED} is not accepted; name the authority in cache.redis.ca"));
    }
    match (&tls.cert, &tls.key) {
        (None, None) => Ok(()),
        (Some(cert), Some(key)) => {
            let fits = || {
                let (chain, key) = (cert.chain().map_err(pem_error)?, key.der().map_err(pem_error)?);
                let config = ClientConfig::builder_with_provider(ring::default_provider().into())
                    .with_safe_default_protocol_versions()?
                    .with_root_certificates(RootCertStore::empty());
                config.with_client_auth_cert(chain, key)
            };
            match fits() {
                Ok(_) => Ok(()),
                Err(error) => {
                    let (cert, key) = (cert.path().display(), key.path().display());
                    refuse(format!("{cert} and {key} do not go together: {error}"))
                }
            }
        }
        _ => refuse("cert and key go together; set both or neither".to_owned()),
    }
}

/// Cannot happen: both were parsed when they were read.
fn pem_error(error: rustls::pki_types::pem::Error) -> rustls::Error {
    rustls::Error::General(error.to_string())
}
