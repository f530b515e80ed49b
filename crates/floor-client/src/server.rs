//! The server as its client sees it: where it is, what to send it, and what its errors mean.

use std::{
    error::Error as StdError,
    io::{self, ErrorKind},
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use floor_proto::{text, url::redacted};
use http::{HeaderValue, Uri};
use tonic::{
    ConnectError, Status, TimeoutExpired,
    transport::{Channel, Endpoint},
};

#[cfg(feature = "tls")]
use crate::TlsProblem;
use crate::{
    ClientError, ConnectOptions, StatusError, Token,
    causes::{causes, innermost},
    transport::{CONNECT_TIMEOUT, KEEP_ALIVE_INTERVAL, KEEP_ALIVE_TIMEOUT},
};

/// The forms of a URL, for error messages.
const FORMS: &str = "write http://host:port or https://host:port";

/// One server: its endpoint, its URL for messages, and the token for it.
#[derive(Debug)]
pub(crate) struct Server {
    endpoint: Endpoint,
    url: String,
    token: Option<Token>,
    has_identity: bool,
    /// Whether a call was ever answered. Until then a broken connection may mean a wrong scheme.
    has_answered: AtomicBool,
}

impl Server {
    /// Checks the URL and whether the options fit it. Does not connect.
    pub(crate) fn new(url: &str, options: &ConnectOptions) -> Result<Arc<Self>, ClientError> {
        let endpoint = endpoint(url, options)?;
        Ok(Arc::new(Self {
            url: redacted(&endpoint.uri().to_string()),
            endpoint,
            token: options.token.clone(),
            has_identity: options.has_identity(),
            has_answered: AtomicBool::new(false),
        }))
    }

    /// Its scheme, host and port.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Opens a connection.
    pub(crate) async fn connect(&self) -> Result<Channel, ClientError> {
        self.endpoint.connect().await.map_err(|error| self.connection_error(error))
    }

    /// A connection that the first call opens. Needs a tokio runtime.
    pub(crate) fn connect_lazily(&self) -> Channel {
        self.endpoint.connect_lazy()
    }

    /// The header `authorization` of the next call.
    pub(crate) fn authorization(&self) -> Option<HeaderValue> {
        self.token.as_ref().map(Token::authorization)
    }

    /// The header `authorization` to send instead of `refused`, if the token has changed.
    pub(crate) fn authorization_instead_of(&self, refused: &HeaderValue) -> Option<HeaderValue> {
        self.token.as_ref()?.replacement(refused)
    }

    /// Records that the server answered a call.
    pub(crate) fn record_answer(&self) {
        if !self.has_answered.load(Ordering::Relaxed) {
            self.has_answered.store(true, Ordering::Relaxed);
        }
    }

    /// Converts the status of a failed call. tonic reports a broken connection as a status, too. Only a status from the
    /// server has no source.
    pub(crate) fn call_error(&self, status: Status) -> ClientError {
        if causes(&status).any(|cause| cause.is::<TimeoutExpired>()) {
            return ClientError::deadline_exceeded();
        }
        if status.source().is_some() {
            return self.connection_error(status);
        }
        self.record_answer();
        ClientError::Status(Box::new(StatusError::from_status(&status)))
    }

    fn connection_error(&self, error: impl StdError + Send + Sync + 'static) -> ClientError {
        let server = self.url.clone();
        #[cfg(feature = "tls")]
        match TlsProblem::of(&error) {
            // Servers with TLS 1.2 reject a certificate that the client did not send.
            Some(TlsProblem::CertificateRejected(_)) if !self.has_identity => {
                return ClientError::Tls { server, problem: TlsProblem::CertificateRequired };
            }
            Some(problem) => return ClientError::Tls { server, problem },
            None => {}
        }
        let reason = innermost(&error).trim_end_matches('.').to_owned() + self.suggestion(&error);
        ClientError::Unreachable { server, reason, source: Some(Box::new(error)) }
    }

    /// What may be wrong if a new connection breaks without a word from the server.
    fn suggestion(&self, error: &(dyn StdError + 'static)) -> &'static str {
        let is_https = self.endpoint.uri().scheme_str() == Some("https");
        let is_connecting = causes(error).any(|cause| cause.is::<ConnectError>());
        if self.has_answered.load(Ordering::Relaxed) {
            ""
        } else if is_connecting {
            if is_https && is_broken_handshake(error) { "; if it speaks plain HTTP/2, write http://" } else { "" }
        } else if !is_https {
            "; if it speaks TLS, write https://"
        } else if self.has_identity {
            "; if it does not accept the client certificate, present one that its authority signed (`identity`)"
        } else {
            "; if it asks for a client certificate, present one (`identity`)"
        }
    }
}

/// Whether connecting failed after TCP: in the TLS handshake.
fn is_broken_handshake(error: &(dyn StdError + 'static)) -> bool {
    let is_closed = |cause: &(dyn StdError + 'static)| {
        let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        matches!(kind, Some(ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe))
    };
    causes(error).any(is_closed) || innermost(error).contains("handshake timeout")
}

/// Checks that `url` names a server and nothing else: what stands there besides would not be sent.
///
/// # Errors
/// [`ClientError::Address`], which shows no password.
pub fn check_url(url: &str) -> Result<(), ClientError> {
    parse_url(url).map(|_| ())
}

/// Parses the URL of a server; `127.0.0.1:50051` means `http://127.0.0.1:50051`.
fn parse_url(url: &str) -> Result<Uri, ClientError> {
    let invalid = |url: &str, reason: &str| ClientError::Address { url: redacted(url), reason: reason.to_owned() };
    if url.contains('@') {
        return Err(invalid(url, &format!("the server takes no user and no password, but a token; {FORMS}")));
    }
    if let Some(remark) = url.chars().find_map(text::remark) {
        return Err(invalid(url, &format!("{remark}; {FORMS}")));
    }
    let full = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
    let uri = full.parse::<Uri>().map_err(|error| invalid(url, &format!("{error}; {FORMS}")))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none_or(str::is_empty) {
        return Err(invalid(url, FORMS));
    }
    if !matches!(uri.path(), "" | "/") || uri.query().is_some() || full.contains('#') {
        return Err(invalid(url, &format!("a path, a query and a fragment would not be sent; {FORMS}")));
    }
    // A port that is none would be taken for the scheme's own.
    let (host, authority) =
        (uri.host().unwrap_or_default(), uri.authority().map_or("", |authority| authority.as_str()));
    if authority.len() != host.len() && uri.port_u16().is_none_or(|port| port == 0) {
        return Err(invalid(url, &format!("a port is a number from 1 to 65535; {FORMS}")));
    }
    Ok(uri)
}

fn endpoint(url: &str, options: &ConnectOptions) -> Result<Endpoint, ClientError> {
    let invalid = |reason: String| ClientError::Address { url: redacted(url), reason };
    let endpoint = Endpoint::from(parse_url(url)?);
    let endpoint = endpoint
        .connect_timeout(CONNECT_TIMEOUT)
        .http2_keep_alive_interval(KEEP_ALIVE_INTERVAL)
        .keep_alive_timeout(KEEP_ALIVE_TIMEOUT);
    let host = endpoint.uri().host().unwrap_or_default();
    match endpoint.uri().scheme_str() {
        Some("https") => {
            #[cfg(not(feature = "tls"))]
            return Err(invalid("this program is built without TLS (feature `tls` of floor-client)".to_owned()));
            #[cfg(feature = "tls")]
            endpoint.tls_config(options.tonic_config()?).map_err(|error| invalid(innermost(&error)))
        }
        Some("http") if options.requires_tls() => Err(ClientError::TlsOptions { server: redacted(url) }),
        Some("http") if options.token.is_some() && !options.allow_plaintext_token && !is_loopback_host(host) => {
            Err(ClientError::PlaintextToken { server: redacted(url) })
        }
        _ => Ok(endpoint),
    }
}

/// Whether `url` names this machine: `localhost` or a loopback address.
#[must_use]
pub fn is_loopback(url: &str) -> bool {
    url.parse::<Uri>().is_ok_and(|uri| uri.host().is_some_and(is_loopback_host))
}

fn is_loopback_host(host: &str) -> bool {
    host == "localhost" || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_addresses_are_recognized() {
        for loopback in ["http://127.0.0.1:50051", "http://localhost:1", "http://[::1]:50051", "127.0.0.1:50051"] {
            assert!(is_loopback(loopback), "{loopback}");
        }
        for remote in ["http://10.0.0.5:50051", "http://floors.example:50051", "nonsense"] {
            assert!(!is_loopback(remote), "{remote}");
        }
    }

    #[test]
    fn no_password_of_a_url_is_printed() {
        const MARKER: &str = "hunter2";
        for special in ["", "#", "/", "?", "@", ":", "%", " ", "[", "]", "\\", "://", "\n"] {
            for scheme in ["http://", "https://", "ftp://", ""] {
                for url in [
                    format!("{scheme}me:{special}{MARKER}@h:1"),
                    format!("{scheme}me:12{special}{MARKER}{special}@h:1"),
                    format!("{scheme}h:1/{special}?token={MARKER}"),
                ] {
                    let printed = match Server::new(&url, &ConnectOptions::new()) {
                        Ok(server) => server.url().to_owned(),
                        Err(error) => format!("{error} {error:?}"),
                    };
                    assert!(!printed.contains(MARKER), "of {url} is printed: {printed}");
                }
            }
        }
        let error = Server::new("http://me:hush@h:1", &ConnectOptions::new()).unwrap_err().to_string();
        assert_eq!(
            error,
            "\"http://***\" is no server address: the server takes no user and no password, but a token; write \
             http://host:port or https://host:port"
        );
    }

    #[test]
    fn a_token_goes_over_plaintext_only_to_this_machine_or_by_consent() {
        let options = ConnectOptions::new().token(Token::new("hush").unwrap());
        let refused = |url: &str, options: &ConnectOptions| {
            let error = Server::new(url, options).err()?.to_string();
            assert!(!error.contains("hush"), "{error}");
            Some(error)
        };
        for url in ["http://127.0.0.1:50051", "localhost:50051", "http://[::1]:50051"] {
            assert_eq!(refused(url, &options), None);
        }
        for url in ["http://10.0.0.5:50051", "floors.example:50051", "http://localhost.example"] {
            let error = refused(url, &options).unwrap();
            assert!(error.contains(url) && error.contains("write https://") && error.contains("allow_"), "{error}");
            assert_eq!(refused(url, &options.clone().allow_plaintext_token(true)), None);
            assert_eq!(refused(url, &ConnectOptions::new()), None);
        }
    }

    /// A row for each thing that people and programs add to an address.
    #[test]
    fn what_is_added_to_an_address_is_taken_as_meant_or_refused() {
        for (url, server) in [
            ("127.0.0.1:50051", "http://127.0.0.1:50051"),
            ("localhost:50051", "http://localhost:50051"),
            ("http://127.0.0.1:50051/", "http://127.0.0.1:50051"),
            ("HTTP://127.0.0.1:50051", "http://127.0.0.1:50051"),
            ("http://[::1]:50051", "http://[::1]:50051"),
            ("http://floors.example", "http://floors.example"),
        ] {
            assert_eq!(Server::new(url, &ConnectOptions::new()).unwrap().url(), server, "{url}");
        }
        for (url, part) in [
            ("http://127.0.0.1:50051/floors", "a path, a query and a fragment would not be sent"),
            ("http://127.0.0.1:50051?tenant=acme", "a path, a query and a fragment would not be sent"),
            ("http://127.0.0.1:50051#acme", "a path, a query and a fragment would not be sent"),
            ("http:/127.0.0.1:50051", "no server address"),
            ("http://me:hush@127.0.0.1:50051", "takes no user and no password"),
            ("me:hush@127.0.0.1:50051", "takes no user and no password"),
            ("http://me:hu/sh@127.0.0.1:50051", "takes no user and no password"),
            ("grpc://127.0.0.1:50051", "write http://host:port"),
            ("http://127.0.0.1:99999", "a port is a number from 1 to 65535"),
            ("http://127.0.0.1:", "a port is a number from 1 to 65535"),
            ("http://127.0.0.1:0", "a port is a number from 1 to 65535"),
            ("http://127.0.0.1:50051\r", "U+000D is a carriage return"),
            ("http://127.0.0.1:50051\u{200b}", "U+200B is invisible"),
            ("http：//127.0.0.1:50051", "U+FF1A is a full-width form; write `:`"),
            (" http://127.0.0.1:50051", "no server address"),
            ("\"http://127.0.0.1:50051\"", "no server address"),
            ("http://", "no server address"),
            ("", "no server address"),
        ] {
            let error = Server::new(url, &ConnectOptions::new()).unwrap_err().to_string();
            assert!(error.contains(part) && error.contains("write http://host:port"), "{url:?}: {error}");
            assert!(!error.contains("hu"), "{url:?}: {error}");
        }
    }

    #[test]
    fn options_for_tls_need_https() {
        let options = ConnectOptions::new().server_name("floors.example");
        let error = Server::new("127.0.0.1:50051", &options).unwrap_err();
        assert!(
            matches!(error, ClientError::TlsOptions { .. }) && error.to_string().contains("write https://"),
            "{error}"
        );
    }

    #[test]
    fn debug_shows_no_token() {
        let options = ConnectOptions::new().token(Token::new("hush").unwrap());
        let server = Server::new("http://127.0.0.1:50051", &options).unwrap();
        assert!(!format!("{options:?} {server:?}").contains("hush"));
    }
}
