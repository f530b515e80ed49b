//! The path of a call, from the head of its request to its response. Read it from top to bottom:
//!
//! | step | who | what it decides |
//! |---|---|---|
//! | accept, connection | `connection` | which core serves the socket, TLS, HTTP/1 or HTTP/2 |
//! | route | [`route`] | the RPC and the codec |
//! | caller | [`Peer`] | whose call it is |
//! | admit | [`Admission`] | whether it may be answered now, and who pays for it |
//! | decode | [`Codec`] | the message of the request |
//! | serve | [`Services`] | the answer |
//! | encode | [`UnaryCodec`], [`StreamCodec`] | the response |
//! | send | [`FloorBody`] | what the response holds until it is sent |

use std::{
    convert::Infallible,
    fmt,
    panic::AssertUnwindSafe,
    pin::{Pin, pin},
    sync::Arc,
    time::Instant,
};

use bytes::Bytes;
use floor_proto::status::code_name;
use futures_util::{FutureExt as _, TryFutureExt as _, future::BoxFuture};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header, request};
use http_body::Body;
use hyper::body::Incoming as Http1Body;
use tonic::{Code, Status};
use tonic_health::pb::health_server::{Health, HealthServer};
use tower::BoxError;

use super::{
    Rpc,
    admission::{
        Admission, Identity, InFlight, InFlightGuard, Memory, Offload, Peer, RequestBody, discard, head_bytes,
    },
    body::FloorBody,
    call_end::{CallCounts, CallEnd},
    call_metrics::RequestMetrics,
    codecs::{self, Codec, CodecKind, ConnectGet, Grpc, Incoming, Outgoing, Refusal, StreamCodec, UnaryCodec},
    cors::Cors,
    health::{TonicServices, is_reflection},
    options::CallOptions,
    routing::{Route, route, rpc_from_path},
    services::{Call, FloorWindows, Services},
    status,
    stream::FloorStream,
    unread_body::ReadToEnd,
};
use crate::{
    auth::Authenticator,
    cache::Chains,
    callers::{Budgets, Caller, Callers, Reserved},
    config::{CorsOrigins, NoCache},
    metrics::{Limit, Refusals},
    observer::CallObserver,
    packs::Packs,
    prefetch::AccessRecorder,
    towers::SealedTowers,
};

/// The services of the port. Cheap to clone.
#[derive(Clone)]
pub(super) struct Routes(Arc<Port>);

struct Port {
    floors: FloorService,
    tonic: TonicServices,
    /// Knows the tokens that callers need. `None`: they need none.
    authenticator: Option<Authenticator>,
    cors: Cors,
}

/// The services, for the calls of one connection. Cheap to clone.
#[derive(Clone)]
pub(super) struct Router(Arc<RouterState>);

struct RouterState {
    port: Arc<Port>,
    peer: Peer,
}

impl fmt::Debug for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Routes").finish_non_exhaustive()
    }
}

impl Routes {
    /// The floor service, health and reflection. Pages of `origins` may call them. With an
    /// `authenticator`, all but health need a token.
    pub(super) fn new(
        floors: FloorService,
        health: HealthServer<impl Health>,
        origins: &CorsOrigins,
        authenticator: Option<Authenticator>,
    ) -> Self {
        let (tonic, cors) = (TonicServices::new(health), Cors::new(origins));
        Self(Arc::new(Port { floors, tonic, authenticator, cors }))
    }

    /// The same services, with what a hit writes of their own, for another core.
    pub(super) fn for_core(&self) -> Self {
        let Port { floors, tonic, authenticator, cors } = &*self.0;
        let (tonic, authenticator, cors) = (tonic.clone(), authenticator.clone(), cors.clone());
        Self(Arc::new(Port { floors: floors.for_core(), tonic, authenticator, cors }))
    }

    /// The router for a connection of `caller`. If the peer is a trusted proxy, `behind_proxy` finds the caller of each
    /// call.
    pub(super) fn for_caller(&self, caller: Caller, behind_proxy: Option<Callers>) -> Router {
        let peer = Peer::new(caller, behind_proxy, self.0.authenticator.clone());
        Router(Arc::new(RouterState { port: Arc::clone(&self.0), peer }))
    }
}

impl Router {
    /// Answers a request. Every error is a status in the response.
    pub(super) async fn call<B>(&self, request: Request<B>) -> Response<FloorBody>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        match route(&request) {
            Route::Floors(rpc, codec @ CodecKind::Grpc(_)) => self.floors(rpc, codec, request).await,
            // Boxed, to keep the future of a call of gRPC small.
            other => Box::pin(self.call_other(request, other)).await,
        }
    }

    /// As [`call`](Self::call), for what is no call of gRPC that the floor service answers. Pages may read it, and caches may
    /// store what is no error.
    async fn call_other<B>(&self, request: Request<B>, route: Route) -> Response<FloorBody>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        let Port { cors, tonic, .. } = &*self.0.port;
        let is_for_pages = match route {
            // A cache may give the answer to a GET to a page.
            Route::Floors(_, CodecKind::ConnectGet) | Route::Refused(_) => true,
            Route::Floors(..) => request.headers().contains_key(header::ORIGIN),
            Route::NoMethod | Route::Tonic | Route::Preflight => false,
        };
        let added = is_for_pages.then(|| cors.added(request.headers()));
        let mut response = match route {
            Route::Floors(rpc, codec) => self.floors(rpc, codec, request).await,
            Route::NoMethod => {
                let name = rpc_from_path(request.uri().path()).err().unwrap_or_default();
                return status::no_method(name).into_http();
            }
            Route::Tonic => self.call_tonic(tonic, request).await,
            Route::Preflight => cors.preflight(&request),
            Route::Refused(refusal) => self.refuse(request, refusal).await,
        };
        // Not `extend`, which would replace a `vary` of the answer.
        for (name, value) in &added.unwrap_or_default() {
            response.headers_mut().append(name, value.clone());
        }
        if !matches!(route, Route::Floors(..)) || is_error(&response) {
            // Caches may store some errors by default, and a status of 200 that is an error in a header.
            response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        }
        response
    }

    /// Answers a call to the floor service, with its codec.
    async fn floors<B>(&self, rpc: Rpc, codec: CodecKind, request: Request<B>) -> Response<FloorBody>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>>,
    {
        let (floors, identity) = (&self.0.port.floors, self.identify(request.headers()));
        // Boxed, all but one, to keep the future of a call of gRPC small.
        match codec {
            CodecKind::Grpc(codec) if rpc.is_stream() => Box::pin(floors.stream(rpc, codec, request, identity)).await,
            CodecKind::Grpc(codec) => floors.unary(rpc, codec, request, identity).await,
            CodecKind::GrpcWeb(codec) if rpc.is_stream() => {
                Box::pin(floors.stream(rpc, codec, request, identity)).await
            }
            CodecKind::GrpcWeb(codec) => Box::pin(floors.unary(rpc, codec, request, identity)).await,
            CodecKind::ConnectUnary(codec) => Box::pin(floors.unary(rpc, codec, request, identity)).await,
            CodecKind::ConnectGet => Box::pin(floors.unary(rpc, ConnectGet::default(), request, identity)).await,
            CodecKind::ConnectStream(codec) => Box::pin(floors.stream(rpc, codec, request, identity)).await,
        }
    }

    /// Who calls with these headers.
    fn identify(&self, headers: &HeaderMap) -> Identity {
        let mut identity = self.0.peer.identify(headers);
        identity.refusal = identity.refusal.or_else(|| self.refuse_for_resets(headers));
        identity
    }

    /// Answers a call to health or reflection.
    async fn call_tonic<B>(&self, tonic: &TonicServices, request: Request<B>) -> Response<FloorBody>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        if let Some(status) = self.refuse_for_resets(request.headers()) {
            return status.into_http();
        }
        // The address pays: a call to health needs no token.
        let caller = self.0.peer.anonymous(request.headers());
        let bytes = TonicServices::call_bytes(request.uri().path()) + head_bytes(request.headers());
        let held = if TonicServices::is_watch(request.uri().path()) {
            self.admission().reserve_watch(&caller, bytes)
        } else {
            self.admission().reserve_call(&caller, bytes)
        };
        let held = match held {
            Ok(held) => held,
            Err(status) => return status.into_http(),
        };
        if is_reflection(request.uri().path())
            && let Some(refusal) = self.0.peer.identify(request.headers()).refusal
        {
            return refusal.into_http();
        }
        tonic.call(request).await.map(|body| FloorBody::other(body, held))
    }

    /// Refuses a request.
    async fn refuse<B>(&self, request: Request<B>, refusal: Refusal) -> Response<FloorBody>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>>,
    {
        // A call of gRPC-Web to another service is answered early, as one to a method that is not there.
        if refusal != Refusal::GrpcWebPath {
            let caller = self.0.peer.anonymous(request.headers());
            let (head, body) = request.into_parts();
            discard(RequestBody::charged(pin!(body), self.admission().charge(&caller, &head.headers))).await;
        }
        refusal.respond()
    }

    /// Why a caller behind a trusted proxy may not call now: it has reset too many calls.
    fn refuse_for_resets(&self, headers: &HeaderMap) -> Option<Status> {
        let retry_after = self.0.peer.beyond_resets(headers)?;
        self.admission().refusals.count(Limit::Resets);
        Some(status::too_many_resets(retry_after))
    }

    fn admission(&self) -> &Admission {
        &self.0.port.floors.0.admission
    }

    /// Reserves memory for `bytes` that wait to be sent, from `caller`, or else from that of the connection: behind a
    /// trusted proxy it is the proxy that does not read. `None` if the caller has more than its share.
    pub(super) fn reserve_unsent(&self, caller: Option<&Caller>, bytes: usize) -> Option<Reserved> {
        self.admission().reserve_unsent(caller.unwrap_or(self.0.peer.caller()), bytes).ok()
    }

    /// Waits until the drain cuts off the calls that are still in flight.
    pub(super) async fn until_cut_off(&self) {
        self.admission().in_flight.until_cut_off().await;
    }
}

impl hyper::service::Service<Request<Http1Body>> for Router {
    type Response = Response<FloorBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn call(&self, request: Request<Http1Body>) -> Self::Future {
        let router = self.clone();
        Box::pin(async move { Ok(router.call(request.map(ReadToEnd::new)).await) })
    }
}

/// Whether the answer is no floor and no pack.
fn is_error(response: &Response<FloorBody>) -> bool {
    !response.status().is_success() && response.status() != StatusCode::NOT_MODIFIED
        || response.headers().contains_key(Status::GRPC_STATUS)
}

/// What the [`FloorService`] needs.
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
    /// The sealed towers. `None` without a key for them.
    pub towers: Option<SealedTowers>,
    /// The memory for calls.
    pub budgets: Budgets,
    /// Who may skip the cache.
    pub no_cache: NoCache,
    /// Records calls for traces and the access log. `None`: no call is recorded.
    pub observer: Option<CallObserver>,
}

/// The floor service: the part of the path from the admission of a call on. Cheap to clone.
#[derive(Debug, Clone)]
pub struct FloorService(Arc<Core>);

/// What the calls of a core use, with reference counts and other counts of its own.
#[derive(Debug)]
struct Core {
    admission: Arc<Admission>,
    services: Arc<Services>,
    counts: Arc<CallCounts>,
}

impl FloorService {
    /// A service with these dependencies. Its uptime starts now.
    #[must_use]
    pub fn new(deps: ServiceDeps) -> Self {
        let ServiceDeps { chains, packs, metrics, refusals, in_flight, budgets, no_cache, observer, .. } = deps;
        let (access_recorder, towers) = (deps.access_recorder, deps.towers);
        let (offload, since) = (Arc::new(Offload::new()), Instant::now());
        let counts = Arc::new(CallCounts { metrics, observer });
        let services = Services { chains, packs, access_recorder, towers, offload, since };
        let admission = Admission { in_flight, budgets, refusals, no_cache };
        Self(Arc::new(Core { admission: Arc::new(admission), services: Arc::new(services), counts }))
    }

    /// The same service, with what a hit writes of its own, for another core.
    pub(super) fn for_core(&self) -> Self {
        let Core { admission, services, counts } = &*self.0;
        let CallCounts { metrics, observer } = &**counts;
        let counts = CallCounts { metrics: metrics.for_core(), observer: observer.clone() };
        let admission = Admission { in_flight: admission.in_flight.for_core(), ..Admission::clone(admission) };
        let (admission, services) = (Arc::new(admission), Arc::new(Services::clone(services)));
        Self(Arc::new(Core { admission, services, counts: Arc::new(counts) }))
    }

    /// Answers a call of gRPC by `caller`. Every error is a status in the response.
    pub async fn answer(
        self,
        request: Request<impl Body<Data = Bytes, Error: Into<BoxError>>>,
        caller: Caller,
    ) -> Response<FloorBody> {
        match rpc_from_path(request.uri().path()) {
            Ok(rpc) if rpc.is_stream() => self.stream(rpc, Grpc, request, caller.into()).await,
            Ok(rpc) => self.unary(rpc, Grpc, request, caller.into()).await,
            Err(name) => status::no_method(name).into_http(),
        }
    }

    /// Answers a unary call.
    async fn unary<C: UnaryCodec>(
        &self,
        rpc: Rpc,
        mut codec: C,
        request: Request<impl Body<Data = Bytes, Error: Into<BoxError>>>,
        identity: Identity,
    ) -> Response<FloorBody> {
        let (head, body) = request.into_parts();
        let mut end = CallEnd::of(Arc::clone(&self.0.counts), rpc, &head.headers, &identity.caller);
        let answered = caught(pin!(self.answer_unary(&mut codec, rpc, head, body, &identity, &end))).await;
        match answered {
            Ok(response) => {
                end.code = Code::Ok;
                response
            }
            Err(status) => failed(&codec, end, rpc, status),
        }
    }

    async fn answer_unary<C: UnaryCodec>(
        &self,
        codec: &mut C,
        rpc: Rpc,
        head: request::Parts,
        body: impl Body<Data = Bytes, Error: Into<BoxError>>,
        identity: &Identity,
        end: &CallEnd,
    ) -> Result<Response<FloorBody>, Status> {
        let Core { admission, services, .. } = &*self.0;
        let caller = &identity.caller;
        let Received { in_flight, options, message } = self.receive(codec, rpc, head, body, identity, end).await?;
        let call = Call { caller, options, record: end.record.as_ref() };

        let answer = services.answer(rpc, &call, message);
        let answer = pin!(answer.inspect_err(|status| admission.count_refusal(Limit::Generation, status)));
        let answer = admission.charge_waiting(caller, answer).await?;

        let mut headers = codecs::head(codec.content_type());
        answer.add_metadata(&options, &mut headers);
        let outgoing = Outgoing {
            rpc,
            frame: answer.frame,
            headers,
            validity: answer.validity,
            is_private: identity.needs_token,
            admission,
            offload: &services.offload,
            caller,
        };
        let response = options.with_deadline(pin!(codec.encode(outgoing))).await?;

        let unsent = response.body().unsent_bytes();
        let memory = match C::IS_PAID_WHEN_WAITING {
            true => admission.pay_when_waiting(caller, unsent)?,
            false => Memory::Reserved(admission.reserve_unsent(caller, unsent)?),
        };
        if let Some(record) = &end.record {
            record.answered(response.headers(), unsent);
        }
        Ok(response.map(|body| body.with_guards(in_flight, memory, options.deadline)))
    }

    /// Answers a call with a stream of floors.
    async fn stream<C: StreamCodec>(
        &self,
        rpc: Rpc,
        mut codec: C,
        request: Request<impl Body<Data = Bytes, Error: Into<BoxError>>>,
        identity: Identity,
    ) -> Response<FloorBody> {
        let (head, body) = request.into_parts();
        let end = CallEnd::of(Arc::clone(&self.0.counts), rpc, &head.headers, &identity.caller);
        let opened = caught(pin!(self.open_stream(&mut codec, rpc, head, body, &identity, &end))).await;
        match opened {
            Ok(stream) => stream.respond(codec, end),
            Err(status) => failed(&codec, end, rpc, status),
        }
    }

    async fn open_stream<C: StreamCodec>(
        &self,
        codec: &mut C,
        rpc: Rpc,
        head: request::Parts,
        body: impl Body<Data = Bytes, Error: Into<BoxError>>,
        identity: &Identity,
        end: &CallEnd,
    ) -> Result<FloorStream, Status> {
        let Core { admission, services, .. } = &*self.0;
        let Received { in_flight, options, message } = self.receive(codec, rpc, head, body, identity, end).await?;
        let call = Call { caller: &identity.caller, options, record: end.record.as_ref() };
        let stream = pin!(async {
            let windows = FloorWindows::of(services, &call, message).await?;
            FloorStream::start(services, admission, &call, windows, in_flight).await
        });
        admission.charge_waiting(&identity.caller, stream).await
    }

    /// Admits a call and decodes its message.
    async fn receive<C: Codec>(
        &self,
        codec: &mut C,
        rpc: Rpc,
        head: request::Parts,
        body: impl Body<Data = Bytes, Error: Into<BoxError>>,
        identity: &Identity,
        end: &CallEnd,
    ) -> Result<Received, Status> {
        let Core { admission, services, .. } = &*self.0;
        let charge = admission.charge(&identity.caller, &head.headers);
        let body = pin!(body);
        let mut body = RequestBody::charged(body, charge);
        let (admitted, status) = match self.admit(codec, rpc, &head.headers, identity, end) {
            Ok((in_flight, options)) => {
                let incoming = Incoming { rpc, uri: &head.uri, body: &mut body, charge, offload: &services.offload };
                match options.with_deadline(pin!(codec.decode(incoming))).await {
                    // No work starts after the deadline.
                    Ok(message) => return options.check_deadline().map(|()| Received { in_flight, options, message }),
                    Err(status) => {
                        admission.count_refusal(Limit::Receiving, &status);
                        (Some((in_flight, options)), status)
                    }
                }
            }
            Err(status) => (None, status),
        };
        // After the deadline nobody waits for the status.
        if !C::EXPECTS_RESET && status.code() != Code::DeadlineExceeded {
            let mut rest = Box::pin(async {
                discard(body).await;
                Ok(())
            });
            let _ = match &admitted {
                Some((_, options)) => options.with_deadline(rest.as_mut()).await,
                None => rest.await,
            };
        }
        Err(status)
    }

    /// The guard and the options of a call that may begin.
    fn admit(
        &self,
        codec: &impl Codec,
        rpc: Rpc,
        headers: &HeaderMap,
        identity: &Identity,
        end: &CallEnd,
    ) -> Result<(InFlightGuard, CallOptions), Status> {
        let admission = &self.0.admission;
        let in_flight = admission.admit(identity)?;
        let mut options = CallOptions::of(headers, &identity.caller, end.started, codec.timeout(headers)?);
        admission.check_no_cache(&options, &identity.caller, headers)?;
        options.read_floor_headers(rpc, headers)?;
        options.is_recorded = end.record.as_ref().is_some_and(|record| record.is_traced());
        Ok((in_flight, options))
    }
}

/// A call whose message has arrived.
struct Received {
    in_flight: InFlightGuard,
    options: CallOptions,
    message: Bytes,
}

/// The result of `call`. A panic becomes a status of this call and does not affect others.
async fn caught<T>(call: Pin<&mut impl Future<Output = Result<T, Status>>>) -> Result<T, Status> {
    let result = AssertUnwindSafe(call).catch_unwind().await;
    result.unwrap_or_else(|panic| Err(status::panicked(panic.as_ref())))
}

/// The response to a failed call.
fn failed(codec: &impl Codec, mut end: CallEnd, rpc: Rpc, status: Status) -> Response<FloorBody> {
    end.code = status.code();
    if let Some(record) = &end.record {
        record.failed(&status);
    }
    tracing::debug!(rpc = rpc.name(), code = code_name(status.code()), message = status.message(), "refused");
    codec.failed(status)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use http_body_util::Full;
    use prometheus::Registry;

    use super::*;
    use crate::{config::Config, generation::GenerationQueue, tenants::TenantNames};

    /// It is moved several times, and each byte costs an instruction then. A future that gets another one by value has it
    /// twice.
    const MOST_BYTES: usize = 4 << 10;

    #[tokio::test]
    async fn the_future_of_a_hit_is_small() {
        let registry = Registry::new();
        let config = Config::from_toml("[cache]\nchain = [\"lru\"]\n").unwrap();
        let callers = Callers::new(config.client_identity.clone());
        let queue = GenerationQueue::new(1, 1, None, callers.clone(), Packs::built_in(), &registry).unwrap();
        let handle = tokio::runtime::Handle::current();
        let chain = floor_cache::assemble_tuned(&config.cache, &config.tuning, Arc::new(queue), &handle).unwrap();
        let service = FloorService::new(ServiceDeps {
            chains: chain.into(),
            packs: Packs::built_in(),
            metrics: RequestMetrics::register(TenantNames::default(), &registry).unwrap(),
            refusals: Refusals::register(&registry).unwrap(),
            in_flight: InFlight::default(),
            access_recorder: None,
            towers: None,
            budgets: Budgets::new(1 << 20, false),
            no_cache: config.no_cache,
            observer: None,
        });
        let caller = callers.at(Ipv4Addr::LOCALHOST.into());
        let request = Request::post(Rpc::GetFloor.path()).body(Full::<Bytes>::default()).unwrap();
        let call = service.unary(Rpc::GetFloor, Grpc, request, caller.into());
        let size = size_of_val(&call);
        assert!(size <= MOST_BYTES, "{size} bytes");
    }
}
