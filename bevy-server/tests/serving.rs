//! Calls end to end: a tier or generation serves the floor, and the response names it.
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

use std::time::Instant;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use floor_gen::Kind;
use floor_proto::{
    hash::verify,
    v1::{
        BatchGetFloorsRequest, Floor, FloorKind, FloorSpec, GetFloorRequest, GetServerInfoRequest, RoomRole,
        SearchFloorsRequest, SearchFloorsResponse, StreamFloorsRequest, View, floor_service_client::FloorServiceClient,
    },
};
use http_body_util::BodyExt;
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use tempfile::TempDir;
use test_support::{Server, Setup, frame, framed, http1, spec, wait_until, web, web_of};
use tonic::{Code, Request, Response, Status, metadata::MetadataMap, transport::Channel};

fn header<'a>(metadata: &'a MetadataMap, name: &str) -> Option<&'a str> {
    metadata.get(name).map(|value| value.to_str().unwrap())
}

fn served_by<T>(response: &Response<T>) -> &str {
    header(response.metadata(), "floor-served-by").expect("every response names its tier")
}

fn get(seed: u64, number: u32) -> GetFloorRequest {
    GetFloorRequest { spec: Some(spec(seed, number)) }
}

#[tokio::test]
async fn a_floor_is_generated_once_then_served_from_memory_and_from_disk_after_a_restart() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let mut client = server.client().await;
    let first = client.get_floor(get(42, 7)).await.unwrap();
    assert_eq!(served_by(&first), "generated");
    let again = client.get_floor(get(42, 7)).await.unwrap();
    assert_eq!(served_by(&again), "lru");
    let floor = first.into_inner();
    assert!(verify(&floor));
    assert_eq!(again.into_inner(), floor);
    let resolved = floor.spec.clone().unwrap();
    assert_eq!((resolved.seed, resolved.number, resolved.width, resolved.height), (42, 7, 100, 100));
    assert_ne!(resolved.kind(), FloorKind::Unspecified);
    let named = GetFloorRequest { spec: Some(resolved) };
    let named = client.get_floor(named).await.unwrap();
    assert_eq!(served_by(&named), "lru", "the same kind by name has the same key");
    server.stop();

    let server = Server::start(&data);
    let mut client = server.client().await;
    let from_disk = client.get_floor(get(42, 7)).await.unwrap();
    assert_eq!(served_by(&from_disk), "lmdb");
    assert_eq!(from_disk.into_inner(), floor);
    assert_eq!(served_by(&client.get_floor(get(42, 7)).await.unwrap()), "lru", "a hit is promoted");
    assert_eq!(server.generations(), 0.0);
    assert_eq!(served_by(&client.get_floor(get(42, 1)).await.unwrap()), "generated");
    assert_eq!(server.generations(), 1.0, "the generation is counted");
}

#[tokio::test]
async fn every_order_and_subset_of_embedded_tiers_serves_the_same_floor() {
    let data = TempDir::new().unwrap();
    let mut floors: Vec<Floor> = Vec::new();
    for chain in [r#"["sled"]"#, r#"["lru","sled"]"#, r#"["lmdb","lru"]"#, r#"["sled","lmdb","lru"]"#, "[]"] {
        let server = Setup::new(&data).with("CACHE__CHAIN", chain).start();
        floors.push(server.client().await.get_floor(get(3, 3)).await.unwrap().into_inner());
        server.stop();
    }
    assert!(floors.windows(2).all(|pair| pair[0] == pair[1]));
}

#[tokio::test]
async fn views_of_a_floor_are_floors_of_their_own_in_every_tier() {
    let data = TempDir::new().unwrap();
    let in_view = |view: View| FloorSpec { view: view.into(), ..spec(42, 7) };
    let mut before = Vec::new();
    for tier in ["generated", "lmdb"] {
        let server = Server::start(&data);
        let mut client = server.client().await;
        let mut floors = Vec::new();
        for view in [View::Unspecified, View::Player] {
            for by in [tier, "lru"] {
                let answer = client.get_floor(GetFloorRequest { spec: Some(in_view(view)) }).await.unwrap();
                assert_eq!(served_by(&answer), by, "{view:?}");
                let floor = answer.into_inner();
                assert!(verify(&floor) && floor.spec.as_ref().unwrap().view() == view);
                floors.push(floor);
            }
        }
        let specs = vec![in_view(View::Player), in_view(View::Unspecified)];
        let batch = client.batch_get_floors(BatchGetFloorsRequest { specs }).await.unwrap().into_inner().floors;
        assert_eq!([&batch[0], &batch[1]], [&floors[2], &floors[0]]);
        let first = Some(FloorSpec { number: 6, ..in_view(View::Player) });
        let mut stream = client.stream_floors(StreamFloorsRequest { first, count: 2 }).await.unwrap().into_inner();
        stream.message().await.unwrap();
        assert_eq!(stream.message().await.unwrap().as_ref(), Some(&floors[2]));
        let [whole, seen] = [&floors[0], &floors[2]];
        assert!(!whole.traps.is_empty() && seen.traps.is_empty() && seen.spawns.is_empty() && seen.items.is_empty());
        assert_ne!(whole.content_hash, seen.content_hash);
        if !before.is_empty() {
            assert_eq!(floors, before);
        }
        before = floors;
        server.stop();
    }
}

/// Floors of 48x48 of tower 42.
fn search(condition: &str, count: u32) -> SearchFloorsRequest {
    let first = Some(FloorSpec { width: 48, height: 48, ..spec(42, 1) });
    SearchFloorsRequest { first, count, condition: condition.to_owned(), ..Default::default() }
}

/// The numbers of the floors found, and where the search goes on.
fn found(answer: Response<SearchFloorsResponse>) -> (Vec<u32>, u64) {
    let SearchFloorsResponse { matches, next } = answer.into_inner();
    (matches.into_iter().map(|found| found.spec.unwrap().number).collect(), next)
}

#[tokio::test]
async fn a_search_finds_the_floors_that_meet_the_condition_with_their_names() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let mut client = server.client().await;
    let floor = |number| {
        let spec = floor_gen::FloorSpec::resolve(42, number, 48, 48, None).unwrap();
        floor_wire::message(&floor_gen::generate(&spec))
    };
    let secrets = |floor: &Floor| floor.rooms.iter().filter(|room| room.role() == RoomRole::Secret).count();
    let wanted: Vec<_> = (1..=100).map(floor).filter(|floor| secrets(floor) > 0 && floor.locks.len() > 1).collect();
    assert!(wanted.len() > 3);
    let answer = client.search_floors(search("secrets > 0 && locks > 1", 100)).await.unwrap().into_inner();
    assert_eq!(answer.next, 0);
    assert_eq!(answer.matches.len(), wanted.len());
    for (found, wanted) in answer.matches.iter().zip(&wanted) {
        assert_eq!((&found.spec, &found.name), (&wanted.spec, &wanted.name));
        let again = client.get_floor(GetFloorRequest { spec: found.spec.clone() }).await.unwrap();
        assert_eq!(served_by(&again), "lru");
    }

    let mut seen = search("secrets > 0 || traps > 0 || spawns > 0", 100);
    seen.first.as_mut().unwrap().view = View::Player.into();
    assert_eq!(found(client.search_floors(seen).await.unwrap()), (vec![], 0), "it is about what a player may see");

    let two = SearchFloorsRequest { limit: 2, ..search("secrets > 0 && locks > 1", 100) };
    let numbers: Vec<_> = wanted.iter().map(|floor| floor.spec.as_ref().unwrap().number).collect();
    let expected = (numbers[..2].to_vec(), u64::from(numbers[1]));
    assert_eq!(found(client.search_floors(two.clone()).await.unwrap()), expected);
    let more = SearchFloorsRequest { skip: expected.1, ..two };
    assert_eq!(found(client.search_floors(more).await.unwrap()).0, numbers[2..4]);
}

#[tokio::test]
async fn a_search_does_the_work_of_a_batch_a_call_over_all_its_towers() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let mut client = server.client().await;
    let answer = client.search_floors(search("rooms == 0", 1_000_000)).await.unwrap();
    let served: Vec<_> = served_by(&answer).split(',').collect();
    assert_eq!(served, ["generated=256"]);
    assert_eq!(found(answer), (vec![], 256));
    let named = client.search_floors(search("number == 9000 && rooms > 0", 10_000)).await.unwrap();
    assert_eq!(served_by(&named), "generated=1", "the others are known by their names");
    assert_eq!(found(named), (vec![9000], 0));
    let towers = SearchFloorsRequest { seeds: vec![7, 42, 7], skip: 3, ..search("number > 1", 2) };
    let answer = client.search_floors(towers).await.unwrap().into_inner();
    let found: Vec<_> = answer.matches.into_iter().map(|found| found.spec.unwrap().seed).collect();
    assert_eq!((found, answer.next), (vec![42, 7], 0));
}

#[tokio::test]
async fn ten_thousand_identical_misses_generate_one_floor() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    // The largest floor, so that calls arrive while it is generated.
    let wanted = FloorSpec { width: 512, height: 512, kind: FloorKind::Standard.into(), ..spec(9, 1) };
    let client = server.client().await;
    let calls: Vec<_> = (0..10_000)
        .map(|_| {
            let (mut client, spec) = (client.clone(), Some(wanted.clone()));
            tokio::spawn(async move {
                let answer = client.get_floor(GetFloorRequest { spec }).await.unwrap();
                let waited = header(answer.metadata(), "floor-coalesced") == Some("1");
                (answer.into_inner().content_hash, waited)
            })
        })
        .collect();
    let mut hashes = std::collections::BTreeSet::new();
    let mut waited = 0;
    for call in calls {
        let (hash, coalesced) = call.await.unwrap();
        hashes.insert(hash);
        waited += u32::from(coalesced);
    }
    assert_eq!(hashes.len(), 1);
    assert_eq!(server.metric("floors_generations_total{kind=\"standard\"}"), 1.0);
    assert_eq!(server.metric("floors_coalesced_total"), f64::from(waited));
    assert_eq!(server.calls("GetFloor", "OK"), 10_000.0);
}

#[tokio::test]
async fn a_batch_keeps_its_order_and_reports_floors_per_tier() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let mut client = server.client().await;
    client.get_floor(get(1, 5)).await.unwrap();
    let specs: Vec<_> = [9, 5, 1, 9, 10].map(|number| spec(1, number)).to_vec();
    let answer = client.batch_get_floors(BatchGetFloorsRequest { specs }).await.unwrap();
    let counts = served_by(&answer).to_owned();
    assert!(counts.contains("lru=1") && counts.contains("generated="), "{counts}");
    let total: u32 = counts.split(',').map(|count| count.split('=').nth(1).unwrap().parse::<u32>().unwrap()).sum();
    assert_eq!(total, 5, "every position is counted");
    let floors = answer.into_inner().floors;
    assert!(floors.iter().all(verify));
    let numbers: Vec<_> = floors.iter().map(|floor| floor.spec.as_ref().unwrap().number).collect();
    assert_eq!(numbers, [9, 5, 1, 9, 10]);
    assert_eq!(floors[0], floors[3]);
    assert_eq!(floors[4].spec.as_ref().unwrap().kind(), FloorKind::Boss, "every tenth floor is a boss floor");
    assert_eq!(server.generations(), 4.0, "5, 9, 1 and 10, each once");
}

#[tokio::test]
async fn a_stream_keeps_its_order_and_reports_floors_per_tier_in_trailers() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let mut client = server.client().await;
    let request =
        StreamFloorsRequest { first: Some(FloorSpec { width: 32, height: 32, ..spec(8, 999_951) }), count: 50 };
    for (round, by) in ["generated=50", "lru=50"].into_iter().enumerate() {
        let mut stream = client.stream_floors(request.clone()).await.unwrap().into_inner();
        let mut numbers = Vec::new();
        while let Some(floor) = stream.message().await.unwrap() {
            assert!(verify(&floor));
            numbers.push(floor.spec.unwrap().number);
        }
        assert_eq!(numbers, (999_951..=1_000_000).collect::<Vec<_>>());
        let trailers = stream.trailers().await.unwrap().unwrap();
        assert_eq!(header(&trailers, "floor-served-by"), Some(by), "round {round}");
    }
    wait_until("both streams are counted", || server.calls("StreamFloors", "OK") == 2.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_stops_reading_bounds_what_the_server_buffers() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    // The client's windows have HTTP/2's initial size and bound the data in transit.
    let small_window = Channel::from_shared(format!("http://{}", server.grpc)).unwrap();
    let small_window = small_window.initial_stream_window_size(65_535).initial_connection_window_size(65_535);
    let mut client = FloorServiceClient::new(small_window.connect().await.unwrap());
    let request = StreamFloorsRequest { first: Some(spec(8, 1)), count: 10_000 };
    let mut stream = client.stream_floors(request.clone()).await.unwrap().into_inner();
    stream.message().await.unwrap().unwrap();
    let generations = || server.generations();
    // Generation stops when the HTTP/2 windows are full. Wait until the count is stable.
    let (mut last, mut unchanged) = (generations(), 0);
    wait_until("generation has stopped", || {
        let now = generations();
        unchanged = if now == last { unchanged + 1 } else { 0 };
        last = now;
        unchanged == 40
    });
    // About 20 floors of at least 3 KB fill the window and the client's buffer. They are fetched 16 at a time, and up
    // to 16 more are fetched ahead.
    assert!(last <= 64.0, "{last} floors were generated for a client that read one");
    assert_eq!(server.metric("floors_calls_in_flight"), 1.0);
    drop(stream);
    wait_until("the cancelled stream is counted", || server.calls("StreamFloors", "CANCELLED") == 1.0);
    wait_until("no call is in flight", || server.metric("floors_calls_in_flight") == 0.0);
}

#[tokio::test]
async fn no_cache_generates_the_same_floor_again() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let mut client = server.client().await;
    let cached = client.get_floor(get(4, 4)).await.unwrap().into_inner();
    let mut request = Request::new(get(4, 4));
    request.metadata_mut().insert("cache-control", "no-cache".parse().unwrap());
    let fresh = client.get_floor(request).await.unwrap();
    assert_eq!(served_by(&fresh), "generated");
    assert_eq!(fresh.into_inner(), cached);
    assert_eq!(server.generations(), 2.0);
}

#[tokio::test]
async fn floors_of_another_generator_version_are_refused() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let mut client = server.client().await;
    let own = client.get_server_info(GetServerInfoRequest {}).await.unwrap().into_inner().generator_version;
    for (version, code) in [
        (own.to_string(), Code::Ok),
        ((own + 1).to_string(), Code::FailedPrecondition),
        ("new".to_owned(), Code::InvalidArgument),
    ] {
        let version = version.as_str();
        let statuses = [
            client.get_floor(of_version(version, get(4, 4))).await.err(),
            client.batch_get_floors(of_version(version, BatchGetFloorsRequest { specs: vec![spec(4, 4)] })).await.err(),
            client
                .stream_floors(of_version(version, StreamFloorsRequest { first: Some(spec(4, 4)), count: 1 }))
                .await
                .err(),
        ];
        for status in statuses {
            assert_eq!(status.as_ref().map_or(Code::Ok, Status::code), code, "{version}: {status:?}");
        }
        client.get_server_info(of_version(version, GetServerInfoRequest {})).await.unwrap();
    }
    let status = client.get_floor(of_version("77", get(4, 4))).await.unwrap_err();
    for part in ["version 77", &format!("version {own}"), "GetServerInfo"] {
        assert!(status.message().contains(part), "{part}: {status:?}");
    }
    let body = frame(&get(4, 4));
    let head = web("GetFloor", "floor-generator-version: 77\r\nconnection: close\r\n", body.len());
    let (_, head, _) = http1(&server.grpc, &head, &body);
    assert!(head.contains(&format!("grpc-status: {}", Code::FailedPrecondition as i32)), "{head}");
}

/// A request for floors of this generator version.
fn of_version<T>(version: &str, message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("floor-generator-version", version.parse().unwrap());
    request
}

#[tokio::test]
async fn a_traced_call_reports_outcome_and_time_per_tier() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let mut client = server.client().await;
    let traced = || {
        let mut request = Request::new(get(5, 5));
        request.metadata_mut().insert("floor-trace", "1".parse().unwrap());
        request
    };
    let miss = client.get_floor(traced()).await.unwrap();
    let trace = header(miss.metadata(), "floor-trace").unwrap();
    let steps: Vec<_> = trace.split(',').collect();
    assert!(steps[0].starts_with("lru=miss:") && steps[1].starts_with("lmdb=miss:"), "{trace}");
    assert!(steps[2].starts_with("generated:") && steps.iter().all(|step| step.ends_with("us")), "{trace}");
    let inside: u64 = header(miss.metadata(), "floor-server-us").unwrap().parse().unwrap();
    assert!(inside > 0);
    let hit = client.get_floor(traced()).await.unwrap();
    assert!(header(hit.metadata(), "floor-trace").unwrap().starts_with("lru=hit:"));
    let plain = client.get_floor(get(5, 5)).await.unwrap();
    assert!(plain.metadata().get("floor-trace").is_none() && plain.metadata().get("floor-server-us").is_none());
}

#[tokio::test]
async fn server_info_describes_limits_kinds_and_tiers() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let mut client = server.client().await;
    client.get_floor(get(6, 6)).await.unwrap();
    client.get_floor(get(6, 6)).await.unwrap();
    let info = client.get_server_info(GetServerInfoRequest {}).await.unwrap().into_inner();
    assert_eq!((info.max_batch, info.max_stream), (256, 10_000));
    assert!(info.kinds().any(|kind| kind == FloorKind::Standard) && info.kinds().any(|kind| kind == FloorKind::Boss));
    let names: Vec<_> = info.tiers.iter().map(|tier| tier.name.as_str()).collect();
    assert_eq!(names, ["lru", "lmdb", "generated"]);
    assert_eq!((info.tiers[0].hits, info.tiers[0].misses, info.tiers[2].hits), (1, 1, 1));
    assert!(info.tiers[2].hit_cost_us > 0.0);
}

#[tokio::test]
async fn health_and_reflection_are_served_on_the_same_port() {
    use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient};
    use tonic_reflection::pb::v1::{
        ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
        server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
    };
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let mut health = HealthClient::new(server.channel().await);
    for service in ["", "floors.v1.FloorService"] {
        let answer = health.check(HealthCheckRequest { service: service.into() }).await.unwrap().into_inner();
        assert_eq!(answer.status(), ServingStatus::Serving);
    }
    let mut reflection = ServerReflectionClient::new(server.channel().await);
    let list_services = ServerReflectionRequest {
        message_request: Some(MessageRequest::ListServices(String::new())),
        ..ServerReflectionRequest::default()
    };
    let mut answers =
        reflection.server_reflection_info(futures_util::stream::iter([list_services])).await.unwrap().into_inner();
    match answers.message().await.unwrap().unwrap().message_response {
        Some(MessageResponse::ListServicesResponse(list)) => {
            assert!(list.service.iter().any(|service| service.name == "floors.v1.FloorService"));
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn grpc_web_serves_a_floor_and_answers_a_preflight() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let body = frame(&get(11, 11));
    let head = web("GetFloor", "connection: close\r\n", body.len());
    let (status, head, body) = http1(&server.grpc, &head, &body);
    assert_eq!(status, 200);
    assert!(head.contains("access-control-allow-origin: *"), "{head}");
    assert!(head.contains("floor-served-by: generated"), "{head}");
    let length = u32::from_be_bytes(body[1..5].try_into().unwrap()) as usize;
    let floor = Floor::decode(&body[5..5 + length]).unwrap();
    assert!(verify(&floor));
    let trailers = String::from_utf8_lossy(&body[5 + length + 5..]);
    assert!(trailers.contains("grpc-status:0"), "{trailers}");

    let preflight = "OPTIONS /floors.v1.FloorService/GetFloor HTTP/1.1\r\nhost: floors\r\norigin: http://game.example\r\n\
         access-control-request-method: POST\r\naccess-control-request-headers: content-type,x-grpc-web\r\n\
         connection: close\r\n\r\n";
    let (status, head, _) = http1(&server.grpc, preflight, &[]);
    assert_eq!(status, 200);
    assert!(head.contains("access-control-allow-methods: get,head,post"), "{head}");
}

#[test]
fn grpc_web_text_is_base64_in_both_directions() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let text = "application/grpc-web-text";
    // A request in padded pieces, in chunks that cut groups.
    let wanted = frame(&StreamFloorsRequest { first: Some(spec(13, 1)), count: 3 });
    let request = BASE64.encode(&wanted[..4]) + &BASE64.encode(&wanted[4..]);
    let chunk = |chunk: &[u8]| format!("{:x}\r\n{}\r\n", chunk.len(), String::from_utf8_lossy(chunk));
    let chunks: String = request.as_bytes().chunks(3).map(chunk).collect();
    let headers = format!("transfer-encoding: chunked\r\nconnection: close\r\naccept: {text}\r\n");
    let head = web_of("/floors.v1.FloorService/StreamFloors", text, &headers);
    let (status, head, body) = http1(&server.grpc, &head, format!("{chunks}0\r\n\r\n").as_bytes());
    assert_eq!(status, 200, "{head}");
    assert!(head.contains("content-type: application/grpc-web-text+proto"), "{head}");
    // Each frame is encoded by itself.
    let mut bytes = Vec::new();
    for group in body.chunks(4) {
        bytes.extend(BASE64.decode(group).unwrap());
    }
    let mut flags = Vec::new();
    let mut rest = &bytes[..];
    while let Some((prefix, after)) = rest.split_at_checked(5) {
        let (message, after) = after.split_at(u32::from_be_bytes(prefix[1..].try_into().unwrap()) as usize);
        flags.push(prefix[0]);
        match prefix[0] {
            0 => assert!(verify(&Floor::decode(message).unwrap())),
            _ => assert!(String::from_utf8_lossy(message).contains("floor-served-by:generated=3\r\n")),
        }
        rest = after;
    }
    assert_eq!(flags, [0, 0, 0, 0x80]);
    assert_eq!(server.calls("StreamFloors", "OK"), 1.0);
}

#[tokio::test]
async fn content_types_are_compared_without_case_and_parameters() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let stream = tokio::net::TcpStream::connect(&server.grpc).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    for content_type in ["application/grpc;charset=utf-8", "Application/gRPC+Proto", "application/grpc ; x=y"] {
        let mut request = server.request("GetFloor", &[]).body(framed(&get(12, 1))).unwrap();
        request.headers_mut().insert("content-type", content_type.parse().unwrap());
        let response = sender.send_request(request).await.unwrap();
        assert_eq!(response.headers()["content-type"], "application/grpc", "{content_type}");
        let trailers = response.into_body().collect().await.unwrap().trailers().cloned();
        assert_eq!(trailers.unwrap()["grpc-status"], "0", "{content_type}");
    }
    let (binary, text) = (frame(&get(12, 1)), BASE64.encode(frame(&get(12, 1))).into_bytes());
    for (content_type, body) in [
        ("application/grpc-web+proto; x=y", &binary),
        ("Application/gRPC-Web", &binary),
        ("application/grpc-web-text; charset=utf-8", &text),
        ("application/gRPC-web-TEXT+proto", &text),
        ("Application/Proto; x=y", &get(12, 1).encode_to_vec()),
    ] {
        let headers = format!("content-length: {}\r\nconnection: close\r\n", body.len());
        let head = web_of("/floors.v1.FloorService/GetFloor", content_type, &headers);
        let (status, head, _) = http1(&server.grpc, &head, body);
        assert_eq!(status, 200, "{content_type}: {head}");
        assert!(head.contains("floor-served-by: lru"), "{content_type}: {head}");
    }
    let wanted = frame(&StreamFloorsRequest { first: Some(spec(12, 1)), count: 1 });
    let headers = format!("content-length: {}\r\nconnection: close\r\n", wanted.len());
    let head = web_of("/floors.v1.FloorService/StreamFloors", "application/Connect+proto;x=y", &headers);
    assert_eq!(http1(&server.grpc, &head, &wanted).0, 200);
    assert_eq!(server.calls("GetFloor", "OK"), 8.0);
    assert_eq!(server.calls("StreamFloors", "OK"), 1.0);
}

#[tokio::test]
async fn the_operations_port_serves_status_and_metrics() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let standard = FloorSpec { kind: FloorKind::Standard.into(), ..spec(1, 1) };
    server.client().await.get_floor(GetFloorRequest { spec: Some(standard) }).await.unwrap();
    assert_eq!(server.page("/healthz").0, 200);
    assert_eq!(server.page("/readyz").0, 200);
    assert!(server.page("/status").1.contains("lmdb"));
    wait_until("the floor is stored", || server.metric("floors_tier_entries{tier=\"lmdb\"}") == 1.0);
    let text = server.page("/metrics").1;
    for kind in Kind::ALL {
        for name in ["floors_generations_total", "floors_generation_seconds_count"] {
            let series = format!("{name}{{kind=\"{kind}\"}} ");
            assert!(text.contains(&series), "{series}: every kind is there before its first floor\n{text}");
        }
    }
    for name in [
        "floors_requests_total{code=\"OK\",rpc=\"GetFloor\"} 1",
        "floors_request_seconds_count{rpc=\"GetFloor\"} 1",
        "floors_tier_requests_total{outcome=\"miss\",tier=\"lru\"} 1",
        "floors_tier_requests_total{outcome=\"miss\",tier=\"lmdb\"} 1",
        "floors_tier_seconds_bucket{op=",
        "floors_tier_bytes{tier=\"lru\"}",
        "floors_tier_entries{tier=\"lru\"} 1",
        "floors_breaker_state{tier=\"lmdb\"} 0",
        "floors_generations_total{kind=\"standard\"} 1",
        "floors_generation_seconds_count{kind=\"standard\"} 1",
        "floors_generation_queue 0",
        "floors_coalesced_total 0",
    ] {
        assert!(text.contains(name), "{name} is missing in\n{text}");
    }
}

#[tokio::test]
async fn an_expired_timeout_returns_deadline_exceeded() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let message = GetFloorRequest { spec: Some(FloorSpec { width: 512, height: 512, ..spec(1, 1) }) };
    // Not with tonic's client, which times out by itself before it reads the response.
    let headers = server.http2("GetFloor", &[("grpc-timeout", "1u")], &message).await;
    assert_eq!(headers["grpc-status"], "4", "{headers:?}");
    let headers = server.http2("GetFloor", &[("grpc-timeout", "10S")], &message).await;
    assert_eq!(headers["grpc-status"], "0", "{headers:?}");
    assert_eq!(server.calls("GetFloor", "DEADLINE_EXCEEDED"), 1.0);
}

#[tokio::test]
async fn a_full_generation_queue_returns_a_retry_delay() {
    use tonic_types::StatusExt;
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("GENERATION__THREADS", "1").start();
    let started = Instant::now();
    let mut client = server.client().await;
    // 1024 floors may wait for the thread.
    let calls: Vec<_> = (1..=16)
        .map(|seed| {
            let (mut client, wanted) =
                (client.clone(), |number| FloorSpec { width: 128, height: 128, ..spec(seed, number) });
            let request = BatchGetFloorsRequest { specs: (1..=256).map(wanted).collect() };
            tokio::spawn(async move { client.batch_get_floors(request).await })
        })
        .collect();
    let mut refused = 0;
    for call in calls {
        if let Err(status) = call.await.unwrap() {
            assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
            assert!(status.get_error_details().retry_info().unwrap().retry_delay.is_some());
            refused += 1;
        }
    }
    assert!(refused > 0, "4096 floors did not fill a queue of 1024");
    let warnings = server.log().matches("a floor was refused client=\"127.0.0.1\" reason=\"queue\"").count() as u64;
    assert!((1..=started.elapsed().as_secs() + 1).contains(&warnings), "at most one a second: {}", server.log());
    assert_eq!(served_by(&client.get_floor(get(30, 1)).await.unwrap()), "generated", "the server keeps serving");
}
