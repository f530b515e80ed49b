//! Routing: gives each request of a connection to the floor service or to tonic, or refuses it, and finds the RPC of a
//! floor call.

use std::{
    convert::Infallible,
    panic::AssertUnwindSafe,
    pin::pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::{FutureExt, future::BoxFuture};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, header};
use http_body::Body;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tonic::{Code, Status, server::NamedService, service::interceptor::InterceptedService};
use tonic_health::pb::health_server::{Health, HealthServer};
use tower::{BoxError, Layer as _, ServiceExt, util::BoxCloneSyncService};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer, Vary};

use super::{
    Rpc, SERVICE_NAME,
    calls::{
        self, Answer, CallHead, Caller, FloorBody, GuardedBytes, MetricsGuard, ServiceDeps, ServiceState, SharedGuard,
    },
    connect::{self, Protocol, Route, WebEncoding},
    request_body::{Charge, RequestBody, TimeLimit, head_bytes},
    status,
    unread_body::ReadToEnd,
    web_body::{BodyFailure, WebBody},
};
use crate::{
    auth::{Authenticator, LastToken},
    clients::{Client, Clients, UNKNOWN_ADDRESS},
    config::CorsOrigins,
};

/// How long a browser may cache a CORS preflight response.
const CORS_MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// Limit for a message to health or reflection: the name of a service or a symbol. tonic's own limit is 4 MiB for each
/// call, outside every memory budget.
const MAX_NAME_MESSAGE_BYTES: usize = 4 << 10;

/// What a call to tonic's services holds until it has ended, beside its head: tonic boxes several layers, and a watch of
/// health keeps a task.
const TONIC_CALL_BYTES: usize = 32 << 10;
/// The one service with streams of requests.
const REFLECTION_PATH: &str = "/grpc.reflection.";

/// The services of the port. Cheap to clone.
#[derive(Clone)]
pub struct Routes(Arc<Services>);

struct Services {
    floor_service: FloorService,
    /// Knows the tokens that callers need. `None`: they need none.
    authenticator: Option<Authenticator>,
    /// Health, reflection, and the floor service for gRPC-Web.
    tonic_routes: BoxCloneSyncService<Request<tonic::body::Body>, Response<tonic::body::Body>, Infallible>,
    /// What pages may read of an answer that does not come from tonic.
    cors: CorsLayer,
    /// What `cors` adds to the answer to a request without an origin.
    cors_without_origin: HeaderMap,
}

impl Routes {
    /// The floor service, health, and reflection if `reflection` is set. Pages of `origins` may call them. With an
    /// `authenticator`, all but health need a token.
    pub fn new(
        floor_service: FloorService,
        health: HealthServer<impl Health>,
        reflection: bool,
        origins: &CorsOrigins,
        authenticator: Option<Authenticator>,
    ) -> Self {
        let health = health.max_decoding_message_size(MAX_NAME_MESSAGE_BYTES);
        let mut routes = tonic::service::Routes::new(floor_service.clone()).add_service(health);
        if reflection {
            let reflection = || {
                tonic_reflection::server::Builder::configure()
                    .register_encoded_file_descriptor_set(floor_proto::FILE_DESCRIPTOR_SET)
                    .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
                    // The details of errors, so that tools can show them.
                    .register_encoded_file_descriptor_set(tonic_types::pb::FILE_DESCRIPTOR_SET)
            };
            let (Ok(v1), Ok(v1alpha)) = (reflection().build_v1(), reflection().build_v1alpha()) else {
                unreachable!("descriptor sets that prost wrote are well-formed");
            };
            let v1 = v1.max_decoding_message_size(MAX_NAME_MESSAGE_BYTES);
            let v1alpha = v1alpha.max_decoding_message_size(MAX_NAME_MESSAGE_BYTES);
            routes = routes
                .add_service(InterceptedService::new(v1, authenticate))
                .add_service(InterceptedService::new(v1alpha, authenticate));
        }
        let cors = cors(origins);
        let tonic_routes = tower::ServiceBuilder::new()
            .layer(cors.clone())
            .layer(tonic_web::GrpcWebLayer::new())
            .service(routes.prepare());
        let tonic_routes = BoxCloneSyncService::new(tonic_routes);
        let cors_without_origin = without_origin(&cors);
        Self(Arc::new(Services { floor_service, authenticator, tonic_routes, cors, cors_without_origin }))
    }

    /// The router for a connection of `client`. If the peer is a trusted proxy, `behind_proxy` finds the client of each
    /// call.
    #[must_use]
    pub fn for_client(&self, client: Client, behind_proxy: Option<Clients>) -> Router {
        let (services, last_token) = (Arc::clone(&self.0), LastToken::default());
        Router(Arc::new(RouterState { services, client, behind_proxy, last_token }))
    }
}

/// Refuses a call to reflection without a valid token, if callers need one.
fn authenticate(request: tonic::Request<()>) -> Result<tonic::Request<()>, Status> {
    if let Some(router) = request.extensions().get::<Router>()
        && let Some(refusal) = router.0.caller(request.metadata().as_ref()).refusal
    {
        return Err(refusal);
    }
    Ok(request)
}

/// Pages of the configured origins may call, with any header: the server reads no cookies, so a page has no more rights
/// than its own code has.
fn cors(origins: &CorsOrigins) -> CorsLayer {
    let exposed = [
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
    let (origins, vary) = match origins {
        // The answers to all pages are the same, so that a cache keeps one.
        CorsOrigins::Any => (AllowOrigin::any(), Vary::list([])),
        CorsOrigins::Listed(origins) => (AllowOrigin::list(origins.iter().cloned()), Vary::list([header::ORIGIN])),
    };
    CorsLayer::new()
        .allow_origin(origins)
        .vary(vary)
        .allow_methods([Method::GET, Method::HEAD, Method::POST])
        // `*` would not cover `authorization`.
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(exposed.map(HeaderName::from_static))
        .max_age(CORS_MAX_AGE)
}

/// What `cors` adds to the answer to a request without an origin. It is the same for all: making it anew would cost as
/// much as the rest of a hit.
fn without_origin(cors: &CorsLayer) -> HeaderMap {
    let service = tower::service_fn(async |_: Request<()>| Ok::<_, Infallible>(Response::new(())));
    let answer = cors.layer(service).oneshot(Request::new(())).now_or_never();
    answer.map(|Ok(response)| response.into_parts().0.headers).expect("nothing is waited for")
}

fn add_all(added: &HeaderMap, headers: &mut HeaderMap) {
    for (name, value) in added {
        headers.append(name, value.clone());
    }
}

/// The service of a connection. Cheap to clone.
#[derive(Clone)]
pub struct Router(Arc<RouterState>);

struct RouterState {
    services: Arc<Services>,
    /// The client of the connection.
    client: Client,
    behind_proxy: Option<Clients>,
    last_token: LastToken,
}

impl RouterState {
    /// The caller with these headers: the client of its token if callers need one, else that of the connection, or behind
    /// a trusted proxy the one that the proxy names.
    fn caller(&self, headers: &HeaderMap) -> Caller {
        let Some(authenticator) = &self.services.authenticator else { return self.anonymous(headers).into() };
        let needs_token = true;
        let address = match &self.behind_proxy {
            None => self.client.address(),
            Some(clients) => clients.forwarded_address(headers).unwrap_or(UNKNOWN_ADDRESS),
        };
        match authenticator.client(headers, address, &self.last_token) {
            Ok(client) => Caller { client, refusal: None, needs_token },
            Err(denied) => {
                Caller { client: self.anonymous(headers), refusal: Some(status::denied(&denied)), needs_token }
            }
        }
    }

    /// The client of a call without a token.
    fn anonymous(&self, headers: &HeaderMap) -> Client {
        match &self.behind_proxy {
            None => self.client.clone(),
            // A proxy that names no client is not the client, and has none of its rights.
            Some(clients) => clients.forwarded(headers).unwrap_or_else(|| clients.unknown()),
        }
    }
}

impl Router {
    /// Answers a request. Every error is a status in the response.
    pub async fn call<B>(self, request: Request<B>) -> Response<FloorBody>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        let content_type = content_type(request.headers());
        let is_grpc_call = connect::is_grpc(content_type) && is_for_floor_service(&request);
        let route = if is_grpc_call { Route::Floors(Protocol::Grpc) } else { connect::route(&request, content_type) };
        // Boxed, all but one, to keep the future of a floor call small.
        match route {
            Route::Floors(protocol) if protocol == Protocol::Grpc || !is_of_page(&request) => {
                let mut response = self.call_floors(request, protocol).await;
                if matches!(protocol, Protocol::ConnectGet(_)) {
                    // A cache may give it to a page.
                    add_all(&self.0.services.cors_without_origin, response.headers_mut());
                }
                response
            }
            Route::Tonic => Box::pin(self.call_tonic(request, None)).await,
            Route::Web(encoding) => Box::pin(self.call_tonic(request, Some(encoding))).await,
            Route::Floors(_) | Route::Refused(_) => Box::pin(self.call_with_cors(request, route)).await,
        }
    }

    async fn call_floors<B>(&self, request: Request<B>, protocol: Protocol) -> Response<FloorBody>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>>,
    {
        let caller = self.0.caller(request.headers());
        self.0.services.floor_service.clone().answer_caller(request, caller, protocol).await
    }

    /// Answers a call of Connect, or refuses a request. Pages may read the response.
    async fn call_with_cors<B>(self, request: Request<B>, route: Route) -> Response<FloorBody>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        let cors = self.0.services.cors.clone();
        let service = tower::service_fn(move |request: Request<B>| {
            let router = self.clone();
            async move {
                Ok::<_, Infallible>(match route {
                    Route::Floors(protocol) => router.call_floors(request, protocol).await,
                    Route::Tonic => router.call_tonic(request, None).await,
                    Route::Web(encoding) => router.call_tonic(request, Some(encoding)).await,
                    Route::Refused(refusal) => {
                        router.discard(request).await;
                        refusal.respond()
                    }
                })
            }
        });
        let Ok(response) = cors.layer(service).oneshot(request).await;
        response
    }

    /// Reads the body of a refused request.
    async fn discard<B>(&self, request: Request<B>)
    where
        B: Body<Data = Bytes, Error: Into<BoxError>>,
    {
        let client = self.0.anonymous(request.headers());
        let (head, body) = request.into_parts();
        let budget = self.0.services.floor_service.0.receiving();
        let charge = Charge { client: &client, budget, head: &head.headers };
        calls::discard(RequestBody::charged(pin!(body), charge)).await;
    }

    /// Answers a call of a service of tonic, or of gRPC-Web if there is an encoding.
    async fn call_tonic<B>(self, mut request: Request<B>, web: Option<WebEncoding>) -> Response<FloorBody>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        // The address pays: a preflight has no token, and a call to health needs none.
        let client = self.0.anonymous(request.headers());
        let bytes = TONIC_CALL_BYTES + head_bytes(request.headers());
        let held = match self.0.services.floor_service.0.reserve_call(&client, bytes) {
            Ok(held) => held,
            Err(status) => return status_of_any_grpc(&status, web),
        };
        let limit =
            if request.uri().path().starts_with(REFLECTION_PATH) { TimeLimit::Pauses } else { TimeLimit::Whole };
        let failure = BodyFailure::default();
        if web.is_some() {
            // The body is decoded here, and tonic-web knows only the content types that libraries send.
            request.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(connect::GRPC_WEB));
            request.extensions_mut().insert(failure.clone());
        }
        let mut request = request.map(|body| {
            let body = RequestBody::new(Box::pin(body), limit);
            match web {
                None => tonic::body::Body::new(body),
                Some(encoding) => tonic::body::Body::new(WebBody::new(body, encoding, failure.clone())),
            }
        });
        // The services that need the client find it themselves: a preflight and a call to health need no token.
        request.extensions_mut().insert(self.clone());
        let Ok(mut response) = self.0.services.tonic_routes.clone().oneshot(request).await;
        if let Some(status) = failure.status()
            && response.headers().contains_key(Status::GRPC_STATUS)
        {
            // The service knows only that the body ended early. The header fits: the text is of this server.
            let _ = status.add_header(response.headers_mut());
        }
        let guard = response.extensions_mut().remove::<SharedGuard>();
        response.map(|body| FloorBody::other(body, guard, held))
    }
}

impl hyper::service::Service<Request<Incoming>> for Router {
    type Response = Response<FloorBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let router = self.clone();
        Box::pin(async move { Ok(router.call(request.map(ReadToEnd::new)).await) })
    }
}

/// A status without a body, for gRPC or gRPC-Web.
fn status_of_any_grpc(status: &Status, web: Option<WebEncoding>) -> Response<FloorBody> {
    let mut response = status.clone().into_http();
    if web.is_some() {
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(connect::GRPC_WEB));
    }
    response
}

/// Whether a page makes the request: it says where it is from.
fn is_of_page<B>(request: &Request<B>) -> bool {
    request.headers().contains_key(header::ORIGIN)
}

/// Whether this request is, with the content type of gRPC, a call to the floor service.
fn is_for_floor_service<B>(request: &Request<B>) -> bool {
    let path = request.uri().path().as_bytes();
    let is_floor_service = path
        .strip_prefix(b"/")
        .and_then(|path| path.strip_prefix(SERVICE_NAME.as_bytes()))
        .is_some_and(|rest| rest.starts_with(b"/"));
    is_floor_service && request.version() == http::Version::HTTP_2 && *request.method() == Method::POST
}

/// The floor service. Cheap to clone.
///
/// A `tower` service over plain HTTP requests, so that a stored floor is not encoded again. tonic can route to it as to
/// any generated service.
#[derive(Debug, Clone)]
pub struct FloorService(Arc<ServiceState>);

impl NamedService for FloorService {
    const NAME: &'static str = SERVICE_NAME;
}

impl FloorService {
    /// A service with these dependencies. Its uptime starts now.
    #[must_use]
    pub fn new(deps: ServiceDeps) -> Self {
        Self(Arc::new(ServiceState::new(deps)))
    }

    /// Handles one call of `client`. Every error is a status in the response.
    pub async fn answer(
        self,
        request: Request<impl Body<Data = Bytes, Error: Into<BoxError>>>,
        client: Client,
    ) -> Response<FloorBody> {
        self.answer_caller(request, client.into(), Protocol::Grpc).await
    }

    /// As [`answer`](Self::answer), of a caller that may be refused, and in any protocol.
    async fn answer_caller(
        self,
        request: Request<impl Body<Data = Bytes, Error: Into<BoxError>>>,
        caller: Caller,
        protocol: Protocol,
    ) -> Response<FloorBody> {
        let started = Instant::now();
        let (mut head, body) = request.into_parts();
        let rpc = match rpc_from_path(head.uri.path()) {
            Ok(rpc) => rpc,
            Err(name) => return Status::unimplemented(format!("{SERVICE_NAME} has no method {name:?}")).into_http(),
        };
        let mut metrics_guard = MetricsGuard::new(self.0, rpc, started);
        metrics_guard.observe(&head.headers, &caller.client);
        // A panic becomes a status of this call and does not affect others.
        let record = metrics_guard.record.as_ref();
        let web = head.extensions.remove::<BodyFailure>();
        let call = CallHead { rpc, protocol, web, uri: head.uri, headers: head.headers, started };
        let answer = calls::answer(&metrics_guard.state, call, body, caller, record);
        let answer = AssertUnwindSafe(answer).catch_unwind().await;
        match answer.unwrap_or_else(|panic| Err(status::panicked(panic.as_ref()))) {
            Ok(Answer::Unary(response)) => {
                metrics_guard.code = Code::Ok;
                response
            }
            Ok(Answer::Stream(stream)) => stream.respond(metrics_guard),
            Err(status) => {
                metrics_guard.code = status.code();
                if let Some(record) = &metrics_guard.record {
                    record.failed(&status);
                }
                tracing::debug!(rpc = rpc.name(), code = ?status.code(), message = status.message(), "refused");
                match protocol {
                    Protocol::Grpc => status.into_http(),
                    Protocol::ConnectUnary(_) | Protocol::ConnectGet(_) => connect::failed(&status),
                    Protocol::ConnectStream(encoding) => connect::failed_stream(encoding, &status),
                }
            }
        }
    }

    /// The caller of a request that came through tonic.
    fn caller_of<B>(&self, request: &Request<B>) -> Caller {
        match request.extensions().get::<Router>() {
            Some(router) => router.0.caller(request.headers()),
            None => self.0.unknown_client().into(),
        }
    }
}

impl<B> tower::Service<Request<B>> for FloorService
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    type Response = Response<tonic::body::Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        if !connect::is_grpc(content_type(request.headers())) {
            let mut refusal = Response::new(tonic::body::Body::empty());
            *refusal.status_mut() = http::StatusCode::UNSUPPORTED_MEDIA_TYPE;
            return Box::pin(std::future::ready(Ok(refusal)));
        }
        let service = self.clone();
        let caller = self.caller_of(&request);
        Box::pin(async move {
            let mut answer = service.answer_caller(request, caller, Protocol::Grpc).await;
            // gRPC-Web replaces the body, so the guard travels in the extensions. The router takes it from there.
            if let Some(guard) = answer.body_mut().take_guard() {
                answer.extensions_mut().insert(guard);
            }
            Ok(answer
                .map(|body| tonic::body::Body::new(body.map_frame(|frame| frame.map_data(GuardedBytes::into_bytes)))))
        })
    }
}

/// The content type; empty if there is none.
fn content_type(headers: &HeaderMap) -> &[u8] {
    headers.get(header::CONTENT_TYPE).map_or(&[], HeaderValue::as_bytes)
}

/// The RPC that a request path names, or else the unknown name in the path.
pub(super) fn rpc_from_path(path: &str) -> Result<Rpc, &str> {
    let name = path.strip_prefix('/').and_then(|path| path.strip_prefix(SERVICE_NAME)?.strip_prefix('/'));
    let name = name.unwrap_or_default();
    Rpc::ALL.into_iter().find(|rpc| rpc.name() == name).ok_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_names_its_rpc() {
        for rpc in Rpc::ALL {
            assert_eq!(rpc_from_path(rpc.path()), Ok(rpc));
        }
        assert_eq!(rpc_from_path("/floors.v1.FloorService/GetFlour"), Err("GetFlour"));
        assert_eq!(rpc_from_path("/grpc.health.v1.Health/Check"), Err(""));
    }
}
