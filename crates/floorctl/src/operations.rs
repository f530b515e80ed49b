//! The client of the server's operations port, which speaks plain HTTP/1.1; a proxy in front may add TLS.

use std::{error::Error, path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, anyhow, bail};
use backon::{ExponentialBuilder, Retryable as _};
use bytes::Bytes;
use clap::Args;
use floor_client::{CONNECT_TIMEOUT, ClientError, TlsProblem, Token, is_loopback};
use floor_proto::url::redacted;
use http::{HeaderValue, Method, Request, StatusCode, Uri, header, response};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use indicatif::HumanBytes;
use serde::de::DeserializeOwned;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::{sleep, timeout},
};
use tokio_rustls::{TlsConnector, rustls::pki_types::ServerName};

use crate::{
    credentials::Credentials,
    failure::{OperationsError, UsageError},
    metrics::Metrics,
};

/// The first wait between two attempts. It doubles after each.
const MIN_BACKOFF: Duration = Duration::from_millis(50);
/// A call without a deadline may take this long before floorctl asks whether the server lives, and again so long after each
/// answer.
pub(crate) const SILENCE: Duration = Duration::from_secs(1);
/// How long a server that lives may take to say so: one whose process is stopped accepts connections and says nothing.
pub(crate) const ANSWER: Duration = Duration::from_secs(2);
/// Why such a server counts as unreachable.
pub(crate) const SILENT: &str = "it accepts connections and does not answer; is its process stopped?";

/// The most bytes of an answer that are read. The metrics of a server with a hundred tenants are a quarter of it.
const MAX_ANSWER_BYTES: usize = 4 << 20;

/// The operations port to call, the token for it, and the limits of calls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operations<'a> {
    pub(crate) url: &'a str,
    /// The file whose first line is the token.
    pub(crate) token_file: Option<&'a Path>,
    pub(crate) credentials: &'a Credentials,
    pub(crate) limits: CallLimits,
}

/// The deadline and the retries of calls.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct CallLimits {
    /// Time limit of each call with all its retries, e.g. 500ms or 2s; none by default
    #[arg(long, global = true, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) deadline: Option<Duration>,
    /// Retry a call at most this many times if the server is full, draining or unreachable; waits as long
    /// as the server asks
    #[arg(long, global = true, value_name = "TIMES", default_value_t = 0)]
    pub(crate) retries: usize,
}

impl CallLimits {
    /// The waits between attempts.
    pub(crate) fn backoff(self) -> ExponentialBuilder {
        ExponentialBuilder::new().with_min_delay(MIN_BACKOFF).with_max_times(self.retries).with_jitter()
    }
}

impl Operations<'_> {
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        self.call(Method::GET, path, json).await
    }

    /// The metrics of the server, in the text format of Prometheus.
    pub(crate) async fn metrics(&self) -> anyhow::Result<Metrics> {
        self.call(Method::GET, "/metrics", |status, body| {
            (status == StatusCode::OK).then(|| Metrics::new(String::from_utf8_lossy(body).into_owned()))
        })
        .await
    }

    pub(crate) async fn post<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        self.call(Method::POST, path, json).await
    }

    /// Makes a call with the retries and the deadline of `limits`; without a deadline it lasts while the server lives, since
    /// a purge may take minutes. Retries are safe: a request that the server gets twice changes nothing more, or makes a
    /// second copy.
    async fn call<T>(&self, method: Method, path: &str, read: Read<T>) -> anyhow::Result<T> {
        let deadline = self.limits.deadline;
        let address = self.address()?;
        let authorization = self.authorization(&address)?;
        let tls = address.is_https.then(|| self.tls(&address)).transpose()?;
        let attempt = || async {
            let call =
                Box::pin(self.attempt(&address, tls.as_ref(), method.clone(), path, authorization.clone(), read));
            tokio::select! {
                answer = call => answer,
                silent = Box::pin(self.silent(&address, tls.as_ref())), if deadline.is_none() => Err(silent.into()),
            }
        };
        let unreachable =
            |error: &anyhow::Error| matches!(error.downcast_ref(), Some(OperationsError::Unreachable { .. }));
        let calls = attempt.retry(self.limits.backoff()).when(unreachable);
        match deadline {
            None => calls.await,
            Some(deadline) => timeout(deadline, calls)
                .await
                .unwrap_or_else(|_| Err(OperationsError::TimedOut { url: redacted(self.url), deadline }.into())),
        }
    }

    /// Asks again and again whether the server lives. Returns once it does not answer.
    async fn silent(&self, address: &Address, tls: Option<&Tls>) -> OperationsError {
        loop {
            sleep(SILENCE).await;
            // A refusal is an answer too.
            let probe = self.attempt(address, tls, Method::GET, "/healthz", None, |_, _| Some(()));
            if timeout(ANSWER, probe).await.is_err() {
                return self.unreachable(SILENT);
            }
        }
    }

    /// Makes one request on a new connection and returns what `read` makes of the response. A response that it does not
    /// accept becomes an error with the response text.
    async fn attempt<T>(
        &self,
        address: &Address,
        tls: Option<&Tls>,
        method: Method,
        path: &str,
        authorization: Option<HeaderValue>,
        read: Read<T>,
    ) -> anyhow::Result<T> {
        let host_and_port = format!("{}:{}", address.host, address.port);
        let stream = timeout(CONNECT_TIMEOUT, TcpStream::connect(&host_and_port)).await;
        let stream = stream.map_err(|_| self.unreachable("it does not answer"))?;
        let stream = stream.map_err(|error| self.unreachable(error))?;
        let request = Request::builder().method(method).uri(path).header(header::HOST, &host_and_port);
        let mut request = request.body(Empty::<Bytes>::new())?;
        request.headers_mut().extend(authorization.map(|value| (header::AUTHORIZATION, value)));
        let (head, body) = match tls {
            None => self.exchange(stream, request).await?,
            Some(Tls { connector, name }) => {
                let stream = timeout(CONNECT_TIMEOUT, connector.connect(name.clone(), stream)).await;
                let stream = stream.map_err(|_| self.unreachable("it does not answer in TLS; write http://"))?;
                self.exchange(stream.map_err(|error| self.failure(&error))?, request).await?
            }
        };
        if let Some(document) = read(head.status, &body) {
            return Ok(document);
        }
        bail!("{} answered {}: {}", redacted(self.url), head.status, String::from_utf8_lossy(&body).trim_end());
    }

    /// Sends the only request of a connection and returns the response.
    async fn exchange(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        request: Request<Empty<Bytes>>,
    ) -> anyhow::Result<(response::Parts, Bytes)> {
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let connection = tokio::spawn(connection);
        let response = sender.send_request(request).await;
        let (head, body) = response.map_err(|error| self.failure(&error))?.into_parts();
        let body = Limited::new(body, MAX_ANSWER_BYTES).collect().await.map_err(|error| match error.downcast() {
            Ok(error) => self.failure(&*error as &hyper::Error),
            Err(too_long) => anyhow!(
                "the answer of {} is too long, at most {} are read: {too_long}",
                self.url,
                HumanBytes(MAX_ANSWER_BYTES as u64)
            ),
        })?;
        connection.abort();
        Ok((head, body.to_bytes()))
    }

    /// The parts of the URL.
    fn address(&self) -> anyhow::Result<Address> {
        let full = if self.url.contains("://") { self.url.to_owned() } else { format!("http://{}", self.url) };
        let invalid = |reason: &str| ClientError::Address { url: redacted(self.url), reason: reason.to_owned() };
        let uri = full.parse::<Uri>().map_err(|_| invalid("it is no URL")).context("--ops")?;
        let (is_https, default_port) = match uri.scheme_str() {
            Some("http") => (false, 80),
            Some("https") => (true, 443),
            _ => return Err(invalid("write http://host:port or https://host:port")).context("--ops"),
        };
        let authority = uri.authority().ok_or_else(|| invalid("write http://host:port")).context("--ops")?;
        let port = authority.port_u16().unwrap_or(default_port);
        Ok(Address { is_https, host: authority.host().to_owned(), port })
    }

    /// The header with the token of `--ops-token-file`, else with that of `--token-file`. Fails if others could read it
    /// on the way, unless that is allowed, as on the port for players.
    fn authorization(&self, address: &Address) -> anyhow::Result<Option<HeaderValue>> {
        let token = match self.token_file {
            Some(file) => Some(Token::read(file).map_err(|error| UsageError(format!("--ops-token-file: {error}")))?),
            None => self.credentials.token()?,
        };
        let is_safe = address.is_https || is_loopback(self.url) || self.credentials.allow_plaintext_token();
        if token.is_some() && !is_safe {
            return Err(ClientError::PlaintextToken { server: redacted(self.url) }.into());
        }
        Ok(token.as_ref().map(Token::authorization))
    }

    fn tls(&self, address: &Address) -> anyhow::Result<Tls> {
        let config = self.credentials.connect_options()?.rustls_config().map_err(ClientError::from)?;
        let name = self.credentials.server_name().unwrap_or(address.host.trim_matches(['[', ']']));
        let name = ServerName::try_from(name.to_owned()).map_err(|_| {
            UsageError(format!("no certificate can have the name {name:?}; name it with --server-name"))
        })?;
        Ok(Tls { connector: TlsConnector::from(Arc::new(config)), name })
    }

    /// The error of a connection.
    fn failure(&self, error: &(dyn Error + 'static)) -> anyhow::Error {
        match TlsProblem::of(error) {
            Some(problem) => ClientError::Tls { server: redacted(self.url), problem }.into(),
            None => self.unreachable(error).into(),
        }
    }

    fn unreachable(&self, reason: impl ToString) -> OperationsError {
        OperationsError::Unreachable { url: redacted(self.url), reason: reason.to_string() }
    }
}

/// Reads the body of a response with that status. `None` if it is not what was asked for.
type Read<T> = fn(StatusCode, &[u8]) -> Option<T>;

/// The JSON document, also with status 503: then it says in which tier the request failed.
fn json<T: DeserializeOwned>(status: StatusCode, body: &[u8]) -> Option<T> {
    let is_answer = [StatusCode::OK, StatusCode::SERVICE_UNAVAILABLE].contains(&status);
    is_answer.then(|| serde_json::from_slice(body).ok()).flatten()
}

/// The URL of the operations port.
struct Address {
    is_https: bool,
    /// An IPv6 address in brackets.
    host: String,
    port: u16,
}

/// What a TLS handshake needs.
struct Tls {
    connector: TlsConnector,
    /// The name that the certificate must have.
    name: ServerName<'static>,
}
