//! The operator's pages for the chain.
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

use std::{
    collections::BTreeSet,
    fs,
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    sync::Barrier,
    thread,
    time::Duration,
};

use floor_proto::v1::{BatchGetFloorsRequest, FloorSpec, GetFloorRequest, floor_service_client::FloorServiceClient};
use serde_json::{Value, json};
use tempfile::TempDir;
use test_support::{Redis, Server, Setup, http1, spec, wait_until};
use tonic::{Code, transport::Channel};

fn parse_json((status, body): (u16, String)) -> (u16, Value) {
    let document = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"));
    (status, document)
}

/// A server with the floors 1 to 10 of tower 42 in every tier.
async fn filled_server(data: &TempDir) -> Server {
    let server = Setup::new(data)
        .with("CACHE__CHAIN", "[\"lru\", \"lmdb\", \"sled\"]")
        .with("GENERATION__PREFETCH", "false")
        .start();
    let specs: Vec<FloorSpec> = (1..=10).map(|number| spec(42, number)).collect();
    server.client().await.batch_get_floors(BatchGetFloorsRequest { specs }).await.unwrap();
    for tier in ["lmdb", "sled"] {
        let entries = format!("floors_tier_entries{{tier=\"{tier}\"}}");
        wait_until("the floors are stored", || server.metric(&entries) == 10.0);
    }
    server
}

/// For each of the floors 1 to 10, how many tiers hold it.
fn tier_counts(server: &Server) -> Vec<usize> {
    let (status, document) = parse_json(server.page("/contains?seed=42&first=1&count=10"));
    assert_eq!(status, 200, "{document}");
    let floors = document["floors"].as_array().unwrap();
    floors.iter().map(|floor| floor["tiers"].as_array().unwrap().len()).collect()
}

#[tokio::test]
async fn a_purge_removes_floors_from_every_tier_and_the_next_call_generates_them() {
    let data = TempDir::new().unwrap();
    let server = filled_server(&data).await;
    assert_eq!(tier_counts(&server), [3; 10]);
    let (status, document) = parse_json(server.post("/purge?seed=42&first=3&count=4", ""));
    let done = |tier: &str| json!({"tier": tier, "done": true});
    assert_eq!((status, document), (200, json!({"floors": 4, "tiers": [done("lru"), done("lmdb"), done("sled")]})));
    assert_eq!(tier_counts(&server), [3, 3, 0, 0, 0, 0, 3, 3, 3, 3]);
    let generated = server.generations();
    server.client().await.get_floor(GetFloorRequest { spec: Some(spec(42, 3)) }).await.unwrap();
    assert_eq!(server.generations() - generated, 1.0);
}

#[tokio::test]
async fn who_calls_the_floor_service_on_the_operations_port_is_told_where_it_is() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let (_, port) = server.grpc.rsplit_once(':').unwrap();
    let told = format!("this is the operations port of the floor server; gRPC is on port {port}");
    let channel = Channel::from_shared(format!("http://{}", server.ops)).unwrap().connect().await.unwrap();
    for _ in 0..2 {
        let request = GetFloorRequest { spec: Some(spec(42, 7)) };
        let status = FloorServiceClient::new(channel.clone()).get_floor(request).await.unwrap_err();
        assert_eq!((status.code(), status.message()), (Code::Unimplemented, told.as_str()));
    }
    let call = |codec: &str| {
        let head = format!(
            "POST /floors.v1.FloorService/GetFloor HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
             content-type: {codec}\r\ncontent-length: 2\r\n\r\n"
        );
        http1(&server.ops, &head, b"{}")
    };
    let (status, headers, _) = call("application/grpc-web+proto");
    assert!(
        status == 200 && headers.contains("grpc-status: 12") && headers.contains(&told.to_lowercase()),
        "{headers}"
    );
    let (status, _, body) = call("application/json");
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((status, body), (501, json!({"code": "unimplemented", "message": told})));
    assert_eq!(server.page("/healthz").0, 200);
}

#[tokio::test]
async fn a_tier_that_fails_is_not_said_to_lack_a_floor() {
    let Some(redis) = Redis::start() else { return };
    let data = TempDir::new().unwrap();
    redis.command(&[b"ACL", b"SETUSER", b"few", b"on", b">hush", b"~*", b"+ping"]);
    let server = Setup::new(&data)
        .with("CACHE__CHAIN", r#"["lru","redis"]"#)
        .with("CACHE__REDIS__URL", &redis.url().replace("//", "//few:hush@"))
        .start();
    server.client().await.get_floor(GetFloorRequest { spec: Some(spec(42, 1)) }).await.unwrap();
    let (status, document) = parse_json(server.page("/contains?seed=42&first=1"));
    assert_eq!((status, &document["floors"][0]["tiers"]), (503, &json!(["lru"])), "{document}");
    let failed = &document["floors"][0]["failed"][0];
    let error = failed["error"].as_str().unwrap();
    assert!(failed["tier"] == "redis" && error.contains("NOPERM"), "{document}");
    let page = server.page("/status").1;
    assert!(page.contains("Last error of redis") && page.contains("NOPERM") && page.contains("MGET, SET"), "{page}");
    // It may not ask for its size either: neither number is 0.
    let metrics = server.page("/metrics").1;
    assert!(!metrics.contains("floors_tier_bytes{tier=\"redis\"}"), "{metrics}");
    let (_, stats) = parse_json(server.page("/stats"));
    assert_eq!((&stats["tiers"][1]["tier"], &stats["tiers"][1]["entries"]), (&json!("redis"), &json!(null)), "{stats}");
}

#[tokio::test]
async fn a_tower_and_everything_can_be_purged() {
    let data = TempDir::new().unwrap();
    let server = filled_server(&data).await;
    let other = GetFloorRequest { spec: Some(FloorSpec { width: 64, ..spec(43, 7) }) };
    server.client().await.get_floor(other.clone()).await.unwrap();
    for tier in ["lmdb", "sled"] {
        let entries = format!("floors_tier_entries{{tier=\"{tier}\"}}");
        wait_until("the floor is stored", || server.metric(&entries) == 11.0);
    }
    let removed = |count: u64| {
        let tiers = ["lru", "lmdb", "sled"].map(|tier| json!({"tier": tier, "done": true, "removed": count}));
        (200, json!({ "tiers": tiers }))
    };
    assert_eq!(parse_json(server.post("/purge?tower=41", "")), removed(0));
    assert_eq!(parse_json(server.post("/purge?tower=42", "")), removed(10));
    assert_eq!(tier_counts(&server), [0; 10]);
    let generated = server.generations();
    server.client().await.get_floor(other).await.unwrap();
    assert_eq!(server.generations(), generated, "a floor of another tower stays");
    assert_eq!(parse_json(server.post("/purge?all=true", "")), removed(1));
    let (status, body) = server.post("/purge?all=yes", "");
    assert_eq!((status, body.contains("write all=true")), (400, true), "{body}");
}

#[test]
fn operations_are_in_the_audit_trail_whatever_the_filter() {
    let data = TempDir::new().unwrap();
    let file = data.path().join("token");
    fs::write(&file, "hush\n").unwrap();
    let setup = Setup::new(&data).with("LOG__FORMAT", "json");
    let server = setup.with("OPS__TOKEN_FILE", &file.display().to_string()).start();
    let token = "authorization: Bearer hush\r\n";
    for (path, token, status) in [
        ("/log-level?filter=off,floors::audit=off", token, 200),
        ("/purge?seed=42&first=1", token, 200),
        ("/purge?seed=42", token, 400),
        ("/compact", "", 401),
        ("/compact", "", 401),
        ("/compact", token, 200),
        ("/stats", token, 405),
    ] {
        assert_eq!(server.post(path, token).0, status, "{path}");
    }
    let log = server.stop();
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let lines: Vec<_> = lines.filter(|line| line["target"] == "floors::audit").collect();
    assert!(lines.iter().all(|line| line["address"] == "127.0.0.1"), "{log}");
    let shown = |line: &Value| ["page", "query", "operator", "status"].map(|field| line[field].clone());
    let own = "ops.token_file";
    assert_eq!(
        lines.iter().map(shown).collect::<Vec<_>>(),
        [
            [json!("/log-level"), json!("filter=off,floors::audit=off"), json!(own), json!(200)],
            [json!("/purge"), json!("seed=42&first=1"), json!(own), json!(200)],
            [json!("/purge"), json!("seed=42"), json!(own), json!(400)],
            [json!("/compact"), json!(""), Value::Null, json!(401)],
            [json!("/compact"), json!(""), json!(own), json!(200)],
        ]
    );
    assert!(!log.contains("hush"), "{log}");
}

#[tokio::test]
async fn a_purge_keeps_floors_that_it_does_not_name() {
    let data = TempDir::new().unwrap();
    let server = filled_server(&data).await;
    for other in ["seed=43&first=1&count=10", "seed=42&first=1&count=10&width=64", "seed=42&first=11&count=200"] {
        assert_eq!(server.post(&format!("/purge?{other}"), "").0, 200, "{other}");
    }
    assert_eq!(tier_counts(&server), [3; 10]);
}

#[tokio::test]
async fn an_invalid_query_is_rejected_by_name_and_changes_nothing() {
    let data = TempDir::new().unwrap();
    let server = filled_server(&data).await;
    for (query, expected) in [
        ("", "seed is missing"),
        ("?seed=42&first=1&count=257", "count is 257; a call takes 1 ..= 256 floors"),
        ("?seed=42&first=1&depth=3", "depth is no parameter"),
    ] {
        for (status, body) in [server.post(&format!("/purge{query}"), ""), server.page(&format!("/contains{query}"))] {
            assert_eq!(status, 400, "{query}: {body}");
            assert!(body.contains(expected), "{query}: {body}");
        }
    }
    for path in ["/purge?seed=42&first=1", "/compact", "/backup?tier=lmdb"] {
        let (status, body) = server.page(path);
        assert_eq!((status, body.contains("use POST")), (405, true), "a GET changes nothing: {body}");
    }
    let (status, body) = server.page("/purges");
    assert!(status == 404 && body.contains("/purge") && body.contains("/metrics"), "{status} {body}");
    assert_eq!(tier_counts(&server), [3; 10]);
}

#[tokio::test]
async fn requests_from_browser_pages_are_rejected() {
    let data = TempDir::new().unwrap();
    let server = filled_server(&data).await;
    for page in [
        "host: 127.0.0.1\r\norigin: http://elsewhere.example\r\n",
        "host: 127.0.0.1\r\nsec-fetch-site: cross-site\r\n",
        "host: 127.0.0.1\r\nsec-fetch-site: same-site\r\n",
        // After DNS rebinding the request is same-site for the browser.
        "host: elsewhere.example:50052\r\nsec-fetch-site: same-origin\r\n",
    ] {
        for path in ["/contains?seed=42&first=1", "/stats", "/status", "/floor?seed=42&number=1", "/nowhere"] {
            let (status, body) = server.get(path, page);
            assert_eq!((status, body.contains("floorctl")), (403, true), "{path} {page}: {body}");
        }
        for path in ["/healthz", "/readyz", "/metrics", "/", "/main.js"] {
            assert_eq!(server.get(path, page).0, 200, "{path} is open to any host name");
        }
    }
    for path in ["/purge?seed=42&first=1", "/compact", "/backup?tier=lmdb"] {
        let (status, body) = server.post(path, "origin: http://elsewhere.example\r\n");
        assert_eq!((status, body.contains("floorctl")), (403, true), "{path}: {body}");
    }
    assert_eq!(server.get("/stats", "host: floor-server:50052\r\n").0, 200, "a container's host name is allowed");
    assert_eq!(tier_counts(&server), [3; 10]);
}

#[tokio::test]
async fn stats_and_compact_report_the_contents_of_the_tiers() {
    let data = TempDir::new().unwrap();
    let server = filled_server(&data).await;
    let (status, document) = parse_json(server.page("/stats"));
    assert_eq!(status, 200);
    let tiers = document["tiers"].as_array().unwrap();
    assert_eq!(tiers.iter().map(|tier| tier["tier"].as_str().unwrap()).collect::<Vec<_>>(), ["lru", "lmdb", "sled"]);
    for tier in tiers {
        assert_eq!(tier["entries"], 10, "{tier}");
        assert!(tier["bytes"].as_u64().unwrap() < tier["limitBytes"].as_u64().unwrap(), "{tier}");
    }
    assert_eq!(tiers[0]["writes"], Value::Null);
    assert_eq!(tiers[1]["writes"], json!({"stored": 10, "failed": 0, "dropped": 0, "waiting": 0}));
    assert!(tiers[1]["diskBytes"].as_u64().unwrap() >= tiers[1]["bytes"].as_u64().unwrap());

    let (status, document) = parse_json(server.post("/compact", ""));
    assert_eq!(status, 200, "{document}");
    let done: Vec<_> =
        document["tiers"].as_array().unwrap().iter().map(|tier| (&tier["tier"], &tier["done"])).collect();
    assert_eq!(done, [(&json!("lmdb"), &json!(true)), (&json!("sled"), &json!(true))]);
    assert_eq!(tier_counts(&server), [3; 10]);
}

#[tokio::test]
async fn a_backup_that_was_made_while_serving_is_a_store() {
    let data = TempDir::new().unwrap();
    let server = filled_server(&data).await;
    let (status, document) = parse_json(server.post("/backup?tier=lmdb", ""));
    assert_eq!((status, &document["tier"], &document["done"]), (200, &json!("lmdb"), &json!(true)), "{document}");
    let path = document["path"].as_str().unwrap();
    let beside = data.path().canonicalize().unwrap().join("lmdb.backup-");
    assert!(path.starts_with(beside.to_str().unwrap()), "{path}");
    let length = fs::metadata(format!("{path}/data.mdb")).unwrap().len();
    assert_eq!(document["bytes"], length);
    wait_until("the backup is logged", || server.log().contains("backed up a tier"));
    assert_eq!(tier_counts(&server), [3; 10], "the server goes on");

    let restored = Setup::new(&data).with("CACHE__LMDB__PATH", path).start();
    let answer = restored.client().await.get_floor(GetFloorRequest { spec: Some(spec(42, 7)) }).await.unwrap();
    assert_eq!(answer.metadata().get("floor-served-by").unwrap(), "lmdb");
    assert_eq!(restored.metric("floors_tier_entries{tier=\"lmdb\"}"), 10.0);
}

/// Four backups at once, again until two of them meet: a copy of a small store takes milliseconds.
#[tokio::test]
async fn a_second_backup_is_refused_while_one_runs() {
    let data = TempDir::new().unwrap();
    let server = filled_server(&data).await;
    let begin = Barrier::new(4);
    let mut copies = 0;
    for round in 0.. {
        assert!(round < 50, "no two backups met");
        let answers: Vec<(u16, String)> = thread::scope(|scope| {
            let backup = || {
                begin.wait();
                server.post("/backup?tier=lmdb", "")
            };
            let backups: Vec<_> = (0..4).map(|_| scope.spawn(backup)).collect();
            backups.into_iter().map(|backup| backup.join().unwrap()).collect()
        });
        let done = answers.iter().filter(|(status, _)| *status == 200).count();
        copies += done;
        assert!(done >= 1, "{answers:?}");
        let refused: Vec<_> = answers.iter().filter(|(status, _)| *status != 200).collect();
        for (status, body) in &refused {
            assert_eq!((*status, body.as_str()), (409, "a backup is already running; wait until it ends\n"));
        }
        if !refused.is_empty() {
            break;
        }
    }
    assert_eq!(server.post("/backup?tier=lmdb", "").0, 200, "none runs any more");
    let directories = fs::read_dir(data.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let backups = directories.filter(|name| name.starts_with("lmdb.backup-")).count();
    assert_eq!(backups, copies + 1, "a refused backup copies nothing");
}

#[tokio::test]
async fn a_backup_takes_the_name_of_a_tier_and_no_path() {
    let data = TempDir::new().unwrap();
    let server = filled_server(&data).await;
    let names = || fs::read_dir(data.path()).unwrap().count();
    let before = names();
    for query in ["", "?tier=", "?tier=lmdb&path=/tmp/copy", "?path=/tmp/copy", "?tier=lmdb&tier=sled"] {
        let (status, body) = server.post(&format!("/backup{query}"), "");
        assert_eq!((status, body.contains("write ?tier=")), (400, true), "{query}: {body}");
    }
    for (tier, reason) in [
        ("sled", "it has no store that can be copied while it is in use"),
        ("lru", "cache.chain has no such tier on disk"),
        ("redis", "cache.chain has no such tier on disk"),
        ("..%2Fcopy", "cache.chain has no such tier on disk"),
    ] {
        let (status, document) = parse_json(server.post(&format!("/backup?tier={tier}"), ""));
        assert_eq!((status, &document["done"]), (503, &json!(false)), "{document}");
        assert!(document["error"].as_str().unwrap().contains(reason), "{document}");
    }
    assert_eq!(names(), before, "nothing was created");
}

#[test]
fn the_viewer_is_served_with_its_policy() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let get = |path: &str, headers: &str| {
        http1(&server.ops, &format!("GET {path} HTTP/1.1\r\nhost: o\r\n{headers}\r\n"), &[])
    };
    let (status, head, page) = get("/", "");
    assert_eq!(status, 200);
    assert!(head.contains("content-type: text/html") && head.contains("x-content-type-options: nosniff"), "{head}");
    assert!(
        head.contains("content-security-policy: default-src 'none'; script-src 'self' 'wasm-unsafe-eval';"),
        "{head}"
    );
    assert!(String::from_utf8(page).unwrap().contains("<title>Floor viewer</title>"));
    let tag = head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
    // `http1` lowers the head. The tag begins with W.
    let known = format!("if-none-match: {}\r\n", tag.replace("w/", "W/"));
    assert_eq!(get("/", &known).0, 304);
    let (status, head, module) = get("/floors.wasm", "accept-encoding: gzip\r\n");
    assert_eq!(status, 200);
    assert!(head.contains("content-type: application/wasm") && head.contains("content-encoding: gzip"), "{head}");
    assert_eq!(module[..2], [0x1f, 0x8b]);
    assert_eq!(get("/floors.wasm", "").2[..4], *b"\0asm");
}

#[tokio::test]
async fn the_page_floor_has_the_bytes_of_the_service() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let floor =
        server.client().await.get_floor(GetFloorRequest { spec: Some(spec(42, 7)) }).await.unwrap().into_inner();
    for path in ["/floor?seed=42&number=7", "/floor?seed=42&number=7&width=100&height=100&kind=keep"] {
        let head = format!("GET {path} HTTP/1.1\r\nhost: ops\r\n\r\n");
        let (status, head, bytes) = http1(&server.ops, &head, &[]);
        assert_eq!(status, 200, "{path}");
        assert!(head.contains("content-type: application/x-protobuf"), "{head}");
        assert_eq!(floor_proto::hash::verify_encoded(&bytes).unwrap(), floor, "{path}");
    }
    assert_eq!(
        http1(&server.ops, "GET /floor?seed=43&number=7 HTTP/1.1\r\nhost: ops\r\n\r\n", &[]).0,
        200,
        "generated"
    );
    let (status, body) = server.page("/floor?seed=42&number=0");
    assert_eq!((status, body.contains("number is wrong")), (400, true), "{body}");
}

#[test]
fn beyond_loopback_changes_need_a_token() {
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("OPS__LISTEN", "0.0.0.0:0").start();
    for path in ["/compact", "/backup?tier=lmdb", "/purge?seed=42&first=1"] {
        let (status, body) = server.post(path, "authorization: Bearer hush\r\n");
        assert_eq!((status, body.contains("set ops.token_file")), (403, true), "{path}: {body}");
    }
    for path in ["/stats", "/metrics", "/readyz"] {
        assert_eq!(server.page(path).0, 200, "{path} only reads");
    }
}

/// nginx as it is configured by default sends HTTP/1.0 and the name of its upstream; others add headers.
#[test]
fn what_a_proxy_forwards_is_not_of_this_machine() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let post = |version: &str, headers: &str| {
        let head = format!("POST /compact HTTP/{version}\r\nconnection: close\r\ncontent-length: 0\r\n{headers}\r\n");
        let (status, _, body) = http1(&server.ops, &head, &[]);
        (status, String::from_utf8(body).unwrap())
    };
    for own in ["localhost", "localhost:50052", "127.0.0.1:50052", "[::1]:50052"] {
        assert_eq!(post("1.1", &format!("host: {own}\r\n")).0, 200, "{own}");
    }
    for header in [
        "x-forwarded-for",
        "x-forwarded-host",
        "x-forwarded-proto",
        "forwarded",
        "via",
        "x-real-ip",
        "true-client-ip",
        "cf-connecting-ip",
        "x-envoy-external-address",
    ] {
        let (status, body) = post("1.1", &format!("host: localhost\r\n{header}: 127.0.0.1\r\n"));
        assert!(status == 403 && body.contains(header) && body.contains("ops.token_file"), "{header}: {status} {body}");
    }
    for (version, host) in [("1.0", "127.0.0.1:50052"), ("1.1", "floors"), ("1.1", "10.0.0.7:50052")] {
        let (status, body) = post(version, &format!("host: {host}\r\n"));
        assert!(status == 403 && body.contains("ops.token_file"), "{version} {host}: {status} {body}");
    }
    assert_eq!(server.metric("floors_clients_refused_total{reason=\"unauthenticated\"}"), 12.0);
    drop(server);

    let file = data.path().join("token");
    fs::write(&file, "hush\n").unwrap();
    let server = Setup::new(&data).with("OPS__TOKEN_FILE", &file.display().to_string()).start();
    let forwarded = "authorization: Bearer hush\r\nvia: 1.1 proxy\r\nx-forwarded-for: 10.0.0.7\r\n";
    assert_eq!(server.post("/compact", forwarded).0, 200, "with the token it may come by any way");
}

#[test]
fn a_token_in_a_query_is_refused_and_not_logged() {
    let data = TempDir::new().unwrap();
    let file = data.path().join("token");
    fs::write(&file, "hush\n").unwrap();
    let server = Setup::new(&data).with("OPS__TOKEN_FILE", &file.display().to_string()).start();
    let token = "authorization: Bearer hush\r\n";
    for query in [
        "token=hush",
        "seed=42&first=1&access_token=hush",
        "%74oken=hush",
        "Authorization=Bearer%20hush",
        "api-key=hush",
    ] {
        for (status, body) in [
            server.post(&format!("/purge?{query}"), ""),
            server.post(&format!("/purge?{query}"), token),
            server.get(&format!("/stats?{query}"), "host: localhost\r\n"),
        ] {
            assert!(status == 400 && body.contains("authorization: Bearer"), "{query}: {status} {body}");
            assert!(!body.contains("hush"), "{body}");
        }
    }
    // Under a name that says nothing.
    assert_eq!(server.post("/purge?t=hush", "").0, 401);
    assert_eq!(server.post("/purge?hush", token).0, 400);
    let log = server.stop();
    assert!(log.contains("floors::audit") && !log.contains("hush"), "{log}");
}

#[test]
fn a_configured_token_is_needed_on_every_address_and_never_shown() {
    let data = TempDir::new().unwrap();
    let file = data.path().join("token");
    fs::write(&file, "hush\n").unwrap();
    for listen in ["0.0.0.0:0", "127.0.0.1:0"] {
        let server =
            Setup::new(&data).with("OPS__LISTEN", listen).with("OPS__TOKEN_FILE", &file.display().to_string()).start();
        for path in ["/compact", "/backup?tier=lmdb", "/purge?seed=42&first=1"] {
            for wrong in ["", "authorization: Bearer hushh\r\n", "authorization: Basic hush\r\n"] {
                let (status, body) = server.post(path, wrong);
                assert_eq!((status, body.contains("ops.token_file")), (401, true), "{listen} {path} {wrong}: {body}");
                assert!(!body.contains("hush"), "{body}");
            }
            let (status, body) = server.post(path, "authorization: Bearer hush\r\n");
            assert_eq!(status, 200, "{listen} {path}: {body}");
        }
        assert!(!server.page("/metrics").1.contains("hush"));
        let log = server.stop();
        assert!(!log.contains("hush"), "{log}");
    }
}

#[test]
fn sighup_reads_the_token_again() {
    let data = TempDir::new().unwrap();
    let file = data.path().join("token");
    fs::write(&file, "old\n").unwrap();
    let server = Setup::new(&data).with("OPS__TOKEN_FILE", &file.display().to_string()).start();
    fs::write(&file, "new\n").unwrap();
    server.signal("-HUP");
    wait_until("the token is new", || server.post("/compact", "authorization: Bearer new\r\n").0 == 200);
    assert_eq!(server.post("/compact", "authorization: Bearer old\r\n").0, 401);
    wait_until("the reload is logged", || server.log().contains("applied=ops.token_file"));
    fs::remove_file(&file).unwrap();
    server.signal("-HUP");
    wait_until("the failure is logged", || server.log().contains("the old one stays in use"));
    assert_eq!(server.post("/compact", "authorization: Bearer new\r\n").0, 200);
}

/// Reads until the server closes the connection.
fn read_to_close(stream: &mut TcpStream) -> Vec<u8> {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut answer = Vec::new();
    if let Err(error) = stream.read_to_end(&mut answer) {
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
    }
    answer
}

#[test]
fn a_connection_that_sends_no_whole_request_is_closed() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let mut stream = TcpStream::connect(&server.ops).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: o").unwrap();
    assert!(!read_to_close(&mut stream).starts_with(b"HTTP/1.1 200"));
    assert_eq!(server.page("/readyz").0, 200);
}

#[test]
fn one_address_has_only_so_many_connections() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let open: Vec<_> = (0..16).map(|_| TcpStream::connect(&server.ops).unwrap()).collect();
    let mut refused = TcpStream::connect(&server.ops).unwrap();
    assert_eq!(read_to_close(&mut refused), b"");
    drop(open);
    let mut answer = String::new();
    wait_until("there is room for a connection", || {
        let mut stream = TcpStream::connect(&server.ops).unwrap();
        // The server may already have closed it.
        let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: ops\r\n\r\n");
        answer = String::from_utf8(read_to_close(&mut stream)).unwrap();
        answer.starts_with("HTTP/1.1 200")
    });
    let refusals = "floors_clients_refused_total{reason=\"connections_per_ip\"} ";
    let refusals = answer.lines().find_map(|line| line.strip_prefix(refusals)).unwrap();
    assert!(refusals.parse::<f64>().unwrap() >= 1.0, "{refusals}");
    assert!(server.log().contains("a connection was refused"), "{}", server.log());
}

#[test]
fn probes_and_metrics_are_answered_while_the_grpc_port_is_full() {
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("GRPC__MAX_CONNECTIONS", "1").start();
    let _open = TcpStream::connect(&server.grpc).unwrap();
    assert_eq!(read_to_close(&mut TcpStream::connect(&server.grpc).unwrap()), b"");
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(server.page(path).0, 200, "{path}");
    }
    assert_eq!(server.metric("floors_connections"), 1.0);
    assert_eq!(server.metric("floors_clients_refused_total{reason=\"connections\"}"), 1.0);
}

#[test]
fn a_request_with_a_large_body_is_refused_before_it_is_read() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    for path in ["/compact", "/metrics"] {
        let head = format!("POST {path} HTTP/1.1\r\nhost: ops\r\ncontent-length: 5000\r\n\r\n");
        let (status, _, body) = http1(&server.ops, &head, &[]);
        assert_eq!(status, 413, "{path}: {}", String::from_utf8_lossy(&body));
    }
    let head = "POST /compact HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3\r\n\r\n";
    assert_eq!(http1(&server.ops, head, b"a=b").0, 400, "a small body is refused, too");
}

#[test]
fn metrics_show_what_runs_and_its_limits() {
    let data = TempDir::new().unwrap();
    let setup = Setup::new(&data).with("GENERATION__THREADS", "2");
    let server = setup.with("GRPC__MAX_CONNECTIONS", "50").start();
    let text = server.page("/metrics").1;
    let build = text.lines().find(|line| line.starts_with("floors_build_info{")).unwrap();
    for label in ["version=\"", "generator_version=\"", "profile=\"", "target=\""] {
        assert!(build.contains(label) && build.ends_with(" 1"), "{build}");
    }
    for (name, value) in [
        ("floors_generation_queue_limit", 2048.0),
        ("floors_generation_threads", 2.0),
        ("floors_generation_saturated", 0.0),
        ("floors_connections_limit", 50.0),
        ("floors_calls_in_flight", 0.0),
        ("floors_requests_total{code=\"INTERNAL\",rpc=\"GetFloor\"}", 0.0),
        ("floors_tier_requests_total{outcome=\"corrupt\",tier=\"lmdb\"}", 0.0),
        ("floors_tier_writes_total{outcome=\"failed\",tier=\"lmdb\"}", 0.0),
        ("floors_generation_refusals_total{client=\"other\",reason=\"queue\"}", 0.0),
    ] {
        assert_eq!(server.metric(name), value, "{name}");
    }
    for name in ["floors_tier_limit_bytes{tier=\"lru\"}", "floors_store_capacity_bytes{tier=\"lmdb\"}"] {
        assert!(server.metric(name) > 0.0, "{name}");
    }
    #[cfg(target_os = "linux")]
    assert!(server.metric("floors_memory_anonymous_bytes") < server.metric("floors_memory_limit_bytes"));
}

/// The collector of the process works on Linux only.
#[cfg(target_os = "linux")]
#[test]
fn the_metrics_of_the_process_are_those_of_the_page() {
    const PAGE: &str = include_str!("../../docs/operating.md");
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let text = server.page("/metrics").1;
    let words = text.lines().filter_map(|line| line.split(' ').next());
    let names: BTreeSet<_> = words.filter(|word| word.starts_with("process_")).collect();
    let listed = PAGE.split('`').filter(|word| word.starts_with("process_"));
    assert_eq!(names, listed.collect::<BTreeSet<_>>());
    assert!(server.metric("process_resident_memory_bytes") > 1e6);
}
