//! The client of the server's operations port, which speaks plain HTTP/1.1.

use std::{fs, path::Path, time::Duration};

use anyhow::{Context as _, bail};
use backon::{ExponentialBuilder, Retryable as _};
use bytes::Bytes;
use floor_client::{CONNECT_TIMEOUT, ClientError};
use http::{HeaderValue, Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Empty};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use tokio::net::TcpStream;

use crate::{cli::CallLimits, failure::UsageError};

/// The first wait between two attempts. It doubles after each.
const MIN_BACKOFF: Duration = Duration::from_millis(50);

/// The operations port to call, the token for it, and the limits of calls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operations<'a> {
    pub(crate) url: &'a str,
    /// The file whose first line is the token.
    pub(crate) token_file: Option<&'a Path>,
    pub(crate) limits: CallLimits,
}

/// Why a call to the operations port failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OperationsError {
    /// Connecting failed, or the connection broke.
    #[error("cannot reach the operations port at {url}: {reason}")]
    Unreachable { url: String, reason: String },
    /// The deadline passed before the server answered.
    #[error("the operations port at {url} did not answer within {}", humantime::format_duration(*deadline))]
    TimedOut { url: String, deadline: Duration },
}

impl Operations<'_> {
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        self.call(Method::GET, path).await
    }

    pub(crate) async fn post<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        self.call(Method::POST, path).await
    }

    /// Makes a call with the retries and the deadline of `limits`. Retries are safe, since all requests are idempotent.
    async fn call<T: DeserializeOwned>(&self, method: Method, path: &str) -> anyhow::Result<T> {
        let CallLimits { deadline, retries } = self.limits;
        let backoff = ExponentialBuilder::new().with_min_delay(MIN_BACKOFF).with_max_times(retries).with_jitter();
        let authorization = self.token_file.map(authorization).transpose()?;
        let attempt = || self.attempt(method.clone(), path, authorization.clone());
        let unreachable =
            |error: &anyhow::Error| matches!(error.downcast_ref(), Some(OperationsError::Unreachable { .. }));
        let calls = attempt.retry(backoff).when(unreachable);
        match deadline {
            None => calls.await,
            Some(deadline) => tokio::time::timeout(deadline, calls)
                .await
                .unwrap_or_else(|_| Err(OperationsError::TimedOut { url: self.url.to_owned(), deadline }.into())),
        }
    }

    /// Makes one request on a new connection and returns the JSON document of the response, also with status 503: then
    /// the document says in which tier the request failed. Any other failure becomes an error with the response text.
    async fn attempt<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        authorization: Option<HeaderValue>,
    ) -> anyhow::Result<T> {
        let address = self.address()?;
        let stream = tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(&address)).await;
        let stream = stream.map_err(|_| self.unreachable("it does not answer"))?;
        let stream = stream.map_err(|error| self.unreachable(error))?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let connection = tokio::spawn(connection);
        let request = Request::builder().method(method).uri(path).header(header::HOST, &address);
        let mut request = request.body(Empty::<Bytes>::new())?;
        request.headers_mut().extend(authorization.map(|value| (header::AUTHORIZATION, value)));
        let response = sender.send_request(request).await;
        let (head, body) = response.map_err(|error| self.unreachable(error))?.into_parts();
        let body = body.collect().await.map_err(|error| self.unreachable(error))?.to_bytes();
        connection.abort();
        if [StatusCode::OK, StatusCode::SERVICE_UNAVAILABLE].contains(&head.status)
            && let Ok(document) = serde_json::from_slice(&body)
        {
            return Ok(document);
        }
        bail!("{} answered {}: {}", self.url, head.status, String::from_utf8_lossy(&body).trim_end());
    }

    /// `host:port`.
    fn address(&self) -> anyhow::Result<String> {
        let full = if self.url.contains("://") { self.url.to_owned() } else { format!("http://{}", self.url) };
        let invalid = |reason: &str| ClientError::Address { url: self.url.to_owned(), reason: reason.to_owned() };
        let uri = full.parse::<Uri>().map_err(|_| invalid("it is no URL")).context("--ops")?;
        match (uri.scheme_str(), uri.authority()) {
            (Some("http"), Some(authority)) => {
                Ok(format!("{}:{}", authority.host(), authority.port_u16().unwrap_or(80)))
            }
            _ => Err(invalid("the operations port speaks plain HTTP; write http://host:port")).context("--ops"),
        }
    }

    fn unreachable(&self, reason: impl ToString) -> OperationsError {
        OperationsError::Unreachable { url: self.url.to_owned(), reason: reason.to_string() }
    }
}

/// The value of the header `authorization` with the token in `file`.
fn authorization(file: &Path) -> Result<HeaderValue, UsageError> {
    let invalid = |problem: &str| UsageError(format!("--ops-token-file: {} {problem}", file.display()));
    let text = fs::read_to_string(file).map_err(|error| invalid(&format!("cannot be read: {error}")))?;
    let token = text.lines().next().filter(|token| !token.is_empty());
    let token = token.ok_or_else(|| invalid("has no token in its first line"))?;
    let mut value = HeaderValue::try_from(format!("Bearer {token}"))
        .map_err(|_| invalid("has characters in its first line that no token has"))?;
    value.set_sensitive(true);
    Ok(value)
}
