//! Routes the requests of a connection: gRPC calls for floors to the floor service, all others to tonic.

use std::{convert::Infallible, time::Duration};

use futures_util::future::BoxFuture;
use http::{HeaderName, Request, Response};
use hyper::body::Incoming;
use tonic::{body::Body, service::Routes};
use tonic_health::pb::health_server::{Health, HealthServer};
use tower::{ServiceExt, util::BoxCloneSyncService};
use tower_http::cors::{Any, CorsLayer};

use super::service::{FloorService, is_grpc};
use crate::{
    grpc::{FloorBody, SERVICE_NAME},
    lifecycle::InFlightGuard,
};

/// How long a browser may cache a CORS preflight response.
const CORS_MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// The service of a connection. Cheap to clone.
#[derive(Clone)]
pub(in crate::grpc) struct Router {
    floor_service: FloorService,
    /// Health, reflection, and the floor service for gRPC-Web.
    tonic_routes: BoxCloneSyncService<Request<Body>, Response<Body>, Infallible>,
}

impl Router {
    pub(in crate::grpc) fn new(floor_service: FloorService, health: HealthServer<impl Health>) -> Self {
        let reflection = || {
            tonic_reflection::server::Builder::configure()
                .register_encoded_file_descriptor_set(floor_proto::FILE_DESCRIPTOR_SET)
                .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        };
        let (Ok(v1), Ok(v1alpha)) = (reflection().build_v1(), reflection().build_v1alpha()) else {
            unreachable!("descriptor sets that prost wrote are well-formed");
        };
        let routes =
            Routes::new(floor_service.clone()).add_service(health).add_service(v1).add_service(v1alpha).prepare();
        let tonic_routes =
            tower::ServiceBuilder::new().layer(cors()).layer(tonic_web::GrpcWebLayer::new()).service(routes);
        Self { floor_service, tonic_routes: BoxCloneSyncService::new(tonic_routes) }
    }
}

/// Any origin is allowed: the service has no user data that a page could steal.
fn cors() -> CorsLayer {
    let exposed = [
        "grpc-status",
        "grpc-message",
        "grpc-status-details-bin",
        "floor-served-by",
        "floor-coalesced",
        "floor-trace",
        "floor-server-us",
    ];
    CorsLayer::new()
        .allow_origin(Any)
        .allow_methods([http::Method::POST])
        .allow_headers(Any)
        .expose_headers(exposed.map(HeaderName::from_static))
        .max_age(CORS_MAX_AGE)
}

impl hyper::service::Service<Request<Incoming>> for Router {
    type Response = Response<FloorBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        if is_floor_call(&request) {
            let floor_service = self.floor_service.clone();
            return Box::pin(async move { Ok(floor_service.answer(request).await) });
        }
        let tonic_routes = self.tonic_routes.clone();
        Box::pin(async move {
            let mut response = tonic_routes.oneshot(request.map(Body::new)).await?;
            let guard = response.extensions_mut().remove::<InFlightGuard>();
            Ok(response.map(|body| FloorBody::Other(body, guard)))
        })
    }
}

/// Whether this is a plain gRPC call to the floor service.
fn is_floor_call(request: &Request<Incoming>) -> bool {
    let path = request.uri().path().as_bytes();
    let is_floor_service = path
        .strip_prefix(b"/")
        .and_then(|path| path.strip_prefix(SERVICE_NAME.as_bytes()))
        .is_some_and(|rest| rest.starts_with(b"/"));
    is_floor_service
        && is_grpc(request.headers())
        && request.version() == http::Version::HTTP_2
        && request.method() == http::Method::POST
}
