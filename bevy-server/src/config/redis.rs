//! Types for the TLS files of Redis, which are read with the configuration.

use std::path::Path;

use figment::value::Value;
use floor_cache::tls::{Certificates, PrivateKey};

use super::values::{Setting, text};

/// The trusted authorities, if configured.
pub(super) struct CaFile(pub(super) Option<Certificates>);

/// The client certificate, if configured.
pub(super) struct CertFile(pub(super) Option<Certificates>);

/// The private key of the client certificate, if configured.
pub(super) struct KeyFile(pub(super) Option<PrivateKey>);

impl Setting for CaFile {
    const EXPECTED: &'static str = "write the path of a readable PEM file that holds at least one certificate, or \"\" \
         for those of the system";

    fn parse(value: &Value) -> Option<Self> {
        read_file(value, |path| Certificates::read(path).ok()).map(Self)
    }

    fn show(&self) -> String {
        show_path(self.0.as_ref().map(Certificates::path))
    }
}

impl Setting for CertFile {
    const EXPECTED: &'static str = "write the path of a readable PEM file that holds at least one certificate, or \"\" \
         for none";

    fn parse(value: &Value) -> Option<Self> {
        read_file(value, |path| Certificates::read(path).ok()).map(Self)
    }

    fn show(&self) -> String {
        show_path(self.0.as_ref().map(Certificates::path))
    }
}

impl Setting for KeyFile {
    const EXPECTED: &'static str = "write the path of a readable PEM file that holds a private key, or \"\" for none";

    fn parse(value: &Value) -> Option<Self> {
        read_file(value, |path| PrivateKey::read(path).ok()).map(Self)
    }

    fn show(&self) -> String {
        show_path(self.0.as_ref().map(PrivateKey::path))
    }
}

/// Reads the file that `value` names. `Some(None)` if the name is empty, `None` if the file is invalid.
fn read_file<T>(value: &Value, read: impl FnOnce(&Path) -> Option<T>) -> Option<Option<T>> {
    match text(value)?.as_str() {
        "" => Some(None),
        path => read(Path::new(path)).map(Some),
    }
}

fn show_path(path: Option<&Path>) -> String {
    toml::Value::from(path.unwrap_or(Path::new("")).to_string_lossy().into_owned()).to_string()
}
