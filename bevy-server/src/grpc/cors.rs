//! What the pages of other origins may do: they call with any header, since the server reads no cookies, and a page has no
//! more rights than its own code has.

use std::{convert::Infallible, time::Duration};

use futures_util::FutureExt as _;
use http::{HeaderMap, HeaderName, Method, Request, Response, header};
use tower::{Layer as _, ServiceExt as _};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer, Vary};

use super::body::FloorBody;
use crate::config::CorsOrigins;

/// How long a browser may cache a preflight response.
const MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// The headers of answers that pages may read.
const EXPOSED: [&str; 10] = [
    "grpc-status",
    "grpc-message",
    "grpc-status-details-bin",
    "floor-served-by",
    "floor-coalesced",
    "floor-trace",
    "floor-server-us",
    "etag",
    "retry-after",
    "www-authenticate",
];

/// Adds what browsers ask for before a page may read an answer.
#[derive(Clone)]
pub(super) struct Cors {
    layer: CorsLayer,
    /// What is added to the answer to a request without an origin. It is the same for all: making it anew would cost as
    /// much as the rest of a hit.
    without_origin: HeaderMap,
}

impl Cors {
    pub(super) fn new(origins: &CorsOrigins) -> Self {
        let (origins, vary) = match origins {
            // The answers to all pages are the same, so that a cache keeps one.
            CorsOrigins::Any => (AllowOrigin::any(), Vary::list([])),
            CorsOrigins::Listed(origins) => (AllowOrigin::list(origins.iter().cloned()), Vary::list([header::ORIGIN])),
        };
        let layer = CorsLayer::new()
            .allow_origin(origins)
            .vary(vary)
            .allow_methods([Method::GET, Method::HEAD, Method::POST])
            // `*` would not cover `authorization`.
            .allow_headers(AllowHeaders::mirror_request())
            .expose_headers(EXPOSED.map(HeaderName::from_static))
            .max_age(MAX_AGE);
        let without_origin = pass(&layer, Request::new(())).into_parts().0.headers;
        Self { layer, without_origin }
    }

    /// The answer to a preflight.
    pub(super) fn preflight<B>(&self, request: &Request<B>) -> Response<FloorBody> {
        let mut preflight = Request::new(());
        *preflight.method_mut() = Method::OPTIONS;
        *preflight.headers_mut() = request.headers().clone();
        pass(&self.layer, preflight)
    }

    /// What is added to the answer to a request with these headers that is no preflight.
    pub(super) fn added(&self, headers: &HeaderMap) -> HeaderMap {
        let Some(origin) = headers.get(header::ORIGIN) else { return self.without_origin.clone() };
        let mut request = Request::new(());
        request.headers_mut().insert(header::ORIGIN, origin.clone());
        pass(&self.layer, request).into_parts().0.headers
    }
}

/// The answer of `layer` around a service that adds nothing.
fn pass(layer: &CorsLayer, request: Request<()>) -> Response<FloorBody> {
    let service = tower::service_fn(async |_: Request<()>| Ok::<_, Infallible>(Response::new(FloorBody::default())));
    let answer = layer.layer(service).oneshot(request).now_or_never();
    answer.map(|Ok(response)| response).expect("nothing is waited for")
}
