//! A certificate and a token for the servers and clients of one run.

use std::{fs, sync::Arc};

use benches::server::Setup;
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

/// The token of the client.
pub(crate) const TOKEN: &str = "client-of-the-benchmark-7f3a";

/// Cells that it may have generated a second: about a tenth of what a core generates.
const QUOTA_CELLS: u64 = 1000 * 100 * 100;

/// Files with a self-signed certificate for `localhost`, its key, and the hash of [`TOKEN`]. Dropping it removes them.
pub(crate) struct Credentials {
    directory: TempDir,
    /// Trusts the certificate, and speaks HTTP/2.
    pub(crate) tls: Arc<ClientConfig>,
}

impl Credentials {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let directory = tempfile::tempdir()?;
        let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
        fs::write(directory.path().join("cert.pem"), certified.cert.pem())?;
        fs::write(directory.path().join("key.pem"), certified.signing_key.serialize_pem())?;
        let hash = Sha256::digest(TOKEN.as_bytes());
        let tokens = format!(
            "[[token]]\nname = \"client\"\nsha256 = \"{hash:x}\"\ncells_per_second = {QUOTA_CELLS}\nscopes = [\"floors\"]\n"
        );
        fs::write(directory.path().join("tokens.toml"), tokens)?;
        let mut roots = RootCertStore::empty();
        roots.add(certified.cert.der().clone())?;
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions()?;
        let mut tls = builder.with_root_certificates(roots).with_no_client_auth();
        tls.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Self { directory, tls: Arc::new(tls) })
    }

    /// `setup`, with TLS.
    pub(crate) fn with_tls(&self, setup: Setup) -> Setup {
        setup.with("GRPC__TLS__CERT", self.path("cert.pem")).with("GRPC__TLS__KEY", self.path("key.pem"))
    }

    /// `setup`, with a token and a quota.
    pub(crate) fn with_tokens(&self, setup: Setup) -> Setup {
        setup.with("AUTH__TOKENS_FILE", self.path("tokens.toml"))
    }

    fn path(&self, file: &str) -> String {
        self.directory.path().join(file).display().to_string()
    }
}
