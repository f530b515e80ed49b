//! gRPC: `floors.v1.FloorService`, health, reflection and gRPC-Web on one port.
//!
//! A floor in the cache lies there as it goes on the wire, so the floor service is written against HTTP itself
//! ([`service`]) and hands the cached bytes to the transport; tonic serves what is rare and generic (health, reflection,
//! gRPC-Web). [`listener`] accepts, [`front`] tells the two apart.

mod body;
mod call;
mod front;
mod listener;
mod request;
mod service;
mod status;
mod stream;

use std::net::{SocketAddr, TcpListener};

use bevy::prelude::*;
use floor_cache::Chain;
use tokio::{runtime::Handle, sync::watch};
use tonic_health::{ServingStatus, server::HealthReporter};

pub use body::FloorBody;
pub use service::{FloorService, SERVICE_NAME};

use crate::{
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
    pub listener: TcpListener,
    /// On whose threads.
    pub runtime: Handle,
}

impl Plugin for GrpcPlugin {
    fn build(&self, app: &mut App) {
        let server = match GrpcServer::start(self) {
            Ok(server) => server,
            // The listener is bound already; what is left is handing it to the reactor.
            Err(error) => panic!("the gRPC listener cannot be handed to tokio: {error}"),
        };
        app.insert_resource(server).add_systems(OnEnter(Phase::Serving), announce);
    }
}

/// The running gRPC server.
#[derive(Resource, Debug, Clone)]
pub struct GrpcServer {
    address: SocketAddr,
    health: HealthReporter,
    closing: watch::Sender<bool>,
    runtime: Handle,
}

impl GrpcServer {
    fn start(plugin: &GrpcPlugin) -> std::io::Result<Self> {
        let listener = plugin.listener.try_clone()?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let _entered = plugin.runtime.enter();
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let (health, health_service) = tonic_health::server::health_reporter();
        let front = front::Front::new(plugin.service.clone(), health_service);
        let (closing, closed) = watch::channel(false);
        let server = Self { address, health, closing, runtime: plugin.runtime.clone() };
        plugin.runtime.block_on(server.set_health(ServingStatus::NotServing));
        plugin.runtime.spawn(listener::serve(listener, front, closed));
        Ok(server)
    }

    /// Tells health watchers.
    pub async fn set_health(&self, status: ServingStatus) {
        self.health.set_service_status("", status).await;
        self.health.set_service_status(SERVICE_NAME, status).await;
    }

    /// Takes no more connections and lets those that are open finish what they carry.
    pub fn close(&self) {
        self.closing.send_replace(true);
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
