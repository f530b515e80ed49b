//! The running gRPC server: its address, its health status, and its end.

use std::net::SocketAddr;

use bevy::prelude::*;
use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tokio::{net::TcpListener, runtime::Handle, sync::watch};
use tonic_health::{
    ServingStatus,
    pb::health_server::HealthServer,
    server::{HealthReporter, HealthService},
};

use tower::BoxError;

use super::{
    FloorBody, SERVICE_NAME,
    connection::{self, ConnectionDeps},
    path::Routes,
};
use crate::callers::Caller;

/// The running gRPC server. Cheap to clone.
#[derive(Resource, Debug, Clone)]
pub struct GrpcServer {
    address: SocketAddr,
    health: HealthReporter,
    routes: Routes,
    /// Set to true to close. The server holds receivers until its last connection has ended.
    closing: watch::Sender<bool>,
}

impl GrpcServer {
    /// Serves the routes that `routes` makes around the health service.
    pub(super) fn start(
        listener: TcpListener,
        runtime: &Handle,
        connections: ConnectionDeps,
        routes: impl FnOnce(HealthServer<HealthService>) -> Routes,
    ) -> Self {
        let health = HealthReporter::new();
        let health_service = HealthServer::new(HealthService::from_health_reporter(health.clone()));
        let (closing, closed) = watch::channel(false);
        let address = listener.local_addr().expect("a bound listener has an address");
        let routes = routes(health_service);
        let server = Self { address, health, routes: routes.clone(), closing };
        // Before the first connection: a new health reporter reports SERVING.
        runtime.block_on(server.set_health(ServingStatus::NotServing));
        runtime.spawn(connection::serve(listener, routes, connections, closed));
        server
    }

    /// The bound address.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers a request from `caller` that came by no connection of this port.
    pub(crate) async fn call<B>(&self, caller: Caller, request: Request<B>) -> Response<FloorBody>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        self.routes.for_caller(caller, None).call(request).await
    }

    /// Sets the status of the server and of the floor service.
    pub async fn set_health(&self, status: ServingStatus) {
        self.health.set_service_status("", status).await;
        self.health.set_service_status(SERVICE_NAME, status).await;
    }

    /// Stops accepting, asks clients to disconnect, and returns when all connections have ended. Calls on open
    /// connections are answered meanwhile. May be called again if it was cancelled.
    pub async fn close(&self) {
        self.closing.send_replace(true);
        self.closing.closed().await;
    }
}
