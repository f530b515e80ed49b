//! The list of the operations pages, from which the routes and the body of a 404 are derived.

use std::{fmt::Write as _, future::ready, sync::Arc};

use axum::{
    Router,
    handler::Handler,
    http::{StatusCode, header},
    middleware,
    response::{IntoResponse, Response},
    routing::{MethodRouter, get, post},
};

use super::{OpsState, browsers, chain, monitoring};

/// The pages that only read what a browser may show.
fn open_pages() -> Vec<Page> {
    vec![
        Page::get("/", "status of the tiers", monitoring::status),
        Page::get("/metrics", "metrics for Prometheus", monitoring::metrics),
        Page::get("/healthz", "whether the process runs", async || "the process runs\n"),
        Page::get("/readyz", "whether it can serve a floor now", monitoring::readyz),
    ]
}

/// The operator's pages for the chain, which reject browsers.
fn operator_pages() -> Vec<Page> {
    vec![
        Page::get("/stats", "contents of the tiers", chain::stats),
        Page::get("/contains", "which tiers hold the given floors", chain::contains),
        Page::post("/purge", "remove floors from every tier", chain::purge),
        Page::post("/compact", "compact the stores", chain::compact),
    ]
}

/// The routes of every page.
pub(super) fn router(state: Arc<OpsState>) -> Router {
    let (open, operator) = (open_pages(), operator_pages());
    let mut list = "no such page; there are\n".to_owned();
    for Page { method, path, purpose, .. } in open.iter().chain(&operator) {
        let _ = writeln!(list, "{method:<4} {path:<10} {purpose}");
    }
    routes(open)
        .merge(routes(operator).route_layer(middleware::from_fn(browsers::reject)))
        .fallback(move || ready((StatusCode::NOT_FOUND, list.clone())))
        .with_state(state)
}

fn routes(pages: Vec<Page>) -> Router<Arc<OpsState>> {
    pages.into_iter().fold(Router::new(), |router, page| router.route(page.path, page.route))
}

/// A page and its line in the body of a 404.
struct Page {
    method: &'static str,
    path: &'static str,
    purpose: &'static str,
    route: MethodRouter<Arc<OpsState>>,
}

impl Page {
    fn get<T: 'static>(path: &'static str, purpose: &'static str, page: impl Handler<T, Arc<OpsState>>) -> Self {
        Self { method: "GET", path, purpose, route: get(page) }
    }

    fn post<T: 'static>(path: &'static str, purpose: &'static str, page: impl Handler<T, Arc<OpsState>>) -> Self {
        Self { method: "POST", path, purpose, route: post(page).fallback(use_post) }
    }
}

async fn use_post() -> Response {
    let message = "use POST: links and crawlers must not change the stores\n";
    (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "POST")], message).into_response()
}
