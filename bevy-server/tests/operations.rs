//! The operator's pages for the chain.
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

mod harness;

use floor_proto::v1::{BatchGetFloorsRequest, FloorSpec, GetFloorRequest};
use harness::{Server, Setup, spec, wait_until};
use serde_json::{Value, json};
use tempfile::TempDir;

fn parse_json((status, body): (u16, String)) -> (u16, Value) {
    let document = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"));
    (status, document)
}

/// A server with the floors 1 to 10 of tower 42 in every tier.
async fn filled_server(data: &TempDir) -> Server {
    let server =
        Setup::new(data).with("CACHE__CHAIN", "[\"lru\", \"lmdb\", \"sled\"]").with("PREFETCH__AHEAD", "0").start();
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
    assert!(server.log().contains("purged floors"), "{}", server.log());
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
    for path in ["/purge?seed=42&first=1", "/compact"] {
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
        for path in ["/contains?seed=42&first=1", "/stats"] {
            let (status, body) = server.get(path, page);
            assert_eq!((status, body.contains("floorctl")), (403, true), "{path} {page}: {body}");
        }
        for path in ["/healthz", "/metrics"] {
            assert_eq!(server.get(path, page).0, 200, "{path} is open to any host name");
        }
    }
    for path in ["/purge?seed=42&first=1", "/compact"] {
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
        assert!(tier["bytes"].as_u64().unwrap() < tier["limit_bytes"].as_u64().unwrap(), "{tier}");
    }
    assert_eq!(tiers[0]["writes"], Value::Null);
    assert_eq!(tiers[1]["writes"], json!({"stored": 10, "failed": 0, "dropped": 0, "waiting": 0}));
    assert!(tiers[1]["disk_bytes"].as_u64().unwrap() >= tiers[1]["bytes"].as_u64().unwrap());

    let (status, document) = parse_json(server.post("/compact", ""));
    assert_eq!(status, 200, "{document}");
    let done: Vec<_> =
        document["tiers"].as_array().unwrap().iter().map(|tier| (&tier["tier"], &tier["done"])).collect();
    assert_eq!(done, [(&json!("lmdb"), &json!(true)), (&json!("sled"), &json!(true))]);
    assert_eq!(tier_counts(&server), [3; 10]);
}
