//! The Connect protocol on the gRPC port of the real server: HTTP/1.1 by bytes, HTTP/2 by hyper.
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

use std::{fs, io::Write, net::TcpStream};

use bytes::Bytes;
use floor_proto::{
    hash::verify,
    limits::MAX_FLOOR,
    v1::{BatchGetFloorsRequest, BatchGetFloorsResponse, Floor, GetFloorRequest, ServerInfo, StreamFloorsRequest},
};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use test_support::{Server, Setup, TIMEOUT, frame, http1, parsed, spec};

const SERVICE: &str = "/floors.v1.FloorService";

/// An answer: status, headers in lower case, body.
type Answer = (u16, String, Vec<u8>);

fn get(seed: u64, number: u32) -> GetFloorRequest {
    GetFloorRequest { spec: Some(spec(seed, number)) }
}

/// POSTs over HTTP/1.1.
fn post(server: &Server, method: &str, content_type: &str, headers: &str, body: &[u8]) -> Answer {
    let head = format!(
        "POST {SERVICE}/{method} HTTP/1.1\r\nhost: floors\r\nconnection: close\r\ncontent-type: {content_type}\r\n\
         content-length: {}\r\n{headers}\r\n",
        body.len()
    );
    http1(&server.grpc, &head, body)
}

fn post_json(server: &Server, method: &str, body: &Value) -> Answer {
    post(server, method, "application/json", "", body.to_string().as_bytes())
}

/// Makes a request of another method over HTTP/1.1.
fn request(server: &Server, method: &str, path: &str, headers: &str) -> Answer {
    http1(&server.grpc, &format!("{method} {path} HTTP/1.1\r\nhost: floors\r\nconnection: close\r\n{headers}\r\n"), &[])
}

/// GETs a method with this query.
fn get_url(server: &Server, method: &str, query: &str, headers: &str) -> Answer {
    request(server, "GET", &format!("{SERVICE}/{method}?{query}"), headers)
}

/// The value of a header.
fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

fn parse(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(body)))
}

/// The field of the first violation of an error.
fn violated(error: &Value) -> &str {
    error["details"][0]["debug"]["fieldViolations"][0]["field"].as_str().unwrap_or_else(|| panic!("{error}"))
}

/// The messages of a stream: flags and content.
fn envelopes(mut body: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut messages = Vec::new();
    while !body.is_empty() {
        let length = u32::from_be_bytes(body[1..5].try_into().unwrap()) as usize;
        messages.push((body[0], body[5..5 + length].to_vec()));
        body = &body[5 + length..];
    }
    messages
}

fn envelope(message: &[u8]) -> Vec<u8> {
    [&[0][..], &u32::try_from(message.len()).unwrap().to_be_bytes(), message].concat()
}

/// A seed in JSON.
fn wanted(seed: u64, number: u32) -> Value {
    json!({"spec": {"seed": seed.to_string(), "number": number}})
}

#[test]
fn a_floor_is_json_for_whoever_posts_json() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let (status, head, body) = post_json(&server, "GetFloor", &wanted(42, 7));
    assert_eq!(status, 200, "{head}");
    assert_eq!(header(&head, "content-type"), Some("application/json"));
    assert_eq!(header(&head, "floor-served-by"), Some("generated"));
    assert_eq!(header(&head, "content-length"), Some(body.len().to_string().as_str()));
    let floor = parse(&body);
    assert_eq!(floor["spec"]["seed"], "42");
    assert_eq!(floor["spec"]["number"], 7);
    assert!(floor["spec"]["kind"].as_str().unwrap().starts_with("FLOOR_KIND_"), "{floor}");
    assert!(floor["contentHash"].is_string() && floor["generatorVersion"].is_u64(), "{floor}");

    // The same floor in protobuf, which is the stored message.
    let (status, head, body) = post(&server, "GetFloor", "application/proto", "", &get(42, 7).encode_to_vec());
    assert_eq!((status, header(&head, "content-type")), (200, Some("application/proto")));
    assert_eq!(header(&head, "floor-served-by"), Some("lru"));
    let stored = Floor::decode(&body[..]).unwrap();
    assert!(verify(&stored));
    assert_eq!(floor["contentHash"], stored.content_hash.to_string());
    assert_eq!(floor["rooms"].as_array().unwrap().len(), stored.rooms.len());

    // Numbers, original names, and null for a default.
    let other = json!({"spec": {"seed": 42, "number": "7", "width": null, "kind": 0}});
    assert_eq!(parse(&post_json(&server, "GetFloor", &other).2), floor);
    assert_eq!(server.calls("GetFloor", "OK"), 3.0);
}

#[test]
fn batches_and_server_info_are_json_too() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let (status, head, body) = post_json(
        &server,
        "BatchGetFloors",
        &json!({"specs": [{"seed": "1", "number": 1}, {"seed": "1", "number": 2}, {"seed": "1", "number": 1}]}),
    );
    assert_eq!(status, 200, "{head}");
    let floors = parse(&body)["floors"].as_array().unwrap().clone();
    assert_eq!(floors.len(), 3);
    assert_eq!(floors[0], floors[2]);
    let batch = BatchGetFloorsRequest { specs: vec![spec(1, 1), spec(1, 2)] };
    let (_, head, body) = post(&server, "BatchGetFloors", "application/proto", "", &batch.encode_to_vec());
    assert_eq!(header(&head, "floor-served-by"), Some("lru=2"));
    let batch = BatchGetFloorsResponse::decode(&body[..]).unwrap();
    assert_eq!(floors[1]["contentHash"], batch.floors[1].content_hash.to_string());

    let (status, _, body) = post_json(&server, "GetServerInfo", &json!({}));
    assert_eq!(status, 200);
    let info = parse(&body);
    assert_eq!(info["tiers"][0]["name"], "lru");
    let (_, _, body) = post(&server, "GetServerInfo", "application/proto", "", &[]);
    assert_eq!(info["generatorVersion"], ServerInfo::decode(&body[..]).unwrap().generator_version);
}

#[test]
fn one_http1_connection_carries_many_calls_and_an_upgrade_is_ignored() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let body = wanted(1, 1).to_string();
    let call = |last: &str| {
        format!(
            "POST {SERVICE}/GetFloor HTTP/1.1\r\nhost: floors\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n{last}\r\n{body}",
            body.len()
        )
    };
    // As curl --http2 asks, and then a second call.
    let upgrade = "connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n";
    let mut stream = TcpStream::connect(&server.grpc).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream.write_all((call(upgrade) + &call("connection: close\r\n")).as_bytes()).unwrap();
    let mut answers = Vec::new();
    std::io::Read::read_to_end(&mut stream, &mut answers).unwrap();
    let (status, head, rest) = parsed(&answers);
    assert_eq!((status, &head[..9]), (200, "http/1.1 "));
    let length: usize = header(&head, "content-length").unwrap().parse().unwrap();
    let first = parse(&rest[..length]);
    let (status, head, second) = parsed(&rest[length..]);
    assert_eq!((status, header(&head, "floor-served-by")), (200, Some("lru")));
    assert_eq!(parse(&second), first);
}

#[test]
fn errors_have_a_status_a_code_and_details() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let (status, head, body) = post_json(&server, "GetFloor", &wanted(1, 0));
    assert_eq!((status, header(&head, "content-type")), (400, Some("application/json")));
    let error = parse(&body);
    assert_eq!(error["code"], "invalid_argument");
    assert!(error["message"].as_str().unwrap().contains("spec.number"), "{error}");
    assert_eq!(error["details"][0]["type"], "google.rpc.BadRequest");
    assert!(error["details"][0]["value"].is_string());
    assert_eq!(violated(&error), "spec.number");
    // The same error if the request is protobuf.
    let (status, _, body) = post(&server, "GetFloor", "application/proto", "", &get(1, 0).encode_to_vec());
    assert_eq!((status, parse(&body)), (400, error));

    let call = |headers: &str| {
        let (status, _, body) =
            post(&server, "GetFloor", "application/json", headers, wanted(1, 1).to_string().as_bytes());
        (status, parse(&body)["code"].as_str().unwrap_or("ok").to_owned())
    };
    for (headers, status, code) in [
        ("connect-protocol-version: 1\r\n", 200, "ok"),
        ("connect-protocol-version: 2\r\n", 400, "invalid_argument"),
        ("connect-timeout-ms: 60000\r\n", 200, "ok"),
        ("connect-timeout-ms: 0\r\n", 504, "deadline_exceeded"),
        ("connect-timeout-ms: soon\r\n", 400, "invalid_argument"),
        ("content-encoding: identity\r\n", 200, "ok"),
        ("content-encoding: gzip\r\n", 501, "unimplemented"),
        ("cache-control: no-cache\r\n", 200, "ok"),
    ] {
        assert_eq!(call(headers), (status, code.to_owned()), "{headers}");
    }
    assert_eq!(server.calls("GetFloor", "INVALID_ARGUMENT"), 4.0);
}

#[test]
fn wrong_json_is_an_error_that_names_the_field() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let long = format!("{{\"specs\":[{}{{}}]}}", "{},".repeat(40_000));
    let deep = format!("{{\"specs\":{}", "[".repeat(100_000));
    for (method, body, field) in [
        ("GetFloor", &br#"{"spec":{"seed":"42","numbr":7}}"#[..], Some("spec.numbr")),
        ("GetFloor", br#"{"spek":{}}"#, Some("spek")),
        ("GetFloor", b"{\"spec\":{\"seed\":\"\xff\"}}", Some("spec.seed")),
        ("GetFloor", br#"{"spec":{"number":"seven"}}"#, Some("spec.number")),
        ("GetFloor", br#"{"spec":{"number":-1}}"#, Some("spec.number")),
        ("GetFloor", br#"{"spec":{"number":1.5}}"#, Some("spec.number")),
        ("GetFloor", br#"{"spec":{"number":NaN}}"#, Some("spec.number")),
        ("GetFloor", br#"{"spec":{"seed":"18446744073709551616"}}"#, Some("spec.seed")),
        ("GetFloor", br#"{"spec":{"number":1,"kind":"BOSS"}}"#, Some("spec.kind")),
        ("GetFloor", br#"{"spec":{"number":1,"kind":99}}"#, Some("spec.kind")),
        ("GetFloor", br#"{"spec":[]}"#, Some("spec")),
        ("GetFloor", b"{}", Some("spec")),
        ("BatchGetFloors", br#"{"specs":[{"number":1},{"number":{}}]}"#, Some("specs[1].number")),
        ("BatchGetFloors", long.as_bytes(), Some("specs")),
        ("BatchGetFloors", deep.as_bytes(), Some("specs[0]")),
        ("GetFloor", b"", None),
        ("GetFloor", b"null", None),
        ("GetFloor", b"{} {}", None),
        ("GetFloor", b"{\"spec\":{\"number\":", None),
        ("GetFloor", b"{\"\xff\":1}", None),
    ] {
        let shown = String::from_utf8_lossy(&body[..body.len().min(80)]);
        let (status, _, answer) = post(&server, method, "application/json", "", body);
        let error = parse(&answer);
        assert_eq!((status, &error["code"]), (400, &json!("invalid_argument")), "{shown}: {error}");
        assert!(answer.len() < 2000, "{shown}: {} bytes", answer.len());
        if let Some(field) = field {
            assert_eq!(violated(&error), field, "{shown}: {error}");
        }
    }
    // The rest of a request beyond the limit is read, so that the client gets the error.
    for (content_type, length) in [("application/json", 5 << 20), ("application/proto", 5 << 20)] {
        let (status, _, body) = post(&server, "GetFloor", content_type, "", &vec![b' '; length]);
        let error = parse(&body);
        assert_eq!((status, &error["code"]), (400, &json!("out_of_range")), "{error}");
        assert!(error["message"].as_str().unwrap().contains("the limit is"), "{error}");
    }
}

#[test]
fn requests_that_nothing_answers_are_told_what_would_be_right() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let floor = format!("{SERVICE}/GetFloor");
    for (content_type, method) in [
        ("text/plain", "GetFloor"),
        ("application/jsonp", "GetFloor"),
        ("application/connect+json", "GetFloor"),
        ("application/json", "StreamFloors"),
        ("application/grpc", "GetFloor"),
        ("application/grpc+json", "GetFloor"),
    ] {
        let (status, head, body) = post(&server, method, content_type, "", b"{}");
        assert_eq!(status, 415, "{content_type}: {head}");
        assert!(header(&head, "accept-post").unwrap().contains("json"), "{head}");
        let error = parse(&body);
        assert_eq!(error["code"], "unknown", "as Connect's clients read this HTTP status");
        assert!(error["message"].as_str().unwrap().contains("json"));
    }
    for (method, path, wanted) in [
        ("GET", "/", 404),
        ("GET", "/floors.v1.FloorService/GetFlour", 404),
        ("POST", "/grpc.health.v1.Health/Check", 404),
        ("DELETE", floor.as_str(), 405),
        ("GET", "/floors.v1.FloorService/StreamFloors", 405),
    ] {
        let (status, head, body) = request(&server, method, path, "");
        assert_eq!(status, wanted, "{method} {path}: {head}");
        let error = parse(&body);
        assert!(error["message"].as_str().unwrap().contains("floors.v1.FloorService"), "{error}");
        assert_eq!(error["code"], if wanted == 405 { "unknown" } else { "unimplemented" });
        assert_eq!(header(&head, "allow").is_some(), wanted == 405, "{head}");
    }
}

#[test]
fn a_get_can_be_cached_and_validated() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    // {"spec":{"seed":"42","number":7}}
    let json = "encoding=json&message=%7B%22spec%22%3A%7B%22seed%22%3A%2242%22%2C%22number%22%3A7%7D%7D";
    let (status, head, body) = get_url(&server, "GetFloor", &format!("connect=v1&{json}"), "");
    assert_eq!(status, 200, "{head}");
    assert_eq!(header(&head, "cache-control"), Some("public, max-age=60"));
    assert_eq!(header(&head, "access-control-allow-origin"), Some("*"), "a cache may give it to a page");
    let from_page = get_url(&server, "GetFloor", &format!("connect=v1&{json}"), "origin: https://game.example\r\n").1;
    let exposed = header(&head, "access-control-expose-headers");
    assert!(exposed.is_some_and(|names| names.contains("floor-served-by")), "{head}");
    assert_eq!(exposed, header(&from_page, "access-control-expose-headers"), "as for a page");
    let floor = parse(&body);
    let etag = header(&head, "etag").unwrap().to_owned();
    assert!(etag.starts_with('"') && etag.ends_with("-json\""), "{etag}");

    let version = floor["generatorVersion"].as_u64().unwrap();
    let versioned = format!("{json}&generator_version={version}");
    let (_, head, _) = get_url(&server, "GetFloor", &versioned, "");
    assert_eq!(header(&head, "cache-control"), Some("public, immutable, max-age=31536000"));
    let (_, head, _) = get_url(&server, "GetFloor", &versioned, "floor-trace: 1\r\n");
    assert_eq!(header(&head, "cache-control"), Some("no-store"));
    let (status, head, body) = get_url(&server, "GetFloor", &format!("{json}&generator_version={}", version + 1), "");
    assert_eq!((status, header(&head, "cache-control")), (400, Some("no-store")));
    assert_eq!(parse(&body)["code"], "failed_precondition");

    for (tags, wanted) in
        [(etag.clone(), 304), (format!("\"x\", W/{etag}"), 304), ("*".to_owned(), 304), ("\"x\"".to_owned(), 200)]
    {
        let (status, head, body) = get_url(&server, "GetFloor", json, &format!("if-none-match: {tags}\r\n"));
        assert_eq!((status, body.is_empty()), (wanted, wanted == 304), "{tags}");
        assert_eq!(header(&head, "etag"), Some(etag.as_str()));
    }

    // Protobuf in base64: the stored bytes, and a tag of their own. 0a04 082a 1007
    let proto = "encoding=proto&base64=1&message=CgQIKhAH";
    let (status, head, body) = get_url(&server, "GetFloor", proto, "");
    assert_eq!((status, header(&head, "content-type")), (200, Some("application/proto")));
    assert_eq!(Floor::decode(&body[..]).unwrap().content_hash.to_string(), floor["contentHash"]);
    assert_eq!(header(&head, "etag").unwrap(), etag.replace("-json", ""));

    for (query, part) in [
        ("", "encoding"),
        ("encoding=json", "message"),
        ("encoding=proto&base64=1&message=CgQI%2", "a % without two hexadecimal digits"),
        ("encoding=proto&base64=1&message=CgQI%20", "base64"),
        ("encoding=proto&base64=1&message=CgQI", "does not decode"),
        ("encoding=json&message={", "EOF"),
    ] {
        let (status, head, body) = get_url(&server, "GetFloor", query, "");
        assert_eq!(status, 400, "{query}: {head}");
        assert!(parse(&body)["message"].as_str().unwrap().contains(part), "{query}: {}", parse(&body));
    }
    let (_, head, _) = get_url(&server, "GetServerInfo", "encoding=json&message={}", "");
    assert_eq!(header(&head, "cache-control"), Some("no-store"));
}

#[test]
fn only_floors_and_packs_may_be_stored_by_caches() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let (floor, stream) = (format!("{SERVICE}/GetFloor"), format!("{SERVICE}/StreamFloors"));
    let query = "?encoding=proto&base64=1&message=CgQIKhAH";
    let (found, health) = (floor.clone() + query, "/grpc.health.v1.Health/Check".to_owned());
    let types =
        ["", "text/plain", "application/grpc", "application/grpc-web", "application/grpc-web-text", "application/json"];
    for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"] {
        for path in [&found, &floor, &stream, &health, &"/".to_owned(), &format!("{SERVICE}/GetFlour")] {
            for content_type in types {
                let headers = format!("content-type: {content_type}\r\ncontent-length: 0\r\n");
                let (status, head, _) = request(&server, method, path, &headers);
                let what = format!("{method} {path} {content_type:?}: {head}");
                if *path == found && ["GET", "HEAD"].contains(&method) {
                    assert_eq!((status, header(&head, "cache-control")), (200, Some("public, max-age=60")), "{what}");
                } else {
                    assert_eq!(header(&head, "cache-control"), Some("no-store"), "{what}");
                }
            }
        }
    }
    for request in ["GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n"] {
        let (status, head, _) = http1(&server.grpc, request, &[]);
        assert_eq!((status, header(&head, "cache-control")), (400, Some("no-store")), "{head}");
    }
}

#[test]
fn head_has_the_headers_of_get_and_no_body() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let answer = |method: &str, path: &str, headers: &str| {
        let (status, head, body) = request(&server, method, path, headers);
        let lines: Vec<_> = head.lines().filter(|line| !line.starts_with("date: ")).map(str::to_owned).collect();
        (status, lines, body)
    };
    let floor =
        format!("{SERVICE}/GetFloor?encoding=json&message={{%22spec%22:{{%22seed%22:%2242%22,%22number%22:7}}}}");
    let protobuf = format!("{SERVICE}/GetFloor?encoding=proto&base64=1&message=CgQIKhAH");
    let stream = format!("{SERVICE}/StreamFloors");
    // In memory from now on, so that all answers say so.
    assert_eq!(answer("HEAD", &floor, "").0, 200);
    for (path, wanted) in [(floor.as_str(), 200), (protobuf.as_str(), 200), (stream.as_str(), 405), ("/", 404)] {
        let (status, headers, body) = answer("GET", path, "");
        assert_eq!((status, body.is_empty()), (wanted, false), "{path}");
        assert!(headers.contains(&format!("content-length: {}", body.len())), "{path}: {headers:?}");
        assert_eq!(answer("HEAD", path, ""), (status, headers, Vec::new()), "{path}");
    }
    let (_, head, _) = request(&server, "HEAD", &floor, "");
    let etag = header(&head, "etag").unwrap();
    let (status, _, body) = answer("HEAD", &floor, &format!("if-none-match: {etag}\r\n"));
    assert_eq!((status, body.is_empty()), (304, true));
}

#[test]
fn a_stream_is_a_sequence_of_envelopes() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let json = json!({"first": {"seed": "5", "number": 1}, "count": 3}).to_string();
    let (status, head, body) =
        post(&server, "StreamFloors", "application/connect+json", "", &envelope(json.as_bytes()));
    assert_eq!((status, header(&head, "content-type")), (200, Some("application/connect+json")));
    let messages = envelopes(&body);
    assert_eq!(messages.iter().map(|(flags, _)| *flags).collect::<Vec<_>>(), [0, 0, 0, 2]);
    for (number, (_, floor)) in (1_u32..).zip(&messages[..3]) {
        assert_eq!(parse(floor)["spec"]["number"], number);
    }
    let end = parse(&messages[3].1);
    assert_eq!(end["metadata"]["floor-served-by"], json!(["generated=3"]));
    assert!(end["error"].is_null(), "{end}");

    let wanted = StreamFloorsRequest { first: Some(spec(5, 1)), count: 3 };
    let (_, _, body) = post(&server, "StreamFloors", "application/connect+proto", "", &frame(&wanted));
    let floors = envelopes(&body);
    assert!(verify(&Floor::decode(&floors[0].1[..]).unwrap()));
    assert_eq!(parse(&floors[3].1)["metadata"]["floor-served-by"], json!(["lru=3"]));
    assert_eq!(server.calls("StreamFloors", "OK"), 2.0);

    // Errors are in the last message, and the status is 200.
    let past = StreamFloorsRequest { first: Some(spec(5, MAX_FLOOR)), count: 2 }.encode_to_vec();
    for (headers, body, code) in [
        ("", envelope(&past), "invalid_argument"),
        ("", envelope(b"x"), "invalid_argument"),
        ("", past[..1].to_vec(), "invalid_argument"),
        ("", Vec::new(), "unimplemented"),
        ("", envelope(&past).repeat(2), "unimplemented"),
        ("", [&[1][..], &envelope(&past)[1..]].concat(), "internal"),
        ("connect-content-encoding: gzip\r\n", envelope(&past), "unimplemented"),
        ("connect-timeout-ms: 0\r\n", envelope(&past), "deadline_exceeded"),
    ] {
        let (status, head, answer) = post(&server, "StreamFloors", "application/connect+proto", headers, &body);
        assert_eq!(status, 200, "{head}");
        let messages = envelopes(&answer);
        assert_eq!((messages.len(), messages[0].0), (1, 2));
        assert_eq!(parse(&messages[0].1)["error"]["code"], code, "{}", String::from_utf8_lossy(&messages[0].1));
    }
}

#[test]
fn a_caller_that_names_another_generator_version_is_refused() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let own = parse(&post_json(&server, "GetServerInfo", &json!({})).2)["generatorVersion"].as_u64().unwrap();
    let other = own + 1;
    let spec = json!({"seed": "42", "number": 7});
    let calls = [("GetFloor", json!({ "spec": spec })), ("BatchGetFloors", json!({ "specs": [spec] }))];
    let query = "encoding=json&message=%7B%22spec%22%3A%7B%22number%22%3A7%7D%7D";
    for (version, status, code) in [
        (own.to_string(), 200, None),
        (other.to_string(), 400, Some("failed_precondition")),
        (format!("{own}.0"), 400, Some("invalid_argument")),
        (String::new(), 400, Some("invalid_argument")),
    ] {
        let header = format!("floor-generator-version: {version}\r\n");
        let posted = calls.iter().map(|(method, message)| {
            post(&server, method, "application/json", &header, message.to_string().as_bytes())
        });
        for (is, head, body) in posted.chain([get_url(&server, "GetFloor", query, &header)]) {
            assert_eq!((is, parse(&body)["code"].as_str()), (status, code), "{version:?}: {head}");
        }
        let body = envelope(json!({ "first": spec, "count": 1 }).to_string().as_bytes());
        let (_, _, body) = post(&server, "StreamFloors", "application/connect+json", &header, &body);
        let last = envelopes(&body).pop().unwrap();
        assert_eq!(parse(&last.1)["error"]["code"].as_str(), code, "{version:?}");
        let (status, _, _) = post(&server, "GetServerInfo", "application/json", &header, b"{}");
        assert_eq!(status, 200, "server info ignores {version:?}");
    }
}

#[test]
fn pages_may_call_from_their_origins() {
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("GRPC__CORS_ORIGINS", "[\"https://game.example\"]").start();
    let preflight = "origin: https://game.example\r\naccess-control-request-method: GET\r\n\
        access-control-request-headers: connect-protocol-version,connect-timeout-ms,floor-generator-version,authorization\r\n";
    let (status, head, _) = request(&server, "OPTIONS", &format!("{SERVICE}/GetFloor"), preflight);
    assert_eq!(status, 200);
    assert!(header(&head, "access-control-allow-methods").unwrap().contains("get"), "{head}");
    let allowed = header(&head, "access-control-allow-headers");
    assert_eq!(
        allowed,
        Some("connect-protocol-version,connect-timeout-ms,floor-generator-version,authorization"),
        "{head}"
    );
    for (origin, allowed) in [("https://game.example", true), ("https://other.example", false)] {
        let origin_header = format!("origin: {origin}\r\n");
        let body = wanted(1, 1).to_string();
        let (status, head, _) = post(&server, "GetFloor", "application/json", &origin_header, body.as_bytes());
        assert_eq!(status, 200);
        assert_eq!(header(&head, "access-control-allow-origin"), allowed.then_some(origin), "{head}");
        let exposed = header(&head, "access-control-expose-headers").unwrap();
        assert!(exposed.contains("floor-served-by") && exposed.contains("retry-after"), "{exposed}");
    }
    let (_, head, _) = get_url(&server, "GetFloor", "encoding=json&message={%22spec%22:{%22number%22:1}}", "");
    assert_eq!(header(&head, "vary"), Some("origin"), "a cache keeps the answers to pages apart");
}

#[test]
fn tokens_are_asked_for_and_make_answers_private() {
    const SECRET: &str = "1fd5f5a768d30b9b6651dc6e35f6702a918fa8c2d2bbdc7826e975156cf1c401";
    let data = TempDir::new().unwrap();
    let digest: String = Sha256::digest(SECRET).iter().map(|byte| format!("{byte:02x}")).collect();
    let path = data.path().join("tokens.toml");
    fs::write(&path, format!("[[token]]\nname = \"game\"\nsha256 = \"{digest}\"\n")).unwrap();
    let setup = Setup::new(&data).with("AUTH__TOKENS_FILE", &path.display().to_string());
    let server = setup.with("GRPC__CORS_ORIGINS", "[\"https://game.example\"]").start();
    let (status, head, body) = post_json(&server, "GetFloor", &wanted(1, 1));
    assert_eq!((status, header(&head, "www-authenticate")), (401, Some("bearer")));
    assert_eq!(parse(&body)["code"], "unauthenticated");
    let token = format!("authorization: Bearer {SECRET}\r\n");
    let (status, head, _) = get_url(&server, "GetFloor", "encoding=json&message={%22spec%22:{%22number%22:1}}", &token);
    assert_eq!((status, header(&head, "cache-control")), (200, Some("private, max-age=60")));
    let varies = |name: &str| head.lines().any(|line| line.starts_with("vary: ") && line.contains(name));
    assert!(varies("authorization") && varies("origin"), "{head}");
    let stream = post(&server, "StreamFloors", "application/connect+proto", "", &envelope(b""));
    assert_eq!(parse(&envelopes(&stream.2)[0].1)["error"]["code"], "unauthenticated");
}

#[tokio::test]
async fn http2_carries_the_same_calls() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let stream = tokio::net::TcpStream::connect(&server.grpc).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let mut call = async |method: &str, content_type: &str, body: Vec<u8>| {
        let request = http::Request::post(format!("http://{}{SERVICE}/{method}", server.grpc));
        let request = request.header("content-type", content_type).body(Full::new(Bytes::from(body))).unwrap();
        let response = sender.send_request(request).await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = response.into_body().collect().await.unwrap();
        assert!(body.trailers().is_none(), "the answers of Connect have no trailers");
        (status, headers, body.to_bytes())
    };
    for by in ["generated", "lru"] {
        let (status, headers, body) = call("GetFloor", "application/proto", get(42, 7).encode_to_vec()).await;
        assert_eq!((status, &headers["floor-served-by"]), (200, &http::HeaderValue::from_static(by)));
        assert_eq!(headers["content-length"].to_str().unwrap(), body.len().to_string());
        assert!(verify(&Floor::decode(body).unwrap()));
    }
    let (status, _, body) = call("GetFloor", "application/json", wanted(42, 7).to_string().into_bytes()).await;
    assert_eq!((status, &parse(&body)["spec"]["number"]), (200, &json!(7)));
    let wanted = StreamFloorsRequest { first: Some(spec(42, 7)), count: 20 };
    let (status, _, body) = call("StreamFloors", "application/connect+proto", frame(&wanted)).await;
    assert_eq!((status, envelopes(&body).len()), (200, 21));
    // Refused with a body that is larger than the window of the stream, and than any request.
    for length in [1 << 20, 10 << 20] {
        let (status, _, body) = call("GetFloor", "text/plain", vec![0; length]).await;
        assert_eq!(status, 415, "{}", parse(&body));
    }
    // An answer to HEAD ends with its headers.
    for (path, wanted) in [("/GetFloor?encoding=proto&base64=1&message=CgQIKhAH", 200_u16), ("/GetFlour", 404)] {
        let head = http::Request::head(format!("http://{}{SERVICE}{path}", server.grpc));
        let response = sender.send_request(head.body(Full::default()).unwrap()).await.unwrap();
        assert_eq!(response.status(), wanted);
        assert_ne!(response.headers()["content-length"], "0");
        assert!(response.into_body().collect().await.unwrap().to_bytes().is_empty());
    }
    assert_eq!(server.calls("GetFloor", "OK"), 4.0);
}
