//! Why client and server do not agree on TLS, from the errors of rustls.

use std::{error::Error as StdError, io};

use rustls::{AlertDescription, CertificateError, InvalidMessage};

use crate::causes::{causes, innermost};

/// Why there is no TLS connection. Each message says what would be right; the names in parentheses are those of
/// [`ConnectOptions`](crate::ConnectOptions).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TlsProblem {
    /// No trusted authority signed the server's certificate.
    #[error("no trusted authority signed its certificate; trust the authority that did (`ca`)")]
    Untrusted,
    /// The server's certificate has other names than the one in the URL.
    #[error("{0}; connect to that name, or expect it (`server_name`)")]
    WrongName(String),
    /// The server's certificate has expired.
    #[error("its certificate has expired; renew it, or set the clock of this machine")]
    Expired,
    /// The server's certificate is not valid yet.
    #[error("its certificate is not valid yet; set the clock of this machine, or of the one that made it")]
    NotValidYet,
    /// The server presents the certificate of an authority.
    #[error("its certificate is that of an authority (CA:TRUE); let the authority sign one for the server")]
    Authority,
    /// What the server answered is not TLS.
    #[error("it does not speak TLS; write http://, or connect to a port that does")]
    Plaintext,
    /// The server speaks TLS, but not HTTP/2 in it.
    #[error("it does not offer HTTP/2 (ALPN `h2`); connect to the port for gRPC, or enable HTTP/2 in the proxy")]
    NoHttp2,
    /// The server asks for a client certificate, and the client has none.
    #[error("it asks for a client certificate; present one (`identity`)")]
    CertificateRequired,
    /// The server does not accept the client certificate, with the alert that it sent.
    #[error("it does not accept the client certificate ({0}); present one that its authority signed (`identity`)")]
    CertificateRejected(String),
    /// Anything else that another attempt does not change.
    #[error("{0}")]
    Other(String),
}

/// Alerts about the client certificate. With TLS 1.3 they arrive after the handshake, inside an error of HTTP/2 that
/// keeps only the text.
const CERTIFICATE_ALERTS: [AlertDescription; 8] = [
    AlertDescription::CertificateRequired,
    AlertDescription::BadCertificate,
    AlertDescription::UnsupportedCertificate,
    AlertDescription::CertificateRevoked,
    AlertDescription::CertificateExpired,
    AlertDescription::CertificateUnknown,
    AlertDescription::UnknownCA,
    AlertDescription::AccessDenied,
];

impl TlsProblem {
    /// The problem that `error` or one of its causes reports. `None` if the error is not about TLS, or another attempt
    /// may succeed.
    #[must_use]
    pub fn of(error: &(dyn StdError + 'static)) -> Option<Self> {
        match causes(error).find_map(rustls_error) {
            Some(error) => Self::from_rustls(error),
            None => Self::from_text(&innermost(error)),
        }
    }

    fn from_rustls(error: &rustls::Error) -> Option<Self> {
        Some(match error {
            rustls::Error::InvalidCertificate(error) => Self::from_certificate(error),
            rustls::Error::AlertReceived(alert) => return Self::from_alert(*alert),
            rustls::Error::InvalidMessage(
                InvalidMessage::InvalidContentType | InvalidMessage::UnknownProtocolVersion,
            ) => Self::Plaintext,
            rustls::Error::NoApplicationProtocol => Self::NoHttp2,
            rustls::Error::PeerIncompatible(_) => Self::Other(error.to_string()),
            _ => return None,
        })
    }

    fn from_certificate(error: &CertificateError) -> Self {
        match error {
            CertificateError::UnknownIssuer | CertificateError::BadSignature => Self::Untrusted,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                Self::WrongName(error.to_string())
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => Self::Expired,
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => Self::NotValidYet,
            // rustls has no variant of its own for it.
            CertificateError::Other(_) if error.to_string().contains("CaUsedAsEndEntity") => Self::Authority,
            _ => Self::Other(format!("its certificate is not valid: {error}")),
        }
    }

    fn from_alert(alert: AlertDescription) -> Option<Self> {
        match alert {
            AlertDescription::CertificateRequired => Some(Self::CertificateRequired),
            AlertDescription::NoApplicationProtocol => Some(Self::NoHttp2),
            AlertDescription::HandshakeFailure
            | AlertDescription::ProtocolVersion
            | AlertDescription::InsufficientSecurity
            | AlertDescription::UnrecognisedName => {
                Some(Self::Other(format!("it refused the TLS handshake ({alert:?})")))
            }
            alert => CERTIFICATE_ALERTS.contains(&alert).then(|| Self::CertificateRejected(format!("{alert:?}"))),
        }
    }

    fn from_text(text: &str) -> Option<Self> {
        // tonic keeps the type of this error to itself.
        if text.contains("HTTP/2 was not negotiated") {
            return Some(Self::NoHttp2);
        }
        let is_sent = |alert: &&AlertDescription| text.contains(&rustls::Error::AlertReceived(**alert).to_string());
        Self::from_alert(*CERTIFICATE_ALERTS.iter().find(is_sent)?)
    }
}

/// The error of rustls that `cause` is or holds. tokio-rustls wraps it in an I/O error, which does not name it as its
/// source.
fn rustls_error<'a>(cause: &'a (dyn StdError + 'static)) -> Option<&'a rustls::Error> {
    match cause.downcast_ref::<io::Error>() {
        Some(error) => error.get_ref()?.downcast_ref(),
        None => cause.downcast_ref(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_io(error: rustls::Error) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, error)
    }

    #[test]
    fn errors_of_rustls_are_found_in_io_errors() {
        let problem = |error| TlsProblem::of(&in_io(error));
        let certificate = |error| problem(rustls::Error::InvalidCertificate(error));
        assert_eq!(certificate(CertificateError::UnknownIssuer), Some(TlsProblem::Untrusted));
        assert_eq!(certificate(CertificateError::Expired), Some(TlsProblem::Expired));
        assert_eq!(certificate(CertificateError::NotValidYet), Some(TlsProblem::NotValidYet));
        assert!(matches!(certificate(CertificateError::NotValidForName), Some(TlsProblem::WrongName(_))));
        let alert = |alert| problem(rustls::Error::AlertReceived(alert));
        assert_eq!(alert(AlertDescription::CertificateRequired), Some(TlsProblem::CertificateRequired));
        let rejected = TlsProblem::CertificateRejected("UnknownCA".to_owned());
        assert_eq!(alert(AlertDescription::UnknownCA), Some(rejected));
        assert_eq!(alert(AlertDescription::InternalError), None, "another attempt may succeed");
    }

    #[test]
    fn alerts_are_found_in_text() {
        let text = |text: &str| TlsProblem::of(&io::Error::other(text.to_owned()));
        assert_eq!(text("received fatal alert: CertificateRequired"), Some(TlsProblem::CertificateRequired));
        assert_eq!(text("Connection refused"), None);
    }
}
