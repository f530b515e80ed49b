//! The composition root: opens files and ports, then wires the Bevy app. `main` calls [`app()`].

use std::{net::SocketAddr, sync::Arc};

use bevy::{ecs::schedule::SingleThreadedExecutor, prelude::*, state::app::StatesPlugin};
use floor_cache::Chain;
use prometheus::Registry;
use tokio::{
    net::TcpListener,
    runtime::{Builder, Runtime},
};

use crate::{
    auth::AuthPlugin,
    cache::Chains,
    chain_metrics,
    clients::Clients,
    config::{Config, ConfigError},
    config_check::{self, Checked},
    connections::bound_socket,
    cores::CoreThreads,
    descriptors,
    drain::DrainPlugin,
    generation::{GenerationPlugin, GenerationQueue, task_pools},
    grpc::{GrpcListener, GrpcPlugin, RequestMetrics},
    lifecycle::LifecyclePlugin,
    logging, memory,
    metrics::{MetricsRegistry, Refusals, Reloads, register_build_info},
    observer::CallObserver,
    ops::{OpsListener, OpsPlugin},
    packs::PackPlugin,
    prefetch::PrefetchPlugin,
    reload::ReloadPlugin,
    runtime::TokioHandle,
    tenants::TenantCounts,
    traces::{TraceError, Traces},
};

/// Connections that wait to be accepted. The system caps it, on Linux at `net.core.somaxconn`.
const BACKLOG: u32 = 1024;

/// Opens stores and ports and returns an app that is ready to run.
///
/// # Errors
/// [`StartError`]: what could not be opened, and what to do about it.
pub fn app(config: &Config) -> Result<App, StartError> {
    // Logging comes first, so that a store can log what it did with damaged data when it is opened.
    let log = logging::install(&config.log);
    let mut app = App::new();
    let Checked { tokens, packs, warnings } = config_check::check(config)?;
    descriptors::raise_limit();
    let runtime = Builder::new_multi_thread().enable_all().thread_name("tokio").build().map_err(StartError::Runtime)?;
    let cores = CoreThreads::start().map_err(StartError::Runtime)?;
    log.set_runtime(runtime.handle());
    let grpc_listener = GrpcListener(bind(config.grpc_listen, "gRPC", "grpc.listen", &runtime)?);
    let ops_listener = OpsListener(bind(config.ops_listen, "the operations pages", "ops.listen", &runtime)?);
    let grpc_port = grpc_listener.0.local_addr().map_or(config.grpc_listen.port(), |address| address.port());
    log_start(config, &grpc_listener, &ops_listener);
    warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    let registry = Registry::new();
    #[cfg(target_os = "linux")]
    registry.register(Box::new(prometheus::process_collector::ProcessCollector::for_self()))?;
    memory::register(&registry)?;
    register_build_info(&registry)?;
    let metrics = RequestMetrics::register(&registry)?;
    let refusals = Refusals::register(&registry)?;
    let reloads = Reloads::register(&registry)?;
    packs.register(&registry, reloads.clone())?;
    let (clients, workers) = (Clients::new(config.client_identity.clone()), config.generation_threads);
    let generation = GenerationQueue::new(
        config.generation_queue,
        workers,
        config.quota,
        clients.clone(),
        packs.clone(),
        &registry,
    )?;
    let source = Arc::new(generation.clone());
    let chain = floor_cache::assemble_tuned(&config.cache, &config.tuning, source, runtime.handle())?;
    chain_metrics::register(chain.clone(), &registry)?;
    let chains = chains(config, chain, &generation, &registry)?;
    let traces = config.trace.as_ref().map(|settings| Traces::start(settings, &registry, runtime.handle()));
    let traces = traces.transpose()?;
    if let Some(traces) = &traces {
        app.insert_resource(traces.clone());
    }
    app.insert_resource(CallObserver::new(traces, &config.log, config.tenant_names()))
        .insert_resource(TokioHandle(runtime.handle().clone()))
        .insert_resource(TokioRuntime(runtime))
        .insert_resource(cores)
        .insert_resource(grpc_listener)
        .insert_resource(ops_listener)
        .insert_resource(MetricsRegistry(registry))
        .insert_resource(metrics)
        .insert_resource(refusals)
        .insert_resource(reloads)
        .insert_resource(clients)
        .insert_resource(generation)
        .insert_resource(chains)
        .insert_resource(packs)
        .insert_resource(log);

    if let Some(tokens) = tokens {
        app.add_plugins(AuthPlugin { tokens });
    }
    app.add_plugins((task_pools(workers), StatesPlugin, LifecyclePlugin, GenerationPlugin, PackPlugin));
    // Without a tier there is no place to store prefetched floors.
    if config.prefetch_ahead > 0 && !config.cache.chain.is_empty() {
        // Half the workers, so that prefetches never occupy all of them.
        app.add_plugins(PrefetchPlugin { ahead: config.prefetch_ahead, budget: workers.div_ceil(2) });
    }
    let grpc = GrpcPlugin {
        limits: config.connections,
        cors_origins: config.cors_origins.clone(),
        no_cache: config.no_cache,
        reflection: config.reflection,
        tls: config.tls.clone(),
    };
    let ops = OpsPlugin { token: config.ops_token.clone(), grpc_port };
    let drain = DrainPlugin { delay: config.drain_delay, deadline: config.drain };
    app.add_plugins((grpc, ops, drain, ReloadPlugin { config: config.clone() }));
    // Each system takes a few microseconds. Running it on another thread would cost more.
    for (_, schedule) in app.world_mut().resource_mut::<Schedules>().iter_mut() {
        schedule.set_executor(SingleThreadedExecutor::new());
    }
    Ok(app)
}

/// The chains of the tenants beside `common`, that of callers without one.
fn chains(
    config: &Config,
    common: Chain,
    generation: &GenerationQueue,
    registry: &Registry,
) -> Result<Chains, StartError> {
    if config.tenants.is_empty() {
        return Ok(common.into());
    }
    let names = config.tenant_names();
    let counts = TenantCounts::register(&names, registry)?;
    generation.set_tenant_rates(config.tenants.iter().map(|tenant| (tenant.name.as_str(), tenant.cells_per_second)));
    let own = config.tenants.iter().zip(counts).map(|(tenant, counts)| {
        let source = Arc::new(generation.for_tenant(&tenant.name, counts.clone()));
        let chain = floor_cache::assemble_beside(&common, &tenant.cache, &config.tuning, source)?;
        Ok((chain, counts))
    });
    let own = own.collect::<Result<Vec<_>, StartError>>()?;
    Ok(Chains::new(common, names, own, registry)?)
}

/// One line that says which server this is.
fn log_start(config: &Config, grpc: &GrpcListener, ops: &OpsListener) {
    let address = |listener: &TcpListener| listener.local_addr().map(|address| address.to_string()).unwrap_or_default();
    let chain: Vec<_> = config.cache.chain.iter().map(|tier| tier.name()).collect();
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        generator = floor_gen::GENERATOR_VERSION,
        chain = chain.join(","),
        bypass = config.cache.bypass.name(),
        tenants = (!config.tenants.is_empty()).then_some(config.tenants.len()),
        generation_threads = config.generation_threads,
        grpc = address(&grpc.0),
        ops = address(&ops.0),
        traces = config.trace.as_ref().map(|trace| trace.endpoint.as_str()),
        "floor server starts"
    );
}

/// Binds `address`. Port 0 selects a free port. Only a bound port becomes a resource, so a port in use is an error and
/// not a panic of a plugin.
fn bind(
    address: SocketAddr,
    what: &'static str,
    key: &'static str,
    runtime: &Runtime,
) -> Result<TcpListener, StartError> {
    // Listening registers with the runtime.
    let _entered = runtime.enter();
    let listener = bound_socket(address).and_then(|socket| socket.listen(BACKLOG));
    listener.map_err(|cause| StartError::Bind { address, what, key, cause })
}

/// The tokio runtime. Its threads end with the app.
#[derive(Resource)]
#[allow(dead_code, reason = "the runtime is only held")]
struct TokioRuntime(Runtime);

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
    /// What the configuration names cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The threads of the runtimes could not be started.
    #[error("cannot start the threads of the server: {0}")]
    Runtime(std::io::Error),
    /// Traces cannot be exported.
    #[error(transparent)]
    Traces(#[from] TraceError),
    /// A metric name is registered twice.
    #[error("cannot register metrics: {0}")]
    Metrics(#[from] prometheus::Error),
}
