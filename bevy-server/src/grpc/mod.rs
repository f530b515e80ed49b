//! gRPC: `floors.v1.FloorService`, health, reflection, gRPC-Web and Connect on one port.
//!
//! `path` shows a call from top to bottom. `connection` is below it: sockets, TLS, HTTP. Beside it are `admission` (who may
//! use how much), `codecs` (how a call is written over HTTP) and `services` (what the RPCs answer); `health` has health and
//! reflection, which tonic implements.
//!
//! Tiers store floors as gRPC frames, so the floor service implements HTTP itself and passes stored bytes to the
//! transport.

mod admission;
mod answer;
mod body;
mod call_end;
mod call_metrics;
mod certificates;
mod codecs;
mod connection;
mod cors;
mod health;
mod options;
mod path;
mod routing;
mod server;
mod services;
mod status;
mod stream;
mod unread_body;

use bevy::prelude::*;
use prometheus::IntGauge;
use tokio::net::TcpListener;
use tonic_health::ServingStatus;

pub use admission::{InFlight, InFlightGuard};
pub use answer::Frame;
pub use body::FloorBody;
pub use call_metrics::RequestMetrics;
pub use certificates::Certificates;
use connection::{ConnectionDeps, Handshakes};
pub use floor_proto::{rpc::Rpc, v1::floor_service_server::SERVICE_NAME};
use path::Routes;
pub use path::{FloorService, ServiceDeps};
pub use server::{GrpcListener, GrpcServer};

use crate::{
    auth::Authenticator,
    cache::Chains,
    clients::{Budgets, Clients},
    config::{ConnectionLimits, CorsOrigins, NoCache, ServerTls},
    connections::ConnectionLimiter,
    cores::CoreThreads,
    descriptors,
    lifecycle::Phase,
    memory::{self, Held},
    metrics::{MetricsRegistry, Refusals, Reloads, register_gauge},
    observer::CallObserver,
    packs::Packs,
    prefetch::AccessRecorder,
    runtime::TokioHandle,
};

/// Serves gRPC on [`GrpcListener`], from the chain, and adds [`InFlight`]. Add it after the
/// [`PrefetchPlugin`](crate::prefetch::PrefetchPlugin), whose [`AccessRecorder`] the calls use, and after the
/// [`AuthPlugin`](crate::auth::AuthPlugin), whose [`Authenticator`] knows their tokens. Calls are recorded if there is a
/// [`CallObserver`].
#[derive(Debug, Clone)]
pub struct GrpcPlugin {
    /// What connections may take.
    pub limits: ConnectionLimits,
    /// The pages that may call.
    pub cors_origins: CorsOrigins,
    /// Who may skip the cache.
    pub no_cache: NoCache,
    /// Whether reflection is served.
    pub reflection: bool,
    /// The certificate; `None` for plaintext.
    pub tls: Option<ServerTls>,
}

impl Plugin for GrpcPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<InFlight>();
        let listener = app.world_mut().remove_resource::<GrpcListener>();
        let GrpcListener(listener) = listener.expect("the port is bound before the plugin is added");
        let world = app.world();
        let (clients, refusals) = (world.resource::<Clients>().clone(), world.resource::<Refusals>().clone());
        let authenticator = world.get_resource::<Authenticator>().cloned();
        let can_prove = authenticator.is_some() || self.tls.as_ref().is_some_and(ServerTls::asks_for_certificates);
        let budgets = Budgets::new(usize::try_from(self.limits.unsent).unwrap_or(usize::MAX), can_prove);
        let service = FloorService::new(ServiceDeps {
            chains: world.resource::<Chains>().clone(),
            packs: world.resource::<Packs>().clone(),
            metrics: world.resource::<RequestMetrics>().clone(),
            refusals: refusals.clone(),
            in_flight: world.resource::<InFlight>().clone(),
            access_recorder: world.get_resource::<AccessRecorder>().cloned(),
            budgets: budgets.clone(),
            no_cache: self.no_cache,
            observer: world.get_resource::<CallObserver>().cloned(),
        });
        let tenants = world.resource::<Chains>().names().iter().count();
        let runtime = world.resource::<TokioHandle>();
        let open = IntGauge::new("floors_connections", "Open connections to the gRPC port.")
            .expect("the name and the help are constants");
        world.resource::<MetricsRegistry>().register(Box::new(open.clone())).expect("registered once");
        let cores = world.resource::<CoreThreads>().cores();
        let most = || descriptors::max_connections(tenants, cores.count());
        let total = self.limits.max_connections.unwrap_or_else(most);
        let per_address = self.limits.max_connections_per_ip;
        tracing::info!(max_connections = total, per_address, "limits of the gRPC port");
        let registry = &world.resource::<MetricsRegistry>().0;
        let help = "The most connections that the gRPC port may have.";
        register_gauge(registry, "floors_connections_limit", help, move || total as f64).expect("registered once");
        let (in_flight, help) =
            (world.resource::<InFlight>().clone(), "Calls to the floor service that are being answered.");
        let calls = move || in_flight.calls() as f64;
        register_gauge(registry, "floors_calls_in_flight", help, calls).expect("registered once");
        // One address leaves others half of the places, however few there are.
        let per_address = self.limits.max_connections_per_ip.map(|limit| limit.min((total / 2).max(1)));
        let limiter = ConnectionLimiter::new(total, per_address, Some(open));
        runtime.spawn(memory::return_freed(cores.runtimes(), held(budgets.clone(), limiter.clone())));
        let reloads = world.resource::<Reloads>().clone();
        let certificates = Certificates::new(self.tls.clone(), registry, reloads)
            .expect("the name and the help are constants, and it is registered once");
        if self.tls.is_none() {
            warn_of_plaintext(&listener);
        }
        let connections = ConnectionDeps {
            clients,
            unsent: budgets.unsent,
            limiter,
            limits: self.limits,
            refusals,
            certificates: certificates.clone(),
            handshakes: Handshakes::new(),
            in_flight: world.resource::<InFlight>().clone(),
            cores,
            common: runtime.0.clone(),
        };
        runtime.spawn(certificates.clone().follow_files());
        let server = GrpcServer::start(listener, runtime, connections, |health| {
            Routes::new(service, health, self.reflection, &self.cors_origins, authenticator)
        });
        app.insert_resource(server).insert_resource(certificates).add_systems(OnEnter(Phase::Serving), report_serving);
    }
}

/// Warns if other machines may reach a port without TLS.
fn warn_of_plaintext(listener: &TcpListener) {
    let Ok(address) = listener.local_addr() else { return };
    if !address.ip().to_canonical().is_loopback() {
        tracing::warn!(
            %address,
            "gRPC is served without TLS, and other machines may reach it: set grpc.tls.cert and grpc.tls.key, or let \
             only a proxy that terminates TLS reach this port"
        );
    }
}

fn report_serving(server: Res<'_, GrpcServer>, runtime: Res<'_, TokioHandle>) {
    runtime.block_on(server.set_health(ServingStatus::Serving));
    tracing::info!(address = %server.address(), "serving gRPC");
}

/// What a connection holds beside its calls, at the most: mainly its buffers.
const CONNECTION_BYTES: usize = 64 << 10;

/// What calls and connections hold, each time it is called.
fn held(budgets: Budgets, connections: ConnectionLimiter) -> impl Fn() -> Held {
    move || {
        let ((open, most_open), (used, most_used)) = (connections.take_peak(), budgets.take_peak());
        Held { now: open * CONNECTION_BYTES + used, peak: most_open * CONNECTION_BYTES + most_used }
    }
}
