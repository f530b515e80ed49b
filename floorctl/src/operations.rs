//! The client of the server's operations port, which speaks plain HTTP/1.1.

use std::{error::Error, fmt, time::Duration};

use anyhow::{Context as _, bail};
use backon::{ExponentialBuilder, Retryable as _};
use bytes::Bytes;
use clap::Args;
use floor_client::{CONNECT_TIMEOUT, ClientError};
use http::{Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Empty};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use tokio::net::TcpStream;

use crate::cli::CallLimits;

/// The first wait between two attempts. It doubles after each.
const MIN_BACKOFF: Duration = Duration::from_millis(50);

/// The flag for the operations port.
#[derive(Debug, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct Operations {
    /// The address of the server's operations port
    #[arg(long, env = "FLOORCTL_OPS", default_value = "http://127.0.0.1:50052", value_name = "URL")]
    ops: String,
}

/// Why a call to the operations port failed.
#[derive(Debug)]
pub(crate) enum OperationsError {
    /// Connecting failed, or the connection broke.
    Unreachable { url: String, reason: String },
    /// The deadline passed before the server answered.
    TimedOut { url: String, deadline: Duration },
}

impl fmt::Display for OperationsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable { url, reason } => write!(f, "cannot reach the operations port at {url}: {reason}"),
            Self::TimedOut { url, deadline } => {
                let deadline = humantime::format_duration(*deadline);
                write!(f, "the operations port at {url} did not answer within {deadline}")
            }
        }
    }
}

impl Error for OperationsError {}

impl Operations {
    pub(crate) async fn get<T: DeserializeOwned>(&self, limits: &CallLimits, path: &str) -> anyhow::Result<T> {
        self.call(limits, Method::GET, path).await
    }

    pub(crate) async fn post<T: DeserializeOwned>(&self, limits: &CallLimits, path: &str) -> anyhow::Result<T> {
        self.call(limits, Method::POST, path).await
    }

    /// Makes a call with the retries and the deadline of `limits`. Retries are safe, since all requests are idempotent.
    async fn call<T: DeserializeOwned>(&self, limits: &CallLimits, method: Method, path: &str) -> anyhow::Result<T> {
        let CallLimits { deadline, retries } = *limits;
        let backoff = ExponentialBuilder::new().with_min_delay(MIN_BACKOFF).with_max_times(retries).with_jitter();
        let attempt = || self.attempt(method.clone(), path);
        let unreachable =
            |error: &anyhow::Error| matches!(error.downcast_ref(), Some(OperationsError::Unreachable { .. }));
        let calls = attempt.retry(backoff).when(unreachable);
        match deadline {
            None => calls.await,
            Some(deadline) => tokio::time::timeout(deadline, calls)
                .await
                .unwrap_or_else(|_| Err(OperationsError::TimedOut { url: self.ops.clone(), deadline }.into())),
        }
    }

    /// Makes one request on a new connection and returns the JSON document of the response, also with status 503: then
    /// the document says in which tier the request failed. Any other failure becomes an error with the response text.
    async fn attempt<T: DeserializeOwned>(&self, method: Method, path: &str) -> anyhow::Result<T> {
        let address = self.address()?;
        let stream = tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(&address)).await;
        let stream = stream.map_err(|_| self.unreachable("it does not answer"))?;
        let stream = stream.map_err(|error| self.unreachable(&error.to_string()))?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let connection = tokio::spawn(connection);
        let request = Request::builder().method(method).uri(path).header(header::HOST, &address);
        let response = sender.send_request(request.body(Empty::<Bytes>::new())?).await;
        let response = response.map_err(|error| self.unreachable(&error.to_string()))?;
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(|error| self.unreachable(&error.to_string()))?.to_bytes();
        connection.abort();
        if [StatusCode::OK, StatusCode::SERVICE_UNAVAILABLE].contains(&head.status)
            && let Ok(document) = serde_json::from_slice(&body)
        {
            return Ok(document);
        }
        bail!("{} answered {}: {}", self.ops, head.status, String::from_utf8_lossy(&body).trim_end());
    }

    /// `host:port`.
    fn address(&self) -> anyhow::Result<String> {
        let full = if self.ops.contains("://") { self.ops.clone() } else { format!("http://{}", self.ops) };
        let invalid = |reason: &str| ClientError::Address { url: self.ops.clone(), reason: reason.to_owned() };
        let uri = full.parse::<Uri>().map_err(|_| invalid("it is no URL")).context("--ops")?;
        match (uri.scheme_str(), uri.authority()) {
            (Some("http"), Some(authority)) => {
                Ok(format!("{}:{}", authority.host(), authority.port_u16().unwrap_or(80)))
            }
            _ => Err(invalid("the operations port speaks plain HTTP; write http://host:port")).context("--ops"),
        }
    }

    fn unreachable(&self, reason: &str) -> OperationsError {
        OperationsError::Unreachable { url: self.ops.clone(), reason: reason.to_owned() }
    }
}
