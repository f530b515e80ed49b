//! The calls of the floor service: from the headers and the body of a request to a response. One file per RPC, which
//! decodes the request message and answers it. `request` and `response` have what the RPCs share.

mod batch_get_floors;
mod decoding;
mod get_floor;
mod get_server_info;
mod request;
mod response;
mod stream_body;
mod stream_floors;

use std::{pin::pin, sync::Arc, time::Instant};

use bytes::Bytes;
use floor_cache::Chain;
use http::{HeaderMap, Response, Uri};
use http_body::Body;
use tokio::sync::Semaphore;
use tonic::{Code, Status};
use tower::BoxError;

use request::Call;
pub(super) use request::discard;
pub use response::FloorBody;
pub(super) use response::{GuardedBytes, OK_TRAILERS, SharedGuard, head};
use stream_floors::FloorStream;

use super::{
    InFlight, InFlightGuard, RequestMetrics, Rpc,
    connect::{self, Caching, Encoding, Protocol, Query},
    request_body::{Charge, RequestBody},
    status,
    web_body::BodyFailure,
};
use crate::{
    clients::{Budget, Client, Clients, Reserved},
    config::NoCache,
    metrics::{Limit, Refusals},
    observer::{CallObserver, CallRecord},
    prefetch::AccessRecorder,
};

/// Memory that JSON takes while it is made, for each byte of the protobuf. A floor has two to three times its bytes.
const JSON_GROWTH: usize = 4;

/// The dependencies of [`FloorService`](crate::grpc::FloorService).
#[derive(Debug, Clone)]
pub struct ServiceDeps {
    /// The source of floors.
    pub chain: Chain,
    /// Counts calls.
    pub metrics: RequestMetrics,
    /// Counts calls that a limit refused.
    pub refusals: Refusals,
    /// Counts the calls in flight and refuses new ones at the end of a drain.
    pub in_flight: InFlight,
    /// Records accesses for prefetching. `None` if that is off.
    pub access_recorder: Option<AccessRecorder>,
    /// The clients.
    pub clients: Clients,
    /// The memory for responses that wait to be sent.
    pub unsent: Budget,
    /// Who may skip the cache.
    pub no_cache: NoCache,
    /// Records calls for traces and the access log. `None` if both are off.
    pub observer: Option<CallObserver>,
}

/// The state of the floor service.
#[derive(Debug)]
pub(super) struct ServiceState {
    deps: ServiceDeps,
    /// The memory for large requests that are being received.
    receiving: Budget,
    /// Places for messages that take long to decode.
    decoding: Arc<Semaphore>,
    since: Instant,
}

impl ServiceState {
    /// The state of a service whose uptime starts now.
    pub(super) fn new(deps: ServiceDeps) -> Self {
        let receiving = Budget::receiving(request::RECEIVING_BYTES);
        Self { deps, receiving, decoding: decoding::places(), since: Instant::now() }
    }

    /// Reserves memory for `bytes` of a response of `client`.
    fn reserve_unsent(&self, client: &Client, bytes: usize) -> Result<Reserved, Status> {
        self.deps.unsent.try_reserve(client, bytes).ok_or_else(|| {
            self.deps.refusals.count(Limit::Unsent);
            status::unsent_budget_exhausted()
        })
    }

    /// Counts a call that `limit` refused because of what its client does. Other errors are not counted.
    fn count_refusal(&self, limit: Limit, status: &Status) {
        if matches!(status.code(), Code::ResourceExhausted | Code::PermissionDenied) {
            self.deps.refusals.count(limit);
        }
    }

    /// The memory for requests that are being received.
    pub(super) const fn receiving(&self) -> &Budget {
        &self.receiving
    }

    /// Reserves memory for what a call of `client` holds until it is answered.
    pub(super) fn reserve_call(&self, client: &Client, bytes: usize) -> Result<Reserved, Status> {
        self.receiving.try_reserve(client, bytes).ok_or_else(|| {
            self.deps.refusals.count(Limit::Receiving);
            status::request_budget_exhausted()
        })
    }

    /// The client of calls whose address is unknown.
    pub(super) fn unknown_client(&self) -> Client {
        self.deps.clients.unknown()
    }
}

/// Records the metrics of a call when dropped, so a cancelled call is counted too. Ends the record of the call, if it has
/// one.
pub(super) struct MetricsGuard {
    pub(super) state: Arc<ServiceState>,
    pub(super) code: Code,
    rpc: Rpc,
    started: Instant,
    /// After it, a call without a code counts as DEADLINE_EXCEEDED.
    deadline: Option<Instant>,
    /// For traces and the access log.
    pub(super) record: Option<Arc<CallRecord>>,
}

impl MetricsGuard {
    /// A call that counts as cancelled until it has another code.
    pub(super) const fn new(state: Arc<ServiceState>, rpc: Rpc, started: Instant) -> Self {
        Self { state, code: Code::Cancelled, rpc, started, deadline: None, record: None }
    }

    /// Starts the record of the call, if an observer wants one.
    pub(super) fn observe(&mut self, headers: &HeaderMap, client: &Client) {
        if let Some(observer) = &self.state.deps.observer {
            self.record = observer.begin(headers, client);
        }
    }
}

impl Drop for MetricsGuard {
    fn drop(&mut self) {
        if self.code == Code::Cancelled && self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            self.code = Code::DeadlineExceeded;
        }
        let took = self.started.elapsed();
        self.state.deps.metrics.record(self.rpc, self.code, took);
        if let Some(record) = &self.record {
            record.finish(self.rpc, self.code, self.started, took);
        }
    }
}

/// Who makes a call.
pub(super) struct Caller {
    /// The client; for a refused call that of the connection.
    pub(super) client: Client,
    /// Why the client may not call.
    pub(super) refusal: Option<Status>,
    /// Whether callers need a token, so that answers are not for others.
    pub(super) needs_token: bool,
}

impl From<Client> for Caller {
    fn from(client: Client) -> Self {
        Self { client, refusal: None, needs_token: false }
    }
}

/// The answer to a call.
pub(super) enum Answer {
    Unary(Response<FloorBody>),
    Stream(FloorStream),
}

/// What is known of a call before its body.
#[derive(Debug)]
pub(super) struct CallHead {
    pub(super) rpc: Rpc,
    pub(super) protocol: Protocol,
    /// Of gRPC-Web: why its body failed.
    pub(super) web: Option<BodyFailure>,
    pub(super) uri: Uri,
    pub(super) headers: HeaderMap,
    /// When the server received the headers.
    pub(super) started: Instant,
}

/// A call whose message has arrived.
struct Received<'a> {
    call: Call,
    message: Bytes,
    record: Option<&'a Arc<CallRecord>>,
}

/// Answers a call. A recorded call is told what it did.
pub(super) async fn answer(
    state: &Arc<ServiceState>,
    mut head: CallHead,
    body: impl Body<Data = Bytes, Error: Into<BoxError>>,
    caller: Caller,
    record: Option<&Arc<CallRecord>>,
) -> Result<Answer, Status> {
    let rpc = head.rpc;
    let Caller { client, refusal, needs_token: is_private } = caller;
    let charge = Charge { client: &client, budget: &state.receiving, head: &head.headers };
    let body = pin!(body);
    // Clients of gRPC expect a reset after an early status. Others may report it instead of the status, and over HTTP/1
    // it closes the connection.
    let may_reset = head.protocol == Protocol::Grpc && head.web.is_none();
    let mut body = RequestBody::charged(body, charge).of_web(head.web.take());
    let (in_flight, call) = match admit(state, &head, &client, refusal) {
        Ok(admitted) => admitted,
        Err(status) => {
            if !may_reset {
                discard(body).await;
            }
            return Err(status);
        }
    };
    let mut call = call.traced(record.is_some_and(|record| record.is_traced()));
    let mut names_version = None;
    let mut message = if let Protocol::ConnectGet(_) = call.protocol {
        discard(body).await;
        let query = Query::parse(head.uri.query().unwrap_or_default())?;
        call.protocol = Protocol::ConnectGet(query.encoding);
        names_version = Some(query.names_version);
        query.message
    } else {
        let received = match request::receive(&call, &mut body, charge).await {
            Ok(received) => received,
            Err(status) => {
                state.count_refusal(Limit::Receiving, &status);
                // After the deadline nobody waits for the status.
                if !may_reset && status.code() != Code::DeadlineExceeded {
                    Box::pin(discard(body)).await;
                }
                return Err(status);
            }
        };
        // A call may wait for its floor, and its head may be large.
        head.headers = HeaderMap::new();
        received
    };
    drop(head.uri);
    if call.protocol.encoding() == Encoding::Json {
        let decoded = decoding::request_of_json(state, &client, rpc, message);
        // Boxed to keep the futures of other calls small.
        message = call.with_deadline(Box::pin(decoded)).await?;
    }
    // No work starts after the deadline.
    call.check_deadline()?;
    let response = match rpc {
        Rpc::GetFloor => get_floor::answer(state, Received { call, message, record }).await,
        Rpc::BatchGetFloors => batch_get_floors::answer(state, Received { call, message, record }).await,
        Rpc::GetServerInfo => get_server_info::answer(state, call, message),
        Rpc::StreamFloors => {
            // A stream counts its refusals itself: they may come after its start.
            let record = record.cloned();
            let stream = FloorStream::open(Arc::clone(state), call, message, client, in_flight, record);
            return stream.await.map(Answer::Stream);
        }
    };
    let mut response = response.inspect_err(|status| state.count_refusal(Limit::Generation, status))?;
    if call.protocol != Protocol::Grpc {
        response.body_mut().remove_framing();
        let encoding = call.protocol.encoding();
        let is_known = names_version.is_some_and(|names_version| {
            let caching = Caching { headers: &head.headers, names_version, is_private };
            connect::add_caching(&mut response, rpc, encoding, caching)
        });
        if encoding == Encoding::Json && !is_known {
            let growing = state.reserve_unsent(&client, JSON_GROWTH * response.body().unsent_bytes())?;
            // Boxed to keep the futures of other calls small.
            Box::pin(connect::encode_json(&mut response, rpc)).await?;
            drop(growing);
        }
    }
    let unsent = response.body().unsent_bytes();
    let reserved = state.reserve_unsent(&client, unsent)?;
    if let Some(record) = record {
        record.answered(response.headers(), unsent);
    }
    Ok(Answer::Unary(response.map(|body| body.with_guards(in_flight, reserved, call.deadline()))))
}

/// The guard and the options of a call that may begin.
fn admit(
    state: &ServiceState,
    head: &CallHead,
    client: &Client,
    refusal: Option<Status>,
) -> Result<(InFlightGuard, Call), Status> {
    let in_flight = state.deps.in_flight.try_begin().ok_or_else(status::draining)?;
    if let Some(refusal) = refusal {
        return Err(refusal);
    }
    let call = Call::from_headers(&head.headers, head.protocol, head.started, client, state.deps.no_cache)
        .inspect_err(|status| state.count_refusal(Limit::NoCache, status))?;
    Ok((in_flight, call))
}
