//! The `healthcheck` command: checks that a running server is serving.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};

/// Limit for connecting and for the whole check.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Checks over `grpc.health.v1` that the server on `listen` is serving. Returns a sentence to print.
///
/// # Errors
/// If no server answers within two seconds, or it is not serving.
pub fn check(listen: SocketAddr) -> anyhow::Result<String> {
    let address = connect_address(listen);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let request = async {
        let endpoint = tonic::transport::Endpoint::from_shared(format!("http://{address}"))?.connect_timeout(TIMEOUT);
        let mut client = HealthClient::new(endpoint.connect().await?);
        anyhow::Ok(client.check(HealthCheckRequest::default()).await?.into_inner().status())
    };
    match runtime.block_on(async { tokio::time::timeout(TIMEOUT, request).await }) {
        Err(_) => anyhow::bail!("the server on {address} did not answer in {} s", TIMEOUT.as_secs()),
        // Only the root cause: the errors above it are just "transport error".
        Ok(Err(error)) => anyhow::bail!("no answer from a server on {address}: {}", error.root_cause()),
        Ok(Ok(ServingStatus::Serving)) => Ok(format!("the server on {address} serves")),
        Ok(Ok(status)) => anyhow::bail!("the server on {address} is {}", status.as_str_name()),
    }
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
