//! A certificate authority for one test, and clients that speak TLS.

use std::{fs, io, path::PathBuf, sync::Arc};

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair, date_time_ymd,
};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{
        ClientConfig, ConfigBuilder, KeyLog, RootCertStore, SupportedProtocolVersion,
        client::WantsClientCert,
        crypto::{CryptoProvider, ring},
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
        version::{TLS12, TLS13},
    },
};

use crate::{Server, Setup, http2::SMALL_WINDOW};

/// A certificate authority. Its files exist as long as it does.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    directory: TempDir,
}

/// The files of a certificate and its key.
#[derive(Clone)]
pub struct Pair {
    /// The certificate, as PEM.
    pub cert: PathBuf,
    /// The key, as PEM.
    pub key: PathBuf,
}

impl Authority {
    /// An authority with a name and a key of its own.
    #[expect(clippy::new_without_default, reason = "it makes a key and writes files")]
    pub fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // Each authority has another name, or one would pass for another with a wrong signature.
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, directory.path().file_name().unwrap().to_str().unwrap());
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let authority = Self { issuer, directory };
        fs::write(authority.ca(), authority.issuer.pem()).unwrap();
        authority
    }

    /// The file of its own certificate.
    pub fn ca(&self) -> PathBuf {
        self.directory.path().join("ca.pem")
    }

    /// A certificate for `localhost` whose subject is `CN=name`.
    pub fn certify(&self, name: &str) -> Pair {
        self.certify_until(name, 2100)
    }

    /// As [`certify`](Self::certify), valid until the first day of `year`.
    pub fn certify_until(&self, name: &str, year: i32) -> Pair {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        params.not_after = date_time_ymd(year, 1, 1);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let file = |extension: &str| self.directory.path().join(format!("{name}.{extension}"));
        let pair = Pair { cert: file("pem"), key: file("key") };
        fs::write(&pair.cert, certificate.pem()).unwrap();
        fs::write(&pair.key, key.serialize_pem()).unwrap();
        pair
    }
}

impl Pair {
    fn chain(&self) -> Vec<CertificateDer<'static>> {
        CertificateDer::pem_file_iter(&self.cert).unwrap().map(Result::unwrap).collect()
    }

    /// Whether a client was shown this certificate.
    pub fn is_of(&self, stream: &TlsStream<TcpStream>) -> bool {
        stream.get_ref().1.peer_certificates().unwrap()[0] == self.chain()[0]
    }
}

impl Setup {
    /// TLS with this certificate.
    pub fn with_tls(self, Pair { cert, key }: &Pair) -> Self {
        self.with("GRPC__TLS__CERT", &cert.display().to_string()).with("GRPC__TLS__KEY", &key.display().to_string())
    }

    /// Clients need certificates of `authority`.
    pub fn with_client_ca(self, authority: &Authority) -> Self {
        self.with("GRPC__TLS__CLIENT_CA", &authority.ca().display().to_string())
    }
}

/// How a client speaks TLS. Its connections resume sessions of earlier ones.
#[derive(Clone)]
pub struct TlsClient(Arc<ClientConfig>);

impl TlsClient {
    /// A client that trusts `authority`, offers HTTP/2, and has a certificate if one is given.
    pub fn new(authority: &Authority, pair: Option<&Pair>) -> Self {
        Self::with_versions(authority, pair, &[&TLS12, &TLS13])
    }

    /// As [`new`](Self::new), with these versions of TLS.
    pub fn with_versions(
        authority: &Authority,
        pair: Option<&Pair>,
        versions: &[&'static SupportedProtocolVersion],
    ) -> Self {
        let config = Self::trusting(authority, ring::default_provider(), versions);
        let config = match pair {
            None => config.with_no_client_auth(),
            Some(pair) => {
                let key = PrivateKeyDer::from_pem_file(&pair.key).unwrap();
                config.with_client_auth_cert(pair.chain(), key).unwrap()
            }
        };
        Self(Arc::new(config)).offering(&["h2"])
    }

    /// A client that tells `log` its secrets, and that has one cipher suite, TLS_AES_128_GCM_SHA256.
    pub fn with_logged_secrets(authority: &Authority, log: Arc<dyn KeyLog>) -> Self {
        let suites = vec![ring::cipher_suite::TLS13_AES_128_GCM_SHA256];
        let provider = CryptoProvider { cipher_suites: suites, ..ring::default_provider() };
        let mut config = Self::trusting(authority, provider, &[&TLS13]).with_no_client_auth();
        config.key_log = log;
        Self(Arc::new(config)).offering(&["h2"])
    }

    fn trusting(
        authority: &Authority,
        provider: CryptoProvider,
        versions: &[&'static SupportedProtocolVersion],
    ) -> ConfigBuilder<ClientConfig, WantsClientCert> {
        let mut roots = RootCertStore::empty();
        roots.add(authority.issuer.der().clone()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(provider));
        config.with_protocol_versions(versions).unwrap().with_root_certificates(roots)
    }

    /// Offers these protocols by ALPN.
    pub fn offering(&self, protocols: &[&str]) -> Self {
        let mut config = ClientConfig::clone(&self.0);
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        Self(Arc::new(config))
    }

    /// A new connection, after its handshake.
    pub async fn connect(&self, server: &Server) -> io::Result<TlsStream<TcpStream>> {
        self.handshake(TcpStream::connect(&server.grpc).await?).await
    }

    /// TLS on a connection that is open.
    pub async fn handshake(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        TlsConnector::from(Arc::clone(&self.0)).connect("localhost".try_into().unwrap(), stream).await
    }

    /// An HTTP/2 connection with a small window.
    pub async fn http2(&self, server: &Server) -> SendRequest<Full<Bytes>> {
        http2(self.connect(server).await.unwrap()).await
    }
}

/// HTTP/2 with a small window.
pub async fn http2(stream: TlsStream<TcpStream>) -> SendRequest<Full<Bytes>> {
    let mut peer = http2::Builder::new(TokioExecutor::new());
    peer.initial_stream_window_size(SMALL_WINDOW).initial_connection_window_size(SMALL_WINDOW);
    let (sender, connection) = peer.handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender
}
