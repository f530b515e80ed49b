//! Routing: decides by the path, the method and the content type of a request who answers it, and finds its client.

use std::{convert::Infallible, pin::pin, sync::Arc};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Version, header};
use http_body::Body;
use hyper::body::Incoming;
use tonic::Status;
use tonic_health::pb::health_server::{Health, HealthServer};
use tower::BoxError;

use super::{
    SERVICE_NAME,
    calls::{self, Caller, FloorBody, FloorService, rpc_from_path},
    connect::Refusal,
    cors::Cors,
    framing::{self, Encoding, Framing, Web, answers_get, is_grpc, media_type},
    request_body::{Charge, RequestBody, head_bytes},
    status,
    tonic_services::TonicServices,
    unread_body::ReadToEnd,
};
use crate::{
    auth::{Authenticator, LastToken},
    clients::{Client, Clients, Reserved, UNKNOWN_ADDRESS},
    config::CorsOrigins,
    metrics::Limit,
};

/// Who answers a request.
#[derive(Debug, Clone, Copy)]
enum Route {
    /// The floor service.
    Floors(Framing),
    /// Health or reflection.
    Tonic,
    /// CORS.
    Preflight,
    /// No service.
    Refused(Refusal),
}

/// Who answers a request.
fn route<B>(request: &Request<B>) -> Route {
    let content_type = request.headers().get(header::CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    // First, because it is the fastest call.
    if is_grpc(content_type) && is_for_floor_service(request) {
        return Route::Floors(Framing::Grpc);
    }
    let media_type = media_type(content_type);
    let (path, is_post) = (rpc_from_path(request.uri().path()), *request.method() == Method::POST);
    if let Ok(rpc) = path
        && is_post
        && let Some(framing) = framing::connect(rpc.is_stream(), media_type)
    {
        return Route::Floors(framing);
    }
    if *request.method() == Method::OPTIONS {
        return Route::Preflight;
    }
    // A GET has no content, whatever its content type says.
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return match path {
            // The query has the encoding; until it is parsed, only errors are sent, and they are JSON.
            Ok(rpc) if answers_get(rpc) => Route::Floors(Framing::ConnectGet(Encoding::Json)),
            Ok(rpc) => Route::Refused(Refusal::Method(rpc)),
            Err(_) => Route::Refused(Refusal::Path),
        };
    }
    if starts_with(media_type, b"application/grpc-web") {
        return match Web::of(media_type, request.headers()).filter(|_| is_post) {
            Some(web) if path.is_ok() => Route::Floors(Framing::GrpcWeb(web)),
            Some(_) => Route::Refused(Refusal::GrpcWebPath),
            None => Route::Refused(Refusal::GrpcWeb),
        };
    }
    if starts_with(media_type, b"application/grpc") {
        return match request.version() {
            Version::HTTP_2 if is_post && is_grpc(media_type) => Route::Tonic,
            Version::HTTP_2 => Route::Refused(Refusal::Grpc),
            _ => Route::Refused(Refusal::NeedsHttp2),
        };
    }
    let Ok(rpc) = path else {
        return Route::Refused(Refusal::Path);
    };
    Route::Refused(if is_post { Refusal::ContentType(rpc) } else { Refusal::Method(rpc) })
}

/// Whether this request is, with the content type of gRPC, a call to the floor service.
fn is_for_floor_service<B>(request: &Request<B>) -> bool {
    let path = request.uri().path().as_bytes();
    let is_floor_service = path
        .strip_prefix(b"/")
        .and_then(|path| path.strip_prefix(SERVICE_NAME.as_bytes()))
        .is_some_and(|rest| rest.starts_with(b"/"));
    is_floor_service && request.version() == Version::HTTP_2 && *request.method() == Method::POST
}

fn starts_with(media_type: &[u8], prefix: &[u8]) -> bool {
    media_type.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

/// Whether the answer is no floor and no pack.
fn is_error(response: &Response<FloorBody>) -> bool {
    !response.status().is_success() && response.status() != StatusCode::NOT_MODIFIED
        || response.headers().contains_key(Status::GRPC_STATUS)
}

/// Whether a page makes the request: it says where it is from.
fn is_of_page<B>(request: &Request<B>) -> bool {
    request.headers().contains_key(header::ORIGIN)
}

/// The services of the port. Cheap to clone.
#[derive(Clone)]
pub(super) struct Routes(Arc<Services>);

struct Services {
    floor_service: FloorService,
    tonic_services: TonicServices,
    /// Knows the tokens that callers need. `None`: they need none.
    authenticator: Option<Authenticator>,
    cors: Cors,
}

impl Routes {
    /// The floor service, health, and reflection if `reflection` is set. Pages of `origins` may call them. With an
    /// `authenticator`, all but health need a token.
    pub(super) fn new(
        floor_service: FloorService,
        health: HealthServer<impl Health>,
        reflection: bool,
        origins: &CorsOrigins,
        authenticator: Option<Authenticator>,
    ) -> Self {
        let (tonic_services, cors) = (TonicServices::new(health, reflection), Cors::new(origins));
        Self(Arc::new(Services { floor_service, tonic_services, authenticator, cors }))
    }

    /// The same services, with what a hit writes of their own, for another core.
    pub(super) fn for_core(&self) -> Self {
        let Services { floor_service, tonic_services, authenticator, cors } = &*self.0;
        let (tonic_services, authenticator, cors) = (tonic_services.clone(), authenticator.clone(), cors.clone());
        Self(Arc::new(Services { floor_service: floor_service.for_core(), tonic_services, authenticator, cors }))
    }

    /// The router for a connection of `client`. If the peer is a trusted proxy, `behind_proxy` finds the client of each
    /// call.
    pub(super) fn for_client(&self, client: Client, behind_proxy: Option<Clients>) -> Router {
        let (services, last_token) = (Arc::clone(&self.0), LastToken::default());
        Router(Arc::new(RouterState { services, client, behind_proxy, last_token }))
    }
}

/// The service of a connection. Cheap to clone.
#[derive(Clone)]
pub(super) struct Router(Arc<RouterState>);

struct RouterState {
    services: Arc<Services>,
    /// The client of the connection.
    client: Client,
    behind_proxy: Option<Clients>,
    last_token: LastToken,
}

impl Router {
    /// Answers a request. Every error is a status in the response.
    pub(super) async fn call<B>(&self, request: Request<B>) -> Response<FloorBody>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        let route = route(&request);
        let mut response = self.answer(request, route).await;
        let may_be_stored = match route {
            // A POST, which caches leave alone.
            Route::Floors(Framing::Grpc) => true,
            Route::Floors(_) => !is_error(&response),
            _ => false,
        };
        if !may_be_stored {
            // Caches may store some errors by default, and a status of 200 that is an error in a header.
            let no_store = HeaderValue::from_static("no-store");
            response.headers_mut().insert(header::CACHE_CONTROL, no_store);
        }
        response
    }

    async fn answer<B>(&self, request: Request<B>, route: Route) -> Response<FloorBody>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        // Boxed, all but one, to keep the future of a floor call small.
        match route {
            Route::Floors(framing) if framing == Framing::Grpc || !is_of_page(&request) => {
                let mut response = self.call_floors(request, framing).await;
                if let Framing::ConnectGet(_) = framing {
                    // A cache may give it to a page.
                    response.headers_mut().extend(self.0.services.cors.added(&HeaderMap::new()));
                }
                response
            }
            Route::Tonic => Box::pin(self.call_tonic(request)).await,
            Route::Preflight => self.0.services.cors.preflight(&request),
            Route::Floors(framing) => Box::pin(self.call_from_page(request, framing)).await,
            Route::Refused(refusal) => Box::pin(self.refuse(request, refusal)).await,
        }
    }

    /// Reserves memory for `bytes` that wait to be sent, from `client`, or else from that of the connection: behind a
    /// trusted proxy it is the proxy that does not read. `None` if the client has more than its share.
    pub(super) fn reserve_unsent(&self, client: Option<&Client>, bytes: usize) -> Option<Reserved> {
        self.0.services.floor_service.reserve_unsent(client.unwrap_or(&self.0.client), bytes)
    }

    /// Waits until the drain cuts off the calls that are still in flight.
    pub(super) async fn until_cut_off(&self) {
        self.0.services.floor_service.in_flight().until_cut_off().await;
    }

    /// Answers a call to the floor service.
    async fn call_floors<B>(&self, request: Request<B>, framing: Framing) -> Response<FloorBody>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>>,
    {
        let mut caller = self.caller(request.headers());
        caller.refusal = caller.refusal.or_else(|| self.refuse_for_resets(request.headers()));
        self.0.services.floor_service.clone().answer_caller(request, caller, framing).await
    }

    /// As [`call_floors`](Self::call_floors), for a page.
    async fn call_from_page<B>(&self, request: Request<B>, framing: Framing) -> Response<FloorBody>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>>,
    {
        let added = self.0.services.cors.added(request.headers());
        let mut response = self.call_floors(request, framing).await;
        response.headers_mut().extend(added);
        response
    }

    /// Answers a call to health or reflection.
    async fn call_tonic<B>(&self, request: Request<B>) -> Response<FloorBody>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        let Services { floor_service, tonic_services, .. } = &*self.0.services;
        if let Some(status) = self.refuse_for_resets(request.headers()) {
            return status.into_http();
        }
        // The address pays: a call to health needs no token.
        let client = self.anonymous(request.headers());
        let bytes = TonicServices::call_bytes(request.uri().path()) + head_bytes(request.headers());
        let held = if TonicServices::is_watch(request.uri().path()) {
            floor_service.reserve_watch(&client, bytes)
        } else {
            floor_service.reserve_call(&client, bytes)
        };
        let held = match held {
            Ok(held) => held,
            Err(status) => return status.into_http(),
        };
        if tonic_services.needs_token(request.uri().path())
            && let Some(refusal) = self.caller(request.headers()).refusal
        {
            return refusal.into_http();
        }
        tonic_services.call(request).await.map(|body| FloorBody::other(body, held))
    }

    /// Refuses a request. Pages may read why.
    async fn refuse<B>(&self, request: Request<B>, refusal: Refusal) -> Response<FloorBody>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>>,
    {
        let added = self.0.services.cors.added(request.headers());
        // A call of gRPC-Web to another service is answered early, as one to a method that is not there.
        if refusal != Refusal::GrpcWebPath {
            let client = self.anonymous(request.headers());
            let (head, body) = request.into_parts();
            let budget = &self.0.services.floor_service.budgets().receiving;
            let charge = Charge { client: &client, budget, head: &head.headers };
            calls::discard(RequestBody::charged(pin!(body), charge)).await;
        }
        let mut response = refusal.respond();
        response.headers_mut().extend(added);
        response
    }

    /// The caller with these headers: the client of its token if callers need one, else that of the connection, or behind
    /// a trusted proxy the one that the proxy names.
    fn caller(&self, headers: &HeaderMap) -> Caller {
        let state = &*self.0;
        let Some(authenticator) = &state.services.authenticator else { return self.anonymous(headers).into() };
        let needs_token = true;
        let address = match &state.behind_proxy {
            None => state.client.address(),
            Some(clients) => clients.forwarded_address(headers).unwrap_or(UNKNOWN_ADDRESS),
        };
        match authenticator.client(headers, address, &state.last_token) {
            Ok(client) => Caller { client, refusal: None, needs_token },
            Err(denied) => {
                Caller { client: self.anonymous(headers), refusal: Some(status::denied(&denied)), needs_token }
            }
        }
    }

    /// The client of a call without a token.
    fn anonymous(&self, headers: &HeaderMap) -> Client {
        match &self.0.behind_proxy {
            None => self.0.client.clone(),
            // A proxy that names no client is not the client, and has none of its rights.
            Some(clients) => clients.forwarded(headers).unwrap_or_else(|| clients.unknown()),
        }
    }

    /// Why a client behind a trusted proxy may not call now: it has reset too many calls. A connection of its own would
    /// have ended; this one has calls of others.
    fn refuse_for_resets(&self, headers: &HeaderMap) -> Option<Status> {
        let status = status::too_many_resets(self.0.behind_proxy.as_ref()?.beyond_budget(headers)?);
        self.0.services.floor_service.count_refusal(Limit::Resets);
        Some(status)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grpc::Rpc;

    fn route_of(version: Version, method: &str, path: &str, content_type: &str) -> String {
        let request = Request::builder().version(version).method(method).uri(path).header("content-type", content_type);
        format!("{:?}", route(&request.body(()).unwrap()))
    }

    #[test]
    fn the_content_type_decides_who_answers() {
        let (floor, stream) = (Rpc::GetFloor.path(), Rpc::StreamFloors.path());
        for (method, path, content_type, wanted) in [
            ("POST", floor, "application/json", "Floors(ConnectUnary(Json))"),
            ("POST", floor, "Application/JSON; charset=utf-8", "Floors(ConnectUnary(Json))"),
            ("POST", floor, "application/proto", "Floors(ConnectUnary(Proto))"),
            ("POST", stream, "application/connect+proto", "Floors(ConnectStream(Proto))"),
            ("POST", stream, "application/connect+json", "Floors(ConnectStream(Json))"),
            ("GET", floor, "", "Floors(ConnectGet(Json))"),
            ("HEAD", floor, "", "Floors(ConnectGet(Json))"),
            ("POST", floor, "application/grpc-web+proto", "Floors(GrpcWeb(Web { request: Binary, answer: Binary }))"),
            ("POST", floor, "Application/gRPC-Web", "Floors(GrpcWeb(Web { request: Binary, answer: Binary }))"),
            (
                "POST",
                floor,
                "application/grpc-web-text; x=y",
                "Floors(GrpcWeb(Web { request: Base64, answer: Binary }))",
            ),
            ("POST", "/grpc.health.v1.Health/Check", "application/grpc-web-text ", "Refused(GrpcWebPath)"),
            ("POST", floor, "application/grpc-web+json", "Refused(GrpcWeb)"),
            ("GET", floor, "application/grpc-web", "Floors(ConnectGet(Json))"),
            ("GET", floor, "application/grpc", "Floors(ConnectGet(Json))"),
            ("HEAD", floor, "application/connect+json", "Floors(ConnectGet(Json))"),
            ("GET", stream, "application/grpc-web-text", "Refused(Method(StreamFloors))"),
            ("GET", "/grpc.health.v1.Health/Check", "application/grpc", "Refused(Path)"),
            ("DELETE", floor, "application/grpc-web", "Refused(GrpcWeb)"),
            ("POST", floor, "application/connect+json; charset=utf-8", "Refused(ContentType(GetFloor))"),
            ("POST", stream, "application/connect+PROTO;x=y", "Floors(ConnectStream(Proto))"),
            ("OPTIONS", floor, "", "Preflight"),
            ("POST", "/grpc.health.v1.Health/Check", "application/grpc", "Tonic"),
            ("POST", "/grpc.health.v1.Health/Check", "Application/gRPC; charset=utf-8", "Tonic"),
            ("POST", floor, "application/grpc+json", "Refused(Grpc)"),
            ("DELETE", floor, "application/grpc", "Refused(Grpc)"),
            ("POST", "/grpc.health.v1.Health/Check", "application/json", "Refused(Path)"),
            ("GET", "/", "", "Refused(Path)"),
            ("POST", stream, "application/json", "Refused(ContentType(StreamFloors))"),
            ("POST", floor, "application/connect+json", "Refused(ContentType(GetFloor))"),
            ("POST", floor, "text/plain", "Refused(ContentType(GetFloor))"),
            ("GET", stream, "", "Refused(Method(StreamFloors))"),
            ("HEAD", stream, "", "Refused(Method(StreamFloors))"),
            ("DELETE", floor, "", "Refused(Method(GetFloor))"),
        ] {
            assert_eq!(route_of(Version::HTTP_2, method, path, content_type), wanted, "{method} {path} {content_type}");
        }
        assert_eq!(route_of(Version::HTTP_11, "POST", floor, "application/grpc"), "Refused(NeedsHttp2)");
        assert_eq!(route_of(Version::HTTP_11, "POST", floor, "application/json"), "Floors(ConnectUnary(Json))");
    }
}
