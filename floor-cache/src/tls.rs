//! Certificates and keys for TLS. They are read from PEM files and checked before any tier opens.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

use rustls::{
    RootCertStore,
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject},
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
}

/// A private key from a PEM file. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct PrivateKey {
    path: PathBuf,
    pem: Vec<u8>,
}

/// Why a PEM file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{} {reason}", path.display())]
pub struct PemError {
    path: PathBuf,
    reason: String,
}

impl Certificates {
    /// Reads the certificates in the file at `path`.
    ///
    /// # Errors
    /// When the file cannot be read, has no certificate, or has an invalid one.
    pub fn read(path: &Path) -> Result<Self, PemError> {
        let pem = read(path)?;
        let wrong = |reason: String| PemError { path: path.to_owned(), reason };
        let mut store = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(&pem) {
            let certificate = certificate.map_err(|error| wrong(format!("is not PEM: {error}")))?;
            store.add(certificate).map_err(|error| wrong(format!("holds an invalid certificate: {error}")))?;
        }
        if store.is_empty() {
            return Err(wrong("holds no certificate".to_owned()));
        }
        Ok(Self { path: path.to_owned(), pem })
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

    pub(crate) fn chain(&self) -> Result<Vec<CertificateDer<'static>>, pem::Error> {
        CertificateDer::pem_slice_iter(&self.pem).collect()
    }
}

impl PrivateKey {
    /// Reads the key in the file at `path`.
    ///
    /// # Errors
    /// When the file cannot be read or holds no key.
    pub fn read(path: &Path) -> Result<Self, PemError> {
        let key = Self { path: path.to_owned(), pem: read(path)? };
        match key.der() {
            Ok(_) => Ok(key),
            Err(error) => Err(PemError { path: path.to_owned(), reason: format!("holds no private key: {error}") }),
        }
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn pem(&self) -> &[u8] {
        &self.pem
    }

    pub(crate) fn der(&self) -> Result<PrivateKeyDer<'static>, pem::Error> {
        PrivateKeyDer::from_pem_slice(&self.pem)
    }
}

fn read(path: &Path) -> Result<Vec<u8>, PemError> {
    fs::read(path).map_err(|error| PemError { path: path.to_owned(), reason: format!("cannot be read: {error}") })
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
