//! gRPC: `floors.v1.FloorService`, health, reflection and gRPC-Web on one port.
//!
//! Three layers, from the socket to the floor:
//!
//! - `connection` accepts, coalesces what a connection writes, and drains;
//! - `routing` gives a request to the floor service or to tonic, which serves health, reflection and gRPC-Web;
//! - `calls` answers the floor service's calls, one file per RPC.
//!
//! Tiers store floors as gRPC frames, so the floor service implements HTTP itself and passes stored bytes to the
//! transport.

mod calls;
mod connection;
mod routing;
mod server;
mod status;

use bevy::prelude::*;
use tonic_health::ServingStatus;

pub use calls::{FloorBody, ServiceDeps};
pub use connection::{PollBeforeSpawn, coalescing};
pub use floor_proto::{rpc::Rpc, v1::floor_service_server::SERVICE_NAME};
pub use routing::FloorService;
pub use server::{GrpcListener, GrpcServer};

use crate::{
    cache::ChainResource,
    lifecycle::{InFlight, Phase},
    metrics::RequestMetrics,
    prefetch::AccessRecorder,
    runtime::TokioHandle,
};

/// Serves gRPC on [`GrpcListener`], from the chain. Add it after the
/// [`PrefetchPlugin`](crate::prefetch::PrefetchPlugin), whose [`AccessRecorder`] the calls use.
#[derive(Debug)]
pub struct GrpcPlugin;

impl Plugin for GrpcPlugin {
    fn build(&self, app: &mut App) {
        let listener = app.world_mut().remove_resource::<GrpcListener>();
        let GrpcListener(listener) = listener.expect("the port is bound before the plugin is added");
        let world = app.world();
        let service = FloorService::new(ServiceDeps {
            chain: world.resource::<ChainResource>().0.clone(),
            metrics: world.resource::<RequestMetrics>().clone(),
            in_flight: world.resource::<InFlight>().clone(),
            access_recorder: world.get_resource::<AccessRecorder>().cloned(),
        });
        let server = GrpcServer::start(listener, service, world.resource::<TokioHandle>());
        app.insert_resource(server).add_systems(OnEnter(Phase::Serving), report_serving);
    }
}

fn report_serving(server: Res<'_, GrpcServer>, runtime: Res<'_, TokioHandle>) {
    runtime.block_on(server.set_health(ServingStatus::Serving));
    tracing::info!(address = %server.address(), "serving gRPC");
}
