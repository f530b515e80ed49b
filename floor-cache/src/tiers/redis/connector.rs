//! Clients for a Redis server or cluster, without or with TLS.

use redis::{
    Client, ClientTlsConfig, ErrorKind, RedisError, TlsCertificates, TlsMode,
    cluster::{ClusterClient, ClusterClientBuilder},
};
use rustls::{ClientConfig, RootCertStore, crypto::ring};

use crate::{config::RedisConfig, open_error::OpenError, tls::Tls};

/// The scheme of a server with TLS.
const TLS: &str = "rediss://";

/// The scheme of cluster URLs: `redis+cluster://[user:password@]host:port,host:port`.
const CLUSTER: &str = "redis+cluster://";

/// The scheme of a cluster whose nodes speak TLS.
const TLS_CLUSTER: &str = "rediss+cluster://";

/// The suffix of a URL that disables certificate checks in the library, which would make TLS useless.
const UNCHECKED: &str = "#insecure";

/// A client for the server at `url`.
pub(super) fn client(url: &str, tls: &Tls) -> Result<Client, RedisError> {
    if url.starts_with(TLS) { Client::build_with_tls(url, certificates(tls)) } else { Client::open(url) }
}

/// The builder of a client for the cluster at `url`. `None` if `url` is that of a server.
///
/// A node announces its own address, and others announce it too. With TLS the certificate of a node must be valid for
/// that address, even if `url` names the node by another one.
pub(super) fn cluster(url: &str, tls: &Tls) -> Option<ClusterClientBuilder> {
    if let Some(nodes) = url.strip_prefix(TLS_CLUSTER) {
        let builder = ClusterClient::builder(node_urls(TLS, nodes));
        return Some(builder.tls(TlsMode::Secure).certs(certificates(tls)));
    }
    url.strip_prefix(CLUSTER).map(|nodes| ClusterClient::builder(node_urls("redis://", nodes)))
}

/// The URL of each node in `[user:password@]host:port,host:port`.
fn node_urls(scheme: &str, nodes: &str) -> Vec<String> {
    let (login, hosts) = nodes.rsplit_once('@').map_or(("", nodes), |(login, hosts)| (login, hosts));
    let at = if login.is_empty() { "" } else { "@" };
    hosts.split(',').map(|host| format!("{scheme}{login}{at}{}", host.trim())).collect()
}

/// The certificates for the Redis library.
fn certificates(tls: &Tls) -> TlsCertificates {
    // rustls needs a process-wide provider; the first one installed stays.
    let _ = ring::default_provider().install_default();
    let identity = tls.cert.as_ref().zip(tls.key.as_ref());
    let client_tls =
        identity.map(|(cert, key)| ClientTlsConfig { client_cert: cert.pem().to_vec(), client_key: key.pem.clone() });
    let root_cert = tls.ca.as_ref().map(|ca| ca.pem().to_vec());
    TlsCertificates { client_tls, root_cert }
}

/// The scheme that `url` would have with TLS. `None` if it has that scheme.
pub(super) fn scheme_with_tls(url: &str) -> Option<&'static str> {
    match url {
        url if url.starts_with(TLS) || url.starts_with(TLS_CLUSTER) => None,
        url if url.starts_with(CLUSTER) => Some(TLS_CLUSTER),
        _ => Some(TLS),
    }
}

/// Adds to the `error` of a connection without TLS that the server may speak TLS, if it closed the connection: a server
/// with TLS does so without a reply. `scheme_with_tls`: that of the URL.
pub(super) fn explained(error: RedisError, scheme_with_tls: Option<&str>) -> RedisError {
    // The text, because the library turns the error of a node into one.
    let reason = error.to_string();
    let is_closed =
        ["reset by peer", "broken pipe", "end of file"].iter().any(|text| reason.to_lowercase().contains(text));
    match scheme_with_tls.filter(|_| is_closed) {
        None => error,
        Some(scheme) => {
            let detail = format!("{reason}; if it speaks TLS, write {scheme} in cache.redis.url");
            (ErrorKind::Io, "the server closed a new connection without TLS", detail).into()
        }
    }
}

/// Checks the TLS options at startup. The library reports errors at the first connection or never.
pub(super) fn check(config: &RedisConfig) -> Result<(), OpenError> {
    let refuse = |reason: String| Err(OpenError::RedisTls(reason));
    let tls = &config.tls;
    if let Some(scheme) = scheme_with_tls(&config.url)
        && *tls != Tls::default()
    {
        let url = config.redacted_url();
        return refuse(format!(
            "they are for a server that speaks TLS; write {scheme} in cache.redis.url, which is {url:?}"
        ));
    }
    if config.url.split(',').any(|node| node.ends_with(UNCHECKED)) {
        return refuse(format!("a URL that ends in {UNCHECKED} is not accepted; name the authority in cache.redis.ca"));
    }
    match (&tls.cert, &tls.key) {
        (None, None) => Ok(()),
        (Some(cert), Some(key)) => {
            let fits = || {
                let config = ClientConfig::builder_with_provider(ring::default_provider().into())
                    .with_safe_default_protocol_versions()?
                    .with_root_certificates(RootCertStore::empty());
                config.with_client_auth_cert(cert.chain.clone(), key.der.clone_key())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_url_names_its_nodes() {
        assert_eq!(node_urls("redis://", "a:1,b:2"), ["redis://a:1", "redis://b:2"]);
        assert_eq!(node_urls(TLS, "me:p@ss@a:1, b:2"), ["rediss://me:p@ss@a:1", "rediss://me:p@ss@b:2"]);
    }

    #[test]
    fn the_scheme_says_whether_it_is_a_cluster() {
        let is_cluster = |url| cluster(url, &Tls::default()).is_some();
        assert!(is_cluster("redis+cluster://a:1,b:2") && is_cluster("rediss+cluster://a:1,b:2"));
        assert!(!is_cluster("redis://a:1") && !is_cluster("rediss://a:1"));
    }

    #[test]
    fn a_closed_connection_without_tls_is_explained() {
        let closed = || RedisError::from(std::io::Error::from(std::io::ErrorKind::BrokenPipe));
        let advice = |url| explained(closed(), scheme_with_tls(url)).to_string();
        assert!(advice("redis://a:1").contains("write rediss:// in"), "{}", advice("redis://a:1"));
        assert!(advice("redis+cluster://a:1").contains("write rediss+cluster:// in"));
        assert_eq!(advice("rediss://a:1"), closed().to_string());
        assert_eq!(advice("rediss+cluster://a:1"), closed().to_string());
        assert!(explained(closed(), Some(TLS)).is_connection_dropped());
        let refused = || RedisError::from(std::io::Error::from(std::io::ErrorKind::ConnectionRefused));
        assert_eq!(explained(refused(), Some(TLS)).to_string(), refused().to_string());
    }
}
