//! An authority made for one test, and the certificates it gives out.

use std::{fs, path::PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair};
use tempfile::TempDir;

pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    directory: TempDir,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("a certificate");
        let authority = Self { issuer, directory: tempfile::tempdir().expect("a directory for the files") };
        fs::write(authority.ca(), authority.issuer.pem()).expect("a file");
        authority
    }

    /// The file with its own certificate.
    pub(crate) fn ca(&self) -> PathBuf {
        self.file("ca.pem")
    }

    /// Files with a certificate for `host` and its key.
    pub(crate) fn certify(&self, host: &str) -> (PathBuf, PathBuf) {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(vec![host.to_owned()]).expect("a host's name or address");
        // Of the authority's own name, it would be taken for the authority's.
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, host);
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let (cert_file, key_file) = (self.file(&format!("{host}.pem")), self.file(&format!("{host}.key")));
        fs::write(&cert_file, certificate.pem()).expect("a file");
        fs::write(&key_file, key.serialize_pem()).expect("a file");
        (cert_file, key_file)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}
