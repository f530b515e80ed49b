//! The operations pages over HTTP: `/metrics`, `/healthz`, `/readyz`, a status page, and the chain's pages for
//! operators.

mod browsers;
mod chain;
mod floors;

use std::{
    fmt::Write as _,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    response::{Html, IntoResponse},
    routing::get,
};
use bevy::prelude::*;
use floor_cache::Chain;
use prometheus::{Registry, TextEncoder};
use tokio::runtime::Handle;

use crate::{bound_listener::BoundListener, generation::GenerationQueue, lifecycle::Phase};

/// The body of a 404.
const PAGE_LIST: &str = "\
no such page; there are
GET  /          status of the tiers
GET  /metrics   metrics for Prometheus
GET  /healthz   whether the process runs
GET  /readyz    whether it can serve a floor now
GET  /stats     contents of the tiers
GET  /contains  which tiers hold the given floors
POST /purge     remove floors from every tier
POST /compact   compact the stores
";

/// Serves the operations pages on a bound listener.
#[derive(Debug)]
pub struct OpsPlugin {
    /// The listener.
    pub listener: BoundListener,
    /// The runtime that serves.
    pub runtime: Handle,
    /// The metrics of `/metrics`.
    pub registry: Registry,
    /// The chain of the status page.
    pub chain: Chain,
    /// The queue that `/readyz` checks.
    pub generation: GenerationQueue,
}

impl Plugin for OpsPlugin {
    fn build(&self, app: &mut App) {
        let state = Arc::new(OpsState {
            registry: self.registry.clone(),
            chain: self.chain.clone(),
            generation: self.generation.clone(),
            serving: AtomicBool::new(false),
            since: Instant::now(),
        });
        self.serve(Arc::clone(&state));
        app.insert_resource(Readiness(state))
            .add_systems(OnEnter(Phase::Serving), |readiness: Res<'_, Readiness>| readiness.set(true))
            .add_systems(OnEnter(Phase::Draining), |readiness: Res<'_, Readiness>| readiness.set(false));
    }
}

impl OpsPlugin {
    fn serve(&self, state: Arc<OpsState>) {
        let Some(listener) = self.listener.take() else { return };
        tracing::info!(address = %self.listener.address(), "serving operations pages");
        let pages = Router::new()
            .route("/", get(status))
            .route("/metrics", get(metrics))
            .route("/healthz", get(async || "the process runs\n"))
            .route("/readyz", get(readyz))
            .with_state(Arc::clone(&state))
            .merge(chain::router(state.chain.clone()))
            .fallback(async || (StatusCode::NOT_FOUND, PAGE_LIST));
        self.runtime.spawn(async move { axum::serve(listener, pages).await });
    }
}

#[derive(Resource)]
struct Readiness(Arc<OpsState>);

impl Readiness {
    fn set(&self, serving: bool) {
        self.0.serving.store(serving, Ordering::Release);
    }
}

struct OpsState {
    registry: Registry,
    chain: Chain,
    generation: GenerationQueue,
    serving: AtomicBool,
    since: Instant,
}

async fn metrics(State(state): State<Arc<OpsState>>) -> impl IntoResponse {
    match TextEncoder::new().encode_to_string(&state.registry.gather()) {
        Ok(text) => (StatusCode::OK, [(header::CONTENT_TYPE, prometheus::TEXT_FORMAT)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}

async fn readyz(State(state): State<Arc<OpsState>>) -> (StatusCode, &'static str) {
    if !state.serving.load(Ordering::Acquire) {
        (StatusCode::SERVICE_UNAVAILABLE, "not serving: starting or draining\n")
    } else if !state.generation.has_capacity() {
        (StatusCode::SERVICE_UNAVAILABLE, "not ready: the generation queue is full\n")
    } else {
        (StatusCode::OK, "ready\n")
    }
}

async fn status(State(state): State<Arc<OpsState>>) -> Html<String> {
    let mut rows = String::new();
    for tier in state.chain.report() {
        let lookups = (tier.hits + tier.misses).max(1);
        let _ = write!(
            rows,
            "<tr><td>{}<td>{}<td>{}<td>{:.1} %<td>{}<td>{}<td>{}<td>{:.1}<td>{:.1}<td>{:.0} %<td>{}<td>{}<td>{} s",
            tier.name,
            tier.hits,
            tier.misses,
            tier.hits as f64 * 100.0 / lookups as f64,
            tier.errors,
            tier.entries,
            tier.bytes,
            tier.hit_cost_us,
            tier.miss_cost_us,
            tier.asked_ratio * 100.0,
            tier.reason,
            tier.verdict,
            tier.since.as_secs(),
        );
    }
    Html(format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>Floor Server</title>\
         <style>body{{font:15px system-ui;margin:2em;max-width:60em}}td,th{{padding:.2em .8em;text-align:right}}\
         td:first-child,th:first-child{{text-align:left}}</style>\
         <h1>Floor Server {}</h1><p>Up for {} s, generator version {}. <a href=/metrics>metrics</a> \
         <a href=/healthz>healthz</a> <a href=/readyz>readyz</a></p>\
         <table><tr><th>tier<th>hits<th>misses<th>hit rate<th>errors<th>entries<th>bytes<th>hit us<th>miss us\
         <th>asked<th>reason<th>verdict<th>for{rows}</table></html>",
        env!("CARGO_PKG_VERSION"),
        state.since.elapsed().as_secs(),
        floor_gen::GENERATOR_VERSION,
    ))
}
