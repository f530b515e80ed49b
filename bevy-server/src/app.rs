//! The composition root: the list of plugins. `main` calls [`app()`].
//!
//! The server is a Bevy app because Bevy has what it needs beside sockets: plugins, each of which owns what it opened; a
//! state ([`Phase`](crate::lifecycle::Phase)), whose transitions begin and end the service; events, by which a reload
//! reaches the parts that it concerns; systems, which prefetch for climbers; and the task pool that generates floors. Calls
//! do not pass through the schedule: tokio serves them, and between events the app sleeps.

use bevy::prelude::*;

use crate::{
    auth::AuthPlugin,
    cache::CachePlugin,
    callers::{Callers, CallersPlugin},
    config::Config,
    config_check::{self, Checked},
    drain::DrainPlugin,
    generation::GenerationPlugin,
    grpc::GrpcPlugin,
    lifecycle::LifecyclePlugin,
    logging::{self, LogPlugin},
    metrics::MetricsPlugin,
    observer::CallObserverPlugin,
    ops::OpsPlugin,
    packs::PackPlugin,
    prefetch::PrefetchPlugin,
    reload::ReloadPlugin,
    runtime::RuntimePlugin,
    start_error::StartError,
    towers::TowersPlugin,
};

/// Opens stores and ports and returns an app that is ready to run.
///
/// # Errors
/// [`StartError`]: what could not be opened, and what to do about it.
pub fn app(config: &Config) -> Result<App, StartError> {
    Ok(finished(plugins(config)?))
}

/// An app of `plugins`, in any order.
fn finished(plugins: Vec<Add>) -> App {
    let mut app = App::new();
    plugins.into_iter().for_each(|add| add(&mut app));
    app.finish();
    app.cleanup();
    app
}

/// Opens what can fail. A plugin is handed what it needs to open, so these lines have an order, which the compiler knows;
/// what it needs to run, it takes from the world in `finish`, when all plugins are built.
fn plugins(config: &Config) -> Result<Vec<Add>, StartError> {
    // First, so that a store can log what it did with damaged data when it is opened.
    let log = logging::install(&config.log);
    let Checked { tokens, packs, warnings } = config_check::check(config)?;
    let runtime = RuntimePlugin::start().map_err(StartError::Runtime)?;
    // Before the stores: a port in use is the most frequent error.
    let grpc = GrpcPlugin::bind(config, runtime.handle())?;
    let ops = OpsPlugin::bind(config, grpc.address().port(), runtime.handle())?;
    log_start(config, &grpc, &ops);
    warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    let metrics = MetricsPlugin::register()?;
    let callers = Callers::new(config.client_identity.clone());
    let generation = GenerationPlugin::new(config, &callers, &packs, metrics.registry())?;
    let cache = CachePlugin::open(config, generation.queue(), metrics.registry(), runtime.handle())?;
    let towers = TowersPlugin::open(config, generation.queue(), cache.chains())?;
    let calls = CallObserverPlugin::start(config, runtime.handle())?;
    let auth = tokens.map(|tokens| AuthPlugin::new(&tokens, &callers, generation.queue(), &metrics));
    let mut plugins = vec![
        add(LogPlugin(log)),
        add(runtime),
        add(metrics),
        add(LifecyclePlugin),
        add(ReloadPlugin { config: config.clone() }),
        add(CallersPlugin(callers)),
        add(PackPlugin(packs)),
        add(generation),
        add(cache),
        add(calls),
        add(grpc),
        add(ops),
        add(DrainPlugin { delay: config.drain_delay, deadline: config.drain }),
    ];
    plugins.extend(auth.map(add));
    plugins.extend(towers.map(add));
    plugins.extend(PrefetchPlugin::new(config).map(add));
    Ok(plugins)
}

/// Adds a plugin to an app.
type Add = Box<dyn FnOnce(&mut App)>;

fn add(plugin: impl Plugin) -> Add {
    Box::new(move |app| _ = app.add_plugins(plugin))
}

/// One line that says which server this is.
fn log_start(config: &Config, grpc: &GrpcPlugin, ops: &OpsPlugin) {
    let chain: Vec<_> = config.cache.chain.iter().map(|tier| tier.name()).collect();
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        generator = floor_gen::GENERATOR_VERSION,
        chain = chain.join(","),
        bypass = config.cache.bypass.name(),
        tenants = (!config.tenants.is_empty()).then_some(config.tenants.len()),
        generation_threads = config.generation_threads,
        grpc = grpc.address().to_string(),
        ops = ops.address().to_string(),
        traces = config.trace.as_ref().map(|trace| trace.endpoint.as_str()),
        "floor server starts"
    );
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        sync::mpsc,
        thread,
        time::{Duration, Instant},
    };

    use bevy::app::AppExit;
    use floor_cache::OpenError;
    use floor_proto::v1::{FloorSpec, GetFloorRequest, floor_service_client::FloorServiceClient};
    use sha2::{Digest, Sha256};
    use tempfile::TempDir;
    use tonic::{Code, Request, Status};

    use super::*;
    use crate::{
        grpc::GrpcServer,
        lifecycle::{EventSender, ServerEvent},
        runtime::TokioHandle,
    };

    const TOKEN: &str = "0123456789abcdef0123456789abcdef";

    /// Who served a floor to a caller with this token.
    async fn call(address: String, token: Option<&str>) -> Result<String, Status> {
        let client = FloorServiceClient::connect(address).await;
        let mut client = client.map_err(|error| Status::unavailable(error.to_string()))?;
        let spec = FloorSpec { seed: 1, number: 1, ..FloorSpec::default() };
        let mut request = Request::new(GetFloorRequest { spec: Some(spec) });
        if let Some(token) = token {
            request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        }
        let answer = client.get_floor(request).await?;
        Ok(answer.metadata().get("floor-served-by").unwrap().to_str().unwrap().to_owned())
    }

    /// The plugins, once the store of the last app is closed: a writer thread ends after its app.
    fn opened(config: &Config) -> Vec<Add> {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            match plugins(config) {
                Err(StartError::Cache(OpenError::Locked { .. })) if Instant::now() < deadline => {
                    thread::sleep(Duration::from_millis(5));
                }
                opened => return opened.unwrap(),
            }
        }
    }

    #[test]
    fn plugins_work_in_any_order() {
        let data = TempDir::new().unwrap();
        let [tokens, store, key] = ["tokens.toml", "lmdb", "towers.key"].map(|name| data.path().join(name));
        let digest: String = Sha256::digest(TOKEN).iter().map(|byte| format!("{byte:02x}")).collect();
        fs::write(&tokens, format!("[[token]]\nname = \"game\"\nsha256 = \"{digest}\"\n")).unwrap();
        let config = format!(
            "[grpc]\nlisten = \"127.0.0.1:0\"\n[ops]\nlisten = \"127.0.0.1:0\"\n[auth]\ntokens_file = {tokens:?}\n\
             [cache.lmdb]\npath = {store:?}\n[towers]\nkey_file = {key:?}\n[log]\nlevel = \"error\"\n"
        );
        let config = Config::from_toml(&config).unwrap();
        let mut served_by = "generated";
        for (start, is_reversed) in [0, 4, 9].into_iter().flat_map(|start| [(start, false), (start, true)]) {
            let mut plugins = opened(&config);
            plugins.rotate_left(start);
            if is_reversed {
                plugins.reverse();
            }
            let mut app = finished(plugins);
            let address = format!("http://{}", app.world().resource::<GrpcServer>().address());
            let events = app.world().resource::<EventSender>().clone();
            let (sender, answers) = mpsc::channel();
            app.world().resource::<TokioHandle>().spawn(async move {
                let answers = (call(address.clone(), None).await, call(address, Some(TOKEN)).await);
                sender.send(answers).unwrap();
                events.send(ServerEvent::Terminate("the end of the test"));
            });
            assert_eq!(app.run(), AppExit::Success);
            let (stranger, caller) = answers.recv().unwrap();
            assert_eq!(stranger.unwrap_err().code(), Code::Unauthenticated, "{start}, {is_reversed}");
            assert_eq!(caller.unwrap(), served_by, "{start}, {is_reversed}");
            // The last app has written its floors.
            served_by = "lmdb";
        }
    }
}
