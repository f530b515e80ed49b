//! TLS on the gRPC port: reads and checks the files that `grpc.tls` names.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use floor_cache::tls::pem_problem;
use floor_proto::text;
use tokio_rustls::rustls::{
    Error, InconsistentKeys, RootCertStore, ServerConfig,
    crypto::{
        CryptoProvider,
        ring::{self, Ticketer},
    },
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{NoServerSessionStorage, WebPkiClientVerifier, danger::ClientCertVerifier},
    sign::{CertifiedKey, SingleCertAndKey},
};
use x509_cert::{Certificate, der::Decode as _};

use super::{formats::FilePath, reader::Reader};

const CERT: &str = "grpc.tls.cert";
const KEY: &str = "grpc.tls.key";
const CLIENT_CA: &str = "grpc.tls.client_ca";

const WRITE_CERT: &str = "write the path of a readable PEM file that holds the server's certificate and then its \
     intermediates, of X.509 version 3";
const WRITE_KEY: &str = "write the path of a readable PEM file that holds the private key of the first certificate in \
     grpc.tls.cert, not encrypted: RSA with 2048 bits or more, ECDSA on P-256 or P-384, or Ed25519";
const WRITE_CLIENT_CA: &str = "write the path of a readable PEM file that holds the certificates of the authorities \
     that sign client certificates, or \"\" to ask clients for none";

/// The protocols that ALPN may select, the preferred one first.
pub(crate) const ALPN: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// The files of TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The server's certificate, then its intermediates.
    pub cert: PathBuf,
    /// The private key of the certificate.
    pub key: PathBuf,
    /// The authorities of client certificates; `None`: clients need no certificate.
    pub client_ca: Option<PathBuf>,
}

/// TLS for the gRPC port: files that fit together, and the settings of rustls made from them. [`Debug`](fmt::Debug)
/// shows only the paths.
#[derive(Clone)]
pub struct ServerTls {
    files: TlsFiles,
    contents: TlsContents,
    server_config: Arc<ServerConfig>,
    expires: Option<Duration>,
}

/// The contents of the files, or why a file cannot be read.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct TlsContents {
    cert: Contents,
    key: Contents,
    client_ca: Option<Contents>,
}

type Contents = Result<Vec<u8>, String>;

/// Why TLS files cannot be used: one or more problems.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", display(.0))]
pub struct TlsError(Vec<FileProblem>);

/// What is wrong with one file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileProblem {
    key: &'static str,
    is: String,
    advice: &'static str,
}

/// The settings of TLS; `None` without any. Errors go to `reader`.
pub(super) fn tls(reader: &mut Reader<'_>) -> Option<ServerTls> {
    let mut path = |key, expected| reader.key(key, FilePath { expected });
    let (cert, key, client_ca) = (path(CERT, WRITE_CERT), path(KEY, WRITE_KEY), path(CLIENT_CA, WRITE_CLIENT_CA));
    let files = match (cert, key) {
        (Some(cert), Some(key)) => TlsFiles { cert, key, client_ca },
        (Some(_), None) => {
            reader.refuse(KEY, "is empty, and grpc.tls.cert names a file", WRITE_KEY);
            return None;
        }
        (None, Some(_)) => {
            reader.refuse(CERT, "is empty, and grpc.tls.key names a file", WRITE_CERT);
            return None;
        }
        (None, None) if client_ca.is_some() => {
            let advice = "set these two as well: without TLS no client can present a certificate";
            reader.refuse(CLIENT_CA, "names a file, and grpc.tls.cert and grpc.tls.key do not", advice);
            return None;
        }
        (None, None) => return None,
    };
    match ServerTls::load(files) {
        Ok(tls) => Some(tls),
        Err(TlsError(problems)) => {
            problems.iter().for_each(|problem| reader.refuse(problem.key, &problem.is, problem.advice));
            None
        }
    }
}

impl ServerTls {
    /// Whether clients must present certificates.
    pub(crate) const fn asks_for_certificates(&self) -> bool {
        self.files.client_ca.is_some()
    }

    /// Reads `files` and checks that they fit together.
    ///
    /// # Errors
    /// A file cannot be read or does not hold what it should, or the key is not that of the certificate.
    pub fn load(files: TlsFiles) -> Result<Self, TlsError> {
        let contents = TlsContents::read(&files);
        Self::parse(files, contents)
    }

    /// As [`load`](Self::load), with the contents of the files.
    pub(crate) fn parse(files: TlsFiles, contents: TlsContents) -> Result<Self, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let chain = certificates(CERT, &files.cert, &contents.cert, WRITE_CERT);
        let key = private_key(&files.key, &contents.key);
        let client_ca = files.client_ca.as_deref().zip(contents.client_ca.as_ref());
        let verifier = client_ca.map(|(path, contents)| client_verifier(path, contents, &provider)).transpose();
        let (chain, key, verifier) = match (chain, key, verifier) {
            (Ok(chain), Ok(key), Ok(verifier)) => (chain, key, verifier),
            (chain, key, verifier) => {
                let problems = [chain.err(), key.err(), verifier.err()];
                return Err(TlsError(problems.into_iter().flatten().collect()));
            }
        };
        let expires = expires(&chain);
        let certified = certified_key(&files, chain, key, &provider)?;
        let server_config = server_config(provider, certified, verifier).map_err(|error| {
            // Without random numbers, or with a provider that has no cipher suites.
            problem(CERT, &files.cert, format!("cannot be used: {error}"), WRITE_CERT)
        })?;
        Ok(Self { files, contents, server_config: Arc::new(server_config), expires })
    }

    /// The files that it was read from.
    #[must_use]
    pub const fn files(&self) -> &TlsFiles {
        &self.files
    }

    pub(crate) const fn contents(&self) -> &TlsContents {
        &self.contents
    }

    pub(crate) fn server_config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.server_config)
    }

    /// When the first certificate of the chain expires, in Unix time. `None` if no certificate tells.
    #[must_use]
    pub const fn expires(&self) -> Option<Duration> {
        self.expires
    }
}

/// Equal if the files have the same names and contents.
impl PartialEq for ServerTls {
    fn eq(&self, other: &Self) -> bool {
        (&self.files, &self.contents) == (&other.files, &other.contents)
    }
}

impl Eq for ServerTls {}

impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerTls").field("files", &self.files).finish_non_exhaustive()
    }
}

impl TlsContents {
    pub(crate) fn read(files: &TlsFiles) -> Self {
        let read = |path: &Path| fs::read(path).map_err(|error| error.to_string());
        Self { cert: read(&files.cert), key: read(&files.key), client_ca: files.client_ca.as_deref().map(read) }
    }
}

impl From<FileProblem> for TlsError {
    fn from(problem: FileProblem) -> Self {
        Self(vec![problem])
    }
}

fn display(problems: &[FileProblem]) -> String {
    let problems = problems.iter().map(|FileProblem { key, is, advice }| format!("{key} {is}; {advice}"));
    problems.collect::<Vec<_>>().join("; ")
}

fn problem(key: &'static str, path: &Path, what: impl fmt::Display, advice: &'static str) -> FileProblem {
    FileProblem { key, is: format!("names {}, which {what}", path.display()), advice }
}

/// The certificates in a PEM file, at least one.
fn certificates(
    key: &'static str,
    path: &Path,
    contents: &Contents,
    advice: &'static str,
) -> Result<Vec<CertificateDer<'static>>, FileProblem> {
    let wrong = |what: String| problem(key, path, what, advice);
    let pem = contents.as_ref().map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let certificates = CertificateDer::pem_slice_iter(text::without_mark(pem)).collect::<Result<Vec<_>, _>>();
    let certificates = certificates.map_err(|error| wrong(format!("is not valid PEM: {}", pem_problem(&error))))?;
    if certificates.is_empty() {
        return Err(wrong("holds no certificate in PEM".to_owned()));
    }
    Ok(certificates)
}

fn private_key(path: &Path, contents: &Contents) -> Result<PrivateKeyDer<'static>, FileProblem> {
    let wrong = |what: String| problem(KEY, path, what, WRITE_KEY);
    let pem = contents.as_ref().map_err(|error| wrong(format!("cannot be read: {error}")))?;
    PrivateKeyDer::from_pem_slice(text::without_mark(pem))
        .map_err(|error| wrong(format!("holds no private key in PEM: {}", pem_problem(&error))))
}

/// Accepts only clients with a certificate of the authorities in a PEM file.
fn client_verifier(
    path: &Path,
    contents: &Contents,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, FileProblem> {
    let wrong = |what: String| problem(CLIENT_CA, path, what, WRITE_CLIENT_CA);
    let mut roots = RootCertStore::empty();
    for certificate in certificates(CLIENT_CA, path, contents, WRITE_CLIENT_CA)? {
        roots.add(certificate).map_err(|error| wrong(format!("holds an invalid certificate: {error}")))?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build();
    verifier.map_err(|error| wrong(format!("cannot be used: {error}")))
}

/// The chain with its key, if the key is that of the first certificate.
fn certified_key(
    files: &TlsFiles,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    provider: &CryptoProvider,
) -> Result<CertifiedKey, FileProblem> {
    let key = provider.key_provider.load_private_key(key).map_err(|error| {
        problem(KEY, &files.key, format!("holds a private key that cannot be used: {error}"), WRITE_KEY)
    })?;
    let certified = CertifiedKey::new(chain, key);
    match certified.keys_match() {
        Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(certified),
        Err(Error::InconsistentKeys(_)) => {
            let what = format!("is not the key of the first certificate in {}", files.cert.display());
            Err(problem(KEY, &files.key, what, WRITE_KEY))
        }
        Err(error) => {
            Err(problem(CERT, &files.cert, format!("begins with an invalid certificate: {error}"), WRITE_CERT))
        }
    }
}

/// TLS 1.2 and 1.3. Sessions resume by tickets, so the server stores none, except that with client certificates every
/// connection presents its certificate again.
fn server_config(
    provider: Arc<CryptoProvider>,
    certified: CertifiedKey,
    verifier: Option<Arc<dyn ClientCertVerifier>>,
) -> Result<ServerConfig, Error> {
    let resumes = verifier.is_none();
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let builder = match verifier {
        Some(verifier) => builder.with_client_cert_verifier(verifier),
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
    config.alpn_protocols = ALPN.map(<[u8]>::to_vec).into();
    config.session_storage = Arc::new(NoServerSessionStorage {});
    if resumes {
        config.ticketer = Ticketer::new()?;
    } else {
        config.send_tls13_tickets = 0;
    }
    Ok(config)
}

/// When the first of the certificates expires, in Unix time.
fn expires(chain: &[CertificateDer<'_>]) -> Option<Duration> {
    let certificates = chain.iter().filter_map(|certificate| Certificate::from_der(certificate).ok());
    certificates.map(|certificate| certificate.tbs_certificate.validity.not_after.to_unix_duration()).min()
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};
    use tempfile::TempDir;

    use super::*;
    use crate::config::Config;

    /// The files of one test.
    struct Files(TempDir);

    impl Files {
        fn new() -> Self {
            Self(TempDir::new().unwrap())
        }

        /// The path of a file with these contents.
        fn file(&self, name: &str, contents: &str) -> PathBuf {
            let path = self.0.path().join(name);
            fs::write(&path, contents).unwrap();
            path
        }

        /// A certificate and its key.
        fn pair(&self, name: &str) -> (PathBuf, PathBuf) {
            let key = KeyPair::generate().unwrap();
            let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
            params.not_after = date_time_ymd(2035, 1, 1);
            let certificate = params.self_signed(&key).unwrap();
            (
                self.file(&format!("{name}.pem"), &certificate.pem()),
                self.file(&format!("{name}.key"), &key.serialize_pem()),
            )
        }
    }

    fn resolve(keys: &[(&str, &Path)]) -> Result<Config, String> {
        let lines: String = keys.iter().map(|(key, path)| format!("{key} = {path:?}\n")).collect();
        Config::from_toml(&format!("[grpc.tls]\n{lines}")).map_err(|error| error.to_string())
    }

    #[test]
    fn tls_is_off_without_files_and_on_with_a_certificate_and_its_key() {
        let files = Files::new();
        let (cert, key) = files.pair("server");
        assert_eq!(resolve(&[]).unwrap().tls, None);
        let tls = resolve(&[("cert", &cert), ("key", &key)]).unwrap().tls.unwrap();
        assert_eq!(tls.expires(), Some(Duration::from_secs(2_051_222_400)), "2035-01-01");
        assert!(tls.server_config().ticketer.enabled());
        let mutual = resolve(&[("cert", &cert), ("key", &key), ("client_ca", &cert)]).unwrap().tls.unwrap();
        assert!(!mutual.server_config().ticketer.enabled(), "each connection presents its certificate");
        assert_ne!(tls, mutual);
        assert_eq!(tls, ServerTls::load(tls.files().clone()).unwrap());
        let secret = fs::read_to_string(&key).unwrap();
        assert!(!format!("{tls:?}").contains(secret.lines().nth(1).unwrap()));
    }

    #[test]
    fn files_that_cannot_be_used_are_named_with_their_key_and_what_to_write() {
        let files = Files::new();
        let ((cert, key), (_, other_key)) = (files.pair("server"), files.pair("other"));
        let missing = files.0.path().join("missing.pem");
        let text = files.file("text.pem", "no PEM\n");
        let cut = files.file("cut.pem", "-----BEGIN CERTIFICATE-----\nMIIB\n");
        let garbage = files.file("garbage.pem", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n");
        let no_key = files.file("no.key", "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n");
        let name = |path: &Path| path.display().to_string();
        for (keys, expected) in [
            (vec![("cert", &cert)], vec!["grpc.tls.key is empty, and grpc.tls.cert names a file".to_owned()]),
            (vec![("key", &key)], vec!["grpc.tls.cert is empty, and grpc.tls.key names a file".to_owned()]),
            (vec![("client_ca", &cert)], vec!["grpc.tls.client_ca names a file, and grpc.tls.cert".to_owned()]),
            (
                vec![("cert", &missing), ("key", &text), ("client_ca", &garbage)],
                vec![
                    format!("grpc.tls.cert names {}, which cannot be read: No such file", name(&missing)),
                    format!("grpc.tls.key names {}, which holds no private key in PEM", name(&text)),
                    format!("grpc.tls.client_ca names {}, which holds an invalid certificate", name(&garbage)),
                    "holds the server's certificate and then its intermediates".to_owned(),
                ],
            ),
            (
                vec![("cert", &text), ("key", &key)],
                vec![format!("grpc.tls.cert names {}, which holds no certificate in PEM", name(&text))],
            ),
            (
                vec![("cert", &cut), ("key", &key)],
                vec![format!("grpc.tls.cert names {}, which is not valid PEM", name(&cut))],
            ),
            (
                vec![("cert", &garbage), ("key", &key)],
                vec![format!("grpc.tls.cert names {}, which begins with an invalid certificate", name(&garbage))],
            ),
            (
                vec![("cert", &cert), ("key", &no_key)],
                vec![format!("grpc.tls.key names {}, which holds a private key that cannot be used", name(&no_key))],
            ),
            (
                vec![("cert", &cert), ("key", &other_key)],
                vec![
                    format!("grpc.tls.key names {}, which is not the key of the first certificate", name(&other_key)),
                    format!("in {}", name(&cert)),
                    "write the path of a readable PEM file that holds the private key".to_owned(),
                ],
            ),
        ] {
            let keys: Vec<_> = keys.into_iter().map(|(key, path)| (key, path.as_path())).collect();
            let error = resolve(&keys).unwrap_err();
            assert!(expected.iter().all(|expected| error.contains(expected)), "{expected:#?} are not in\n{error}");
        }
    }

    #[test]
    fn what_surrounds_pem_is_ignored_and_a_broken_key_is_not_shown() {
        let files = Files::new();
        let ((cert, key), (other_cert, _)) = (files.pair("server"), files.pair("other"));
        let (cert_text, key_text) = (fs::read_to_string(&cert).unwrap(), fs::read_to_string(&key).unwrap());
        for (name, added) in [
            ("a byte order mark", (|pem: &str| format!("\u{feff}{pem}")) as fn(&str) -> String),
            ("line ends of Windows", |pem| pem.replace('\n', "\r\n")),
            ("blanks at the ends of lines", |pem| pem.replace('\n', " \n")),
            ("text before it", |pem| format!("subject=CN = localhost\n{pem}")),
        ] {
            let (cert, key) = (files.file("added.pem", &added(&cert_text)), files.file("added.key", &added(&key_text)));
            assert!(resolve(&[("cert", &cert), ("key", &key), ("client_ca", &cert)]).is_ok(), "{name}");
        }
        let body = key_text.lines().nth(1).unwrap();
        for (name, broken) in [
            ("written line breaks", key_text.replace('\n', "\\n")),
            ("one line", key_text.replace('\n', " ")),
            ("cut", key_text.lines().take(2).collect::<Vec<_>>().join("\n")),
            ("indented", format!("  {}", key_text.replace('\n', "\n  "))),
        ] {
            let broken = files.file("broken.key", &broken);
            let error = resolve(&[("cert", &cert), ("key", &broken)]).unwrap_err();
            assert!(error.contains("holds no private key in PEM: ") && !error.contains(body), "{name}: {error}");
            assert!(!error.contains('['), "{name}: the bytes of the file are shown: {error}");
        }
        let chain = fs::read_to_string(&cert).unwrap() + &fs::read_to_string(&other_cert).unwrap();
        let chain = files.file("chain.pem", &chain);
        assert!(resolve(&[("cert", &chain), ("key", &key)]).is_ok());
    }
}
