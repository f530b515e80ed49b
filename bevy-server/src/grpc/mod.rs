//! gRPC: `floors.v1.FloorService`, health, reflection and gRPC-Web on one port.
//!
//! A floor in the cache lies there as it goes on the wire, so the floor service is written against HTTP itself
//! (`service`) and hands the cached bytes to the transport; tonic serves what is rare and generic (health, reflection,
//! gRPC-Web). `listener` accepts, `front` tells the two apart, `turn` sends.

mod body;
mod call;
mod front;
mod listener;
mod request;
mod service;
mod status;
mod stream;
pub mod turn;

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use bevy::prelude::*;
use floor_cache::Chain;
use tokio::{runtime::Handle, sync::watch, task::JoinHandle};
use tonic_health::{ServingStatus, server::HealthReporter};

pub use body::FloorBody;
pub use listener::Eager;
pub use service::{FloorService, SERVICE_NAME};

use crate::{
    door::Door,
    lifecycle::{Gate, Phase},
    metrics::RequestMetrics,
    prefetch::Footsteps,
};

/// Serves gRPC on a listener that is open already.
#[derive(Debug)]
pub struct GrpcPlugin {
    /// What answers.
    pub service: FloorService,
    /// Where.
    pub listener: Door,
    /// On whose threads.
    pub runtime: Handle,
}

impl Plugin for GrpcPlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(GrpcServer::start(self)).add_systems(OnEnter(Phase::Serving), announce);
    }
}

/// The running gRPC server.
#[derive(Resource, Debug, Clone)]
pub struct GrpcServer {
    address: SocketAddr,
    health: HealthReporter,
    closing: watch::Sender<bool>,
    runtime: Handle,
    connections: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl GrpcServer {
    fn start(plugin: &GrpcPlugin) -> Self {
        let (health, health_service) = tonic_health::server::health_reporter();
        let (closing, closed) = watch::channel(false);
        let runtime = plugin.runtime.clone();
        let address = plugin.listener.address();
        let front = front::Front::new(plugin.service.clone(), health_service);
        let connections = Arc::default();
        let server = Self { address, health, closing, runtime, connections };
        // Before anybody can ask: a health reporter begins by saying that it serves.
        server.runtime.block_on(server.set_health(ServingStatus::NotServing));
        let serve = |listener| server.runtime.spawn(listener::serve(listener, front, closed));
        *server.connections.lock().unwrap_or_else(PoisonError::into_inner) = plugin.listener.take().map(serve);
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
        let connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(connections) = connections {
            // An error is a panic in the accept loop, which has ended then as well.
            let _ = connections.await;
        }
    }
}

fn announce(server: Res<'_, GrpcServer>) {
    server.runtime.block_on(server.set_health(ServingStatus::Serving));
    tracing::info!(address = %server.address, "serving gRPC");
}

/// What the service is made of.
#[derive(Debug, Clone)]
pub struct Parts {
    /// Where floors come from.
    pub chain: Chain,
    /// Counts calls.
    pub metrics: RequestMetrics,
    /// Closes when the server drains.
    pub gate: Gate,
    /// Where calls leave footsteps for prefetching, unless that is off.
    pub footsteps: Option<Footsteps>,
}
