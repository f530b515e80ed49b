//! The calls of a climb, for the viewer's page, whose scripts may connect to this port alone. The floor service answers them
//! as on the gRPC port, with the limits and the tokens of that port.

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    extract::{Extension, Request, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::any,
};
use bytes::Buf as _;
use http_body_util::BodyExt as _;

use super::{OpsState, audit::CallerAddress, wrong_port};
use crate::grpc::Rpc;

/// What the page calls.
const RPCS: [Rpc; 3] = [Rpc::GetDaily, Rpc::StartClimb, Rpc::SubmitFloor];
/// How it calls: a page of another site may not send this without being allowed to, and none is.
const CODEC: HeaderValue = HeaderValue::from_static("application/proto");

/// The routes. Other clients are told that `grpc_port` is meant.
pub(super) fn routes(grpc_port: u16) -> Router<Arc<OpsState>> {
    let route = any(move |state, address, request| answer(grpc_port, state, address, request));
    RPCS.into_iter().fold(Router::new(), |router, rpc| router.route(rpc.path(), route.clone()))
}

async fn answer(
    grpc_port: u16,
    State(state): State<Arc<OpsState>>,
    Extension(CallerAddress(address)): Extension<CallerAddress>,
    request: Request,
) -> Response {
    if request.headers().get(header::CONTENT_TYPE) != Some(&CODEC) {
        return wrong_port::answer(grpc_port, request.headers());
    }
    let Some(grpc) = state.grpc.get() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "the server does not serve yet\n").into_response();
    };
    let response = grpc.call(state.callers.at(address), request).await;
    response
        .map(|body| Body::new(body.map_frame(|frame| frame.map_data(|mut data| data.copy_to_bytes(data.remaining())))))
}
