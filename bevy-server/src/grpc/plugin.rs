//! The plugin of the gRPC port: binds it, and serves the chains on it when all plugins are built.

use std::net::SocketAddr;

use bevy::prelude::*;
use prometheus::IntGauge;
use tokio::runtime::Handle;
use tonic_health::ServingStatus;

use super::{
    Certificates, FloorService, GrpcServer, InFlight, RequestMetrics, ServiceDeps,
    connection::{ConnectionDeps, Handshakes},
    path::Routes,
};
use crate::{
    auth::Authenticator,
    cache::Chains,
    callers::{Budgets, Callers},
    config::{Config, ConnectionLimits, CorsOrigins, NoCache, ServerTls},
    connections::{BoundPort, ConnectionLimiter},
    cores::Cores,
    descriptors,
    lifecycle::Phase,
    memory::{self, Held},
    metrics::{MetricsRegistry, Refusals, Reloads, register_gauge},
    observer::CallObserver,
    packs::Packs,
    prefetch::AccessRecorder,
    reload::Reload,
    runtime::TokioHandle,
    start_error::StartError,
    towers::SealedTowers,
};

/// Bytes of responses that wait to be sent, over all connections.
const UNSENT_BYTES: usize = 64 << 20;

/// Serves gRPC from the chains. Adds [`InFlight`], [`GrpcServer`] and [`Certificates`]. Accesses are recorded if there is an
/// [`AccessRecorder`], tokens are asked for if there is an [`Authenticator`].
#[derive(Debug)]
pub struct GrpcPlugin {
    port: BoundPort,
    limits: ConnectionLimits,
    cors_origins: CorsOrigins,
    no_cache: NoCache,
    tls: Option<ServerTls>,
}

impl GrpcPlugin {
    /// Binds the port.
    ///
    /// # Errors
    /// [`StartError::Bind`].
    pub fn bind(config: &Config, runtime: &Handle) -> Result<Self, StartError> {
        Ok(Self {
            port: BoundPort::bind(config.grpc_listen, "gRPC", "grpc.listen", runtime)?,
            limits: config.connections,
            cors_origins: config.cors_origins.clone(),
            no_cache: config.no_cache,
            tls: config.tls.clone(),
        })
    }

    /// The bound address.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.port.address()
    }
}

impl Plugin for GrpcPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<InFlight>().add_observer(apply_tls).add_systems(OnEnter(Phase::Serving), report_serving);
    }

    fn finish(&self, app: &mut App) {
        let world = app.world();
        let authenticator = world.get_resource::<Authenticator>().cloned();
        let can_prove = authenticator.is_some() || self.tls.as_ref().is_some_and(ServerTls::asks_for_certificates);
        let budgets = Budgets::new(UNSENT_BYTES, can_prove);
        let service = self.floor_service(world, &budgets);
        let limiter = self.limiter(world);
        let (runtime, cores) = (world.resource::<TokioHandle>(), world.resource::<Cores>().clone());
        let (registry, reloads) = (world.resource::<MetricsRegistry>(), world.resource::<Reloads>().clone());
        let certificates = Certificates::new(self.tls.clone(), registry, reloads).expect("registered once");
        if self.tls.is_none() {
            warn_of_plaintext(self.address());
        }
        let connections = ConnectionDeps {
            callers: world.resource::<Callers>().clone(),
            unsent: budgets.unsent.clone(),
            limiter: limiter.clone(),
            max_age: self.limits.max_connection_age,
            refusals: world.resource::<Refusals>().clone(),
            certificates: certificates.clone(),
            handshakes: Handshakes::new(),
            in_flight: world.resource::<InFlight>().clone(),
            cores: cores.clone(),
            common: runtime.0.clone(),
        };
        runtime.spawn(memory::return_freed(cores.runtimes(), held(budgets, limiter)));
        runtime.spawn(certificates.clone().follow_files());
        let server = GrpcServer::start(self.port.take(), runtime, connections, |health| {
            Routes::new(service, health, &self.cors_origins, authenticator)
        });
        app.insert_resource(server).insert_resource(certificates);
    }
}

impl GrpcPlugin {
    fn floor_service(&self, world: &World, budgets: &Budgets) -> FloorService {
        let (registry, in_flight) = (world.resource::<MetricsRegistry>(), world.resource::<InFlight>().clone());
        let calls = in_flight.clone();
        let help = "Calls to the floor service that are being answered.";
        register_gauge(registry, "floors_calls_in_flight", help, move || calls.calls() as f64)
            .expect("registered once");
        FloorService::new(ServiceDeps {
            chains: world.resource::<Chains>().clone(),
            packs: world.resource::<Packs>().clone(),
            metrics: RequestMetrics::register(world.resource::<Chains>().names().clone(), registry)
                .expect("registered once"),
            refusals: world.resource::<Refusals>().clone(),
            in_flight,
            access_recorder: world.get_resource::<AccessRecorder>().cloned(),
            towers: world.get_resource::<SealedTowers>().cloned(),
            budgets: budgets.clone(),
            no_cache: self.no_cache,
            observer: world.get_resource::<CallObserver>().cloned(),
        })
    }

    fn limiter(&self, world: &World) -> ConnectionLimiter {
        let (tenants, cores) = (world.resource::<Chains>().names().iter().count(), world.resource::<Cores>().count());
        let total = self.limits.max_connections.unwrap_or_else(|| descriptors::max_connections(tenants, cores));
        let per_address = self.limits.max_connections_per_ip;
        tracing::info!(max_connections = total, per_address, "limits of the gRPC port");
        let registry = world.resource::<MetricsRegistry>();
        let open = IntGauge::new("floors_connections", "Open connections to the gRPC port.")
            .expect("the name and the help are constants");
        registry.register(Box::new(open.clone())).expect("registered once");
        let help = "The most connections that the gRPC port may have.";
        register_gauge(registry, "floors_connections_limit", help, move || total as f64).expect("registered once");
        // One address leaves others half of the places, however few there are.
        let per_address = per_address.map(|limit| limit.min((total / 2).max(1)));
        ConnectionLimiter::new(total, per_address, Some(open))
    }
}

/// Warns if other machines may reach a port without TLS.
fn warn_of_plaintext(address: SocketAddr) {
    if !address.ip().to_canonical().is_loopback() {
        tracing::warn!(
            %address,
            "gRPC is served without TLS, and other machines may reach it: set grpc.tls.cert and grpc.tls.key, or let \
             only a proxy that terminates TLS reach this port"
        );
    }
}

fn apply_tls(mut reload: On<'_, '_, Reload>, certificates: Res<'_, Certificates>) {
    let is_new = certificates.set(reload.config.tls.clone());
    if !reload.apply(|key| key.starts_with("grpc.tls.")) && is_new {
        reload.apply_files("the files of grpc.tls");
    }
}

fn report_serving(server: Res<'_, GrpcServer>, runtime: Res<'_, TokioHandle>) {
    runtime.block_on(server.set_health(ServingStatus::Serving));
    tracing::info!(address = %server.address(), "serving gRPC");
}

/// What a connection holds beside its calls, at most: mainly its buffers.
const CONNECTION_BYTES: usize = 64 << 10;

/// What calls and connections hold, each time it is called.
fn held(budgets: Budgets, connections: ConnectionLimiter) -> impl Fn() -> Held {
    move || {
        let ((open, most_open), (used, most_used)) = (connections.take_peak(), budgets.take_peak());
        Held { now: open * CONNECTION_BYTES + used, peak: most_open * CONNECTION_BYTES + most_used }
    }
}
