//! The error of a file or text that holds a certificate, a key or a token.

use std::{fmt, fs, path::Path};

/// Why a certificate, a key or a token cannot be used. The message names the file, never its content.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{origin} {reason}")]
pub struct CredentialError {
    origin: String,
    reason: String,
}

impl CredentialError {
    pub(crate) fn new(origin: impl fmt::Display, reason: impl Into<String>) -> Self {
        Self { origin: origin.to_string(), reason: reason.into() }
    }
}

/// The content of the file at `path`.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, CredentialError> {
    fs::read(path).map_err(|error| CredentialError::new(path.display(), format!("cannot be read: {error}")))
}
