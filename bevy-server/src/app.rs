//! The composition root: opens what can fail, then wires the app.

use std::{io::IsTerminal, net::SocketAddr, sync::Arc, time::Duration};

use bevy::{
    ecs::schedule::SingleThreadedExecutor,
    log::{BoxedFmtLayer, Level, LogPlugin},
    prelude::*,
    state::app::StatesPlugin,
};
use floor_cache::Chain;
use prometheus::Registry;
use tokio::runtime::{Builder, Runtime};

use crate::{
    bound_listener::BoundListener,
    cache::{CachePlugin, ChainResource},
    config::Config,
    generation::{GenerationPlugin, GenerationQueue, task_pools},
    grpc::{FloorService, GrpcPlugin, GrpcServer, ServiceDeps},
    lifecycle::{EventSender, InFlight, LifecyclePlugin, Phase, ServerEvent},
    metrics::RequestMetrics,
    ops::OpsPlugin,
    prefetch::{AccessRecorder, PrefetchPlugin},
};

/// What is logged unless `RUST_LOG` says otherwise, beside everything of level INFO.
const LOG_FILTER: &str = "sled=warn";

/// Opens stores and ports, and wires an app that has only to run.
///
/// # Errors
/// In one sentence: what could not be opened, and what to do about it.
pub fn app(config: &Config) -> Result<App, StartError> {
    // Logging comes first, so that opening a store can say what it did with a damaged one.
    let mut app = App::new();
    app.add_plugins(LogPlugin { level: Level::INFO, filter: LOG_FILTER.to_owned(), fmt_layer, ..default() });
    let runtime = Builder::new_multi_thread().enable_all().thread_name("tokio").build().map_err(StartError::Runtime)?;
    let grpc_listener = bind_listener(config.grpc_listen, "gRPC", "grpc.listen", &runtime)?;
    let ops_listener = bind_listener(config.ops_listen, "the operations pages", "ops.listen", &runtime)?;
    let registry = Registry::new();
    let metrics = RequestMetrics::register(&registry)?;
    let generation = GenerationQueue::new(config.generation_queue, config.generation_threads, &registry)?;
    let source = Arc::new(generation.clone());
    let chain = floor_cache::assemble_tuned(&config.cache, &config.tuning, source, &registry, runtime.handle())?;
    let in_flight = InFlight::default();
    // Without a tier, what is made ahead has no place to wait.
    let prefetch_enabled = config.prefetch_ahead > 0 && !config.cache.chain.is_empty();
    let access_recorder = prefetch_enabled.then(AccessRecorder::default);
    let service = FloorService::new(ServiceDeps {
        chain: chain.clone(),
        metrics,
        in_flight: in_flight.clone(),
        access_recorder: access_recorder.clone(),
    });
    let handle = runtime.handle().clone();

    app.add_plugins((
        task_pools(config.generation_threads),
        StatesPlugin,
        LifecyclePlugin { runtime: handle.clone() },
        GenerationPlugin { generation: generation.clone(), workers: config.generation_threads },
        CachePlugin { chain: chain.clone() },
        GrpcPlugin { service, listener: grpc_listener, runtime: handle.clone() },
        OpsPlugin {
            listener: ops_listener,
            runtime: handle.clone(),
            registry: registry.clone(),
            chain: chain.clone(),
            generation: generation.clone(),
        },
    ));
    if let Some(access_recorder) = access_recorder {
        app.add_plugins(PrefetchPlugin {
            ahead: config.prefetch_ahead,
            access_recorder,
            chain,
            generation,
            // Half the workers, so that a caller always finds one that is not busy for a climber.
            budget: config.generation_threads.div_ceil(2),
            runtime: handle,
            registry,
        });
    }
    // Every system here is a few microseconds of bookkeeping: handing it to another thread costs more than it takes.
    for (_, schedule) in app.world_mut().resource_mut::<Schedules>().iter_mut() {
        schedule.set_executor(SingleThreadedExecutor::new());
    }
    app.insert_resource(in_flight)
        .insert_resource(TokioRuntime(runtime))
        .insert_resource(DrainDeadline(config.drain))
        .add_systems(OnEnter(Phase::Draining), drain);
    Ok(app)
}

/// Logs go to standard error, in colour only where somebody reads them.
#[allow(clippy::unnecessary_wraps, reason = "the signature is LogPlugin's")]
fn fmt_layer(_: &mut App) -> Option<BoxedFmtLayer> {
    let errors = std::io::stderr;
    let colour = errors().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    Some(Box::new(tracing_subscriber::fmt::layer().with_writer(errors).with_ansi(colour)))
}

fn bind_listener(
    address: SocketAddr,
    what: &'static str,
    key: &'static str,
    runtime: &Runtime,
) -> Result<BoundListener, StartError> {
    BoundListener::bind(address, runtime.handle()).map_err(|cause| StartError::Bind { address, what, key, cause })
}

/// The threads that tokio runs on; they end with the app.
#[derive(Resource)]
struct TokioRuntime(Runtime);

#[derive(Resource)]
struct DrainDeadline(Duration);

/// Tells health watchers, refuses new calls, lets those in flight end, writes what waits to be written, then says so.
fn drain(
    tokio: Res<'_, TokioRuntime>,
    deadline: Res<'_, DrainDeadline>,
    server: Res<'_, GrpcServer>,
    in_flight: Res<'_, InFlight>,
    chain: Res<'_, ChainResource>,
    generation: Res<'_, GenerationQueue>,
    events: Res<'_, EventSender>,
) {
    let (deadline, server, in_flight) = (deadline.0, server.clone(), in_flight.clone());
    let (chain, generation, events) = (Chain::clone(&chain), generation.clone(), events.clone());
    tokio.0.spawn(async move {
        // First, so that a balancer sends no more before calls are refused.
        server.set_health(tonic_health::ServingStatus::NotServing).await;
        in_flight.close();
        let drain_ends = tokio::time::Instant::now() + deadline;
        let calls_ended = tokio::time::timeout_at(drain_ends, in_flight.idle()).await.is_ok();
        generation.stop();
        // What comes after the calls gets a moment even when they used up the time.
        let remaining = drain_ends.saturating_duration_since(tokio::time::Instant::now()).max(Duration::from_secs(1));
        let (connections_closed, flushed) =
            tokio::join!(tokio::time::timeout(remaining, server.close()), chain.close(remaining));
        if connections_closed.is_err() {
            tracing::warn!("answers were cut off: their readers did not take them in time");
        }
        events.send(ServerEvent::Drained { complete: calls_ended && connections_closed.is_ok() && flushed });
    });
}

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A port is taken, or an address is not this machine's.
    #[error("cannot listen on {address} for {what}: {cause}; choose another address with {key}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// For what.
        what: &'static str,
        /// The key that names it.
        key: &'static str,
        /// What the system said. Not named a source, or whoever prints the chain of errors says it twice.
        cause: std::io::Error,
    },
    /// A tier could not be opened.
    #[error(transparent)]
    Cache(#[from] floor_cache::OpenError),
    /// Threads could not be started.
    #[error("cannot start tokio's threads: {0}")]
    Runtime(std::io::Error),
    /// Two metrics have one name.
    #[error("cannot register metrics: {0}")]
    Metrics(#[from] prometheus::Error),
}
