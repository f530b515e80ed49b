//! Tenants try to read, evict, purge and use up what is another's.
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

mod packs;

use std::{fs, path::PathBuf, time::Duration};

use floor_proto::{
    operations::{Contained, Purged, Stats},
    v1::{
        BatchGetFloorsRequest, FloorSpec, GetFloorRequest, GetServerInfoRequest, StreamFloorsRequest,
        floor_service_client::FloorServiceClient,
    },
};
use futures_util::future::join_all;
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use test_support::{Redis, Server, Setup, TIMEOUT, spec, wait_until};
use tokio::time::{sleep, timeout};
use tonic::{Code, Request, Response, Status, transport::Channel};

/// A token of each kind of caller: its name is its secret. `acme` has two.
const TOKENS: [(&str, &str); 5] = [
    ("acme-game", "tenant = \"acme\""),
    ("acme-tool", "tenant = \"acme\""),
    ("globex-game", "tenant = \"globex\""),
    ("own-game", ""),
    ("operator", "scopes = [\"operate\"]"),
];

fn entry(name: &str, rest: &str) -> String {
    let digest: String = Sha256::digest(name).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("[[token]]\nname = \"{name}\"\nsha256 = \"{digest}\"\n{rest}\n")
}

/// Puts a tokens file in its place, as a whole.
fn write_tokens(data: &TempDir, tokens: &[(&str, &str)]) -> PathBuf {
    let (new, path) = (data.path().join("tokens.new"), data.path().join("tokens.toml"));
    let text: String = tokens.iter().map(|(name, rest)| entry(name, rest)).collect();
    fs::write(&new, text).unwrap();
    fs::rename(&new, &path).unwrap();
    path
}

/// A server with the tenants `acme` and `globex`, each with a quarter of the stores of `chain`.
fn setup(data: &TempDir, chain: &str) -> Setup {
    let tokens = write_tokens(data, &TOKENS);
    Setup::new(data)
        .with("AUTH__TOKENS_FILE", &tokens.display().to_string())
        .with("TENANTS__ACME__SHARE", "0.25")
        .with("TENANTS__GLOBEX__SHARE", "0.25")
        .with("CACHE__CHAIN", chain)
        .with("CACHE__BYPASS", "off")
        .with("GENERATION__PREFETCH", "false")
}

/// The calls of one token.
struct Caller {
    client: FloorServiceClient<Channel>,
    token: &'static str,
}

impl Caller {
    async fn new(server: &Server, token: &'static str) -> Self {
        Self { client: server.client().await, token }
    }

    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        request.metadata_mut().insert("authorization", format!("Bearer {}", self.token).parse().unwrap());
        request
    }

    async fn try_get(&mut self, spec: FloorSpec) -> Result<Response<()>, Status> {
        let request = self.request(GetFloorRequest { spec: Some(spec) });
        Ok(self.client.get_floor(request).await?.map(drop))
    }

    /// The place that has the floor.
    async fn source(&mut self, spec: FloorSpec) -> String {
        served_by(&self.try_get(spec).await.unwrap())
    }

    async fn batch(&mut self, specs: Vec<FloorSpec>) -> String {
        let request = self.request(BatchGetFloorsRequest { specs });
        served_by(&self.client.batch_get_floors(request).await.unwrap())
    }

    async fn stream(&mut self, first: FloorSpec, count: u32) -> String {
        let request = self.request(StreamFloorsRequest { first: Some(first), count });
        let mut floors = self.client.stream_floors(request).await.unwrap().into_inner();
        while floors.message().await.unwrap().is_some() {}
        let trailers = floors.trailers().await.unwrap().unwrap();
        trailers.get("floor-served-by").unwrap().to_str().unwrap().to_owned()
    }
}

fn served_by<T>(response: &Response<T>) -> String {
    response.metadata().get("floor-served-by").expect("every response names its tier").to_str().unwrap().to_owned()
}

/// POSTs as an operator.
fn operate(server: &Server, path: &str) -> (u16, String) {
    server.post(path, "authorization: Bearer operator\r\n")
}

/// The tiers that hold a floor, with their tenants: `acme/lru`.
fn holders(server: &Server, query: &str) -> Vec<String> {
    let (status, body) = server.page(&format!("/contains?{query}"));
    assert_eq!(status, 200, "{body}");
    let found: Contained = serde_json::from_str(&body).unwrap();
    let of_floor = |tenant: &Option<String>, tier: &str| format!("{}/{tier}", tenant.as_deref().unwrap_or_default());
    found.floors.iter().flat_map(|floor| floor.tiers.iter().map(|tier| of_floor(&floor.tenant, tier))).collect()
}

#[tokio::test]
async fn a_floor_of_one_tenant_is_no_hit_for_another() {
    let data = TempDir::new().unwrap();
    let server = setup(&data, r#"["lru", "lmdb"]"#).start();
    let [mut game, mut tool, mut other, mut own] =
        join_all(TOKENS[..4].iter().map(|(name, _)| Caller::new(&server, name)))
            .await
            .try_into()
            .unwrap_or_else(|_| panic!("four callers"));
    assert_eq!(game.source(spec(1, 1)).await, "generated");
    wait_until("the floor is stored", || holders(&server, "seed=1&first=1") == ["acme/lru", "acme/lmdb"]);
    assert_eq!(tool.source(spec(1, 1)).await, "lru", "the other token of the tenant has the same chain");
    for caller in [&mut other, &mut own] {
        assert_eq!(caller.source(spec(1, 1)).await, "generated");
        assert_eq!(caller.source(spec(1, 1)).await, "lru");
    }
    assert_eq!(game.batch((2..=5).map(|number| spec(1, number)).collect()).await, "generated=4");
    for caller in [&mut other, &mut own] {
        assert_eq!(caller.batch((1..=3).map(|number| spec(1, number)).collect()).await, "lru=1,generated=2");
        assert_eq!(caller.stream(spec(1, 1), 5).await, "lru=3,generated=2");
    }
    let info = |caller: &mut Caller| {
        let request = caller.request(GetServerInfoRequest {});
        let mut client = caller.client.clone();
        async move { client.get_server_info(request).await.unwrap().into_inner().tiers }
    };
    let entries =
        |tiers: Vec<floor_proto::v1::TierInfo>| tiers.iter().map(|tier| (tier.entries, tier.hits)).collect::<Vec<_>>();
    let (of_game, of_other) = (entries(info(&mut game).await), entries(info(&mut other).await));
    assert_eq!((of_game[0], of_game[2].1), ((5, 1), 5), "five generated, one from memory");
    assert_eq!((of_other[0], of_other[2].1), ((5, 5), 5), "{of_other:?}");

    let mut refresh = game.request(GetFloorRequest { spec: Some(spec(1, 1)) });
    refresh.metadata_mut().insert("cache-control", "no-cache".parse().unwrap());
    let generated = server.generations();
    assert_eq!(served_by(&game.client.get_floor(refresh).await.unwrap()), "generated");
    assert_eq!(server.generations(), generated + 1.0, "the metrics of generation count all tenants");
    assert_eq!(other.source(spec(1, 1)).await, "lru");

    let count = |rpc: &str, tenant: &str| {
        server.metric(&format!("floors_requests_total{{code=\"OK\",rpc=\"{rpc}\",tenant=\"{tenant}\"}}"))
    };
    assert_eq!((count("BatchGetFloors", "acme"), count("StreamFloors", "globex")), (1.0, 1.0));
    assert_eq!(server.calls("BatchGetFloors", "OK"), 1.0, "of callers without a tenant");
    let cells = |tenant: &str| server.figure(&format!("generated cells, {tenant}"));
    assert_eq!((cells("acme"), cells("globex")), (60_000.0, 50_000.0));
    let hits = "floors_tier_requests_total{outcome=\"hit\",tenant=\"globex\",tier=\"lru\"}";
    assert_eq!(server.metric(hits), 6.0);
    server.stop();

    let server = setup(&data, r#"["lru", "lmdb"]"#).start();
    let (mut game, mut other) = (Caller::new(&server, "acme-game").await, Caller::new(&server, "globex-game").await);
    assert_eq!(game.source(spec(1, 5)).await, "lmdb", "the drain flushes the stores of tenants");
    assert_eq!(other.source(spec(1, 5)).await, "lmdb");
    assert_eq!(game.source(spec(1, 6)).await, "generated");
}

#[tokio::test]
async fn a_purge_of_a_tenant_leaves_the_others() {
    let data = TempDir::new().unwrap();
    let server = setup(&data, r#"["lru", "lmdb"]"#).start();
    let (mut game, mut other) = (Caller::new(&server, "acme-game").await, Caller::new(&server, "globex-game").await);
    let everywhere = ["acme/lru", "acme/lmdb", "globex/lru", "globex/lmdb"];
    for caller in [&mut game, &mut other] {
        caller.source(spec(1, 1)).await;
    }
    wait_until("both are stored", || holders(&server, "seed=1&first=1") == everywhere);
    assert_eq!(holders(&server, "seed=1&first=1&tenant=globex"), everywhere[2..]);
    let (status, body) = operate(&server, "/purge?seed=1&first=1&tenant=acme");
    let purged: Purged = serde_json::from_str(&body).unwrap();
    let tenants: Vec<_> = purged.tiers.iter().map(|tier| (tier.tenant.as_deref(), tier.tier.as_str())).collect();
    assert_eq!((status, tenants), (200, vec![(Some("acme"), "lru"), (Some("acme"), "lmdb")]));
    assert_eq!(holders(&server, "seed=1&first=1"), everywhere[2..]);
    assert_eq!((game.source(spec(1, 1)).await, other.source(spec(1, 1)).await), ("generated".into(), "lru".into()));

    assert_eq!(operate(&server, "/purge?seed=1&first=1&tenant=").0, 200);
    wait_until("the floor is stored again", || holders(&server, "seed=1&first=1") == everywhere);
    let (status, body) = operate(&server, "/purge?seed=1&first=1");
    let purged: Purged = serde_json::from_str(&body).unwrap();
    assert_eq!((status, purged.tiers.len()), (200, 6), "two tiers of each tenant, and of callers without one");
    assert!(holders(&server, "seed=1&first=1").is_empty());

    let (status, body) = operate(&server, "/purge?seed=1&first=1&tenant=initech");
    assert_eq!(
        (status, body.as_str()),
        (400, "tenant \"initech\" is no tenant; there are acme, globex; tenant= is callers without one\n")
    );
    assert_eq!(
        server.post("/purge?seed=1&first=1", "authorization: Bearer acme-game\r\n").0,
        403,
        "a tenant is no operator"
    );
}

#[tokio::test]
async fn operations_act_on_every_tenant_or_on_the_named_one() {
    let data = TempDir::new().unwrap();
    let server = setup(&data, r#"["lru", "lmdb"]"#).start();
    let mut game = Caller::new(&server, "acme-game").await;
    game.source(spec(1, 1)).await;
    wait_until("the floor is stored", || holders(&server, "seed=1&first=1") == ["acme/lru", "acme/lmdb"]);
    let stats = |path: &str| {
        let (status, body) = server.page(path);
        assert_eq!(status, 200, "{body}");
        let Stats { tiers } = serde_json::from_str(&body).unwrap();
        tiers.iter().map(|tier| (tier.tenant.clone().unwrap_or_default(), tier.entries)).collect::<Vec<_>>()
    };
    let row = |tenant: &str, entries| [(tenant.to_owned(), Some(entries)), (tenant.to_owned(), Some(entries))];
    assert_eq!(stats("/stats"), [row("", 0), row("acme", 1), row("globex", 0)].concat());
    assert_eq!(stats("/stats?tenant=acme"), row("acme", 1));
    let (status, body) = operate(&server, "/compact");
    assert_eq!((status, body.matches("\"tenant\":\"").count()), (200, 2), "{body}");
    assert_eq!(server.page("/stats?tenants=acme").0, 400);

    let (status, body) = operate(&server, "/backup?tier=lmdb");
    assert_eq!(
        (status, body.contains("write whose store to copy, as tenant=NAME (there are acme, globex)")),
        (400, true),
        "{body}"
    );
    let (status, body) = operate(&server, "/backup?tier=lmdb&tenant=acme");
    let copied: serde_json::Value = serde_json::from_str(&body).unwrap();
    let path = PathBuf::from(copied["path"].as_str().unwrap());
    assert_eq!(status, 200);
    let beside = data.path().canonicalize().unwrap().join("lmdb.tenants");
    assert!(path.starts_with(&beside) && path.join("data.mdb").is_file(), "{path:?}");
    assert!(path.file_name().unwrap().to_str().unwrap().starts_with("acme.backup-"));
    let (status, page) = server.page("/status");
    assert!(status == 200 && page.contains("Tenant acme") && page.contains("Tenant globex"), "{page}");
}

#[tokio::test]
async fn a_flood_of_one_tenant_evicts_nothing_of_another() {
    for (chain, tier) in [(r#"["lru"]"#, "lru"), (r#"["lmdb"]"#, "lmdb")] {
        let data = TempDir::new().unwrap();
        let server =
            setup(&data, chain).with("CACHE__LRU__CAPACITY", "4MiB").with("CACHE__LMDB__MAP_SIZE", "8MiB").start();
        let (mut game, mut other) =
            (Caller::new(&server, "acme-game").await, Caller::new(&server, "globex-game").await);
        let metric = |name: &str, tenant: &str| {
            server.metric(&format!("floors_tier_{name}{{tenant=\"{tenant}\",tier=\"{tier}\"}}"))
        };
        let few: Vec<_> = (1..=20).map(|number| spec(1, number)).collect();
        other.batch(few.clone()).await;
        wait_until("they are stored", || holders(&server, "seed=1&first=1&count=20&tenant=globex").len() == 20);
        let held = metric("bytes", "globex");
        for first in (1..=1024).step_by(64) {
            game.batch((first..first + 64).map(|number| spec(2, number)).collect()).await;
        }
        let full = || metric("bytes", "acme") > 0.8 * metric("limit_bytes", "acme");
        wait_until("the flood has filled its share", full);
        assert!(holders(&server, "seed=2&first=1&count=256&tenant=acme").len() < 256, "and more");
        assert_eq!(metric("bytes", "globex"), held);
        assert_eq!(other.batch(few).await, format!("{tier}=20"));
    }
}

#[tokio::test]
async fn tokens_of_a_tenant_share_its_quota() {
    let data = TempDir::new().unwrap();
    let file = data.path().join("floors.toml");
    let configure = |rate: u32| {
        let text = format!("[tenants.acme]\nshare = 0.25\ncells_per_second = {rate}\n[tenants.globex]\nshare = 0.25\n");
        fs::write(&file, text).unwrap();
    };
    configure(1);
    let tokens = write_tokens(&data, &TOKENS);
    let server = Setup::new(&data)
        .with("AUTH__TOKENS_FILE", &tokens.display().to_string())
        .with("CACHE__CHAIN", r#"["lru"]"#)
        .with("GENERATION__PREFETCH", "false")
        .arg("--config")
        .arg(&file)
        .start();
    let (mut game, mut tool) = (Caller::new(&server, "acme-game").await, Caller::new(&server, "acme-tool").await);
    let mut other = Caller::new(&server, "globex-game").await;
    let large = |number| FloorSpec { width: 512, height: 512, ..spec(1, number) };
    // Half of what a tenant gets at once each.
    game.batch((1..=8).map(large).collect()).await;
    tool.batch((9..=16).map(large).collect()).await;
    for caller in [&mut game, &mut tool] {
        let refused = caller.try_get(large(17)).await.unwrap_err();
        assert_eq!(refused.code(), Code::ResourceExhausted);
        assert!(refused.message().starts_with("the tenant of this client has used up its quota"), "{refused:?}");
    }
    assert_eq!(game.source(large(16)).await, "lru", "a cached floor is free");
    assert_eq!(other.source(large(17)).await, "generated", "another tenant has its own quota");
    let refused = |client: &str, tenant: &str| {
        let labels = format!("client=\"{client}\",reason=\"quota\",tenant=\"{tenant}\"");
        server.metric(&format!("floors_generation_refusals_total{{{labels}}}"))
    };
    assert_eq!((refused("acme-game", "acme"), refused("acme-tool", "acme")), (1.0, 1.0));
    assert_eq!(refused("other", "globex"), 0.0);

    configure(0);
    server.signal("-HUP");
    let allowed = async {
        while tool.try_get(large(17)).await.is_err() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(TIMEOUT, allowed).await.expect("a reload changes the quota");
    assert!(server.log().contains("tenants.acme.cells_per_second"), "{}", server.log());
}

#[tokio::test]
async fn a_token_that_moves_to_another_tenant_leaves_the_first() {
    let data = TempDir::new().unwrap();
    let server = setup(&data, r#"["lru"]"#).start();
    let (mut game, mut other) = (Caller::new(&server, "acme-game").await, Caller::new(&server, "globex-game").await);
    assert_eq!(
        (game.source(spec(1, 1)).await, other.source(spec(1, 2)).await),
        ("generated".into(), "generated".into())
    );
    let mut tokens = TOKENS;
    tokens[0].1 = "tenant = \"initech\"";
    write_tokens(&data, &tokens);
    server.signal("-HUP");
    let refused = "tenant \"initech\" is no [tenants.NAME] of the configuration; there are acme, globex";
    wait_until("the file is refused", || server.log().contains(refused));
    assert_eq!(game.source(spec(1, 1)).await, "lru", "the old tokens stay in use");

    tokens[0].1 = "tenant = \"globex\"";
    write_tokens(&data, &tokens);
    server.signal("-HUP");
    let mut number = 100;
    let moved = async {
        // A floor that only the other tenant has.
        loop {
            number += 1;
            other.source(spec(1, number)).await;
            if game.source(spec(1, number)).await == "lru" {
                break;
            }
        }
    };
    timeout(TIMEOUT, moved).await.expect("the token has moved, on an open connection");
    assert_eq!(game.source(spec(1, 2)).await, "lru");
    assert_eq!(game.source(spec(1, 1)).await, "generated", "what it had as the first tenant is not its any more");
}

#[test]
fn a_tokens_file_with_an_unknown_tenant_is_refused_at_the_start() {
    let data = TempDir::new().unwrap();
    for check in [false, true] {
        let setup = setup(&data, r#"["lru"]"#);
        write_tokens(&data, &[("game", "tenant = \"initech\"")]);
        let setup = if check { setup.arg("--check-config") } else { setup };
        let (code, _, errors) = setup.run();
        assert!(code != Some(0) && errors.contains("tenant \"initech\" is no [tenants.NAME]"), "{code:?}: {errors}");
        assert!(errors.contains("there are acme, globex"), "{errors}");
    }
    let (code, _, errors) =
        setup(&data, r#"["lru"]"#).with("TENANTS__GLOBEX__SHARE", "0.75").arg("--check-config").run();
    assert!(code != Some(0) && errors.contains("tenants has shares of 1.000 in all"), "{errors}");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_two_tenants_for_one_floor_wait_for_no_work_of_the_other() {
    let data = TempDir::new().unwrap();
    let server = setup(&data, r#"["lru"]"#).with("GENERATION__THREADS", "1").start();
    let large = |number| FloorSpec { width: 512, height: 512, ..spec(1, number) };
    // The one worker is busy with floors of others while the calls arrive.
    let mut own = Caller::new(&server, "own-game").await;
    let busy = tokio::spawn(async move { own.batch((2..=16).map(large).collect()).await });
    wait_until("floors wait", || server.metric("floors_generation_queue") > 5.0);
    let callers = join_all(TOKENS[..3].iter().map(|(name, _)| Caller::new(&server, name))).await;
    let calls = callers.into_iter().map(|mut caller| async move {
        let response = caller.try_get(large(1)).await.unwrap();
        (served_by(&response), response.metadata().contains_key("floor-coalesced"))
    });
    let [game, tool, other] = join_all(calls).await.try_into().unwrap();
    assert_eq!([&game.0, &tool.0, &other.0], ["generated"; 3]);
    assert!(game.1 != tool.1 && !other.1, "only the tokens of one tenant share a flight");
    assert_eq!(busy.await.unwrap(), "generated=15");
    assert_eq!(server.generations(), 17.0);
}

#[tokio::test]
async fn a_climber_has_floors_prefetched_for_its_own_tenant() {
    let data = TempDir::new().unwrap();
    let server = setup(&data, r#"["lru"]"#).with("GENERATION__PREFETCH", "true").start();
    let (mut game, mut other) = (Caller::new(&server, "acme-game").await, Caller::new(&server, "globex-game").await);
    // Each takes every other floor: together they would climb.
    for number in [10, 12, 14] {
        game.source(spec(9, number)).await;
        other.source(spec(9, number + 1)).await;
    }
    game.source(spec(1, 1)).await;
    game.source(spec(1, 2)).await;
    wait_until("the next floor is there", || holders(&server, "seed=1&first=3") == ["acme/lru"]);
    assert_eq!((game.source(spec(1, 3)).await, other.source(spec(1, 3)).await), ("lru".into(), "generated".into()));
    assert!(holders(&server, "seed=9&first=16").is_empty() && holders(&server, "seed=9&first=17").is_empty());
}

#[tokio::test]
async fn in_a_shared_redis_each_tenant_has_keys_of_its_own_and_believes_no_others() {
    let Some(redis) = Redis::start() else { return };
    let keys = format!("1:{}", "ab".repeat(32));
    for is_sealed in [false, true] {
        redis.command(&[b"FLUSHALL"]);
        let data = TempDir::new().unwrap();
        let file = data.path().join("keys");
        fs::write(&file, &keys).unwrap();
        let server = setup(&data, r#"["redis"]"#)
            .with("CACHE__REDIS__URL", &redis.url())
            .with("CACHE__REDIS__TIMEOUT", "5s")
            .with("CACHE__KEYS_FILE", if is_sealed { file.to_str().unwrap() } else { "" })
            .start();
        let (mut game, mut other) =
            (Caller::new(&server, "acme-game").await, Caller::new(&server, "globex-game").await);
        let mut own = Caller::new(&server, "own-game").await;
        let count = |pattern: &str| {
            let reply = redis.command(&[b"EVAL", b"return redis.call('KEYS', ARGV[1])", b"0", pattern.as_bytes()]);
            let digits = reply[1..].iter().take_while(|byte| byte.is_ascii_digit());
            digits.fold(0, |number, digit| number * 10 + usize::from(digit - b'0'))
        };
        assert_eq!(game.source(spec(1, 1)).await, "generated");
        wait_until("the floor is stored", || count("floors/acme:*") == 1);
        assert_eq!(count("*"), 1);
        assert_eq!(
            (other.source(spec(1, 1)).await, own.source(spec(1, 1)).await),
            ("generated".into(), "generated".into())
        );
        wait_until("their floors are stored", || count("floors/globex:*") == 1 && count("floors:*") == 1);
        assert_eq!(count("*"), 3);
        for caller in [&mut game, &mut other, &mut own] {
            assert_eq!(caller.source(spec(1, 1)).await, "redis");
        }
        let swap = "local key = string.sub(redis.call('KEYS', 'floors/globex:*')[1], 15)\n\
                    return redis.call('COPY', 'floors/globex:' .. key, 'floors/acme:' .. key, 'REPLACE')";
        assert_eq!(redis.command(&[b"EVAL", swap.as_bytes(), b"0"]), b":1\r\n");
        assert_eq!(game.source(spec(1, 1)).await, "generated", "bytes of another tenant are not believed");
        assert_eq!(other.source(spec(1, 1)).await, "redis");
        let (_, body) = server.page("/stats?tenant=acme");
        let Stats { tiers } = serde_json::from_str(&body).unwrap();
        assert_eq!(tiers[0].corrupt, 1, "{body}");
        wait_until("the wrong value is replaced", || {
            redis.command(&[b"EVAL", b"return #redis.call('KEYS', 'floors/acme:*')", b"0"]) == b":1\r\n"
        });
        let request = game.request(GetServerInfoRequest {});
        let info = game.client.get_server_info(request).await.unwrap().into_inner();
        assert_eq!((info.tiers[0].entries, info.tiers[0].bytes), (0, 0), "what others hold is not told");
    }
}
