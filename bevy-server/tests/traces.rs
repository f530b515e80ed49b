//! Traces: the spans that a collector gets for a call, and that it gets none for calls that are not traced.
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

use std::{
    fs,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use floor_proto::v1::{BatchGetFloorsRequest, FloorSpec, GetFloorRequest, StreamFloorsRequest};
use opentelemetry_proto::tonic::{
    collector::trace::v1::{
        ExportTraceServiceRequest, ExportTraceServiceResponse,
        trace_service_server::{TraceService, TraceServiceServer},
    },
    common::v1::{KeyValue, any_value::Value},
    trace::v1::{ResourceSpans, Span, span::SpanKind, status::StatusCode},
};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use test_support::{
    Setup, spec,
    tls::{Authority, Pair},
    wait_until,
};
use tonic::{
    Request, Response, Status,
    transport::{Identity, Server, ServerTlsConfig, server::TcpIncoming},
};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "b7ad6b7169203331";

/// A collector that keeps what it gets.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<ResourceSpans>>>);

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        self.0.lock().unwrap().extend(request.into_inner().resource_spans);
        Ok(Response::new(ExportTraceServiceResponse { partial_success: None }))
    }
}

impl Collector {
    /// A collector and its address.
    async fn start() -> (Self, String) {
        let (collector, address) = Self::serve(Server::builder()).await;
        (collector, format!("http://{address}"))
    }

    /// A collector with TLS and its address.
    async fn start_with_tls(pair: &Pair) -> (Self, String) {
        let [cert, key] = [&pair.cert, &pair.key].map(|path| fs::read(path).unwrap());
        let tls = ServerTlsConfig::new().identity(Identity::from_pem(cert, key));
        let (collector, address) = Self::serve(Server::builder().tls_config(tls).unwrap()).await;
        (collector, format!("https://localhost:{}", address.port()))
    }

    async fn serve(mut server: Server) -> (Self, SocketAddr) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let collector = Self::default();
        let service = TraceServiceServer::new(collector.clone());
        tokio::spawn(server.add_service(service).serve_with_incoming(TcpIncoming::from(listener)));
        (collector, address)
    }

    fn spans(&self) -> Vec<Span> {
        let received = self.0.lock().unwrap();
        received.iter().flat_map(|resource| &resource.scope_spans).flat_map(|scope| scope.spans.clone()).collect()
    }

    /// The spans of calls, in the order in which the calls started.
    fn calls(&self) -> Vec<Span> {
        let is_call = |span: &Span| span.kind == SpanKind::Server as i32;
        let mut calls: Vec<_> = self.spans().into_iter().filter(is_call).collect();
        calls.sort_by_key(|span| span.start_time_unix_nano);
        calls
    }

    /// The spans whose parent is `parent`.
    fn children(&self, parent: &Span) -> Vec<Span> {
        self.spans().into_iter().filter(|span| span.parent_span_id == parent.span_id).collect()
    }
}

fn attribute(attributes: &[KeyValue], key: &str) -> String {
    let value = attributes.iter().find(|attribute| attribute.key == key).and_then(|found| found.value.clone()?.value);
    match value {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::BoolValue(flag)) => flag.to_string(),
        other => panic!("{key} is {other:?} in {attributes:?}"),
    }
}

fn names(spans: &[Span]) -> Vec<&str> {
    spans.iter().map(|span| span.name.as_str()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A server whose tiers are always asked, and which exports to `endpoint`.
fn setup(data: &TempDir, endpoint: &str, sample: &str) -> Setup {
    Setup::new(data)
        .with("TRACE__ENDPOINT", endpoint)
        .with("TRACE__SAMPLE", sample)
        .with("CACHE__BYPASS", "off")
        .with("GENERATION__PREFETCH", "false")
}

// Long because it reads every attribute of one call.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_whose_caller_is_traced_has_spans_in_the_callers_trace() {
    let data = TempDir::new().unwrap();
    let (collector, endpoint) = Collector::start().await;
    let resource = "deployment.environment=test";
    let server = setup(&data, &endpoint, "0").env("OTEL_RESOURCE_ATTRIBUTES", resource).start();
    let request = GetFloorRequest { spec: Some(spec(7, 1)) };
    let get = async |flags: Option<&str>| {
        let parent = flags.map(|flags| format!("00-{TRACE}-{CALLER}-{flags}"));
        let headers: Vec<_> = parent.iter().map(|parent| ("traceparent", parent.as_str())).collect();
        server.http2("GetFloor", &headers, &request).await
    };
    get(Some("01")).await;
    get(Some("01")).await;
    get(Some("00")).await;
    get(None).await;
    let answer = server.http2("GetFloor", &[("traceparent", "nonsense")], &request).await;
    assert!(!answer.contains_key("floor-trace"), "a traced caller has not asked for these headers");
    wait_until("the calls are exported", || collector.calls().len() == 2);
    server.stop();

    let calls = collector.calls();
    assert_eq!(
        names(&calls),
        ["floors.v1.FloorService/GetFloor"; 2],
        "neither the caller nor the sampler wanted others"
    );
    for span in collector.spans() {
        assert_eq!(hex(&span.trace_id), TRACE);
        assert!(span.end_time_unix_nano >= span.start_time_unix_nano, "{span:?}");
    }
    for (call, served_by) in calls.iter().zip(["generated", "lru"]) {
        assert_eq!(hex(&call.parent_span_id), CALLER);
        for (key, expected) in [
            ("rpc.system", "grpc"),
            ("rpc.service", "floors.v1.FloorService"),
            ("rpc.method", "GetFloor"),
            ("rpc.grpc.status_code", "0"),
            ("client.address", "127.0.0.1"),
            ("floors.served_by", served_by),
            ("floors.count", "1"),
        ] {
            assert_eq!(attribute(&call.attributes, key), expected, "{key}");
        }
        assert!(attribute(&call.attributes, "floors.bytes").parse::<u64>().unwrap() > 100);
    }
    let lookups = calls.iter().map(|call| match &collector.children(call)[..] {
        [lookup] if lookup.name == "lookup" => lookup.clone(),
        other => panic!("{other:?}"),
    });
    let steps: Vec<_> = lookups.map(|lookup| collector.children(&lookup)).collect();
    assert_eq!(names(&steps[0]), ["lru", "lmdb", "generation queue", "generation"]);
    assert_eq!(attribute(&steps[0][1].attributes, "floors.miss"), "1");
    assert_eq!(steps[0][2].end_time_unix_nano, steps[0][3].start_time_unix_nano);
    assert_eq!(names(&steps[1]), ["lru"]);
    assert_eq!(attribute(&steps[1][0].attributes, "floors.hit"), "1");

    let received = collector.0.lock().unwrap();
    let resource = &received[0].resource.as_ref().unwrap().attributes;
    assert_eq!(attribute(resource, "service.name"), "floor-server");
    assert_eq!(attribute(resource, "service.version"), env!("CARGO_PKG_VERSION"));
    assert_eq!(attribute(resource, "deployment.environment"), "test");
    assert!(!attribute(resource, "service.instance.id").is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sampled_calls_of_every_kind_have_traces_of_their_own() {
    let data = TempDir::new().unwrap();
    let (collector, endpoint) = Collector::start().await;
    let server = setup(&data, &endpoint, "1").start();
    let mut client = server.client().await;
    let specs: Vec<FloorSpec> = (1..=5).map(|number| spec(7, number)).collect();
    client.batch_get_floors(BatchGetFloorsRequest { specs }).await.unwrap();
    client.get_floor(GetFloorRequest { spec: Some(spec(7, 0)) }).await.unwrap_err();
    let request = StreamFloorsRequest { first: Some(spec(7, 1)), count: 20 };
    let mut stream = client.stream_floors(request).await.unwrap().into_inner();
    let mut floors = 0;
    while stream.message().await.unwrap().is_some() {
        floors += 1;
    }
    assert_eq!(floors, 20);
    wait_until("the calls are exported", || server.figure("traced calls, exported") == 3.0);
    server.stop();

    let calls = collector.calls();
    let [batch, failed, stream] = &calls[..] else { panic!("{calls:?}") };
    assert!(batch.trace_id != failed.trace_id && failed.trace_id != stream.trace_id);
    assert!([batch, failed, stream].iter().all(|call| call.parent_span_id.is_empty()), "they have no callers");
    let lookups = collector.children(batch);
    let [lookup] = &lookups[..] else { panic!("{lookups:?}") };
    assert_eq!(attribute(&lookup.attributes, "floors.generated"), "5");
    let steps = collector.children(lookup);
    let count = |name: &str| steps.iter().filter(|span| span.name == name).count();
    let counts = ["lru", "lmdb", "generation queue", "generation"].map(count);
    assert_eq!(counts, [1, 1, 5, 5], "{:?}", names(&steps));
    assert_eq!(attribute(&steps[0].attributes, "floors.miss"), "5");

    assert_eq!(attribute(&failed.attributes, "rpc.grpc.status_code"), "3");
    assert!(collector.children(failed).is_empty(), "it was refused before a lookup");
    assert_eq!(attribute(&stream.attributes, "rpc.method"), "StreamFloors");
    assert_eq!(attribute(&stream.attributes, "floors.count"), "20");
    assert_eq!(names(&collector.children(stream)), ["lookup", "lookup"], "one for each window");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_that_redis_fails_is_a_clients_span_with_the_error() {
    let data = TempDir::new().unwrap();
    let (collector, endpoint) = Collector::start().await;
    // Closed when the listener is dropped, so that connections are refused.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = setup(&data, &endpoint, "1")
        .with("CACHE__CHAIN", "[\"lru\", \"redis\"]")
        .with("CACHE__REDIS__URL", &format!("redis://{closed}"))
        .start();
    server.client().await.get_floor(GetFloorRequest { spec: Some(spec(7, 1)) }).await.unwrap();
    wait_until("the call is exported", || collector.calls().len() == 1);
    server.stop();
    let spans = collector.spans();
    let [lru, redis] = ["lru", "redis"].map(|name| spans.iter().find(|span| span.name == name).unwrap());
    assert_eq!(redis.kind, SpanKind::Client as i32);
    assert_eq!(attribute(&redis.attributes, "db.system"), "redis");
    assert!(["error", "timeout"].contains(&&*attribute(&redis.attributes, "error.type")), "{redis:?}");
    let status = redis.status.as_ref().unwrap();
    assert_eq!(status.code, StatusCode::Error as i32);
    assert!(status.message == "timeout" || status.message.contains("read from redis: "), "{status:?}");
    assert_eq!(lru.kind, SpanKind::Internal as i32);
    assert!(lru.attributes.iter().all(|attribute| !["db.system", "error.type"].contains(&&*attribute.key)), "{lru:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_with_a_token_has_the_name_of_its_client() {
    const TOKEN: &str = "1fd5f5a768d30b9b6651dc6e35f6702a918fa8c2d2bbdc7826e975156cf1c401";
    let data = TempDir::new().unwrap();
    let tokens = data.path().join("tokens.toml");
    fs::write(&tokens, format!("[[token]]\nname = \"game\"\nsha256 = \"{}\"\n", hex(&Sha256::digest(TOKEN)[..])))
        .unwrap();
    let (collector, endpoint) = Collector::start().await;
    let server = setup(&data, &endpoint, "1").with("AUTH__TOKENS_FILE", &tokens.display().to_string()).start();
    let (request, authorization) = (GetFloorRequest { spec: Some(spec(7, 1)) }, format!("Bearer {TOKEN}"));
    server.http2("GetFloor", &[("authorization", authorization.as_str())], &request).await;
    server.http2("GetFloor", &[], &request).await;
    wait_until("the calls are exported", || collector.calls().len() == 2);
    server.stop();
    let calls = collector.calls();
    assert_eq!(attribute(&calls[0].attributes, "enduser.id"), "game");
    assert!(calls[1].attributes.iter().all(|attribute| attribute.key != "enduser.id"), "it proved no name");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_with_tls_gets_spans_if_its_authority_is_trusted() {
    let (authority, other) = (Authority::new(), Authority::new());
    let (collector, endpoint) = Collector::start_with_tls(&authority.certify("collector")).await;
    for (ca, outcome) in [(authority.ca(), "exported"), (other.ca(), "failed")] {
        let data = TempDir::new().unwrap();
        let server = setup(&data, &endpoint, "1").with("TRACE__CA", &ca.display().to_string()).start();
        server.client().await.get_floor(GetFloorRequest { spec: Some(spec(7, 1)) }).await.unwrap();
        let calls = format!("traced calls, {outcome}");
        wait_until("the call is exported, or that has failed", || server.figure(&calls) == 1.0);
        server.stop();
    }
    assert_eq!(names(&collector.calls()), ["floors.v1.FloorService/GetFloor"], "of the server that trusts it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_is_away_affects_no_call() {
    let data = TempDir::new().unwrap();
    // Accepts connections by its backlog, and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (address, has_failed) in [(closed, true), (silent.local_addr().unwrap(), false)] {
        let server = setup(&data, &format!("http://{address}"), "1").start();
        let mut client = server.client().await;
        for number in 1..=2000 {
            let request = GetFloorRequest { spec: Some(spec(7, 1 + number % 10)) };
            client.get_floor(request).await.unwrap();
        }
        assert_eq!(server.calls("GetFloor", "OK"), 2000.0);
        if has_failed {
            wait_until("the failure is logged", || server.log().contains("traces could not be exported"));
        }
        let log = server.stop();
        assert!(log.matches("traces could not be exported").count() <= 1, "{log}");
        assert!(log.contains("complete=true"), "{log}");
    }
}
