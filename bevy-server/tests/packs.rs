//! Packs: served by name and by version, followed while the server runs, with authored floors, from every tier.
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

use std::{fs, path::PathBuf};

use floor_gen::{GENERATOR_VERSION, Kind};
use floor_pack::LoadedPack;
use floor_proto::{
    floor_json::FLOOR,
    hash,
    v1::{
        BatchGetFloorsRequest, Floor, FloorKind, FloorSpec, GetFloorRequest, GetPackRequest, ListPacksRequest,
        StreamFloorsRequest, floor_service_client::FloorServiceClient,
    },
};
use prost::Message;
use tempfile::TempDir;
use test_support::{Setup, http1, invalid_fields, spec, wait_for, wait_until};
use tonic::{Code, Status, transport::Channel};

/// The directory of packs, which are folders with these descriptions.
fn write_pack(data: &TempDir, name: &str, description: &str, more: &[(&str, &[u8])]) -> PathBuf {
    let folder = data.path().join("packs").join(name);
    let text = format!("name = \"{name}\"\ndescription = \"{description}\"\n");
    for (path, content) in [("pack.toml", text.as_bytes())].iter().chain(more) {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

fn setup(data: &TempDir) -> Setup {
    Setup::new(data).with("PACKS__DIR", data.path().join("packs").to_str().unwrap())
}

/// A floor of `pack`.
fn of(pack: &str, seed: u64, number: u32) -> FloorSpec {
    FloorSpec { pack: pack.to_owned(), ..spec(seed, number) }
}

async fn get(client: &mut FloorServiceClient<Channel>, spec: FloorSpec) -> Result<(Floor, String), Status> {
    let answer = client.get_floor(GetFloorRequest { spec: Some(spec) }).await?;
    let by = answer.metadata().get("floor-served-by").unwrap().to_str().unwrap().to_owned();
    let floor = answer.into_inner();
    assert!(hash::verify(&floor));
    Ok((floor, by))
}

/// The JSON of a floor that was generated for another number.
fn authored(seed: u64, kind: Kind) -> (Floor, Vec<u8>) {
    let spec = floor_gen::FloorSpec::resolve(seed, 3, 40, 30, Some(kind)).unwrap();
    let (floor, mut json) = (floor_wire::message(&floor_gen::generate(&spec)), Vec::new());
    FLOOR.encode(&floor.encode_to_vec()[..], &mut json).unwrap();
    (floor, json)
}

#[tokio::test]
async fn a_pack_is_served_by_name_and_by_version_and_tower_is_as_ever() {
    let data = TempDir::new().unwrap();
    write_pack(&data, "mine", "one", &[]);
    let server = setup(&data).start();
    let mut client = server.client().await;
    let (mine, by) = get(&mut client, of("mine", 42, 7)).await.unwrap();
    let version = mine.spec.as_ref().unwrap().pack.clone();
    assert_eq!((version.clone(), by.as_str()), (format!("mine@{:016x}", mine.pack_hash), "generated"));
    assert_eq!(get(&mut client, of(&version, 42, 7)).await.unwrap(), (mine.clone(), "lru".to_owned()));
    let (tower, by) = get(&mut client, spec(42, 7)).await.unwrap();
    assert_eq!(by, "generated", "the keys of two packs differ");
    let expected = floor_gen::generate(&floor_gen::FloorSpec::resolve(42, 7, 0, 0, None).unwrap());
    assert_eq!(tower.encode_to_vec(), floor_wire::unframed(&floor_wire::framed(&expected)), "not a byte more");
    for name in ["tower", "tower@0000000000000000"] {
        assert_eq!(get(&mut client, of(name, 42, 7)).await.unwrap().0, tower);
    }
    let unknown = get(&mut client, of("yours", 42, 7)).await.unwrap_err();
    assert_eq!(
        (unknown.code(), unknown.message()),
        (Code::NotFound, "there is no pack yours; the server has mine, tower")
    );
    let details = tonic_types::StatusExt::get_error_details(&unknown);
    assert_eq!(details.resource_info().unwrap().resource_name, "yours");
    let other = get(&mut client, of("mine@00000000000000ff", 42, 7)).await.unwrap_err();
    assert_eq!(other.message(), format!("there is no pack mine@00000000000000ff; the server has {version}"));
    let specs = vec![spec(1, 1), of("yours", 1, 1)];
    let batch = client.batch_get_floors(BatchGetFloorsRequest { specs }).await.unwrap_err();
    let first = Some(of("yours", 1, 1));
    let stream = client.stream_floors(StreamFloorsRequest { first, count: 2 }).await.unwrap_err();
    assert_eq!((batch.code(), stream.code()), (Code::NotFound, Code::NotFound));
    let wrong = get(&mut client, of("Mine", 42, 7)).await.unwrap_err();
    assert_eq!(invalid_fields(&wrong), ["spec.pack"]);
}

#[tokio::test]
async fn packs_are_listed_and_their_files_make_the_same_floors() {
    let data = TempDir::new().unwrap();
    write_pack(&data, "mine", "one", &[("floors/10.json", &authored(1, Kind::Cavern).1)]);
    let server = setup(&data).with("PACKS__DEFAULT", "mine").start();
    let mut client = server.client().await;
    let packs = client.list_packs(ListPacksRequest {}).await.unwrap().into_inner().packs;
    let list: Vec<_> =
        packs.iter().map(|pack| (pack.name.as_str(), pack.current, &*pack.description, pack.floors_authored)).collect();
    assert_eq!(list[0], ("mine", true, "one", 1));
    assert_eq!((list.len(), list[1].0, packs[1].hash), (2, "tower", 0));
    let pack = client.get_pack(GetPackRequest::default()).await.unwrap().into_inner();
    assert_eq!((pack.name.as_str(), pack.hash, pack.generator_version), ("mine", packs[0].hash, GENERATOR_VERSION));
    let loaded = LoadedPack::from_bytes(&pack.file).unwrap();
    let mut generator = floor_gen::Generator::new();
    for number in [7, 10] {
        let (floor, _) = get(&mut client, spec(42, number)).await.unwrap();
        let resolved = loaded.resolve(42, number, 0, 0, None).unwrap();
        assert_eq!(floor.encode_to_vec(), floor_wire::unframed(&loaded.framed(&mut generator, &resolved).unwrap()));
    }
    let tower = client.get_pack(GetPackRequest { pack: "tower".to_owned() }).await.unwrap().into_inner();
    let built_in = LoadedPack::from_bytes(&tower.file).unwrap();
    let (floor, _) = get(&mut client, of("tower", 42, 7)).await.unwrap();
    let resolved = built_in.resolve(42, 7, 0, 0, None).unwrap();
    assert_eq!(floor.encode_to_vec(), floor_wire::unframed(&built_in.framed(&mut generator, &resolved).unwrap()));
    let unknown = client.get_pack(GetPackRequest { pack: "yours".to_owned() }).await.unwrap_err();
    assert_eq!(unknown.code(), Code::NotFound);
    assert_eq!(server.calls("GetPack", "OK"), 2.0);
    assert_eq!(server.calls("ListPacks", "OK"), 1.0);
}

#[tokio::test]
async fn a_changed_pack_is_used_and_a_broken_one_changes_nothing() {
    let data = TempDir::new().unwrap();
    let folder = write_pack(&data, "mine", "one", &[]);
    let server = setup(&data).start();
    let mut client = server.client().await;
    let (old, _) = get(&mut client, of("mine", 42, 7)).await.unwrap();
    let old_version = old.spec.as_ref().unwrap().pack.clone();
    let new_version = async |client: &mut FloorServiceClient<Channel>, not: &str| {
        wait_for("the pack is reloaded", async || {
            let (floor, _) = get(client, of("mine", 42, 7)).await.unwrap();
            Some(floor.spec.unwrap().pack).filter(|version| version != not)
        })
        .await
    };
    // Files that change are found without a signal.
    write_pack(&data, "mine", "two", &[]);
    let second = new_version(&mut client, &old_version).await;
    assert_eq!(get(&mut client, of(&old_version, 42, 7)).await.unwrap().0, old, "the old version has the old bytes");
    assert_eq!(server.figure("versions of packs"), 2.0);
    // A broken pack, by signal.
    fs::write(folder.join("pack.toml"), "name = \"mine\"\nwidth = 3\n").unwrap();
    server.signal("-HUP");
    wait_until("the reload fails", || server.metric("floors_reload_success{what=\"packs\"}") == 0.0);
    assert!(server.log().contains("mine/pack.toml:2:1: the file has no key `width`"), "{}", server.log());
    let (status, ready) = server.page("/readyz");
    assert!(status == 200 && ready.contains("mine/pack.toml:2:1: "), "{ready}");
    assert_eq!(get(&mut client, of("mine", 42, 7)).await.unwrap().0.spec.unwrap().pack, second);
    write_pack(&data, "mine", "three", &[]);
    server.signal("-HUP");
    let third = new_version(&mut client, &second).await;
    wait_until("the server is ready without remarks", || server.page("/readyz").1 == "ready\n");
    for version in [&old_version, &second, &third] {
        assert_eq!(&get(&mut client, of(version, 1, 1)).await.unwrap().0.spec.unwrap().pack, version);
    }
}

#[tokio::test]
async fn a_kept_version_and_stored_floors_survive_a_restart() {
    let data = TempDir::new().unwrap();
    write_pack(&data, "mine", "one", &[]);
    let server = setup(&data).start();
    let mut client = server.client().await;
    let (old, _) = get(&mut client, of("mine", 42, 7)).await.unwrap();
    let (tower, _) = get(&mut client, spec(42, 7)).await.unwrap();
    let version = old.spec.as_ref().unwrap().pack.clone();
    let file = client.get_pack(GetPackRequest { pack: version.clone() }).await.unwrap().into_inner().file;
    server.stop();
    write_pack(&data, "mine", "two", &[]);
    fs::write(data.path().join(format!("packs/{version}.floorpack")), file).unwrap();
    let server = setup(&data).start();
    let mut client = server.client().await;
    assert_eq!(get(&mut client, of(&version, 42, 7)).await.unwrap(), (old.clone(), "lmdb".to_owned()));
    assert_eq!(get(&mut client, spec(42, 7)).await.unwrap(), (tower, "lmdb".to_owned()));
    let (new, by) = get(&mut client, of("mine", 42, 7)).await.unwrap();
    assert_eq!(by, "generated");
    assert_ne!(new.pack_hash, old.pack_hash);
    assert_eq!(new.terrain, old.terrain, "only the description differs");
}

#[tokio::test]
async fn an_authored_floor_is_served_by_every_rpc_and_from_every_tier() {
    let data = TempDir::new().unwrap();
    let (common, common_json) = authored(1, Kind::Cavern);
    let (own, own_json) = authored(2, Kind::Maze);
    let files: [(&str, &[u8]); 2] = [("floors/10.json", &common_json), ("floors/42-10.json", &own_json)];
    write_pack(&data, "mine", "one", &files);
    let is = |floor: &Floor, seed: u64, original: &Floor| {
        let spec = floor.spec.as_ref().unwrap();
        assert_eq!((spec.seed, spec.number, spec.width, spec.height), (seed, 10, 40, 30));
        assert_eq!(spec.pack, format!("mine@{:016x}", floor.pack_hash));
        assert_eq!((&floor.terrain, &floor.rooms, &floor.items), (&original.terrain, &original.rooms, &original.items));
        assert!(hash::verify(floor) && floor.content_hash != original.content_hash);
    };
    for chain in ["[\"lru\"]", "[\"lmdb\"]", "[\"sled\"]", "[]"] {
        let server = setup(&data).with("CACHE__CHAIN", chain).with("CACHE__BYPASS", "off").start();
        let mut client = server.client().await;
        let mut seen = Vec::new();
        wait_until_served(&mut client, &mut seen, &chain[1..chain.len() - 1].replace('"', "")).await;
        for floor in seen {
            is(&floor, 7, &common);
        }
        is(&get(&mut client, of("mine", 42, 10)).await.unwrap().0, 42, &own);
        let specs = vec![of("mine", 42, 10), of("mine", 7, 10), of("mine", 7, 11)];
        let floors = client.batch_get_floors(BatchGetFloorsRequest { specs }).await.unwrap().into_inner().floors;
        is(&floors[0], 42, &own);
        is(&floors[1], 7, &common);
        let first = Some(of("mine", 7, 9));
        let stream = client.stream_floors(StreamFloorsRequest { first, count: 3 }).await;
        let mut stream = stream.unwrap().into_inner();
        let mut floors = Vec::new();
        while let Some(floor) = stream.message().await.unwrap() {
            floors.push(floor);
        }
        is(&floors[1], 7, &common);
        assert_eq!(floors[2].spec.as_ref().unwrap().width, 100);
        // What names another size or kind is generated.
        let (wide, _) = get(&mut client, FloorSpec { width: 64, ..of("mine", 7, 10) }).await.unwrap();
        assert_eq!(wide.spec.unwrap().width, 64);
        let keep = FloorSpec { kind: FloorKind::Keep.into(), ..of("mine", 7, 10) };
        assert_eq!(get(&mut client, keep).await.unwrap().0.spec.unwrap().width, 100);
        let (named, _) =
            get(&mut client, FloorSpec { width: 40, height: 30, kind: FloorKind::Cavern.into(), ..of("mine", 7, 10) })
                .await
                .unwrap();
        is(&named, 7, &common);
        let (tower, _) = get(&mut client, spec(7, 10)).await.unwrap();
        assert_eq!(tower.spec.unwrap().kind(), FloorKind::Boss);
    }
}

/// Gets floor 10 of tower 7 until `tier` serves it, or twice if there is no tier.
async fn wait_until_served(client: &mut FloorServiceClient<Channel>, seen: &mut Vec<Floor>, tier: &str) {
    let wanted = if tier.is_empty() { "generated" } else { tier };
    wait_for(&format!("{wanted} serves the floor"), async || {
        let (floor, by) = get(client, of("mine", 7, 10)).await.unwrap();
        seen.push(floor);
        (by == wanted).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_server_starts_beside_a_broken_pack_unless_that_is_the_default() {
    let data = TempDir::new().unwrap();
    write_pack(&data, "good", "one", &[("Thumbs.db", b"\0"), ("text/a.txt~", b"\0")]);
    let (mut broken, _) = authored(1, Kind::Cavern);
    broken.exit = broken.entry;
    let mut json = Vec::new();
    FLOOR.encode(&broken.encode_to_vec()[..], &mut json).unwrap();
    let folder = write_pack(&data, "mine", "one", &[("floors/10.json", &json)]);
    fs::write(folder.join("pack.toml"), "name = \"mine\"\nwidth = 3\n").unwrap();
    let named = ["mine/pack.toml:2:1: the file has no key `width`", "mine/floors/10.json: "];
    for arguments in [&[][..], &["--check-config"]] {
        let setup = arguments.iter().fold(setup(&data).with("PACKS__DEFAULT", "mine"), |setup, one| setup.arg(one));
        let (code, _, errors) = setup.run();
        assert_eq!(code, Some(1));
        for expected in named.into_iter().chain(["packs.default is mine, which cannot be used"]) {
            assert!(errors.contains(expected), "{expected} is not in {errors}");
        }
    }
    let (code, _, errors) = setup(&data).arg("--check-config").run();
    assert_eq!(code, Some(0), "{errors}");
    assert!(named.iter().all(|expected| errors.contains(expected)), "{errors}");
    let server = setup(&data).with("PACKS__DEFAULT", "good").start();
    let (_, ready) = server.page("/readyz");
    let (_, status) = server.page("/status");
    for expected in named {
        for place in [&server.log(), &ready, &status] {
            assert!(place.contains(expected.split('`').next().unwrap()), "{expected} is not in {place}");
        }
    }
    assert!(server.log().contains("these are no part of the pack"), "{}", server.log());
    assert!(server.log().contains("Thumbs.db, text/a.txt~"), "{}", server.log());
    assert_eq!(server.metric("floors_reload_success{what=\"packs\"}"), 0.0);
    let mut client = server.client().await;
    let (floor, _) = get(&mut client, spec(42, 7)).await.unwrap();
    let hash = format!("{:016x}", floor.pack_hash);
    assert_eq!(floor.spec.unwrap().pack, format!("good@{hash}"));
    let info = |pack: &str, hash: &str, default: bool| {
        server.metric(&format!("floors_pack_info{{default=\"{default}\",hash=\"{hash}\",pack=\"{pack}\"}}"))
    };
    assert_eq!((info("good", &hash, true), info("tower", "0000000000000000", false)), (1.0, 1.0));
    let wrong = get(&mut client, of("mine", 42, 7)).await.unwrap_err();
    assert_eq!(wrong.code(), Code::FailedPrecondition);
    assert!(wrong.message().starts_with("the files of the pack mine are wrong"), "{wrong}");
    fs::remove_dir_all(&folder).unwrap();
    write_pack(&data, "mine", "two", &[]);
    wait_until("the corrected pack is used", || server.metric("floors_reload_success{what=\"packs\"}") == 1.0);
    get(&mut client, of("mine", 42, 7)).await.unwrap();
    assert!(server.log().contains("all packs are right again and in use"), "{}", server.log());
    let (code, _, errors) = setup(&data).with("PACKS__DEFAULT", "yours").run();
    assert!(
        code != Some(0) && errors.contains("packs.default is yours, which is no pack; there are good, mine, tower"),
        "{errors}"
    );
}

#[tokio::test]
async fn answers_by_url_are_kept_for_a_year_only_if_the_url_names_the_version_of_the_pack() {
    let data = TempDir::new().unwrap();
    write_pack(&data, "mine", "one", &[]);
    let server = setup(&data).start();
    let mut client = server.client().await;
    let version = get(&mut client, of("mine", 42, 7)).await.unwrap().0.spec.unwrap().pack;
    let cached = |spec: &str| {
        let message = format!("{{\"spec\":{spec}}}").replace('"', "%22").replace('{', "%7b").replace('}', "%7d");
        let path = format!(
            "/floors.v1.FloorService/GetFloor?connect=v1&encoding=json&generator_version={GENERATOR_VERSION}&message={message}"
        );
        let (status, headers, body) =
            http1(&server.grpc, &format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"), &[]);
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
        headers.lines().find_map(|line| line.strip_prefix("cache-control: ").map(str::to_owned)).unwrap()
    };
    for pinned in ["{\"seed\":42,\"number\":7}", &format!("{{\"seed\":42,\"number\":7,\"pack\":\"{version}\"}}")] {
        assert_eq!(cached(pinned), "public, immutable, max-age=31536000");
    }
    assert_eq!(cached("{\"seed\":42,\"number\":7,\"pack\":\"mine\"}"), "public, max-age=60");
}

#[tokio::test]
async fn the_next_floors_of_a_climber_are_prefetched_from_their_pack() {
    let data = TempDir::new().unwrap();
    let (original, json) = authored(1, Kind::Cavern);
    write_pack(&data, "mine", "one", &[("floors/10.json", &json)]);
    let server = setup(&data).start();
    let mut client = server.client().await;
    for number in [7, 8, 9] {
        get(&mut client, of("mine", 42, number)).await.unwrap();
    }
    wait_until("floors are prefetched", || server.figure("prefetched floors, all") >= 2.0);
    let named = "/contains?seed=42&first=10&pack=mine&width=40&height=30&kind=cavern";
    wait_until("floor 10 is prefetched", || !server.page(named).1.contains("\"tiers\":[]"));
    let (floor, by) = get(&mut client, of("mine", 42, 10)).await.unwrap();
    assert_eq!((by.as_str(), &floor.terrain), ("lru", &original.terrain), "the authored floor was prefetched");
    let (_, contained) = server.page("/contains?seed=42&first=10&pack=mine");
    let version = floor.spec.unwrap().pack;
    assert!(
        contained.contains(&format!(r#"{{"floor":"42/10:cavern@40x30","pack":"{version}","tiers":["lru""#)),
        "{contained}"
    );
    assert!(!server.page("/contains?seed=42&first=10").1.contains("pack"));
}
