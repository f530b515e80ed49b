//! `floors.v1.FloorService`, from the headers of a call to the frames of its answer.

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
    Parts,
    body::{FloorBody, Piece},
    call::Call,
    request,
    status::{self, draining, from_source},
    stream::{self, Tally},
};
use crate::{key, lifecycle::Pass, metrics::Rpc, wire};

/// A request must be there by then, counted from its headers: it is one small message.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The service's name on the wire.
pub const SERVICE_NAME: &str = "floors.v1.FloorService";

/// The floor service. Cheap to clone.
///
/// A `tower` service over plain HTTP requests, so that a cached floor goes out without passing an encoder. It can stand
/// in tonic's routes like any generated service.
#[derive(Debug, Clone)]
pub struct FloorService(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    parts: Parts,
    room: request::Room,
    since: Instant,
}

impl NamedService for FloorService {
    const NAME: &'static str = SERVICE_NAME;
}

impl FloorService {
    /// A service over `parts`, its uptime counted from now.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(Inner { parts, room: request::Room::default(), since: Instant::now() }))
    }

    /// Answers one call. Every failure is a status in the answer.
    pub async fn answer<B>(self, request: Request<B>) -> Response<FloorBody>
    where
        B: Body<Data = Bytes>,
        B::Error: std::fmt::Display,
    {
        let started = Instant::now();
        let (head, body) = request.into_parts();
        let method = method(head.uri.path());
        let Some(rpc) = method.and_then(Rpc::named) else {
            return Status::unimplemented(format!("{SERVICE_NAME} has no method {:?}", method.unwrap_or_default()))
                .into_http();
        };
        // Counted when dropped, so a caller who hangs up is counted too.
        let mut watch = Watch { service: self, rpc, started, code: Code::Cancelled };
        // A panic is a defect like any other: counted, told to the caller, and none of the other calls' business.
        let answer = AssertUnwindSafe(watch.service.0.dispatch(rpc, &head.headers, body, started)).catch_unwind();
        match answer.await.unwrap_or_else(|panic| Err(status::panicked(panic.as_ref()))) {
            Ok(Answer::Whole(answer, pass)) => {
                watch.code = Code::Ok;
                answer.map(|body| body.holding(pass))
            }
            Ok(Answer::Stream(stream, pass)) => stream.respond(watch, pass),
            Err(status) => {
                watch.code = status.code();
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
            // Beside the body, of which gRPC-Web makes another: whoever sends that takes the pass from there.
            if let Some(pass) = answer.body_mut().share_pass() {
                answer.extensions_mut().insert(pass);
            }
            Ok(answer.map(|body| tonic::body::Body::new(body.map_frame(|frame| frame.map_data(Piece::into_bytes)))))
        })
    }
}

/// The method in the path of a call to this service.
fn method(path: &str) -> Option<&str> {
    path.strip_prefix('/')?.strip_prefix(SERVICE_NAME)?.strip_prefix('/')
}

/// Whether the content type says that messages are protobuf in gRPC frames, the one thing that is understood here.
pub(super) fn is_grpc(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    matches!(kind, Some(b"application/grpc" | b"application/grpc+proto"))
}

/// Counts a call when it is over.
pub(super) struct Watch {
    service: FloorService,
    rpc: Rpc,
    pub(super) started: Instant,
    pub(super) code: Code,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.service.0.parts.metrics.finished(self.rpc, self.code, self.started.elapsed());
    }
}

enum Answer {
    Whole(Response<FloorBody>, Pass),
    Stream(stream::Floors, Pass),
}

impl Inner {
    async fn dispatch<B>(&self, rpc: Rpc, headers: &HeaderMap, body: B, started: Instant) -> Result<Answer, Status>
    where
        B: Body<Data = Bytes>,
        B::Error: std::fmt::Display,
    {
        let pass = self.parts.gate.enter().ok_or_else(draining)?;
        let call = Call::of(headers, started)?;
        let message = self.receive(&call, body).await?;
        // Work that nobody waits for any more is not begun.
        call.check_deadline()?;
        match rpc {
            Rpc::GetFloor => Ok(Answer::Whole(self.get(call, message).await?, pass)),
            Rpc::BatchGetFloors => Ok(Answer::Whole(self.batch(call, message).await?, pass)),
            Rpc::StreamFloors => {
                let climb = request::stream_floors(&message)?;
                drop(message);
                Ok(Answer::Stream(stream::Floors::open(self.parts.chain.clone(), climb, call).await?, pass))
            }
            Rpc::GetServerInfo => {
                request::get_server_info(&message)?;
                Ok(Answer::Whole(self.info(call), pass))
            }
        }
    }

    /// The request's message. Mostly it is there with the headers, and then no timer is set.
    async fn receive<B>(&self, call: &Call, body: B) -> Result<Bytes, Status>
    where
        B: Body<Data = Bytes>,
        B::Error: std::fmt::Display,
    {
        let mut message = pin!(request::message(body, &self.room));
        if let Poll::Ready(message) = poll_fn(|cx| Poll::Ready(message.as_mut().poll(cx))).await {
            return message;
        }
        let whole = async {
            let whole = tokio::time::timeout(REQUEST_TIMEOUT, message).await;
            whole.unwrap_or_else(|_| Err(status::slow_request(REQUEST_TIMEOUT)))
        };
        call.within(whole).await
    }

    async fn get(&self, call: Call, message: Bytes) -> Result<Response<FloorBody>, Status> {
        let (spec, scheduled) = request::get_floor(&message)?;
        // It may be large, and what follows may take long.
        drop(message);
        let key = key::of(&spec);
        // A hit in memory is there at the first poll: no task, no timer, no allocation.
        let get = async { self.parts.chain.get(key, call.options()).await.map_err(from_source) };
        let served = call.within(get).await?;
        if let Some(footsteps) = self.parts.footsteps.as_ref().filter(|_| scheduled) {
            footsteps.leave(spec, served.by != TierKind::Lru.name());
        }
        let mut response = respond(served.value, HeaderValue::from_static(served.by));
        if served.coalesced {
            response.headers_mut().insert("floor-coalesced", HeaderValue::from_static("1"));
        }
        add_trace(&call, served.trace.as_deref().unwrap_or_default(), response.headers_mut());
        Ok(response)
    }

    async fn batch(&self, call: Call, message: Bytes) -> Result<Response<FloorBody>, Status> {
        // Hundreds of specs and of reads from disk are too much to do where the connection is served.
        tokio::task::yield_now().await;
        let keys: Vec<_> = request::batch_get_floors(&message)?.iter().map(key::of).collect();
        drop(message);
        let get = async { self.parts.chain.get_many(&keys, call.options()).await.map_err(from_source) };
        let served = call.within(get).await?;
        let mut tally = Tally::default();
        served.iter().for_each(|served| tally.add(served));
        let mut response = respond(batch_message(&served), tally.served_by());
        if let Some(coalesced) = tally.coalesced() {
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
            kinds: Kind::ALL.iter().map(|kind| wire::kind(*kind).into()).collect(),
            max_batch: MAX_BATCH as u32,
            max_stream: MAX_STREAM,
            uptime_seconds: self.since.elapsed().as_secs(),
            tiers: self.parts.chain.report().into_iter().map(tier_info).collect(),
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

/// A whole answer that a tier had, or that generation made.
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

/// `floors.v1.BatchGetFloorsResponse`, its floors copied from where they lie: one buffer, so that the answer is a few
/// large HTTP/2 frames and not two small ones a floor.
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

/// `floor-server-us` and `floor-trace`, for a call that asked for them.
pub(super) fn add_trace(call: &Call, steps: &[Step], headers: &mut HeaderMap) {
    if !call.trace {
        return;
    }
    let micros = u64::try_from(call.started.elapsed().as_micros()).unwrap_or(u64::MAX);
    headers.insert("floor-server-us", HeaderValue::from(micros));
    if steps.is_empty() {
        return;
    }
    let steps: Vec<_> = steps.iter().map(show_step).collect();
    if let Ok(trace) = HeaderValue::try_from(steps.join(",")) {
        headers.insert("floor-trace", trace);
    }
}

fn show_step(step: &Step) -> String {
    let micros = step.took.as_micros();
    match step.tier {
        "generated" => format!("generated:{micros}us"),
        tier => format!("{tier}={}:{micros}us", step.outcome.as_str()),
    }
}
