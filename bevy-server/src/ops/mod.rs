//! The operations pages over HTTP: `/metrics`, `/healthz`, `/readyz`, the floor viewer, a status page, and the chain's
//! pages for operators. `server` serves the port within limits, `token`, `browsers` and `forwarded` decide who may use a
//! page, `audit` logs what operators do, `climbs` passes on the calls of the viewer's page, and `wrong_port` answers other
//! callers of the floor service.

mod audit;
mod browsers;
mod callers;
mod chain;
mod climbs;
mod floors;
mod forwarded;
mod json;
mod log_level;
mod monitoring;
mod pages;
mod server;
mod token;
mod viewer;
mod wrong_port;

use std::{
    net::SocketAddr,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use bevy::prelude::*;
use prometheus::Registry;
use tokio::{runtime::Handle, sync::Mutex};

use chain::PurgeLimit;
use token::OPERATORS_TOKEN;
pub use token::OperatorAccess;
use viewer::FloorLimit;

use crate::{
    auth::Authenticator,
    cache::Chains,
    callers::Callers,
    config::{Config, Token},
    connections::BoundPort,
    grpc::GrpcServer,
    lifecycle::Phase,
    logging::LogControl,
    metrics::{MetricsRegistry, Refusals},
    packs::Packs,
    prefetch::PrefetchCounts,
    reload::Reload,
    runtime::TokioHandle,
    start_error::StartError,
    traces::Traces,
};

/// Serves the operations pages, about the chains and the metrics. Adds [`OperatorAccess`].
#[derive(Debug)]
pub struct OpsPlugin {
    port: BoundPort,
    /// The token that operators need.
    token: Option<Token>,
    /// The port for gRPC, which callers of the floor service are told.
    grpc_port: u16,
}

impl OpsPlugin {
    /// Binds the port.
    ///
    /// # Errors
    /// [`StartError::Bind`].
    pub fn bind(config: &Config, grpc_port: u16, runtime: &Handle) -> Result<Self, StartError> {
        let port = BoundPort::bind(config.ops_listen, "the operations pages", "ops.listen", runtime)?;
        Ok(Self { port, token: config.ops_token.clone(), grpc_port })
    }

    /// The bound address.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.port.address()
    }
}

impl Plugin for OpsPlugin {
    fn build(&self, app: &mut App) {
        app.add_observer(apply_token)
            .add_systems(OnEnter(Phase::Serving), |readiness: Res<'_, Readiness>, grpc: Res<'_, GrpcServer>| {
                let _ = readiness.0.grpc.set(grpc.clone());
                readiness.set(true);
            })
            .add_systems(OnEnter(Phase::Draining), |readiness: Res<'_, Readiness>| readiness.set(false));
    }

    fn finish(&self, app: &mut App) {
        let (address, world) = (self.address(), app.world());
        let state = Arc::new(OpsState {
            registry: world.resource::<MetricsRegistry>().0.clone(),
            chains: world.resource::<Chains>().clone(),
            callers: world.resource::<Callers>().clone(),
            packs: world.resource::<Packs>().clone(),
            log: world.resource::<LogControl>().clone(),
            prefetches: world.get_resource::<PrefetchCounts>().cloned(),
            traces: world.get_resource::<Traces>().cloned(),
            serving: AtomicBool::new(false),
            grpc: OnceLock::new(),
            compaction: Arc::default(),
            backup: Arc::default(),
            stored_purge: Arc::default(),
            purges: PurgeLimit::default(),
            floors: FloorLimit::default(),
            since: Instant::now(),
        });
        let refusals = world.resource::<Refusals>().clone();
        let authenticator = world.get_resource::<Authenticator>().cloned();
        let access = OperatorAccess::new(address, self.token.clone(), authenticator, refusals.clone());
        let pages = pages::router(Arc::clone(&state), access.clone(), self.grpc_port);
        world.resource::<TokioHandle>().spawn(server::serve(self.port.take(), pages, self.grpc_port, refusals));
        tracing::info!(%address, "serving operations pages");
        app.insert_resource(access).insert_resource(Readiness(state));
    }
}

fn apply_token(mut reload: On<'_, '_, Reload>, access: Res<'_, OperatorAccess>) {
    if access.set_token(reload.config.ops_token.clone()) {
        reload.apply_files(OPERATORS_TOKEN);
    }
    reload.apply(|key| key == OPERATORS_TOKEN);
}

#[derive(Resource)]
struct Readiness(Arc<OpsState>);

impl Readiness {
    fn set(&self, serving: bool) {
        self.0.serving.store(serving, Ordering::Release);
    }
}

/// What the pages read.
struct OpsState {
    registry: Registry,
    chains: Chains,
    callers: Callers,
    packs: Packs,
    log: LogControl,
    /// `None` if nothing is prefetched.
    prefetches: Option<PrefetchCounts>,
    /// `None` if nothing is traced.
    traces: Option<Traces>,
    /// Whether calls are answered, for `/readyz`.
    serving: AtomicBool,
    /// Answers the calls of the viewer's page. Set when calls are answered.
    grpc: OnceLock<GrpcServer>,
    /// Locked while a compaction runs.
    compaction: Arc<Mutex<()>>,
    /// Locked while a backup runs.
    backup: Arc<Mutex<()>>,
    /// Locked while a purge of a tower, of a pack or of everything runs.
    stored_purge: Arc<Mutex<()>>,
    purges: PurgeLimit,
    floors: FloorLimit,
    since: Instant,
}
