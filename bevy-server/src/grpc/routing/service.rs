//! `floors.v1.FloorService` as an HTTP service: finds the RPC of a request, and counts its call.

use std::{
    convert::Infallible,
    fmt::Display,
    panic::AssertUnwindSafe,
    sync::Arc,
    task::{Context, Poll},
    time::Instant,
};

use bytes::Bytes;
use futures_util::{FutureExt, future::BoxFuture};
use http::{HeaderMap, HeaderValue, Request, Response, header};
use http_body::Body;
use http_body_util::BodyExt;
use tonic::{Code, Status, server::NamedService};

use crate::grpc::{
    SERVICE_NAME,
    calls::{self, Answer, FloorBody, GuardedBytes, MetricsGuard, ServiceDeps, ServiceState},
    rpc, status,
};

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

    /// Handles one call. Every error is a status in the response.
    pub async fn answer(self, request: Request<impl Body<Data = Bytes, Error: Display>>) -> Response<FloorBody> {
        let started = Instant::now();
        let (head, body) = request.into_parts();
        let rpc = match rpc::from_path(head.uri.path()) {
            Ok(rpc) => rpc,
            Err(name) => return Status::unimplemented(format!("{SERVICE_NAME} has no method {name:?}")).into_http(),
        };
        let mut metrics_guard = MetricsGuard { state: self.0, rpc, started, code: Code::Cancelled };
        // A panic becomes a status of this call and does not affect others.
        let answer =
            AssertUnwindSafe(calls::answer(&metrics_guard.state, rpc, &head.headers, body, started)).catch_unwind();
        match answer.await.unwrap_or_else(|panic| Err(status::panicked(panic.as_ref()))) {
            Ok(Answer::Unary(answer, guard)) => {
                metrics_guard.code = Code::Ok;
                answer.map(|body| body.with_guard(guard))
            }
            Ok(Answer::Stream(stream, guard)) => stream.respond(metrics_guard, guard),
            Err(status) => {
                metrics_guard.code = status.code();
                tracing::debug!(rpc = rpc.name(), code = ?status.code(), message = status.message(), "refused");
                status.into_http()
            }
        }
    }
}

impl<B> tower::Service<Request<B>> for FloorService
where
    B: Body<Data = Bytes, Error: Display> + Send + 'static,
{
    type Response = Response<tonic::body::Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        if !is_grpc(request.headers()) {
            let mut refusal = Response::new(tonic::body::Body::empty());
            *refusal.status_mut() = http::StatusCode::UNSUPPORTED_MEDIA_TYPE;
            return Box::pin(std::future::ready(Ok(refusal)));
        }
        let service = self.clone();
        Box::pin(async move {
            let mut answer = service.answer(request).await;
            // gRPC-Web replaces the body, so the guard travels in the extensions. The router takes it from there.
            if let Some(guard) = answer.body_mut().take_guard() {
                answer.extensions_mut().insert(guard);
            }
            Ok(answer
                .map(|body| tonic::body::Body::new(body.map_frame(|frame| frame.map_data(GuardedBytes::into_bytes)))))
        })
    }
}

/// Whether the content type is protobuf in gRPC frames, the only one that is supported.
pub(super) fn is_grpc(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    matches!(kind, Some(b"application/grpc" | b"application/grpc+proto"))
}
