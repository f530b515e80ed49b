//! The calls of the floor service: from the headers and the body of a request to a response. One file per RPC, which
//! decodes the request message and answers it; `responses` has what the responses share.

mod batch_get_floors;
mod body;
mod call;
mod get_floor;
mod get_server_info;
mod guarded_bytes;
mod message;
mod responses;
mod spec;
mod state;
mod stream_body;
mod stream_floors;

use std::{fmt::Display, time::Instant};

use bytes::Bytes;
use http::{HeaderMap, Response};
use http_body::Body;
use tonic::Status;

pub use body::FloorBody;
use call::Call;
pub(super) use guarded_bytes::GuardedBytes;
pub use state::ServiceDeps;
pub(super) use state::{MetricsGuard, ServiceState};
use stream_floors::FloorStream;

use super::{Rpc, status::draining};
use crate::lifecycle::InFlightGuard;

/// The answer to a call. Its guard keeps the call in flight until the response is sent.
pub(super) enum Answer {
    Unary(Response<FloorBody>, InFlightGuard),
    Stream(FloorStream, InFlightGuard),
}

/// Answers a call whose headers were received at `started`.
pub(super) async fn answer(
    state: &ServiceState,
    rpc: Rpc,
    headers: &HeaderMap,
    body: impl Body<Data = Bytes, Error: Display>,
    started: Instant,
) -> Result<Answer, Status> {
    let guard = state.deps.in_flight.try_begin().ok_or_else(draining)?;
    let call = Call::from_headers(headers, started)?;
    let message = message::receive(&call, body, &state.budget).await?;
    // No work starts after the deadline.
    call.check_deadline()?;
    Ok(match rpc {
        Rpc::GetFloor => Answer::Unary(get_floor::answer(state, call, message).await?, guard),
        Rpc::BatchGetFloors => Answer::Unary(batch_get_floors::answer(state, call, message).await?, guard),
        Rpc::StreamFloors => Answer::Stream(FloorStream::open(state, call, message).await?, guard),
        Rpc::GetServerInfo => Answer::Unary(get_server_info::answer(state, call, message)?, guard),
    })
}
