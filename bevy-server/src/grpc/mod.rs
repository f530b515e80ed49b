//! gRPC: `floors.v1.FloorService`, health, reflection and gRPC-Web on one port.
//!
//! `connections` accepts, `router` routes, `coalescing` sends. Tiers store floors as gRPC frames, so the floor service
//! (`service`) implements HTTP itself and passes stored bytes to the transport. tonic serves health, reflection and
//! gRPC-Web.

mod body;
mod call;
pub mod coalescing;
mod connections;
mod request;
mod router;
mod service;
mod status;
mod stream;

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use bevy::prelude::*;
use floor_cache::Chain;
use tokio::{runtime::Handle, sync::watch, task::JoinHandle};
use tonic_health::{ServingStatus, server::HealthReporter};

pub use body::FloorBody;
pub use connections::PollBeforeSpawn;
pub use service::{FloorService, SERVICE_NAME};

use crate::{
    bound_listener::BoundListener,
    lifecycle::{InFlight, Phase},
    metrics::RequestMetrics,
    prefetch::AccessRecorder,
};

/// Serves gRPC on a bound listener.
#[derive(Debug)]
pub struct GrpcPlugin {
    /// The floor service.
    pub service: FloorService,
    /// The listener.
    pub listener: BoundListener,
    /// The runtime that serves.
    pub runtime: Handle,
}

impl Plugin for GrpcPlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(GrpcServer::start(self)).add_systems(OnEnter(Phase::Serving), report_serving);
    }
}

/// The running gRPC server. Cheap to clone.
#[derive(Resource, Debug, Clone)]
pub struct GrpcServer {
    address: SocketAddr,
    health: HealthReporter,
    closing: watch::Sender<bool>,
    runtime: Handle,
    accept_task: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl GrpcServer {
    fn start(plugin: &GrpcPlugin) -> Self {
        let (health, health_service) = tonic_health::server::health_reporter();
        let (closing, closed) = watch::channel(false);
        let runtime = plugin.runtime.clone();
        let address = plugin.listener.address();
        let router = router::Router::new(plugin.service.clone(), health_service);
        let accept_task = Arc::default();
        let server = Self { address, health, closing, runtime, accept_task };
        // Before the first connection: a new health reporter reports SERVING.
        server.runtime.block_on(server.set_health(ServingStatus::NotServing));
        let serve = |listener| server.runtime.spawn(connections::serve(listener, router, closed));
        *server.accept_task.lock().unwrap_or_else(PoisonError::into_inner) = plugin.listener.take().map(serve);
        server
    }

    /// The bound address.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets the status of the server and of the floor service.
    pub async fn set_health(&self, status: ServingStatus) {
        self.health.set_service_status("", status).await;
        self.health.set_service_status(SERVICE_NAME, status).await;
    }

    /// Stops accepting, lets open connections send what they have, and returns when all have ended.
    pub async fn close(&self) {
        self.closing.send_replace(true);
        let accept_task = self.accept_task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(accept_task) = accept_task {
            // An error is a panic in the accept loop, which has then ended.
            let _ = accept_task.await;
        }
    }
}

fn report_serving(server: Res<'_, GrpcServer>) {
    server.runtime.block_on(server.set_health(ServingStatus::Serving));
    tracing::info!(address = %server.address, "serving gRPC");
}

/// The dependencies of [`FloorService`].
#[derive(Debug, Clone)]
pub struct ServiceDeps {
    /// The source of floors.
    pub chain: Chain,
    /// Counts calls.
    pub metrics: RequestMetrics,
    /// Counts the calls in flight and refuses new ones during a drain.
    pub in_flight: InFlight,
    /// Records accesses for prefetching. `None` if that is off.
    pub access_recorder: Option<AccessRecorder>,
}
