//! The list of the operations pages, from which the routes and the body of a 404 are derived.

use std::{fmt::Write as _, future::ready, sync::Arc};

use axum::{
    Router,
    handler::Handler,
    http::{HeaderMap, StatusCode, header},
    middleware,
    response::{IntoResponse, Response},
    routing::{MethodRouter, any, get, post},
};

use super::{
    OperatorAccess, OpsState, browsers, callers, chain, climbs, log_level, monitoring, server, token, viewer,
    wrong_port,
};

/// The pages for probes and Prometheus, which name the server by any host.
fn open_pages() -> Vec<Page> {
    vec![
        Page::get("/metrics", "metrics for Prometheus", monitoring::metrics),
        Page::get("/healthz", "whether the process runs", async || "the process runs\n"),
        Page::get("/readyz", "whether it can serve a floor now", monitoring::readyz),
    ]
}

/// The operator's pages, which reject pages of other sites.
fn operator_pages() -> Vec<Page> {
    vec![
        Page::get("/status", "status of the tiers", monitoring::status),
        Page::get("/floor", "the bytes of a floor", viewer::floor),
        Page::get("/stats", "contents of the tiers", chain::stats),
        Page::get("/contains", "which tiers hold the given floors", chain::contains),
        Page::get("/clients", "clients with the most floors and refusals", callers::most_active),
        Page::post("/purge", "remove floors from every tier", chain::purge),
        Page::post("/compact", "compact the stores", chain::compact),
        Page::post("/backup", "copy a store", chain::back_up),
        Page::post("/log-level", "change what is logged", log_level::set),
    ]
}

/// The routes of every page. Whatever is not open needs the right of an operator, paths without a page included.
pub(super) fn router(state: Arc<OpsState>, access: OperatorAccess, grpc_port: u16) -> Router {
    let (open, operator) = (open_pages(), operator_pages());
    let mut list = "no such page; there are\nGET  /          the floor viewer\n".to_owned();
    for Page { method, path, purpose, .. } in open.iter().chain(&operator) {
        let _ = writeln!(list, "{method:<4} {path:<10} {purpose}");
    }
    let operator = routes(operator)
        .fallback(move || ready((StatusCode::NOT_FOUND, list.clone())))
        .layer(middleware::from_fn_with_state(access, token::check))
        .layer(middleware::from_fn(browsers::reject));
    let calls = any(move |headers: HeaderMap| ready(wrong_port::answer(grpc_port, &headers)));
    // Browsers send an origin for the viewer's own files, and links to it stand on other sites.
    let pages = routes(open).merge(viewer::files()).merge(operator).layer(middleware::from_fn(server::refuse_body));
    let pages = pages.route(wrong_port::CALLS, calls).layer(middleware::from_fn(server::bound));
    pages.merge(climbs::routes(grpc_port)).with_state(state)
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
