//! gRPC: `floors.v1.FloorService`, health, reflection and gRPC-Web on one port.
//!
//! A floor in the cache lies there as it goes on the wire, so the floor service is written against HTTP itself
//! (`service`) and hands the cached bytes to the transport; tonic serves what is rare and generic (health, reflection,
//! gRPC-Web). `listener` accepts, `router` tells the two apart, `turn` sends.

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

/// Serves gRPC on a listener that is open already.
#[derive(Debug)]
pub struct GrpcPlugin {
    /// What answers.
    pub service: FloorService,
    /// Where.
    pub listener: BoundListener,
    /// On whose threads.
    pub runtime: Handle,
}

impl Plugin for GrpcPlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(GrpcServer::start(self)).add_systems(OnEnter(Phase::Serving), report_serving);
    }
}

/// The running gRPC server.
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
        // Before anybody can ask: a health reporter begins by saying that it serves.
        server.runtime.block_on(server.set_health(ServingStatus::NotServing));
        let serve = |listener| server.runtime.spawn(connections::serve(listener, router, closed));
        *server.accept_task.lock().unwrap_or_else(PoisonError::into_inner) = plugin.listener.take().map(serve);
        server
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Tells health watchers.
    pub async fn set_health(&self, status: ServingStatus) {
        self.health.set_service_status("", status).await;
        self.health.set_service_status(SERVICE_NAME, status).await;
    }

    /// Takes no more connections, lets those that are open send what they have, and returns when the last one has.
    pub async fn close(&self) {
        self.closing.send_replace(true);
        let accept_task = self.accept_task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(accept_task) = accept_task {
            // An error is a panic in the accept loop, which has ended then as well.
            let _ = accept_task.await;
        }
    }
}

fn report_serving(server: Res<'_, GrpcServer>) {
    server.runtime.block_on(server.set_health(ServingStatus::Serving));
    tracing::info!(address = %server.address, "serving gRPC");
}

/// What the service is made of.
#[derive(Debug, Clone)]
pub struct ServiceDeps {
    /// Where floors come from.
    pub chain: Chain,
    /// Counts calls.
    pub metrics: RequestMetrics,
    /// Closes when the server drains.
    pub in_flight: InFlight,
    /// Where calls leave footsteps for prefetching, unless that is off.
    pub access_recorder: Option<AccessRecorder>,
}
