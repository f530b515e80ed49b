//! `floors.v1.FloorService`: from the headers of a call to the frames of its response.

use std::{
    convert::Infallible,
    future::poll_fn,
    panic::AssertUnwindSafe,
    pin::pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use bytes::{BufMut, Bytes, BytesMut};
use floor_cache::{Served, Step, TierKind, TierReport};
use floor_gen::{GENERATOR_VERSION, Kind};
use floor_proto::{
    FRAME_PREFIX_BYTES,
    limits::{MAX_BATCH, MAX_STREAM},
    v1,
};
use futures_util::{FutureExt, future::BoxFuture};
use http::{HeaderMap, HeaderValue, Request, Response, header};
use http_body::Body;
use http_body_util::BodyExt;
use prost::Message;
use tonic::{Code, Status, server::NamedService};

use super::{
    ServiceDeps,
    body::{FloorBody, GuardedBytes},
    call::Call,
    request,
    status::{self, draining, from_source_error},
    stream::{self, ServedCounts},
};
use crate::{key, lifecycle::InFlightGuard, metrics::Rpc};

/// Limit for receiving a request, from its headers on. A request is one small message.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The full name of the service.
pub const SERVICE_NAME: &str = "floors.v1.FloorService";

/// The floor service. Cheap to clone.
///
/// A `tower` service over plain HTTP requests, so that a stored floor is not encoded again. tonic can route to it as to
/// any generated service.
#[derive(Debug, Clone)]
pub struct FloorService(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    deps: ServiceDeps,
    budget: request::MemoryBudget,
    since: Instant,
}

impl NamedService for FloorService {
    const NAME: &'static str = SERVICE_NAME;
}

impl FloorService {
    /// A service with these dependencies. Its uptime starts now.
    #[must_use]
    pub fn new(deps: ServiceDeps) -> Self {
        Self(Arc::new(Inner { deps, budget: request::MemoryBudget::default(), since: Instant::now() }))
    }

    /// Handles one call. Every error is a status in the response.
    pub async fn answer<B>(self, request: Request<B>) -> Response<FloorBody>
    where
        B: Body<Data = Bytes>,
        B::Error: std::fmt::Display,
    {
        let started = Instant::now();
        let (head, body) = request.into_parts();
        let method = method(head.uri.path());
        let Some(rpc) = method.and_then(Rpc::from_name) else {
            return Status::unimplemented(format!("{SERVICE_NAME} has no method {:?}", method.unwrap_or_default()))
                .into_http();
        };
        // Records the call when dropped, so a cancelled call is counted too.
        let mut metrics_guard = MetricsGuard { service: self, rpc, started, code: Code::Cancelled };
        // A panic becomes a status of this call and does not affect others.
        let answer =
            AssertUnwindSafe(metrics_guard.service.0.dispatch(rpc, &head.headers, body, started)).catch_unwind();
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
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: std::fmt::Display,
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
            if let Some(guard) = answer.body_mut().shared_guard() {
                answer.extensions_mut().insert(guard);
            }
            Ok(answer
                .map(|body| tonic::body::Body::new(body.map_frame(|frame| frame.map_data(GuardedBytes::into_bytes)))))
        })
    }
}

/// The method in the path of a call to this service.
fn method(path: &str) -> Option<&str> {
    path.strip_prefix('/')?.strip_prefix(SERVICE_NAME)?.strip_prefix('/')
}

/// Whether the content type is protobuf in gRPC frames, the only one that is supported.
pub(super) fn is_grpc(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    matches!(kind, Some(b"application/grpc" | b"application/grpc+proto"))
}

/// Records the metrics of a call when dropped.
pub(super) struct MetricsGuard {
    service: FloorService,
    rpc: Rpc,
    pub(super) started: Instant,
    pub(super) code: Code,
}

impl Drop for MetricsGuard {
    fn drop(&mut self) {
        self.service.0.deps.metrics.record(self.rpc, self.code, self.started.elapsed());
    }
}

enum Answer {
    Unary(Response<FloorBody>, InFlightGuard),
    Stream(stream::FloorStream, InFlightGuard),
}

impl Inner {
    async fn dispatch<B>(&self, rpc: Rpc, headers: &HeaderMap, body: B, started: Instant) -> Result<Answer, Status>
    where
        B: Body<Data = Bytes>,
        B::Error: std::fmt::Display,
    {
        let guard = self.deps.in_flight.try_begin().ok_or_else(draining)?;
        let call = Call::from_headers(headers, started)?;
        let message = self.receive(&call, body).await?;
        // No work starts after the deadline.
        call.check_deadline()?;
        match rpc {
            Rpc::GetFloor => Ok(Answer::Unary(self.get(call, message).await?, guard)),
            Rpc::BatchGetFloors => Ok(Answer::Unary(self.batch(call, message).await?, guard)),
            Rpc::StreamFloors => {
                let range = request::stream_floors(&message)?;
                drop(message);
                Ok(Answer::Stream(stream::FloorStream::open(self.deps.chain.clone(), range, call).await?, guard))
            }
            Rpc::GetServerInfo => {
                request::get_server_info(&message)?;
                Ok(Answer::Unary(self.info(call), guard))
            }
        }
    }

    /// The request message. It mostly arrives with the headers, and then no timer is needed.
    async fn receive<B>(&self, call: &Call, body: B) -> Result<Bytes, Status>
    where
        B: Body<Data = Bytes>,
        B::Error: std::fmt::Display,
    {
        let mut message = pin!(request::message(body, &self.budget));
        if let Poll::Ready(message) = poll_fn(|cx| Poll::Ready(message.as_mut().poll(cx))).await {
            return message;
        }
        let whole = async {
            let whole = tokio::time::timeout(REQUEST_TIMEOUT, message).await;
            whole.unwrap_or_else(|_| Err(status::request_timed_out(REQUEST_TIMEOUT)))
        };
        call.with_deadline(whole).await
    }

    async fn get(&self, call: Call, message: Bytes) -> Result<Response<FloorBody>, Status> {
        let (spec, scheduled) = request::get_floor(&message)?;
        // The message may be large, and the lookup may take long.
        drop(message);
        let key = key::of(&spec);
        // A hit in memory is ready at the first poll: no task, no timer, no allocation.
        let get = async { self.deps.chain.get(key, call.options()).await.map_err(from_source_error) };
        let served = call.with_deadline(get).await?;
        if let Some(recorder) = self.deps.access_recorder.as_ref().filter(|_| scheduled) {
            recorder.record(spec, served.by != TierKind::Lru.name());
        }
        let mut response = respond(served.value, HeaderValue::from_static(served.by));
        if served.coalesced {
            response.headers_mut().insert("floor-coalesced", HeaderValue::from_static("1"));
        }
        add_trace(&call, served.trace.as_deref().unwrap_or_default(), response.headers_mut());
        Ok(response)
    }

    async fn batch(&self, call: Call, message: Bytes) -> Result<Response<FloorBody>, Status> {
        // Hundreds of specs and disk reads would block the connection's task.
        tokio::task::yield_now().await;
        let keys: Vec<_> = request::batch_get_floors(&message)?.iter().map(key::of).collect();
        drop(message);
        let get = async { self.deps.chain.get_many(&keys, call.options()).await.map_err(from_source_error) };
        let served = call.with_deadline(get).await?;
        let mut counts = ServedCounts::default();
        served.iter().for_each(|served| counts.add(served));
        let mut response = respond(batch_message(&served), counts.served_by());
        if let Some(coalesced) = counts.coalesced() {
            response.headers_mut().insert("floor-coalesced", coalesced);
        }
        let steps = served.iter().find_map(|served| served.trace.as_deref());
        add_trace(&call, steps.unwrap_or_default(), response.headers_mut());
        Ok(response)
    }

    fn info(&self, call: Call) -> Response<FloorBody> {
        let info = v1::ServerInfo {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            generator_version: GENERATOR_VERSION,
            kinds: Kind::ALL.iter().map(|kind| floor_wire::kind(*kind).into()).collect(),
            max_batch: MAX_BATCH as u32,
            max_stream: MAX_STREAM,
            uptime_seconds: self.since.elapsed().as_secs(),
            tiers: self.deps.chain.report().into_iter().map(tier_info).collect(),
        };
        let mut message = BytesMut::with_capacity(FRAME_PREFIX_BYTES + info.encoded_len());
        put_prefix(&mut message, info.encoded_len());
        info.encode(&mut message).expect("a BytesMut grows");
        let mut response = head(FloorBody::unary(message.freeze()));
        add_trace(&call, &[], response.headers_mut());
        response
    }
}

fn tier_info(tier: TierReport) -> v1::TierInfo {
    v1::TierInfo {
        name: tier.name.to_owned(),
        hits: tier.hits,
        misses: tier.misses,
        errors: tier.errors,
        bypasses: tier.bypasses,
        entries: tier.entries,
        bytes: tier.bytes,
        hit_cost_us: tier.hit_cost_us,
        miss_cost_us: tier.miss_cost_us,
        verdict: tier.verdict.to_owned(),
        hit_ratio: tier.hit_ratio,
        generation_cost_us: tier.generation_cost_us,
        verdict_seconds: tier.since.as_secs(),
        probe_cost_us: tier.probe_cost_us,
        asked_ratio: tier.asked_ratio,
        reason: tier.reason.to_owned(),
    }
}

/// A unary response with the tier that served it, or `generated`.
fn respond(message: Bytes, served_by: HeaderValue) -> Response<FloorBody> {
    let mut response = head(FloorBody::unary(message));
    response.headers_mut().insert("floor-served-by", served_by);
    response
}

pub(super) fn head(body: FloorBody) -> Response<FloorBody> {
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    response
}

/// A `floors.v1.BatchGetFloorsResponse` with the stored floors, copied into one buffer: a few large HTTP/2 frames
/// instead of two small ones per floor.
fn batch_message(served: &[Served]) -> Bytes {
    /// Field 1, length-delimited.
    const FLOORS_TAG: u8 = 1 << 3 | 2;
    let lengths = served.iter().map(|served| served.value.len() - FRAME_PREFIX_BYTES);
    let total = lengths.clone().map(|length| 1 + prost::length_delimiter_len(length) + length).sum();
    let mut message = BytesMut::with_capacity(FRAME_PREFIX_BYTES + total);
    put_prefix(&mut message, total);
    for (served, length) in served.iter().zip(lengths) {
        message.put_u8(FLOORS_TAG);
        prost::encode_length_delimiter(length, &mut message).expect("a BytesMut grows");
        message.put_slice(&served.value[FRAME_PREFIX_BYTES..]);
    }
    message.freeze()
}

fn put_prefix(message: &mut BytesMut, length: usize) {
    message.put_u8(0);
    message.put_u32(u32::try_from(length).expect("256 floors of 512x512 are far below 4 GiB"));
}

/// Adds `floor-server-us` and `floor-trace` if the call requested them.
pub(super) fn add_trace(call: &Call, steps: &[Step], headers: &mut HeaderMap) {
    if !call.trace {
        return;
    }
    let micros = u64::try_from(call.started.elapsed().as_micros()).unwrap_or(u64::MAX);
    headers.insert("floor-server-us", HeaderValue::from(micros));
    if steps.is_empty() {
        return;
    }
    let steps: Vec<_> = steps.iter().map(format_step).collect();
    if let Ok(trace) = HeaderValue::try_from(steps.join(",")) {
        headers.insert("floor-trace", trace);
    }
}

fn format_step(step: &Step) -> String {
    let micros = step.took.as_micros();
    match step.tier {
        "generated" => format!("generated:{micros}us"),
        tier => format!("{tier}={}:{micros}us", step.outcome.as_str()),
    }
}
