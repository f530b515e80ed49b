//! Clients for a Redis server, cluster, socket or the master that Sentinels name, without or with TLS.

use redis::{
    AsyncConnectionConfig, Client, ClientTlsConfig, ErrorKind, IntoConnectionInfo as _, RedisError, TlsCertificates,
    TlsMode,
    aio::MultiplexedConnection,
    cluster::{ClusterClient, ClusterClientBuilder},
    sentinel::{SentinelClient, SentinelClientBuilder, SentinelServerType},
};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use tokio::sync::Mutex;

use crate::{
    config::RedisConfig,
    open_error::OpenError,
    redis_url::{Form, RedisUrl},
    tls::Tls,
};

/// A client for the server or the socket of `url`.
pub(super) fn client(url: &RedisUrl<'_>, tls: &Tls) -> Result<Client, RedisError> {
    let database = url.database.filter(|_| url.form == Form::Server).map(|database| format!("/{database}"));
    let query = url.query.map(|query| format!("?{query}")).unwrap_or_default();
    let node = node_urls(url).swap_remove(0) + &database.unwrap_or_default() + &query;
    if url.has_tls { Client::build_with_tls(node, certificates(tls)) } else { Client::open(node) }
}

/// The builder of a client for the cluster of `url`.
///
/// A node announces its own address, and others announce it too. With TLS the certificate of a node must be valid for
/// that address, even if `url` names the node by another one.
pub(super) fn cluster(url: &RedisUrl<'_>, tls: &Tls) -> ClusterClientBuilder {
    let builder = ClusterClient::builder(node_urls(url));
    if url.has_tls { builder.tls(TlsMode::Secure).certs(certificates(tls)) } else { builder }
}

/// The Sentinels of a server. They know which one is its master.
pub(super) struct Sentinels {
    /// Asks them without a password, as most have none.
    open: Mutex<SentinelClient>,
    /// Asks them with the password of Redis, if there is one.
    protected: Option<Mutex<SentinelClient>>,
}

impl Sentinels {
    pub(super) fn new(url: &RedisUrl<'_>, tls: &Tls) -> Result<Self, RedisError> {
        Ok(Self {
            open: Mutex::new(sentinel_client(url, tls, false)?),
            protected: url.login.map(|_| sentinel_client(url, tls, true).map(Mutex::new)).transpose()?,
        })
    }

    /// A connection to the present master.
    pub(super) async fn connect(&self, config: &AsyncConnectionConfig) -> Result<MultiplexedConnection, RedisError> {
        let opened = self.open.lock().await.get_async_connection_with_config(config).await;
        match (opened, &self.protected) {
            (Err(error), Some(protected)) if error.code() == Some("NOAUTH") => {
                protected.lock().await.get_async_connection_with_config(config).await
            }
            (opened, _) => opened,
        }
    }
}

fn sentinel_client(url: &RedisUrl<'_>, tls: &Tls, is_protected: bool) -> Result<SentinelClient, RedisError> {
    let nodes = node_urls(url).into_iter().map(|node| node.into_connection_info()).collect::<Result<Vec<_>, _>>()?;
    let addresses: Vec<_> = nodes.iter().map(|node| node.addr().clone()).collect();
    let mut builder = SentinelClientBuilder::new(addresses, url.service, SentinelServerType::Master)?
        .set_client_to_redis_db(url.database.unwrap_or(0).into());
    if url.has_tls {
        builder = builder
            .set_client_to_redis_tls_mode(TlsMode::Secure)
            .set_client_to_redis_certificates(certificates(tls))
            .set_client_to_sentinel_tls_mode(TlsMode::Secure)
            .set_client_to_sentinel_certificates(certificates(tls));
    }
    // The library has decoded them.
    let login = nodes.first().map(|node| node.redis_settings());
    if let Some(user) = login.and_then(|login| login.username()) {
        builder = builder.set_client_to_redis_username(user);
        builder = if is_protected { builder.set_client_to_sentinel_username(user) } else { builder };
    }
    if let Some(password) = login.and_then(|login| login.password()) {
        builder = builder.set_client_to_redis_password(password);
        builder = if is_protected { builder.set_client_to_sentinel_password(password) } else { builder };
    }
    builder.build()
}

/// The URL of each node of `url`, without its path.
fn node_urls(url: &RedisUrl<'_>) -> Vec<String> {
    let scheme = match (url.form, url.has_tls) {
        (Form::Socket, _) => "redis+unix://",
        (_, true) => "rediss://",
        (_, false) => "redis://",
    };
    let login = url.login.map(|login| format!("{login}@")).unwrap_or_default();
    url.hosts.iter().map(|host| format!("{scheme}{login}{host}")).collect()
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

/// Adds to the `error` of a connection without TLS why a server closes new connections: one with TLS does so without a
/// reply, and one with too many clients before the library reads its reply. `scheme_with_tls`: that of the URL.
pub(super) fn explained(error: RedisError, scheme_with_tls: Option<&str>) -> RedisError {
    // The text, because the library turns the error of a node into one.
    let reason = error.to_string();
    let is_closed =
        ["reset by peer", "broken pipe", "end of file"].iter().any(|text| reason.to_lowercase().contains(text));
    match scheme_with_tls.filter(|_| is_closed) {
        None => error,
        Some(scheme) => {
            let detail = format!(
                "{reason}; if it has the max number of clients, raise its maxclients; if it speaks TLS, write {scheme}:// in \
                 cache.redis.url"
            );
            (ErrorKind::Io, "the server closed a new connection without TLS", detail).into()
        }
    }
}

/// Checks the URL and the TLS options at startup. The library reports errors at the first connection or never.
pub(super) fn check(config: &RedisConfig) -> Result<RedisUrl<'_>, OpenError> {
    let refuse = |reason: String| Err(OpenError::RedisTls(reason));
    let url = RedisUrl::parse(&config.url).map_err(|reason| OpenError::RedisUrl {
        url: config.redacted_url(),
        reason: format!("{reason}; {}", RedisConfig::EXPECTED_URL),
    })?;
    let tls = &config.tls;
    if !url.has_tls && *tls != Tls::default() {
        let scheme = url.scheme_with_tls().unwrap_or("rediss");
        return refuse(format!(
            "they are for a server that speaks TLS; write {scheme}:// in cache.redis.url, which is \"{url}\""
        ));
    }
    match (&tls.cert, &tls.key) {
        (None, None) => Ok(url),
        (Some(cert), Some(key)) => {
            let fits = || {
                let config = ClientConfig::builder_with_provider(ring::default_provider().into())
                    .with_safe_default_protocol_versions()?
                    .with_root_certificates(RootCertStore::empty());
                config.with_client_auth_cert(cert.chain.clone(), key.der.clone_key())
            };
            match fits() {
                Ok(_) => Ok(url),
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
    fn a_url_names_its_nodes() {
        let nodes = |url| node_urls(&RedisUrl::parse(url).unwrap());
        assert_eq!(nodes("redis+cluster://a:1,b:2"), ["redis://a:1", "redis://b:2"]);
        assert_eq!(nodes("rediss+cluster://me:p@ss@a:1, b:2"), ["rediss://me:p@ss@a:1", "rediss://me:p@ss@b:2"]);
        assert_eq!(nodes("redis+sentinel://a:1/mymaster"), ["redis://a:1"]);
        assert_eq!(nodes("redis+unix:///run/redis.sock?db=1"), ["redis+unix:///run/redis.sock"]);
    }

    #[test]
    fn every_form_of_a_url_has_a_client() {
        let tls = Tls::default();
        for url in ["redis://me:x@a:1/3", "rediss://a", "redis+unix:///run/redis.sock?db=1&user=me&pass=x%23"] {
            let client = client(&RedisUrl::parse(url).unwrap(), &tls).unwrap();
            let settings = client.get_connection_info().redis_settings().clone();
            let expected = if url.starts_with("redis://") { 3 } else { i64::from(url.contains("db=1")) };
            assert_eq!(settings.db(), expected, "{url}");
            assert_eq!(settings.password().is_some(), url.contains("me"), "{url}");
        }
        for url in ["redis+cluster://a:1,b:2", "rediss+cluster://:x@a:1/0"] {
            cluster(&RedisUrl::parse(url).unwrap(), &tls).build().unwrap();
        }
        for url in ["redis+sentinel://a:1,b:2/mymaster", "rediss+sentinel://me:x@a:1/mymaster/3"] {
            Sentinels::new(&RedisUrl::parse(url).unwrap(), &tls).unwrap();
        }
    }

    #[test]
    fn a_closed_connection_without_tls_is_explained() {
        let closed = || RedisError::from(std::io::Error::from(std::io::ErrorKind::BrokenPipe));
        let scheme = |url| RedisUrl::parse(url).unwrap().scheme_with_tls();
        let advice = |url| explained(closed(), scheme(url)).to_string();
        assert!(advice("redis://a:1").contains("write rediss:// in"), "{}", advice("redis://a:1"));
        assert!(advice("redis+cluster://a:1").contains("write rediss+cluster:// in"));
        assert_eq!(advice("rediss://a:1"), closed().to_string());
        assert_eq!(advice("rediss+cluster://a:1"), closed().to_string());
        assert!(explained(closed(), Some("rediss")).is_connection_dropped());
        let refused = || RedisError::from(std::io::Error::from(std::io::ErrorKind::ConnectionRefused));
        assert_eq!(explained(refused(), Some("rediss")).to_string(), refused().to_string());
    }
}
