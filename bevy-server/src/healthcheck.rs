//! Asking a running server whether it serves, as a container's healthcheck does.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};

/// How long the server may take to answer.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Asks the server that listens on `listen` over `grpc.health.v1`, and says in a sentence that it serves.
///
/// # Errors
/// When there is no server, it does not answer in two seconds, or it does not serve.
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
        // The last cause says it; those before it only that they had one.
        Ok(Err(error)) => anyhow::bail!("no answer from a server on {address}: {}", error.root_cause()),
        Ok(Ok(ServingStatus::Serving)) => Ok(format!("the server on {address} serves")),
        Ok(Ok(status)) => anyhow::bail!("the server on {address} is {}", status.as_str_name()),
    }
}

/// An address to connect to for one to listen on: "every interface" is this machine.
fn connect_address(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}
