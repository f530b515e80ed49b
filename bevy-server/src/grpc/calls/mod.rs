//! The calls of the floor service: from the headers and the body of a request to a response. One file per RPC, which
//! decodes the request message and answers it. `request` and `response` have what the RPCs share.

mod batch_get_floors;
mod get_floor;
mod get_server_info;
mod request;
mod response;
mod stream_body;
mod stream_floors;

use std::{fmt::Display, sync::Arc, time::Instant};

use bytes::Bytes;
use floor_cache::Chain;
use http::{HeaderMap, Response};
use http_body::Body;
use tonic::{Code, Status};

use request::{Call, MemoryBudget};
pub use response::FloorBody;
pub(super) use response::GuardedBytes;
use stream_floors::FloorStream;

use super::{Rpc, status::draining};
use crate::{
    lifecycle::{InFlight, InFlightGuard},
    metrics::RequestMetrics,
    prefetch::AccessRecorder,
};

/// The dependencies of [`FloorService`](crate::grpc::FloorService).
#[derive(Debug, Clone)]
pub struct ServiceDeps {
    /// The source of floors.
    pub chain: Chain,
    /// Counts calls.
    pub metrics: RequestMetrics,
    /// Counts the calls in flight and refuses new ones during a drain.
    pub in_flight: InFlight,
    /// Records accesses for prefetching. `None` if that is off.
    pub access_recorder: Option<AccessRecorder>,
}

/// The state of the floor service.
#[derive(Debug)]
pub(super) struct ServiceState {
    deps: ServiceDeps,
    budget: MemoryBudget,
    since: Instant,
}

impl ServiceState {
    /// The state of a service whose uptime starts now.
    pub(super) fn new(deps: ServiceDeps) -> Self {
        Self { deps, budget: MemoryBudget::default(), since: Instant::now() }
    }
}

/// Records the metrics of a call when dropped, so a cancelled call is counted too.
pub(super) struct MetricsGuard {
    pub(super) state: Arc<ServiceState>,
    pub(super) rpc: Rpc,
    pub(super) started: Instant,
    pub(super) code: Code,
}

impl Drop for MetricsGuard {
    fn drop(&mut self) {
        self.state.deps.metrics.record(self.rpc, self.code, self.started.elapsed());
    }
}

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
    let message = request::receive(&call, body, &state.budget).await?;
    // No work starts after the deadline.
    call.check_deadline()?;
    Ok(match rpc {
        Rpc::GetFloor => Answer::Unary(get_floor::answer(state, call, message).await?, guard),
        Rpc::BatchGetFloors => Answer::Unary(batch_get_floors::answer(state, call, message).await?, guard),
        Rpc::StreamFloors => Answer::Stream(FloorStream::open(state, call, message).await?, guard),
        Rpc::GetServerInfo => Answer::Unary(get_server_info::answer(state, call, message)?, guard),
    })
}
