//! Certificates and keys for TLS. They are checked when they are read, so that a mistake is found before connecting.

use std::{fmt, path::Path, sync::Arc};

use rustls::{
    ClientConfig, ConfigBuilder, RootCertStore,
    client::WantsClientCert,
    crypto::ring,
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject as _},
    },
};

use floor_proto::text;

use crate::credential_error::{CredentialError, read};

/// The certificates of the authorities that a client trusts.
#[derive(Clone)]
pub struct Certificates(pub(crate) Arc<RootCertStore>);

impl Certificates {
    /// Reads the PEM file at `path`. It holds one certificate or more.
    ///
    /// # Errors
    /// If the file cannot be read, holds no certificate or holds an invalid one.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, CredentialError> {
        let path = path.as_ref();
        Self::parse(&read(path)?, &path.display())
    }

    /// Parses PEM text, for programs that contain the certificate of their server's authority.
    ///
    /// # Errors
    /// If the text holds no certificate or an invalid one.
    pub fn from_pem(pem: &[u8]) -> Result<Self, CredentialError> {
        Self::parse(pem, &"the PEM text")
    }

    fn parse(pem: &[u8], origin: &dyn fmt::Display) -> Result<Self, CredentialError> {
        let mut roots = RootCertStore::empty();
        for certificate in chain(pem, origin)? {
            roots
                .add(certificate)
                .map_err(|error| CredentialError::new(origin, format!("holds an invalid certificate: {error}")))?;
        }
        Ok(Self(Arc::new(roots)))
    }

    /// The authorities that the system trusts, or those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name.
    pub(crate) fn of_the_system() -> Result<Self, CredentialError> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            let reason = "holds no certificate; install the package ca-certificates, or name the authority of the \
                          server (option `ca`)";
            return Err(CredentialError::new("the system's list of trusted authorities", reason));
        }
        Ok(Self(Arc::new(roots)))
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Certificates({})", self.0.len())
    }
}

/// A client certificate with its private key, for servers that ask for one. `Debug` shows neither.
#[derive(Clone)]
pub struct Identity {
    /// For tonic, which takes PEM.
    cert: Vec<u8>,
    key: Vec<u8>,
    chain: Vec<CertificateDer<'static>>,
    private_key: Arc<PrivateKeyDer<'static>>,
}

impl Identity {
    /// Reads two PEM files: the certificate, followed by those of intermediate authorities if there are any, and its
    /// key.
    ///
    /// # Errors
    /// If a file cannot be read, does not hold what it should, or the key is that of another certificate.
    pub fn read(cert: impl AsRef<Path>, key: impl AsRef<Path>) -> Result<Self, CredentialError> {
        let (cert, key) = (cert.as_ref(), key.as_ref());
        Self::parse(&read(cert)?, &cert.display(), &read(key)?, &key.display())
    }

    /// Parses PEM texts: the certificate, followed by those of intermediate authorities if there are any, and its key.
    ///
    /// # Errors
    /// If a text does not hold what it should, or the key is that of another certificate.
    pub fn from_pem(cert: &[u8], key: &[u8]) -> Result<Self, CredentialError> {
        Self::parse(cert, &"the PEM text of the certificate", key, &"the PEM text of the key")
    }

    fn parse(
        cert: &[u8],
        cert_origin: &dyn fmt::Display,
        key: &[u8],
        key_origin: &dyn fmt::Display,
    ) -> Result<Self, CredentialError> {
        let chain = chain(cert, cert_origin)?;
        let private_key = PrivateKeyDer::from_pem_slice(text::without_mark(key))
            .map_err(|error| CredentialError::new(key_origin, format!("holds no private key: {}", problem(&error))))?;
        rustls_config(RootCertStore::empty().into())
            .and_then(|config| config.with_client_auth_cert(chain.clone(), private_key.clone_key()))
            .map_err(|error| {
                CredentialError::new(cert_origin, format!("and {key_origin} do not go together: {error}"))
            })?;
        let [cert, key] = [cert, key].map(|pem| text::without_mark(pem).to_vec());
        Ok(Self { cert, key, chain, private_key: Arc::new(private_key) })
    }

    pub(crate) fn for_tonic(&self) -> tonic::transport::Identity {
        tonic::transport::Identity::from_pem(&self.cert, &self.key)
    }

    pub(crate) fn for_rustls(&self) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        (self.chain.clone(), self.private_key.clone_key())
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity(***)")
    }
}

/// What a connection needs for TLS.
#[derive(Debug, Clone, Default)]
pub(crate) struct TlsOptions {
    pub(crate) ca: Option<Certificates>,
    pub(crate) identity: Option<Identity>,
    pub(crate) server_name: Option<String>,
}

/// A configuration that trusts `roots` and still lacks the client certificate.
pub(crate) fn rustls_config(
    roots: Arc<RootCertStore>,
) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(ring::default_provider().into());
    Ok(builder.with_safe_default_protocol_versions()?.with_root_certificates(roots))
}

/// The certificates in `pem`, at least one.
fn chain(pem: &[u8], origin: &dyn fmt::Display) -> Result<Vec<CertificateDer<'static>>, CredentialError> {
    let chain = CertificateDer::pem_slice_iter(text::without_mark(pem)).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(|error| CredentialError::new(origin, format!("is not PEM: {}", problem(&error))))?;
    if chain.is_empty() {
        return Err(CredentialError::new(origin, "holds no certificate; it must be a PEM file with one"));
    }
    Ok(chain)
}

/// What is wrong with PEM. The text of the error itself shows bytes of the file, which may be those of a key.
const fn problem(error: &pem::Error) -> &'static str {
    match error {
        pem::Error::MissingSectionEnd { .. } => "a section has no line with its end, such as -----END CERTIFICATE-----",
        pem::Error::IllegalSectionStart { .. } => {
            "a line begins as a section does and goes on behind it; write line breaks, and not \\n or spaces for them"
        }
        pem::Error::Base64Decode(_) => "a section is not base64",
        pem::Error::NoItemsFound => "there is no such section",
        _ => "it cannot be read",
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair};

    use super::*;

    fn certificate() -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
    }

    #[test]
    fn what_is_no_certificate_or_key_is_refused_by_name() {
        let (cert, key) = certificate();
        let (_, other_key) = certificate();
        let error = |result: Result<Identity, CredentialError>| result.unwrap_err().to_string();
        assert!(
            Certificates::read("/nowhere/ca.pem").unwrap_err().to_string().starts_with("/nowhere/ca.pem cannot be")
        );
        assert!(Certificates::from_pem(key.as_bytes()).unwrap_err().to_string().contains("holds no certificate"));
        assert!(Identity::from_pem(cert.as_bytes(), key.as_bytes()).is_ok());
        assert!(error(Identity::from_pem(key.as_bytes(), key.as_bytes())).contains("holds no certificate"));
        assert!(error(Identity::from_pem(cert.as_bytes(), cert.as_bytes())).contains("holds no private key"));
        assert!(error(Identity::from_pem(cert.as_bytes(), other_key.as_bytes())).contains("do not go together"));
    }

    #[test]
    fn what_editors_and_shells_add_is_taken_as_meant_or_named_and_no_key_is_shown() {
        let (cert, key) = certificate();
        for added in [(|pem: &str| format!("\u{feff}{pem}")) as fn(&str) -> String, |pem| pem.replace('\n', "\r\n")] {
            assert!(Identity::from_pem(added(&cert).as_bytes(), added(&key).as_bytes()).is_ok());
            assert!(Certificates::from_pem(added(&cert).as_bytes()).is_ok());
        }
        for broken in
            [key.replace('\n', "\\n"), key.replace('\n', " "), key.lines().take(2).collect::<Vec<_>>().join("\n")]
        {
            let error = Identity::from_pem(cert.as_bytes(), broken.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("holds no private key: ") && !error.contains('['), "{error}");
        }
    }

    #[test]
    fn debug_shows_no_key() {
        let (cert, key) = certificate();
        let identity = Identity::from_pem(cert.as_bytes(), key.as_bytes()).unwrap();
        let certificates = Certificates::from_pem(cert.as_bytes()).unwrap();
        assert_eq!(format!("{identity:?} {certificates:?}"), "Identity(***) Certificates(1)");
    }
}
