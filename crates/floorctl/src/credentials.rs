//! The flags for TLS and for the token of calls.

use std::path::PathBuf;

use clap::Args;
use floor_client::{Certificates, ConnectOptions, CredentialError, Identity, Token};

use crate::failure::UsageError;

/// Whom to trust, and what to present.
#[derive(Debug, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct Credentials {
    /// For https://, a PEM file with the authorities to trust in place of the system's
    #[arg(long, global = true, env = "FLOORCTL_CA", value_name = "FILE")]
    ca: Option<PathBuf>,
    /// For https://, a PEM file with the client certificate, if the server asks for one
    #[arg(long, global = true, env = "FLOORCTL_CERT", value_name = "FILE")]
    cert: Option<PathBuf>,
    /// A PEM file with the key of --cert
    #[arg(long, global = true, env = "FLOORCTL_KEY", value_name = "FILE")]
    key: Option<PathBuf>,
    /// For https://, the name that the server's certificate must have, if it is not the host in the URL
    #[arg(long, global = true, env = "FLOORCTL_SERVER_NAME", value_name = "NAME")]
    server_name: Option<String>,
    /// A file whose first line is the token to send; it may change while the command runs
    #[arg(long, global = true, env = "FLOORCTL_TOKEN_FILE", value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Send tokens over http:// to other machines, too, though they can be read on the way
    #[arg(long, global = true)]
    allow_plaintext_token: bool,
}

impl Credentials {
    /// Reads the files. An error names the flag and the file.
    pub(crate) fn connect_options(&self) -> Result<ConnectOptions, UsageError> {
        let mut options = ConnectOptions::new().allow_plaintext_token(self.allow_plaintext_token);
        if let Some(file) = &self.ca {
            options = options.ca(Certificates::read(file).map_err(invalid("--ca"))?);
        }
        match (&self.cert, &self.key) {
            (None, None) => {}
            (Some(cert), Some(key)) => {
                options = options.identity(Identity::read(cert, key).map_err(invalid("--cert, --key"))?);
            }
            _ => return Err(UsageError("--cert and --key go together; name both files or neither".to_owned())),
        }
        if let Some(name) = &self.server_name {
            options = options.server_name(name);
        }
        if let Some(token) = self.token()? {
            options = options.token(token);
        }
        Ok(options)
    }

    /// Reads the token.
    pub(crate) fn token(&self) -> Result<Option<Token>, UsageError> {
        self.token_file.as_ref().map(Token::read).transpose().map_err(invalid("--token-file"))
    }

    pub(crate) fn server_name(&self) -> Option<&str> {
        self.server_name.as_deref()
    }

    pub(crate) const fn allow_plaintext_token(&self) -> bool {
        self.allow_plaintext_token
    }
}

fn invalid(flag: &str) -> impl Fn(CredentialError) -> UsageError {
    move |error| UsageError(format!("{flag}: {error}"))
}
