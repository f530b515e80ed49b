//! Every kind of call that the port knows. The server itself says which RPCs and content types there are, and a kind that
//! is not in the lists fails the test that uses them.

use std::collections::BTreeSet;

use floor_climb::SigningKey;
use floor_proto::v1::{
    BatchGetFloorsRequest, Climb, GetDailyRequest, GetPackRequest, GetServerInfoRequest, Hero, ListPacksRequest,
    SearchFloorsRequest, StartClimbRequest, StreamFloorsRequest, SubmitFloorRequest,
};
use floor_rules::Act;
use hkdf::Hkdf;
use prost::Message;
use prost_types::FileDescriptorProto;
use sha2::Sha256;
use tempfile::TempDir;
use test_support::{Server, http1, spec, web_of};
use tonic_health::pb::HealthCheckRequest;
use tonic_reflection::pb::v1::{
    ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
    server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
};

use super::get;

pub(crate) const GET_FLOOR: &str = "/floors.v1.FloorService/GetFloor";
pub(crate) const BATCH: &str = "/floors.v1.FloorService/BatchGetFloors";
pub(crate) const SEARCH: &str = "/floors.v1.FloorService/SearchFloors";
pub(crate) const STREAM: &str = "/floors.v1.FloorService/StreamFloors";
pub(crate) const INFO: &str = "/floors.v1.FloorService/GetServerInfo";
pub(crate) const PACK: &str = "/floors.v1.FloorService/GetPack";
pub(crate) const PACKS: &str = "/floors.v1.FloorService/ListPacks";
pub(crate) const START: &str = "/floors.v1.FloorService/StartClimb";
pub(crate) const SUBMIT: &str = "/floors.v1.FloorService/SubmitFloor";
pub(crate) const DAILY: &str = "/floors.v1.FloorService/GetDaily";
pub(crate) const CHECK: &str = "/grpc.health.v1.Health/Check";
pub(crate) const WATCH: &str = "/grpc.health.v1.Health/Watch";
pub(crate) const REFLECTION: &str = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
pub(crate) const OLD_REFLECTION: &str = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";

pub(crate) const GRPC: &str = "application/grpc";

/// An RPC and the content type of a call to it, so that every one of both is here.
pub(crate) const CALLS: [(&str, &str); 28] = [
    (GET_FLOOR, GRPC),
    (GET_FLOOR, "application/grpc+proto"),
    (GET_FLOOR, "application/grpc-web"),
    (GET_FLOOR, "application/grpc-web+proto"),
    (GET_FLOOR, "application/grpc-web-text"),
    (GET_FLOOR, "application/grpc-web-text+proto"),
    (GET_FLOOR, "application/proto"),
    (GET_FLOOR, "application/json"),
    (BATCH, GRPC),
    (SEARCH, GRPC),
    (INFO, GRPC),
    (PACK, GRPC),
    (PACKS, GRPC),
    (START, GRPC),
    (SUBMIT, GRPC),
    (DAILY, GRPC),
    (STREAM, GRPC),
    (STREAM, "application/grpc+proto"),
    (STREAM, "application/grpc-web"),
    (STREAM, "application/grpc-web+proto"),
    (STREAM, "application/grpc-web-text"),
    (STREAM, "application/grpc-web-text+proto"),
    (STREAM, "application/connect+proto"),
    (STREAM, "application/connect+json"),
    (CHECK, GRPC),
    (WATCH, GRPC),
    (REFLECTION, GRPC),
    (OLD_REFLECTION, GRPC),
];

/// Whether a content type may come over HTTP/1: gRPC needs HTTP/2.
pub(crate) fn speaks_http1(content_type: &str) -> bool {
    content_type.starts_with("application/grpc-web") || !content_type.starts_with(GRPC)
}

/// A message of an RPC.
pub(crate) fn message(path: &str) -> Vec<u8> {
    match path {
        GET_FLOOR => get(1, 1).encode_to_vec(),
        BATCH => BatchGetFloorsRequest { specs: (1..=16).map(|number| spec(1, number)).collect() }.encode_to_vec(),
        STREAM => StreamFloorsRequest { first: Some(spec(1, 1)), count: 16 }.encode_to_vec(),
        SEARCH => {
            let (first, condition) = (Some(spec(1, 1)), "rooms > 0".to_owned());
            SearchFloorsRequest { first, count: 16, condition, ..Default::default() }.encode_to_vec()
        }
        INFO => GetServerInfoRequest {}.encode_to_vec(),
        PACK => GetPackRequest { pack: "tower".into() }.encode_to_vec(),
        PACKS => ListPacksRequest {}.encode_to_vec(),
        START => start().encode_to_vec(),
        SUBMIT => submit(100).encode_to_vec(),
        DAILY => GetDailyRequest {}.encode_to_vec(),
        CHECK | WATCH => HealthCheckRequest::default().encode_to_vec(),
        // Both versions have the same messages.
        REFLECTION | OLD_REFLECTION => symbol("floors.v1.FloorService").encode_to_vec(),
        _ => panic!("{path} is in no list"),
    }
}

fn start() -> StartClimbRequest {
    StartClimbRequest { tower: "tower".into(), ..StartClimbRequest::default() }
}

/// The text of a file of keys for sealed towers, by which [`submit`] has its receipt.
pub(crate) fn tower_key() -> String {
    format!("1:{}", "11".repeat(32))
}

/// A hero with much health waits for so many turns on the first floor of a tower.
pub(crate) fn submit(acts: usize) -> SubmitFloorRequest {
    let mut key = [0; 32];
    let derivation = Hkdf::<Sha256>::new(Some(b"floor-server sealed towers 1"), &[0x11; 32]);
    derivation.expand(b"receipts", &mut key).unwrap();
    let hero = Some(Hero { health: u32::MAX, most_health: u32::MAX, ..Hero::default() });
    let (generator_version, rules_version) = (floor_gen::GENERATOR_VERSION, floor_rules::VERSION);
    let climb = Climb { tower: "tower".into(), floor: 1, width: 100, height: 100, hero, ..Climb::default() };
    let climb = Climb { generator_version, rules_version, ..climb };
    let receipt = floor_climb::sign(&climb, 1, &SigningKey::from_bytes(&key));
    SubmitFloorRequest { receipt: Some(receipt), acts: vec![Act::Search.to_byte(); acts] }
}

fn symbol(name: &str) -> ServerReflectionRequest {
    let message_request = Some(MessageRequest::FileContainingSymbol(name.to_owned()));
    ServerReflectionRequest { message_request, ..ServerReflectionRequest::default() }
}

/// The body of a call with this message, in the protocol of a content type.
pub(crate) fn body(content_type: &str, path: &str) -> Vec<u8> {
    // Health and reflection take no JSON.
    let json = if content_type.ends_with("json") { json(path) } else { String::new() };
    body_of(content_type, &message(path), &json)
}

/// The same of `message`, which is `json` as JSON.
pub(crate) fn body_of(content_type: &str, message: &[u8], json: &str) -> Vec<u8> {
    let framed = |message: &[u8]| {
        let length = u32::try_from(message.len()).unwrap().to_be_bytes();
        [&[0][..], &length, message].concat()
    };
    match content_type {
        "application/proto" => message.to_vec(),
        "application/json" => json.into(),
        "application/connect+json" => framed(json.as_bytes()),
        text if text.starts_with("application/grpc-web-text") => {
            base64::Engine::encode(&base64::engine::general_purpose::STANDARD, framed(message)).into_bytes()
        }
        _ => framed(message),
    }
}

fn json(path: &str) -> String {
    let spec = r#"{"seed":"1","number":1}"#;
    match path {
        GET_FLOOR => format!(r#"{{"spec":{spec}}}"#),
        BATCH => format!(r#"{{"specs":[{}]}}"#, [spec; 16].join(",")),
        STREAM => format!(r#"{{"first":{spec},"count":16}}"#),
        SEARCH => format!(r#"{{"first":{spec},"count":16,"condition":"rooms > 0"}}"#),
        INFO | PACKS | DAILY => "{}".to_owned(),
        START => r#"{"tower":"tower"}"#.to_owned(),
        PACK => r#"{"pack":"tower"}"#.to_owned(),
        _ => panic!("{path} takes no JSON"),
    }
}

/// The paths of all RPCs, as reflection lists them.
async fn served_paths(server: &Server) -> BTreeSet<String> {
    let mut reflection = ServerReflectionClient::new(server.channel().await);
    let mut ask = async |request: MessageRequest| {
        let request = ServerReflectionRequest { message_request: Some(request), ..ServerReflectionRequest::default() };
        let request = futures_util::stream::iter([request]);
        let mut answers = reflection.server_reflection_info(request).await.unwrap().into_inner();
        answers.message().await.unwrap().unwrap().message_response.unwrap()
    };
    let MessageResponse::ListServicesResponse(services) = ask(MessageRequest::ListServices(String::new())).await else {
        panic!("no list of services");
    };
    let mut paths = BTreeSet::new();
    for service in services.service {
        let file = ask(MessageRequest::FileContainingSymbol(service.name.clone())).await;
        let MessageResponse::FileDescriptorResponse(files) = file else { panic!("no file of {}", service.name) };
        for file in files.file_descriptor_proto {
            let file = FileDescriptorProto::decode(&*file).unwrap();
            let (package, services) = (file.package().to_owned(), file.service);
            for service in services {
                let path = |method: &str| format!("/{package}.{}/{method}", service.name());
                paths.extend(service.method.iter().map(|method| path(method.name())));
            }
        }
    }
    paths
}

/// The content types that a method accepts, as the answer to one that it does not accept lists them.
fn served_types(server: &Server, path: &str) -> BTreeSet<String> {
    let (status, headers, _) = http1(&server.grpc, &web_of(path, "text/plain", "connection: close\r\n"), &[]);
    assert_eq!(status, 415);
    let types = headers.lines().find_map(|line| line.strip_prefix("accept-post: ")).unwrap();
    types.split(',').map(|name| name.trim().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_rpc_and_every_content_type_of_unary_calls_and_streams_is_listed() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let paths: BTreeSet<_> = CALLS.iter().map(|(path, _)| (*path).to_owned()).collect();
    let missing: Vec<_> = served_paths(&server).await.difference(&paths).cloned().collect();
    assert!(missing.is_empty(), "no test holds these RPCs: {missing:?}");
    for path in [GET_FLOOR, STREAM] {
        let types: BTreeSet<_> = CALLS.iter().filter(|call| call.0 == path).map(|call| call.1.to_owned()).collect();
        assert_eq!(served_types(&server, path), types, "{path}");
    }
}
