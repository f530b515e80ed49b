//! Certificates and keys for TLS. They are read from PEM files and checked before any tier opens.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    RootCertStore,
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject as _},
    },
};

/// The trust roots and the client identity of a remote tier.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tls {
    /// The trusted certificate authorities; `None`: those of the system.
    pub ca: Option<Certificates>,
    /// The client certificate. Requires [`key`](Self::key).
    pub cert: Option<Certificates>,
    /// The private key of [`cert`](Self::cert).
    pub key: Option<PrivateKey>,
}

/// Certificates from a PEM file: at least one, each well-formed. Their validity is checked when they are used.
#[derive(Clone, PartialEq, Eq)]
pub struct Certificates {
    path: PathBuf,
    pem: Vec<u8>,
    pub(crate) chain: Vec<CertificateDer<'static>>,
}

/// A private key from a PEM file. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct PrivateKey {
    path: PathBuf,
    pub(crate) pem: Vec<u8>,
    pub(crate) der: Arc<PrivateKeyDer<'static>>,
}

/// Why a PEM file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{} {reason}", path.display())]
pub struct PemError {
    path: PathBuf,
    reason: String,
}

impl PemError {
    /// What is wrong with the file, after its name: `holds no certificate`.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl Certificates {
    /// Reads the certificates in the file at `path`.
    ///
    /// # Errors
    /// When the file cannot be read, has no certificate, or has an invalid one.
    pub fn read(path: &Path) -> Result<Self, PemError> {
        let pem = read(path)?;
        let wrong = |reason: String| PemError { path: path.to_owned(), reason };
        let chain = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|error| wrong(format!("is not PEM: {}", pem_problem(&error))))?;
        if chain.is_empty() {
            return Err(wrong("holds no certificate".to_owned()));
        }
        let mut store = RootCertStore::empty();
        for certificate in &chain {
            store.add(certificate.clone()).map_err(|error| wrong(format!("holds an invalid certificate: {error}")))?;
        }
        Ok(Self { path: path.to_owned(), pem, chain })
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The contents of the file.
    #[must_use]
    pub fn pem(&self) -> &[u8] {
        &self.pem
    }
}

impl PrivateKey {
    /// Reads the key in the file at `path`.
    ///
    /// # Errors
    /// When the file cannot be read or holds no key.
    pub fn read(path: &Path) -> Result<Self, PemError> {
        let pem = read(path)?;
        let path = path.to_owned();
        match PrivateKeyDer::from_pem_slice(&pem) {
            Ok(der) => Ok(Self { path, pem, der: Arc::new(der) }),
            Err(error) => Err(PemError { path, reason: format!("holds no private key: {}", pem_problem(&error)) }),
        }
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The contents of the file without a byte order mark, before which no section of PEM is found.
fn read(path: &Path) -> Result<Vec<u8>, PemError> {
    let pem = fs::read(path);
    let pem = pem.map_err(|error| PemError { path: path.to_owned(), reason: format!("cannot be read: {error}") })?;
    Ok(pem.strip_prefix(b"\xef\xbb\xbf").map(<[u8]>::to_vec).unwrap_or(pem))
}

/// What is wrong with PEM. The text of the error itself shows bytes of the file, which may be those of a key.
#[must_use]
pub const fn pem_problem(error: &pem::Error) -> &'static str {
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

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Certificates").field(&self.path).finish()
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PrivateKey").field(&self.path).finish()
    }
}
