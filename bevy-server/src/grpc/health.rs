//! The services that tonic implements: health and reflection. They speak gRPC only.

use std::convert::Infallible;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tonic_health::pb::health_server::{Health, HealthServer};
use tower::{BoxError, ServiceExt as _, util::BoxCloneSyncService};

use super::admission::{RequestBody, TimeLimit};

/// What a call to health holds until it has ended, beside its head: tonic boxes several layers, and a watch keeps a task.
const HEALTH_CALL_BYTES: usize = 32 << 10;
/// The same of reflection, whose answers have tens of KiB. Up to three of a call wait: tonic has one as a message and
/// encodes the next, while the transport sends one.
const REFLECTION_CALL_BYTES: usize = 128 << 10;

/// Limit for a message: the name of a service or a symbol. tonic's own limit is 4 MiB for each call, outside every memory
/// budget.
const MAX_MESSAGE_BYTES: usize = 4 << 10;

/// The one call that needs no token and may last for ever.
const WATCH_PATH: &str = "/grpc.health.v1.Health/Watch";

/// The one service with streams of requests.
const REFLECTION_PATH: &str = "/grpc.reflection.";

/// Routes to the services, and answers UNIMPLEMENTED for every other path.
#[derive(Clone)]
pub(super) struct TonicServices(
    BoxCloneSyncService<Request<tonic::body::Body>, Response<tonic::body::Body>, Infallible>,
);

impl TonicServices {
    /// Health and reflection.
    pub(super) fn new(health: HealthServer<impl Health>) -> Self {
        let builder = || {
            tonic_reflection::server::Builder::configure()
                .register_encoded_file_descriptor_set(floor_proto::FILE_DESCRIPTOR_SET)
                .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
                // The details of errors, so that tools can show them.
                .register_encoded_file_descriptor_set(tonic_types::pb::FILE_DESCRIPTOR_SET)
        };
        let (Ok(v1), Ok(v1alpha)) = (builder().build_v1(), builder().build_v1alpha()) else {
            unreachable!("descriptor sets that prost wrote are well-formed");
        };
        let routes = tonic::service::Routes::new(health.max_decoding_message_size(MAX_MESSAGE_BYTES))
            .add_service(v1.max_decoding_message_size(MAX_MESSAGE_BYTES))
            .add_service(v1alpha.max_decoding_message_size(MAX_MESSAGE_BYTES));
        Self(BoxCloneSyncService::new(routes.prepare()))
    }

    /// What a call to this path holds until it has ended, beside its head, in bytes.
    pub(super) fn call_bytes(path: &str) -> usize {
        if is_reflection(path) { REFLECTION_CALL_BYTES } else { HEALTH_CALL_BYTES }
    }

    /// Whether a call to this path ends only when its client wants.
    pub(super) fn is_watch(path: &str) -> bool {
        path == WATCH_PATH
    }

    /// Answers a call.
    pub(super) async fn call<B>(&self, request: Request<B>) -> Response<tonic::body::Body>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        let limit = if is_reflection(request.uri().path()) { TimeLimit::Pauses } else { TimeLimit::Whole };
        let request = request.map(|body| tonic::body::Body::new(RequestBody::new(Box::pin(body), limit)));
        let Ok(response) = self.0.clone().oneshot(request).await;
        response
    }
}

/// Whether a call to this path is to reflection, which needs a token if calls to the floor service need one.
pub(super) fn is_reflection(path: &str) -> bool {
    path.starts_with(REFLECTION_PATH)
}
