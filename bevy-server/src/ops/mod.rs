//! The operations pages over HTTP: `/metrics`, `/healthz`, `/readyz`, the floor viewer, a status page, and the chain's
//! pages for operators. `server` serves the port within limits, `token`, `browsers` and `forwarded` decide who may use a
//! page, `audit` logs what operators do, and `wrong_port` answers callers of the floor service.

mod audit;
mod browsers;
mod chain;
mod clients;
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
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use bevy::prelude::*;
use prometheus::Registry;
use tokio::{net::TcpListener, sync::Mutex};

use chain::PurgeLimit;
pub use token::OperatorAccess;
use viewer::FloorLimit;

use crate::{
    auth::Authenticator,
    cache::Chains,
    clients::Clients,
    config::Token,
    lifecycle::Phase,
    logging::LogControl,
    metrics::{MetricsRegistry, Refusals},
    packs::Packs,
    runtime::TokioHandle,
};

/// The bound port of the operations pages. [`OpsPlugin`] removes this resource and serves on it.
#[derive(Resource, Debug)]
pub struct OpsListener(pub TcpListener);

/// Serves the operations pages on [`OpsListener`], about the chain and the metrics. Adds
/// [`OperatorAccess`]. Add it after the [`AuthPlugin`](crate::auth::AuthPlugin).
#[derive(Debug)]
pub struct OpsPlugin {
    /// The token that operators need.
    pub token: Option<Token>,
    /// The port for gRPC, which callers of the floor service are told.
    pub grpc_port: u16,
}

impl Plugin for OpsPlugin {
    fn build(&self, app: &mut App) {
        let listener = app.world_mut().remove_resource::<OpsListener>();
        let OpsListener(listener) = listener.expect("the port is bound before the plugin is added");
        let address = listener.local_addr().expect("a bound listener has an address");
        tracing::info!(%address, "serving operations pages");
        let world = app.world();
        let state = Arc::new(OpsState {
            registry: world.resource::<MetricsRegistry>().0.clone(),
            chains: world.resource::<Chains>().clone(),
            clients: world.resource::<Clients>().clone(),
            packs: world.resource::<Packs>().clone(),
            log: world.resource::<LogControl>().clone(),
            serving: AtomicBool::new(false),
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
        world.resource::<TokioHandle>().spawn(server::serve(listener, pages, self.grpc_port, refusals));
        app.insert_resource(access)
            .insert_resource(Readiness(state))
            .add_systems(OnEnter(Phase::Serving), |readiness: Res<'_, Readiness>| readiness.set(true))
            .add_systems(OnEnter(Phase::Draining), |readiness: Res<'_, Readiness>| readiness.set(false));
    }
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
    clients: Clients,
    packs: Packs,
    log: LogControl,
    /// Whether calls are answered, for `/readyz`.
    serving: AtomicBool,
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
