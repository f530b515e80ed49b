//! The composition root: opens files and ports, then wires the Bevy app. `main` calls [`app()`].

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

/// The log filter unless `RUST_LOG` is set, in addition to level INFO.
const LOG_FILTER: &str = "sled=warn";

/// Opens stores and ports and returns an app that is ready to run.
///
/// # Errors
/// [`StartError`]: what could not be opened, and what to do about it.
pub fn app(config: &Config) -> Result<App, StartError> {
    // Logging comes first, so that a store can log what it did with damaged data when it is opened.
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
    // Without a tier there is no place to store prefetched floors.
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
            // Half the workers, so that prefetches never occupy all of them.
            budget: config.generation_threads.div_ceil(2),
            runtime: handle,
            registry,
        });
    }
    // Each system takes a few microseconds. Running it on another thread would cost more.
    for (_, schedule) in app.world_mut().resource_mut::<Schedules>().iter_mut() {
        schedule.set_executor(SingleThreadedExecutor::new());
    }
    app.insert_resource(in_flight)
        .insert_resource(TokioRuntime(runtime))
        .insert_resource(DrainDeadline(config.drain))
        .add_systems(OnEnter(Phase::Draining), drain);
    Ok(app)
}

/// Logs go to standard error, with colour if that is a terminal.
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

/// The tokio runtime. Its threads end with the app.
#[derive(Resource)]
struct TokioRuntime(Runtime);

#[derive(Resource)]
struct DrainDeadline(Duration);

/// Drains the server: reports NOT_SERVING, refuses new calls, waits for calls in flight, flushes queued writes, then
/// sends [`ServerEvent::Drained`].
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
        // First, so that a load balancer stops sending before calls are refused.
        server.set_health(tonic_health::ServingStatus::NotServing).await;
        in_flight.close();
        let drain_ends = tokio::time::Instant::now() + deadline;
        let calls_ended = tokio::time::timeout_at(drain_ends, in_flight.idle()).await.is_ok();
        generation.stop();
        // Connections and stores get at least a second, even if the calls used up the deadline.
        let remaining = drain_ends.saturating_duration_since(tokio::time::Instant::now()).max(Duration::from_secs(1));
        let (connections_closed, flushed) =
            tokio::join!(tokio::time::timeout(remaining, server.close()), chain.close(remaining));
        if connections_closed.is_err() {
            tracing::warn!("responses were cut off: clients did not read them in time");
        }
        events.send(ServerEvent::Drained { complete: calls_ended && connections_closed.is_ok() && flushed });
    });
}

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The port is in use, or the address does not belong to this machine.
    #[error("cannot listen on {address} for {what}: {cause}; choose another address with {key}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What was to be served there.
        what: &'static str,
        /// The configuration key of the address.
        key: &'static str,
        /// The system's error. Not named `source`: the message contains it, and an error chain would print it twice.
        cause: std::io::Error,
    },
    /// A tier could not be opened.
    #[error(transparent)]
    Cache(#[from] floor_cache::OpenError),
    /// The tokio threads could not be started.
    #[error("cannot start tokio's threads: {0}")]
    Runtime(std::io::Error),
    /// A metric name is registered twice.
    #[error("cannot register metrics: {0}")]
    Metrics(#[from] prometheus::Error),
}
