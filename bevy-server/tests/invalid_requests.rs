//! Invalid requests: each gets a status that names the error, and the server keeps serving.
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, Shutdown, TcpStream},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bevy_server::{
    callers::{Budgets, Callers},
    config::Config,
    generation::GenerationQueue,
    grpc::{FloorService, InFlight, RequestMetrics, Rpc, ServiceDeps},
    metrics::Refusals,
    packs::Packs,
    tenants::TenantNames,
};
use bytes::Bytes;
use floor_proto::v1::{BatchGetFloorsRequest, FloorSpec, GetFloorRequest, SearchFloorsRequest, StreamFloorsRequest};
use http_body_util::Full;
use hyper_util::rt::{TokioExecutor, TokioIo};
use prometheus::Registry;
use prost::Message;
use tempfile::TempDir;
use test_support::{Server, TIMEOUT, frame, http1, invalid_fields, parsed, spec, web_of};
use tonic::Code;

#[tokio::test]
async fn a_status_names_the_invalid_field_of_a_spec() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let mut client = server.client().await;
    let cases = [
        (None, "spec"),
        (Some(spec(1, 0)), "spec.number"),
        (Some(spec(1, 1_000_001)), "spec.number"),
        (Some(FloorSpec { width: 15, ..spec(1, 1) }), "spec.width"),
        (Some(FloorSpec { width: 513, ..spec(1, 1) }), "spec.width"),
        (Some(FloorSpec { height: 1, ..spec(1, 1) }), "spec.height"),
        (Some(FloorSpec { height: u32::MAX, ..spec(1, 1) }), "spec.height"),
        (Some(FloorSpec { kind: 99, ..spec(1, 1) }), "spec.kind"),
        (Some(FloorSpec { kind: -1, ..spec(1, 1) }), "spec.kind"),
    ];
    for (spec, field) in cases {
        let status = client.get_floor(GetFloorRequest { spec: spec.clone() }).await.unwrap_err();
        assert_eq!(invalid_fields(&status), [field], "{spec:?}");
    }
    let status = client.get_floor(GetFloorRequest { spec: Some(FloorSpec { kind: 99, ..spec(1, 1) }) }).await;
    assert!(status.unwrap_err().message().contains("standard"), "the status lists the offered kinds");
    client.get_floor(GetFloorRequest { spec: Some(spec(1, 1)) }).await.expect("the server keeps serving");
    assert_eq!(server.calls("GetFloor", "INVALID_ARGUMENT"), 10.0);
}

#[tokio::test]
async fn a_status_names_every_invalid_field() {
    use tonic_types::StatusExt;
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let mut client = server.client().await;
    let wrong = FloorSpec { seed: 1, number: 0, width: 3, height: 9999, kind: 77, pack: "Mine".to_owned(), view: 9 };
    let status = client.get_floor(GetFloorRequest { spec: Some(wrong.clone()) }).await.unwrap_err();
    let fields = ["spec.pack", "spec.number", "spec.width", "spec.height", "spec.kind", "spec.view"];
    assert_eq!(invalid_fields(&status), fields);
    assert!(status.message().starts_with("6 fields are wrong"), "{status:?}");
    let status = client.stream_floors(StreamFloorsRequest { first: Some(wrong.clone()), count: 0 }).await.unwrap_err();
    let fields = ["count", "first.pack", "first.number", "first.width", "first.height", "first.kind", "first.view"];
    assert_eq!(invalid_fields(&status), fields);
    let specs = vec![wrong; 10];
    let status = client.batch_get_floors(BatchGetFloorsRequest { specs }).await.unwrap_err();
    assert!(status.message().starts_with("60 fields are wrong, of which the first 16 are named"), "{status:?}");
    assert_eq!(status.get_error_details().bad_request().unwrap().field_violations.len(), 16);
}

#[tokio::test]
async fn a_status_names_the_positions_of_invalid_specs_in_a_batch() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let mut client = server.client().await;
    let largest = FloorSpec { width: 512, height: 512, ..spec(1, 1) };
    let cases = [
        (vec![], vec!["specs"]),
        (vec![spec(1, 1); 257], vec!["specs"]),
        (vec![largest; 17], vec!["specs"]),
        (
            vec![spec(1, 1), spec(1, 2), spec(1, 3), FloorSpec { width: 7, ..spec(1, 4) }, spec(1, 0)],
            vec!["specs[3].width", "specs[4].number"],
        ),
    ];
    for (specs, fields) in cases {
        let count = specs.len();
        let status = client.batch_get_floors(BatchGetFloorsRequest { specs }).await.unwrap_err();
        assert_eq!(invalid_fields(&status), fields, "a batch of {count}");
    }
    let specs = vec![FloorSpec { width: 16, height: 16, ..spec(1, 1) }; 256];
    let answer = client.batch_get_floors(BatchGetFloorsRequest { specs }).await.expect("256 specs are allowed");
    assert_eq!(answer.into_inner().floors.len(), 256);
}

#[tokio::test]
async fn a_status_names_the_invalid_fields_of_a_stream_request() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let mut client = server.client().await;
    let cases = [
        (Some(spec(1, 1)), 0, vec!["count"]),
        (Some(spec(1, 1)), 10_001, vec!["count"]),
        (Some(spec(1, 999_999)), 3, vec!["count"]),
        (None, 1, vec!["first"]),
        (Some(spec(1, 0)), 0, vec!["count", "first.number"]),
        (Some(FloorSpec { height: 3, ..spec(1, 1) }), 1, vec!["first.height"]),
    ];
    for (first, count, fields) in cases {
        let status = client.stream_floors(StreamFloorsRequest { first, count }).await.unwrap_err();
        assert_eq!(invalid_fields(&status), fields);
    }
    let last = StreamFloorsRequest { first: Some(spec(1, 999_999)), count: 2 };
    client.stream_floors(last).await.expect("the stream ends at the last floor of the tower");
}

#[tokio::test]
async fn a_status_names_the_invalid_fields_of_a_search() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let mut client = server.client().await;
    let search = |count, condition: &str| SearchFloorsRequest {
        first: Some(spec(1, 1)),
        count,
        condition: condition.to_owned(),
        ..Default::default()
    };
    let cases = [
        (search(0, "rooms > 1"), vec!["count"]),
        (search(1_000_001, "rooms > 1"), vec!["count"]),
        (search(1, "romms > 1"), vec!["condition"]),
        (search(1, ""), vec!["condition"]),
        (search(1, &"(".repeat(3000)), vec!["condition"]),
        (SearchFloorsRequest { skip: 2, ..search(1, "rooms > 1") }, vec!["skip"]),
        (SearchFloorsRequest { seeds: vec![1; 1001], ..search(1, "rooms > 1") }, vec!["seeds"]),
        (SearchFloorsRequest { first: None, ..search(0, "rooms > 1") }, vec!["first", "count"]),
        (SearchFloorsRequest { first: Some(spec(1, 0)), ..search(1, "") }, vec!["first.number"]),
    ];
    for (request, fields) in cases {
        let status = client.search_floors(request).await.unwrap_err();
        assert_eq!(invalid_fields(&status), fields);
    }
    let misspelt = client.search_floors(search(1, "romms > 1")).await.unwrap_err();
    assert!(misspelt.message().contains("rooms") && !misspelt.message().contains('\n'), "{}", misspelt.message());
    let whole = client.search_floors(search(1_000_000, "number == 0")).await.unwrap().into_inner();
    assert_eq!((whole.matches.len(), whole.next), (0, 16_384), "names have a bound, too");
}

#[tokio::test]
async fn undecodable_requests_are_rejected_and_the_server_keeps_serving() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    for method in Rpc::ALL.map(Rpc::name) {
        let status = server.raw(method, Bytes::from_static(&[0x0a, 0xff, 0xff, 0xff])).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{method}: {status:?}");
        let status = server.raw(method, Bytes::from(vec![0; 8 << 20])).await.unwrap_err();
        assert_eq!(status.code(), Code::OutOfRange, "{method}: {status:?}");
    }
    let status = server.raw("GetFlour", Bytes::new()).await.unwrap_err();
    assert_eq!(status.code(), Code::Unimplemented);
    assert!(status.message().contains("GetFlour"), "{status:?}");
    let good = Bytes::from(GetFloorRequest { spec: Some(spec(1, 1)) }.encode_to_vec());
    server.raw("GetFloor", good).await.expect("the server keeps serving");
}

/// A request body that panics when it is read.
struct PanickingBody;

impl http_body::Body for PanickingBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, std::io::Error>>> {
        panic!("a defect");
    }
}

#[tokio::test]
async fn a_panicking_call_returns_internal_and_is_counted() {
    let registry = Registry::new();
    let config = Config::from_toml("[cache]\nchain = [\"lru\"]\n").unwrap();
    let clients = Callers::new(config.client_identity.clone());
    let queue = GenerationQueue::new(1, 1, None, clients.clone(), Packs::built_in(), &registry).unwrap();
    let source = Arc::new(queue);
    let handle = tokio::runtime::Handle::current();
    let chain = floor_cache::assemble_tuned(&config.cache, &config.tuning, source, &handle).unwrap();
    let metrics = RequestMetrics::register(TenantNames::default(), &registry).unwrap();
    let in_flight = InFlight::default();
    let refusals = Refusals::register(&registry).unwrap();
    let client = clients.at(Ipv4Addr::LOCALHOST.into());
    let (access_recorder, budgets, no_cache) = (None, Budgets::new(1 << 20, false), config.no_cache);
    let service = FloorService::new(ServiceDeps {
        chains: chain.into(),
        packs: Packs::built_in(),
        metrics,
        refusals,
        in_flight: in_flight.clone(),
        access_recorder,
        towers: None,
        budgets,
        no_cache,
        observer: None,
    });
    let call = http::Request::post("/floors.v1.FloorService/GetFloor").body(PanickingBody).unwrap();
    let answer = service.answer(call, client).await;
    assert_eq!(answer.headers()["grpc-status"], "13");
    let text = prometheus::TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
    assert!(text.contains("floors_requests_total{code=\"INTERNAL\",rpc=\"GetFloor\"} 1"), "{text}");
    in_flight.idle().await;
}

#[tokio::test]
async fn an_unparsable_timeout_is_rejected() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let mut request = tonic::Request::new(GetFloorRequest { spec: Some(spec(1, 1)) });
    request.metadata_mut().insert("grpc-timeout", "soon".parse().unwrap());
    let status = server.client().await.get_floor(request).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().contains("grpc-timeout"), "{status:?}");
}

const GET_FLOOR: &str = "/floors.v1.FloorService/GetFloor";

/// The status of an answer without a message.
fn refused(head: &str) -> (&str, &str) {
    let value = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    (value("grpc-status: "), value("grpc-message: "))
}

#[test]
fn errors_of_grpc_web_say_plainly_what_is_wrong_with_the_body() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let (text, binary) = ("application/grpc-web-text", "application/grpc-web+proto");
    let not_base64 = ("3", "the%20body%20of%20the%20request%20is%20not%20base64");
    // Wrong from the start, behind a message, and ended within a group.
    for body in ["####", "AAAAAAYKBAgqEAc=####", "AAAAAAYKBAgqEAc"] {
        let head = web_of(GET_FLOOR, text, &format!("content-length: {}\r\nconnection: close\r\n", body.len()));
        let (status, head, _) = http1(&server.grpc, &head, body.as_bytes());
        assert_eq!((status, refused(&head)), (200, not_base64), "{body}: {head}");
        assert!(head.contains("content-type: application/grpc-web"), "{head}");
    }
    // The connection breaks within a chunk.
    for content_type in [text, binary] {
        let mut peer = TcpStream::connect(&server.grpc).unwrap();
        peer.set_read_timeout(Some(TIMEOUT)).unwrap();
        let head = web_of(GET_FLOOR, content_type, "transfer-encoding: chunked\r\n");
        peer.write_all((head + "8\r\nAAAA").as_bytes()).unwrap();
        peer.shutdown(Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        peer.read_to_end(&mut answer).unwrap();
        let (status, head, _) = parsed(&answer);
        let (code, message) = refused(&head);
        assert_eq!((status, code), (200, "1"), "{content_type}: {head}");
        assert!(message.starts_with("the%20request%20body%20failed"), "{head}");
        assert!(!message.contains("tonic") && !message.contains("source"), "{head}");
    }
    assert_eq!(server.calls("GetFloor", "INVALID_ARGUMENT"), 3.0);
    assert_eq!(server.calls("GetFloor", "CANCELLED"), 2.0);
    // Health speaks gRPC only.
    let head = web_of("/grpc.health.v1.Health/Check", binary, "content-length: 5\r\nconnection: close\r\n");
    let (status, head, _) = http1(&server.grpc, &head, &[0; 5]);
    let (code, message) = refused(&head);
    assert_eq!((status, code), (200, "12"), "{head}");
    assert!(message.contains("health%20and%20reflection%20speak%20grpc%20only"), "{head}");
}

#[tokio::test]
async fn a_call_of_grpc_that_is_none_gets_a_status() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let stream = tokio::net::TcpStream::connect(&server.grpc).await.unwrap();
    let (sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let good = || Bytes::from(frame(&GetFloorRequest { spec: Some(spec(1, 1)) }));
    let call = async |method: http::Method, content_type: &str, encoding: &str, body: Bytes| {
        let mut request = server.request("GetFloor", &[]).method(method).body(()).unwrap();
        request.headers_mut().insert("content-type", content_type.parse().unwrap());
        if !encoding.is_empty() {
            request.headers_mut().insert("grpc-encoding", encoding.parse().unwrap());
        }
        let response = sender.clone().send_request(request.map(|()| Full::new(body))).await.unwrap();
        (response.status().as_u16(), response.headers().clone())
    };
    let (post, grpc) = (http::Method::POST, "application/grpc");
    let marked = Bytes::from([&[1][..], &good()[1..]].concat());
    for (what, method, content_type, encoding, body, code, part) in [
        ("another codec", post.clone(), "application/grpc+json", "", good(), 12, "a POST of application/grpc"),
        ("no POST", http::Method::DELETE, grpc, "", good(), 12, "a POST of application/grpc"),
        ("no POST of gRPC-Web", http::Method::PUT, "application/grpc-web", "", good(), 12, "application/grpc-web-text"),
        ("no message", post.clone(), grpc, "", Bytes::new(), 12, "no message"),
        ("an encoding", post.clone(), grpc, "gzip", good(), 12, "identity only"),
        ("an encoding in gRPC-Web", post.clone(), "application/grpc-web", "gzip", good(), 12, "identity only"),
        ("a compressed message", post.clone(), grpc, "Identity", marked, 13, "compressed"),
    ] {
        let (status, headers) = call(method, content_type, encoding, body).await;
        assert_eq!(status, 200, "{what}: {headers:?}");
        assert_eq!(headers["grpc-status"], code.to_string(), "{what}: {headers:?}");
        assert!(headers["content-type"].to_str().unwrap().starts_with(&content_type[..16]), "{what}: {headers:?}");
        let message = headers["grpc-message"].to_str().unwrap().replace("%20", " ");
        assert!(message.contains(part), "{what}: {message}");
        assert_eq!(headers.contains_key("grpc-accept-encoding"), !encoding.is_empty() && code == 12, "{what}");
    }
}

#[test]
fn an_http1_connection_carries_the_next_call_after_an_early_answer() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let whole = frame(&GetFloorRequest { spec: Some(spec(1, 1)) });
    for (path, content_type, headers) in [
        ("/floors.v1.FloorService/GetFlour", "application/grpc-web", ""),
        ("/nothing.v1.Service/Call", "application/grpc-web", ""),
        (GET_FLOOR, "application/grpc-web", "grpc-timeout: 1n\r\n"),
        ("/floors.v1.FloorService/StreamFloors", "application/connect+proto", "connect-timeout-ms: 0\r\n"),
    ] {
        let mut peer = TcpStream::connect(&server.grpc).unwrap();
        peer.set_read_timeout(Some(TIMEOUT)).unwrap();
        let head = web_of(path, content_type, &format!("transfer-encoding: chunked\r\n{headers}"));
        peer.write_all(head.as_bytes()).unwrap();
        // The answer comes before the request has ended.
        assert!(peer.read(&mut [0; 8192]).unwrap() > 0, "{path}");
        peer.write_all(format!("{:x}\r\n", whole.len()).as_bytes()).unwrap();
        peer.write_all(&whole).unwrap();
        peer.write_all(b"\r\n0\r\n\r\n").unwrap();
        let end = format!("content-length: {}\r\nconnection: close\r\n", whole.len());
        peer.write_all(web_of(GET_FLOOR, "application/grpc-web", &end).as_bytes()).unwrap();
        peer.write_all(&whole).unwrap();
        let mut rest = Vec::new();
        peer.read_to_end(&mut rest).unwrap();
        assert!(String::from_utf8_lossy(&rest).contains("floor-served-by"), "{path}");
    }
}
