//! The floor service: from the headers and the body of a request to a response, in any framing. One file per RPC, which
//! decodes the request message and answers it. `request`, `response` and `body` have what the RPCs share.

mod batch_get_floors;
mod body;
mod get_floor;
mod get_server_info;
mod packs;
mod request;
mod response;
mod stream_floors;

use std::{
    future::poll_fn,
    panic::AssertUnwindSafe,
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
    time::Instant,
};

use bytes::Bytes;
use floor_proto::status::code_name;
use futures_util::{FutureExt as _, TryFutureExt as _};
use http::{HeaderMap, Request, Response, Uri};
use http_body::Body;
use tonic::{Code, Status};
use tower::BoxError;

pub use body::FloorBody;
use body::Memory;
pub(super) use body::{GuardedBytes, OK_TRAILERS};
use request::Call;
pub(super) use request::discard;
pub(super) use response::head;
use stream_floors::FloorStream;

use super::{
    InFlight, InFlightGuard, RequestMetrics, Rpc, SERVICE_NAME,
    connect::{self, Caching, INLINE_JSON_BYTES, Query},
    framing::{Encoding, Framing, Web, WebEncoding},
    offload::Offload,
    request_body::{Charge, RequestBody},
    status, web,
};
use crate::{
    cache::Chains,
    clients::{Budgets, Client, Clients, Reserved},
    config::NoCache,
    metrics::{Limit, Refusals},
    observer::{CallObserver, CallRecord},
    packs::Packs,
    prefetch::AccessRecorder,
    tenants::TenantId,
};

/// Memory that JSON takes while it is made, for each byte of the protobuf. A floor has two to three times its bytes.
const JSON_GROWTH: usize = 4;

/// What a call that waits for its floors, or for its client to take the answer, costs beside its message: the states of
/// its task and of its stream, 7 KiB, and as much again, because the allocator keeps freed memory that is in pieces.
const WAITING_CALL_BYTES: usize = 16 << 10;

/// The dependencies of [`FloorService`].
#[derive(Debug, Clone)]
pub struct ServiceDeps {
    /// The sources of floors.
    pub chains: Chains,
    /// The packs that requests name.
    pub packs: Packs,
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
    /// The memory for calls.
    pub budgets: Budgets,
    /// Who may skip the cache.
    pub no_cache: NoCache,
    /// Records calls for traces and the access log. `None`: no call is recorded.
    pub observer: Option<CallObserver>,
}

/// The floor service. Cheap to clone.
///
/// It answers plain HTTP requests, so that a stored floor is not encoded again.
#[derive(Debug, Clone)]
pub struct FloorService(Arc<ServiceState>);

impl FloorService {
    /// A service with these dependencies. Its uptime starts now.
    #[must_use]
    pub fn new(deps: ServiceDeps) -> Self {
        Self(Arc::new(ServiceState { deps, offload: Arc::new(Offload::new()), since: Instant::now() }))
    }

    /// The same service, with what a hit writes of its own, for another core.
    pub(super) fn for_core(&self) -> Self {
        let ServiceState { deps, offload, since } = &*self.0;
        let (metrics, in_flight) = (deps.metrics.for_core(), deps.in_flight.for_core());
        let deps = ServiceDeps { metrics, in_flight, ..deps.clone() };
        Self(Arc::new(ServiceState { deps, offload: Arc::clone(offload), since: *since }))
    }

    /// Handles one call of `client`. Every error is a status in the response.
    pub async fn answer(
        self,
        request: Request<impl Body<Data = Bytes, Error: Into<BoxError>>>,
        client: Client,
    ) -> Response<FloorBody> {
        self.answer_caller(request, client.into(), Framing::Grpc).await
    }

    /// As [`answer`](Self::answer), of a caller that may be refused, and in any framing.
    pub(super) async fn answer_caller(
        self,
        request: Request<impl Body<Data = Bytes, Error: Into<BoxError>>>,
        caller: Caller,
        framing: Framing,
    ) -> Response<FloorBody> {
        let started = Instant::now();
        let (head, body) = request.into_parts();
        let rpc = match rpc_from_path(head.uri.path()) {
            Ok(rpc) => rpc,
            Err(name) => return Status::unimplemented(format!("{SERVICE_NAME} has no method {name:?}")).into_http(),
        };
        let mut metrics_guard = MetricsGuard::new(self.0, rpc, started);
        metrics_guard.tenant = caller.client.tenant();
        metrics_guard.observe(&head.headers, &caller.client);
        // A panic becomes a status of this call and does not affect others.
        let record = metrics_guard.record.as_ref();
        let call = CallHead { rpc, framing, uri: head.uri, headers: head.headers, started };
        let answer = answer(&metrics_guard.state, call, body, caller, record);
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
                tracing::debug!(
                    rpc = rpc.name(),
                    code = code_name(status.code()),
                    message = status.message(),
                    "refused"
                );
                match framing {
                    Framing::Grpc => status.into_http(),
                    Framing::GrpcWeb(Web { answer, .. }) => web::failed(answer, status),
                    Framing::ConnectUnary(_) | Framing::ConnectGet(_) => connect::failed(&status),
                    Framing::ConnectStream(encoding) => connect::failed_stream(encoding, &status),
                }
            }
        }
    }

    /// The memory for calls.
    pub(super) fn budgets(&self) -> &Budgets {
        &self.0.deps.budgets
    }

    /// Counts a call that `limit` refused.
    pub(super) fn count_refusal(&self, limit: Limit) {
        self.0.deps.refusals.count(limit);
    }

    /// Reserves memory for an answer of `bytes` that waits until `client` takes it. `None` if the client has more than its
    /// share.
    pub(super) fn reserve_unsent(&self, client: &Client, bytes: usize) -> Option<Reserved> {
        self.0.reserve_unsent(client, bytes).ok()
    }

    /// The calls in flight.
    pub(super) fn in_flight(&self) -> &InFlight {
        &self.0.deps.in_flight
    }

    /// Reserves memory for what a call of `client` holds until it is answered.
    pub(super) fn reserve_call(&self, client: &Client, bytes: usize) -> Result<Reserved, Status> {
        self.0.reserve_call(client, bytes)
    }

    /// Reserves memory for a watch of health.
    pub(super) fn reserve_watch(&self, client: &Client, bytes: usize) -> Result<Reserved, Status> {
        self.0.deps.budgets.watches.try_reserve(client, bytes).ok_or_else(|| {
            self.0.deps.refusals.count(Limit::Watches);
            status::too_many_watches()
        })
    }
}

/// The RPC that a request path names, or else the unknown name in the path.
pub(super) fn rpc_from_path(path: &str) -> Result<Rpc, &str> {
    let name = path.strip_prefix('/').and_then(|path| path.strip_prefix(SERVICE_NAME)?.strip_prefix('/'));
    let name = name.unwrap_or_default();
    Rpc::ALL.into_iter().find(|rpc| rpc.name() == name).ok_or(name)
}

/// The state of the floor service.
#[derive(Debug)]
struct ServiceState {
    deps: ServiceDeps,
    offload: Arc<Offload>,
    since: Instant,
}

impl ServiceState {
    /// Reserves memory for a response of `client` with a message, or a window, of `bytes`.
    fn reserve_unsent(&self, client: &Client, bytes: usize) -> Result<Reserved, Status> {
        let reserved = self.deps.budgets.unsent.try_reserve(client, WAITING_CALL_BYTES + bytes);
        reserved.ok_or_else(|| self.refuse_unsent())
    }

    fn refuse_unsent(&self) -> Status {
        self.deps.refusals.count(Limit::Unsent);
        status::unsent_budget_exhausted()
    }

    /// The memory of an answer in `framing`. One of gRPC is paid once it has to wait, because HTTP/2 tells. Mostly it is
    /// sent at once.
    fn memory_of(&self, client: &Client, framing: Framing, bytes: usize) -> Result<Memory, Status> {
        if framing != Framing::Grpc {
            return self.reserve_unsent(client, bytes).map(Memory::Reserved);
        }
        let has_room = self.deps.budgets.unsent.has_room(client, WAITING_CALL_BYTES + bytes);
        has_room.then(|| Memory::PaidBy(client.clone())).ok_or_else(|| self.refuse_unsent())
    }

    /// Reserves memory for what a call of `client` holds until it is answered.
    fn reserve_call(&self, client: &Client, bytes: usize) -> Result<Reserved, Status> {
        self.deps.budgets.receiving.try_reserve(client, bytes).ok_or_else(|| {
            self.deps.refusals.count(Limit::Receiving);
            status::request_budget_exhausted()
        })
    }

    /// Counts a call that `limit` refused because of what its client does. Other errors are not counted.
    fn count_refusal(&self, limit: Limit, status: &Status) {
        if matches!(status.code(), Code::ResourceExhausted | Code::PermissionDenied) {
            self.deps.refusals.count(limit);
        }
    }
}

/// Records the metrics of a call when dropped, so a cancelled call is counted too. Ends the record of the call, if it has
/// one.
struct MetricsGuard {
    state: Arc<ServiceState>,
    code: Code,
    rpc: Rpc,
    /// Of the caller.
    tenant: Option<TenantId>,
    started: Instant,
    /// After it, a call without a code counts as DEADLINE_EXCEEDED.
    deadline: Option<Instant>,
    /// For traces and the access log.
    record: Option<Arc<CallRecord>>,
}

impl MetricsGuard {
    /// A call that counts as cancelled until it has another code.
    const fn new(state: Arc<ServiceState>, rpc: Rpc, started: Instant) -> Self {
        Self { state, code: Code::Cancelled, rpc, tenant: None, started, deadline: None, record: None }
    }

    /// Starts the record of the call, if an observer wants one.
    fn observe(&mut self, headers: &HeaderMap, client: &Client) {
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
        if let Some(tenant) = self.tenant {
            self.state.deps.chains.counts(tenant).count_call(self.code);
        }
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
enum Answer {
    Unary(Response<FloorBody>),
    Stream(FloorStream),
}

/// What is known of a call before its body.
#[derive(Debug)]
struct CallHead {
    rpc: Rpc,
    framing: Framing,
    uri: Uri,
    headers: HeaderMap,
    /// When the server received the headers.
    started: Instant,
}

/// A call whose message has arrived.
struct Received<'a> {
    call: Call,
    client: &'a Client,
    message: Bytes,
    record: Option<&'a Arc<CallRecord>>,
}

/// Answers a call. A recorded call is told what it did.
async fn answer(
    state: &Arc<ServiceState>,
    mut head: CallHead,
    body: impl Body<Data = Bytes, Error: Into<BoxError>>,
    caller: Caller,
    record: Option<&Arc<CallRecord>>,
) -> Result<Answer, Status> {
    let rpc = head.rpc;
    let Caller { client, refusal, needs_token: is_private } = caller;
    let charge = Charge { client: &client, budget: &state.deps.budgets.receiving, head: &head.headers };
    let body = pin!(body);
    // Clients of gRPC expect a reset after an early status. Others may report it instead of the status, and over HTTP/1
    // it closes the connection.
    let may_reset = head.framing == Framing::Grpc;
    let mut body = RequestBody::charged(body, charge);
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
    let mut names_versions = None;
    let mut message = if let Framing::ConnectGet(_) = call.framing {
        discard(body).await;
        let query = Query::parse(head.uri.query().unwrap_or_default())?;
        call.framing = Framing::ConnectGet(query.encoding);
        names_versions = Some(query.names_version);
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
    if call.framing.encoding() == Encoding::Json {
        // Boxed to keep the futures of other calls small.
        message = call.with_deadline(Box::pin(request_of_json(state, &client, rpc, message))).await?;
    }
    // Most calls are no GET.
    if names_versions == Some(true) {
        names_versions = Some(request::names_packs(state.deps.packs.for_caller(call.tenant), rpc, &message));
    }
    // No work starts after the deadline.
    call.check_deadline()?;
    let refused = |status: &Status| state.count_refusal(Limit::Generation, status);
    let mut response = match rpc {
        Rpc::GetFloor => {
            let received = Received { call, client: &client, message, record };
            let floor = pin!(get_floor::answer(state, received).inspect_err(refused));
            charge_waiting(state, &client, floor).await?
        }
        Rpc::BatchGetFloors => {
            let received = Received { call, client: &client, message, record };
            let floors = pin!(batch_get_floors::answer(state, received).inspect_err(refused));
            charge_waiting(state, &client, floors).await?
        }
        Rpc::GetServerInfo => get_server_info::answer(state, call, message)?,
        Rpc::ListPacks => packs::list(state, call, message)?,
        Rpc::GetPack => packs::get(state, &client, call, message).await?,
        Rpc::StreamFloors => {
            // A stream counts its refusals itself: they may come after its start.
            let record = record.cloned();
            let stream = pin!(FloorStream::open(Arc::clone(state), call, message, client.clone(), in_flight, record));
            return charge_waiting(state, &client, stream).await.map(Answer::Stream);
        }
    };
    if let Framing::GrpcWeb(Web { answer, .. }) = call.framing {
        // Boxed to keep the futures of other calls small.
        let encode = Box::pin(frame_for_web(state, &client, response.body_mut(), answer));
        call.with_deadline(encode).await?;
    } else if call.framing != Framing::Grpc {
        response.body_mut().remove_framing();
        let encoding = call.framing.encoding();
        let is_known = names_versions.is_some_and(|names_versions| {
            let caching = Caching { headers: &head.headers, names_versions, is_private };
            connect::add_caching(&mut response, rpc, encoding, caching)
        });
        if encoding == Encoding::Json && !is_known {
            let growing = state.reserve_unsent(&client, JSON_GROWTH * response.body().unsent_bytes())?;
            // Boxed to keep the futures of other calls small.
            let encode = Box::pin(connect::encode_json(&mut response, rpc, &state.offload, &client));
            call.with_deadline(encode).await?;
            drop(growing);
        }
    }
    let unsent = response.body().unsent_bytes();
    let memory = state.memory_of(&client, call.framing, unsent)?;
    if let Some(record) = record {
        record.answered(response.headers(), unsent);
    }
    Ok(Answer::Unary(response.map(|body| body.with_guards(in_flight, memory, call.deadline()))))
}

/// The encoded message of `json`. A long one is decoded in another thread.
async fn request_of_json(state: &ServiceState, client: &Client, rpc: Rpc, json: Bytes) -> Result<Bytes, Status> {
    if json.len() <= INLINE_JSON_BYTES {
        return connect::request_of_json(rpc, &json);
    }
    let _waiting = state.reserve_call(client, WAITING_CALL_BYTES + json.len())?;
    let time = connect::parsing_time(json.len());
    state.offload.run(client, time, move || connect::request_of_json(rpc, &json)).await?
}

/// The result of `work`. If it has to wait, the client pays for the call meanwhile.
async fn charge_waiting<T>(
    state: &ServiceState,
    client: &Client,
    mut work: Pin<&mut impl Future<Output = Result<T, Status>>>,
) -> Result<T, Status> {
    // A hit in memory is ready at once.
    if let Poll::Ready(result) = poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await {
        return result;
    }
    let _waiting = state.reserve_call(client, WAITING_CALL_BYTES)?;
    work.await
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
    let call = Call::from_headers(&head.headers, head.framing, head.started, client, head.rpc, state.deps.no_cache)
        .inspect_err(|status| state.count_refusal(Limit::NoCache, status))?;
    Ok((in_flight, call))
}

/// Puts the trailers of a unary answer into its body, and encodes both.
async fn frame_for_web(
    state: &ServiceState,
    client: &Client,
    body: &mut FloorBody,
    encoding: WebEncoding,
) -> Result<(), Status> {
    if encoding == WebEncoding::Base64
        && let Some((message, _)) = body.take_unary()
    {
        *body = FloorBody::whole(web::encoded(&state.offload, client, encoding, message.into_bytes()).await?);
    }
    body.end_with(web::trailers(encoding, &OK_TRAILERS));
    Ok(())
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
