//! The `healthcheck` command: checks that a running server is serving.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, StatusCode, header::HOST};
use http_body_util::{BodyExt as _, Empty};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};

use crate::config::Config;

/// Limit for connecting and for the whole check.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Checks that the server with this configuration is serving: over `grpc.health.v1` or, if the gRPC port has TLS, by
/// `/readyz` on the operations port. The check has no certificate that a port with `grpc.tls.client_ca` would accept.
/// Returns a sentence to print.
///
/// # Errors
/// If no server answers within two seconds, or it is not serving.
pub fn check(config: &Config) -> anyhow::Result<String> {
    let has_tls = config.tls.is_some();
    let address = connect_address(if has_tls { config.ops_listen } else { config.grpc_listen });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let answer = async { if has_tls { ready(address).await } else { health(address).await } };
    match runtime.block_on(async { tokio::time::timeout(TIMEOUT, answer).await }) {
        Err(_) => anyhow::bail!("the server on {address} did not answer in {} s", TIMEOUT.as_secs()),
        // Only the root cause: the errors above it are just "transport error".
        Ok(Err(error)) => anyhow::bail!("no answer from a server on {address}: {}", error.root_cause()),
        Ok(Ok(None)) => Ok(format!("the server on {address} serves")),
        Ok(Ok(Some(state))) => anyhow::bail!("the server on {address} is {state}"),
    }
}

/// Asks the gRPC port. `None` if it serves, else its state.
async fn health(address: SocketAddr) -> anyhow::Result<Option<String>> {
    let endpoint = tonic::transport::Endpoint::from_shared(format!("http://{address}"))?.connect_timeout(TIMEOUT);
    let mut client = HealthClient::new(endpoint.connect().await?);
    let status = client.check(HealthCheckRequest::default()).await?.into_inner().status();
    Ok((status != ServingStatus::Serving).then(|| status.as_str_name().to_owned()))
}

/// Asks the operations port. `None` if the server is ready, else its state.
async fn ready(address: SocketAddr) -> anyhow::Result<Option<String>> {
    let stream = TcpStream::connect(address).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let request = Request::get("/readyz").header(HOST, address.to_string()).body(Empty::<Bytes>::new())?;
    let response = sender.send_request(request).await?;
    let status = response.status();
    let body = response.into_body().collect().await?.to_bytes();
    Ok((status != StatusCode::OK).then(|| String::from_utf8_lossy(&body).trim().to_owned()))
}

/// The address to connect to for a listening address: loopback if that is unspecified.
fn connect_address(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}
