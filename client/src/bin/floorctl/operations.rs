//! The server's operations port, over plain HTTP/1.1.

use std::time::Duration;

use anyhow::{Context as _, bail};
use bytes::Bytes;
use clap::Args;
use floor_client::ClientError;
use http::{Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Empty};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use tokio::net::TcpStream;

/// How long the server may take to accept the connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Which operations port.
#[derive(Debug, Args)]
pub(crate) struct Operations {
    /// The address of the server's operations port
    #[arg(long = "ops", env = "FLOORCTL_OPS", default_value = "http://127.0.0.1:50052", value_name = "URL")]
    url: String,
}

impl Operations {
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        self.ask(Method::GET, path).await
    }

    pub(crate) async fn post<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        self.ask(Method::POST, path).await
    }

    /// Asks over a connection of its own, and reads the document that the server answers with: also when it failed in a
    /// tier (503), since the document says in which. Every other failure is a sentence.
    async fn ask<T: DeserializeOwned>(&self, method: Method, path: &str) -> anyhow::Result<T> {
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
        bail!("{} answered {}: {}", self.url, head.status, String::from_utf8_lossy(&body).trim_end());
    }

    /// `host:port`.
    fn address(&self) -> anyhow::Result<String> {
        let full = if self.url.contains("://") { self.url.clone() } else { format!("http://{}", self.url) };
        let bad = |reason: &str| ClientError::Address { url: self.url.clone(), reason: reason.to_owned() };
        let uri = full.parse::<Uri>().map_err(|_| bad("it is no URL")).context("--ops")?;
        match (uri.scheme_str(), uri.authority()) {
            (Some("http"), Some(authority)) => {
                Ok(format!("{}:{}", authority.host(), authority.port_u16().unwrap_or(80)))
            }
            _ => Err(bad("the operations port speaks plain HTTP; write http://host:port")).context("--ops"),
        }
    }

    fn unreachable(&self, reason: &str) -> ClientError {
        ClientError::Unreachable { server: format!("{} (its operations port)", self.url), reason: reason.to_owned() }
    }
}
