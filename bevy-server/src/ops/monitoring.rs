//! The pages for monitoring: `/status`, `/metrics` and `/readyz`.

use std::{
    borrow::Cow,
    fmt::Write as _,
    sync::{
        Arc,
        atomic::Ordering::{Acquire, Relaxed},
    },
};

use axum::{
    extract::State,
    http::{StatusCode, header},
    response::{Html, IntoResponse},
};
use floor_cache::Chain;
use prometheus::TextEncoder;

use super::OpsState;
use crate::traces::Traces;

pub(super) async fn metrics(State(state): State<Arc<OpsState>>) -> impl IntoResponse {
    state.chains.refresh_stats().await;
    match TextEncoder::new().encode_to_string(&state.registry.gather()) {
        Ok(text) => (StatusCode::OK, [(header::CONTENT_TYPE, prometheus::TEXT_FORMAT)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}

/// Load does not count: a server that is full still serves cached floors, and all servers of a fleet are full at once.
pub(super) async fn readyz(State(state): State<Arc<OpsState>>) -> (StatusCode, Cow<'static, str>) {
    if !state.serving.load(Acquire) {
        (StatusCode::SERVICE_UNAVAILABLE, "not serving: starting or draining\n".into())
    } else if let Some(problem) = state.packs.problem() {
        (StatusCode::OK, format!("ready, but not with every pack of packs.dir\n{problem}\n").into())
    } else {
        (StatusCode::OK, "ready\n".into())
    }
}

pub(super) async fn status(State(state): State<Arc<OpsState>>) -> Html<String> {
    state.chains.refresh_stats().await;
    let problem = state.packs.problem().map(|problem| format!("<pre>{}</pre>", html_escaped(&problem.to_string())));
    let problem = problem.unwrap_or_default();
    let tables: String = state.chains.all().map(|(tenant, chain)| table(tenant, chain)).collect();
    Html(format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>Floor Server</title>\
         <style>body{{font:15px system-ui;margin:2em;max-width:60em}}td,th{{padding:.2em .8em;text-align:right}}\
         td:first-child,th:first-child{{text-align:left}}</style>\
         <h1>Floor Server {}</h1><p>Up for {} s, generator version {}. <a href=/metrics>metrics</a> \
         <a href=/healthz>healthz</a> <a href=/readyz>readyz</a></p>\
         {problem}{tables}{}</html>",
        env!("CARGO_PKG_VERSION"),
        state.since.elapsed().as_secs(),
        floor_gen::GENERATOR_VERSION,
        figures(&state),
    ))
}

/// The table of figures that no alert needs, since the start.
fn figures(state: &OpsState) -> String {
    let price = state.chains.of(None).metrics().cpu_price;
    let mut rows = vec![
        ("CPU price, s of response time for 1 s of CPU".to_owned(), format!("{price:.3}")),
        ("versions of packs".to_owned(), state.packs.versions().to_string()),
    ];
    let mut count = |name: String, count: u64| rows.push((name, count.to_string()));
    if let Some(counts) = &state.prefetches {
        for (outcome, floors) in [("all", &counts.prefetched), ("used", &counts.used), ("wasted", &counts.wasted)] {
            count(format!("prefetched floors, {outcome}"), floors.load(Relaxed));
        }
    }
    for (outcome, calls) in state.traces.iter().flat_map(Traces::counts) {
        count(format!("traced calls, {outcome}"), calls);
    }
    for (pack, faults) in state.packs.faults() {
        count(format!("faults of the generator of {pack}"), faults);
    }
    for (tenant, cells) in state.chains.generated_cells() {
        count(format!("generated cells, {tenant}"), cells);
    }
    let rows: String = rows.into_iter().map(|(name, value)| format!("<tr><td>{name}<td>{value}")).collect();
    format!("<h2>Other figures</h2><table>{rows}</table>")
}

/// The table of the tiers of a chain. A tenant's has its name above it.
fn table(tenant: Option<&str>, chain: &Chain) -> String {
    let (mut rows, mut errors) = (String::new(), String::new());
    for tier in chain.report() {
        let lookups = (tier.hits + tier.misses).max(1);
        let figure = |figure: u64, is_unknown| if is_unknown { "-".to_owned() } else { figure.to_string() };
        if let Some(error) = &tier.last_error {
            let message = html_escaped(&error.message);
            let _ = write!(errors, "<p>Last error of {}, {} s ago: {message}</p>", tier.name, error.ago.as_secs());
        }
        let _ = write!(
            rows,
            "<tr><td>{}<td>{}<td>{}<td>{:.1} %<td>{}<td>{}<td>{}<td>{:.1}<td>{:.1}\
             <td>{:.0} %<td>{:.1}<td>{:.1}<td>{:.0} %<td>{}<td>{}<td>{} s",
            tier.name,
            tier.hits,
            tier.misses,
            tier.hits as f64 * 100.0 / lookups as f64,
            tier.errors,
            figure(tier.entries, tier.unknown.entries),
            figure(tier.bytes, tier.unknown.bytes),
            tier.hit_cost_us,
            tier.miss_cost_us,
            tier.hit_ratio * 100.0,
            tier.probe_cost_us,
            tier.generation_cost_us,
            tier.asked_ratio * 100.0,
            tier.reason,
            tier.verdict,
            tier.since.as_secs(),
        );
    }
    let heading = tenant.map(|tenant| format!("<h2>Tenant {tenant}</h2>")).unwrap_or_default();
    format!(
        "{heading}<table><tr><th>tier<th>hits<th>misses<th>hit rate<th>errors<th>entries<th>bytes<th>hit us<th>miss us\
         <th>recent hit rate<th>recent ask us<th>recent generate us<th>asked<th>reason<th>verdict<th>for{rows}</table>\
         {errors}"
    )
}

/// `text` in HTML.
fn html_escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
