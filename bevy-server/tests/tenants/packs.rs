//! Callers try to read the packs of other tenants, by every RPC, by name and by version.

use std::fs;

use floor_gen::GENERATOR_VERSION;
use floor_proto::{
    operations::PurgedTiers,
    v1::{
        BatchGetFloorsRequest, Floor, FloorSpec, GetFloorRequest, GetPackRequest, ListPacksRequest, StreamFloorsRequest,
    },
};
use tempfile::TempDir;
use test_support::{Setup, http1, spec, wait_until};
use tonic::{Code, Status};
use tonic_types::StatusExt;

use super::{Caller, holders, operate, setup};

/// Writes a pack that is a folder.
fn write_pack(data: &TempDir, name: &str, description: &str) {
    let folder = data.path().join("packs").join(name);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("pack.toml"), format!("name = \"{name}\"\ndescription = \"{description}\"\n")).unwrap();
}

/// A server on which `acme` lists the packs `mine` and `both`, `globex` lists `both`, and none lists `free`.
fn setup_with_packs(data: &TempDir) -> Setup {
    for name in ["mine", "both", "free"] {
        write_pack(data, name, "one");
    }
    setup(data, r#"["lru"]"#)
        .with("PACKS__DIR", data.path().join("packs").to_str().unwrap())
        .with("TENANTS__ACME__PACKS", r#"["mine", "both"]"#)
        .with("TENANTS__ACME__PACK", "mine")
        .with("TENANTS__GLOBEX__PACKS", r#"["both"]"#)
}

fn of(pack: &str, number: u32) -> FloorSpec {
    FloorSpec { pack: pack.to_owned(), ..spec(42, number) }
}

impl Caller {
    async fn floor(&mut self, spec: FloorSpec) -> Result<Floor, Status> {
        let request = self.request(GetFloorRequest { spec: Some(spec) });
        Ok(self.client.get_floor(request).await?.into_inner())
    }

    /// The pack of the floor, as the floor names it.
    async fn pack_of(&mut self, spec: FloorSpec) -> String {
        self.floor(spec).await.unwrap().spec.unwrap().pack
    }

    /// The errors of every RPC that can name `pack`.
    async fn refusals(&mut self, pack: &str) -> Vec<Status> {
        let floor = self.floor(of(pack, 7)).await.unwrap_err();
        let batch = self.request(BatchGetFloorsRequest { specs: vec![of("tower", 7), of(pack, 7)] });
        let batch = self.client.batch_get_floors(batch).await.unwrap_err();
        let stream = self.request(StreamFloorsRequest { first: Some(of(pack, 7)), count: 2 });
        let stream = self.client.stream_floors(stream).await.map(|_| ()).unwrap_err();
        let files = self.request(GetPackRequest { pack: pack.to_owned() });
        let files = self.client.get_pack(files).await.unwrap_err();
        vec![floor, batch, stream, files]
    }

    async fn list(&mut self) -> Vec<String> {
        let request = self.request(ListPacksRequest {});
        let packs = self.client.list_packs(request).await.unwrap().into_inner().packs;
        packs.into_iter().map(|pack| pack.name).collect()
    }
}

#[tokio::test]
async fn a_pack_of_another_tenant_is_an_unknown_pack() {
    let data = TempDir::new().unwrap();
    let server = setup_with_packs(&data).with("LOG__ACCESS", "1").start();
    let mut game = Caller::new(&server, "acme-game").await;
    let version = game.pack_of(of("mine", 7)).await;
    assert!(version.starts_with("mine@"), "{version}");
    // A version that was replaced is as much the tenant's as the current one.
    write_pack(&data, "mine", "two");
    server.signal("-HUP");
    wait_until("the pack is replaced", || server.figure("versions of packs") == 4.0);
    let newer = game.pack_of(of("", 7)).await;
    assert_ne!(newer, version);

    for (token, listed) in [("globex-game", "both, free, tower"), ("own-game", "free, tower")] {
        let mut caller = Caller::new(&server, token).await;
        let names: Vec<_> = listed.split(", ").collect();
        assert_eq!(caller.list().await, names);
        assert_eq!(caller.pack_of(spec(42, 7)).await, "", "its default is the server's");
        let hash = version.split('@').nth(1).unwrap();
        for hidden in ["mine", &version, &newer, &format!("mine@{:016x}", 1), &format!("free@{hash}")] {
            for (rpc, status) in caller.refusals(hidden).await.into_iter().enumerate() {
                assert_eq!(status.code(), Code::NotFound, "{token} {hidden} {rpc}");
                let known = status.message().strip_prefix(&format!("there is no pack {hidden}; the server has "));
                let known = known.unwrap_or_else(|| panic!("{status:?}"));
                assert!(known == listed || (hidden.starts_with("free@") && known.starts_with("free@")), "{known}");
                let details = status.get_error_details();
                assert_eq!(details.resource_info().unwrap().resource_name, hidden);
            }
        }
        // But for the name, the answers are those about a pack that does not exist.
        let exists = caller.refusals("mine").await.into_iter().map(|status| status.message().to_owned());
        let exists: Vec<_> = exists.map(|message| message.replace("mine", "nine")).collect();
        let not: Vec<_> = caller.refusals("nine").await.iter().map(|status| status.message().to_owned()).collect();
        assert_eq!(exists, not);
    }
    assert_eq!(game.list().await, ["both", "free", "mine", "mine", "tower"]);
    let mut other = Caller::new(&server, "globex-game").await;
    assert!(other.pack_of(of("both", 7)).await.starts_with("both@"), "two tenants share a pack that both list");
    assert!(other.pack_of(of("free", 7)).await.starts_with("free@"));
    assert_eq!(game.pack_of(of("tower", 7)).await, "", "the built-in pack is for all");
    let lines = server.log();
    let line = lines.lines().find(|line| line.contains("name=\"acme-game\"") || line.contains("name=acme-game"));
    assert!(line.is_some_and(|line| line.contains("tenant=\"acme\"") || line.contains("tenant=acme")), "{lines}");
    let generated = server.generations();
    assert_eq!(game.source(of("both", 7)).await, "generated", "each has a chain");
    assert_eq!(server.generations(), generated + 1.0);
}

#[tokio::test]
async fn the_default_of_a_tenant_decides_what_caches_may_do() {
    let data = TempDir::new().unwrap();
    let server = setup_with_packs(&data).start();
    let get = |token: &str, pack: &str| {
        let message = format!("{{\"spec\":{{\"seed\":42,\"number\":7{pack}}}}}");
        let path = format!("/floors.v1.FloorService/GetFloor?connect=v1&encoding=json&message={}", encoded(&message));
        let head = format!(
            "GET {path}&generator_version={GENERATOR_VERSION} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\r\n"
        );
        let (status, headers, body) = http1(&server.grpc, &head, &[]);
        let header = |name: &str| headers.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned));
        (status, header("cache-control: "), header("vary: "), String::from_utf8_lossy(&body).into_owned())
    };
    let (status, policy, vary, _) = get("acme-game", "");
    assert_eq!((status, policy.as_deref()), (200, Some("private, max-age=60")), "its default has no version");
    assert!(vary.is_some_and(|vary| vary.contains("authorization")), "callers get different floors from one URL");
    let (status, policy, ..) = get("globex-game", "");
    assert_eq!((status, policy.as_deref()), (200, Some("private, immutable, max-age=31536000")));
    let (status, _, _, hidden) = get("globex-game", ",\"pack\":\"mine\"");
    let (_, _, _, unknown) = get("globex-game", ",\"pack\":\"nine\"");
    assert_eq!((status, hidden.replace("mine", "nine").len()), (404, unknown.len()), "{hidden}");
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[tokio::test]
async fn a_climber_gets_the_floors_of_its_own_pack_and_version() {
    let data = TempDir::new().unwrap();
    let server = setup_with_packs(&data).with("GENERATION__PREFETCH", "true").start();
    let mut game = Caller::new(&server, "acme-game").await;
    let version = game.pack_of(of("", 1)).await;
    write_pack(&data, "mine", "two");
    server.signal("-HUP");
    wait_until("the pack is replaced", || server.figure("versions of packs") == 4.0);
    game.pack_of(of(&version, 2)).await;
    let next = format!("seed=42&first=3&pack={version}");
    wait_until("the next floor is there", || holders(&server, &next) == ["acme/lru"]);
    assert!(holders(&server, "seed=42&first=3&pack=mine").is_empty(), "the climber named a version");
    assert_eq!(game.source(of(&version, 3)).await, "lru");
}

#[tokio::test]
async fn operators_name_floors_as_the_callers_of_each_tenant_do() {
    let data = TempDir::new().unwrap();
    let server = setup_with_packs(&data).start();
    let (mut game, mut other) = (Caller::new(&server, "acme-game").await, Caller::new(&server, "globex-game").await);
    let version = game.pack_of(spec(42, 7)).await;
    other.pack_of(spec(42, 7)).await;
    assert_eq!(holders(&server, "seed=42&first=7"), ["acme/lru", "globex/lru"], "each of its default");
    assert_eq!(holders(&server, &format!("seed=42&first=7&pack={version}")), ["acme/lru"]);
    assert_eq!(holders(&server, "seed=42&first=7&pack=tower"), ["globex/lru"]);
    assert_eq!(operate(&server, "/purge?seed=42&first=7&tenant=acme").0, 200);
    assert_eq!(holders(&server, "seed=42&first=7"), ["globex/lru"]);
    // The viewer's floors are those of callers without a tenant.
    let (status, body) = server.page("/floor?seed=42&number=7&pack=mine");
    assert_eq!((status, body.as_str()), (400, "pack is mine; there are free, tower\n"));
}

#[test]
fn names_of_packs_that_do_not_exist_are_refused() {
    let data = TempDir::new().unwrap();
    let wrong = |data: &TempDir| setup_with_packs(data).with("TENANTS__GLOBEX__PACKS", r#"["bath"]"#);
    let expected = "tenants.globex.packs has bath, which is no pack; there are both, free, mine, tower";
    let expected_default = "tenants.globex.pack is nine, which is no pack";
    let (code, _, errors) = wrong(&data).with("TENANTS__GLOBEX__PACK", "nine").arg("--check-config").run();
    assert!(code == Some(1) && errors.contains(expected) && errors.contains(expected_default), "{code:?} {errors}");
    let (code, _, errors) = wrong(&data).run();
    assert!(code != Some(0) && errors.contains(expected), "{code:?} {errors}");
    let (code, _, errors) = setup_with_packs(&data).arg("--check-config").run();
    assert_eq!(code, Some(0), "{errors}");
}

#[tokio::test]
async fn a_purge_of_a_pack_removes_its_floors_in_every_chain_and_no_others() {
    let data = TempDir::new().unwrap();
    let server = setup_with_packs(&data).with("CACHE__CHAIN", r#"["lru", "lmdb", "sled"]"#).start();
    let (mut game, mut other) = (Caller::new(&server, "acme-game").await, Caller::new(&server, "globex-game").await);
    let first = game.pack_of(of("mine", 7)).await;
    write_pack(&data, "mine", "two");
    server.signal("-HUP");
    wait_until("the pack is replaced", || server.figure("versions of packs") == 4.0);
    let second = game.pack_of(of("mine", 7)).await;
    for caller in [&mut game, &mut other] {
        for pack in ["both", "tower"] {
            for number in 1..=3 {
                caller.pack_of(of(pack, number)).await;
            }
        }
    }
    let held = |pack: &str| holders(&server, &format!("seed=42&first=1&count=7&pack={pack}")).len();
    let counts = || [first.as_str(), &second, "both", "tower"].map(held);
    wait_until("they are stored", || counts() == [3, 3, 18, 18]);
    let removed = |path: &str| {
        let (status, body) = operate(&server, path);
        assert_eq!(status, 200, "{body}");
        let PurgedTiers { tiers } = serde_json::from_str(&body).unwrap();
        tiers.iter().map(|tier| (tier.done.tenant.clone().unwrap_or_default(), tier.removed)).collect::<Vec<_>>()
    };
    let row = |tenant: &str, entries| vec![(tenant.to_owned(), entries); 3];
    assert_eq!(removed("/purge?pack=both&tenant=globex"), row("globex", 3));
    assert_eq!(counts(), [3, 3, 9, 18]);
    assert_eq!(removed(&format!("/purge?pack={first}")), [row("", 0), row("acme", 1), row("globex", 0)].concat());
    assert_eq!(counts(), [0, 3, 9, 18]);
    assert_eq!(game.source(of(&first, 7)).await, "generated", "the version is still served");
    wait_until("it is stored again", || counts() == [3, 3, 9, 18]);
    assert_eq!(removed("/purge?pack=mine&tenant=acme"), row("acme", 2), "every version");
    assert_eq!(removed("/purge?pack=tower"), [row("", 0), row("acme", 3), row("globex", 3)].concat());
    assert_eq!(counts(), [0, 0, 9, 0]);
    for (query, expected) in [
        ("pack=nine", "pack is nine; there are both, free, mine, tower"),
        ("pack=mine&tower=42", "pack cannot be used with tower or all"),
        ("pack=mine&seed=42", "first is missing"),
        ("pack=mine&width=64", "seed is missing"),
        (&format!("pack=free@{}", first.split('@').nth(1).unwrap()), "and this is a version of mine"),
    ] {
        let (status, body) = operate(&server, &format!("/purge?{query}"));
        assert!(status == 400 && body.contains(expected), "{query}: {body}");
    }
}
