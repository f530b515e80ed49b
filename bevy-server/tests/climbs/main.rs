//! Climbs of sealed towers: played and verified, refused when they are not what they say, and secret where they must be.
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

mod bot;

use std::{fs, path::PathBuf};

use floor_climb::VerifyingKey;
use floor_proto::{
    hash,
    v1::{
        Climb, ClimbFloor, Daily, GetDailyRequest, GetFloorRequest, GetServerInfoRequest, Receipt, StartClimbRequest,
        SubmitFloorRequest, floor_service_client::FloorServiceClient,
    },
};
use hkdf::Hkdf;
use prost::Message;
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use test_support::{Server, Setup, http1, invalid_fields, spec};
use tonic::{Code, Request, Status, transport::Channel};

/// Two master keys.
const KEYS: [[u8; 32]; 2] = [[0x11; 32], [0x22; 32]];

type Client = FloorServiceClient<Channel>;

/// A file with these of [`KEYS`], whose ids are their places from 1 on.
fn key_file(data: &TempDir, keys: &[usize]) -> PathBuf {
    let hexadecimal = |key: &[u8; 32]| key.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let text: String = keys.iter().map(|key| format!("{}:{}\n", key + 1, hexadecimal(&KEYS[*key]))).collect();
    let path = data.path().join("towers.key");
    fs::write(&path, text).unwrap();
    path
}

fn setup(data: &TempDir, keys: &[usize]) -> Setup {
    Setup::new(data).with("TOWERS__KEY_FILE", key_file(data, keys).to_str().unwrap())
}

fn start(tower: &str) -> StartClimbRequest {
    StartClimbRequest { tower: tower.to_owned(), width: 40, height: 40, ..StartClimbRequest::default() }
}

async fn submit(client: &mut Client, receipt: Receipt, acts: Vec<u8>) -> Result<ClimbFloor, Status> {
    Ok(client.submit_floor(SubmitFloorRequest { receipt: Some(receipt), acts }).await?.into_inner())
}

/// A climb that a bot can go on with: its first floor and the acts that lead to the second one.
async fn easy_climb(client: &mut Client) -> (ClimbFloor, Vec<u8>) {
    for number in 0.. {
        let first = client.start_climb(start(&format!("tower-{number}"))).await.unwrap().into_inner();
        if let Some(acts) = bot::acts(&first) {
            return (first, acts);
        }
    }
    unreachable!()
}

async fn public_key(client: &mut Client, id: u32) -> VerifyingKey {
    let keys = client.get_server_info(GetServerInfoRequest {}).await.unwrap().into_inner().receipt_keys;
    let key = keys.into_iter().find(|key| key.id == id).unwrap();
    VerifyingKey::from_bytes(&key.public_key.try_into().unwrap()).unwrap()
}

#[tokio::test]
async fn a_climb_goes_on_from_receipt_to_receipt_on_any_server_with_the_key() {
    let (one, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let server = setup(&one, &[0]).start();
    let mut client = server.client().await;
    let (mut at, mut acts) = easy_climb(&mut client).await;
    let key = public_key(&mut client, 1).await;
    let (mut turns, mut reached) = (0, 0);
    // The second server has another key for new climbs, and goes on with those of the first.
    let second = setup(&other, &[1, 0]).start();
    let mut second = second.client().await;
    for number in 1..=3 {
        let (climb, floor) =
            (floor_climb::verify(at.receipt.as_ref().unwrap(), &key).unwrap(), at.floor.clone().unwrap());
        let sent = floor.spec.clone().unwrap();
        assert_eq!((climb.floor, sent.number, sent.seed, sent.width), (number, number, 0, 40));
        assert!(hash::verify(&floor));
        assert_eq!((climb.hero.unwrap().turns, climb.tenant.as_str(), climb.pack.as_str()), (turns, "", ""));
        assert!(climb.reached_ms >= climb.started_ms.max(reached));
        reached = climb.reached_ms;
        let receipt = at.receipt.clone().unwrap();
        let next = submit(&mut client, receipt.clone(), acts.clone()).await.unwrap();
        let again = submit(&mut second, receipt, acts.clone()).await.unwrap();
        assert_eq!((&next.floor, &next.rolls), (&again.floor, &again.rolls));
        assert_eq!(bot::climb(&next).acts_hash, floor_climb::acts_hash(&climb.acts_hash, &acts));
        turns += acts.len() as u32;
        let Some(log) = bot::acts(&next) else { break };
        (at, acts) = (next, log);
    }
    assert!(turns > 0);
    let begun = second.start_climb(start("tower-0")).await.unwrap().into_inner();
    assert_eq!(begun.receipt.unwrap().key, 2, "the first key of the file begins climbs");
}

#[tokio::test]
async fn what_is_no_climb_of_this_server_is_refused_in_words() {
    let data = TempDir::new().unwrap();
    let server = setup(&data, &[0]).start();
    let mut client = server.client().await;
    let (first, acts) = easy_climb(&mut client).await;
    let receipt = first.receipt.clone().unwrap();
    let signing = floor_climb::SigningKey::from_bytes(&derived(0, &[b"receipts"]));
    let signed = |change: &dyn Fn(&mut Climb)| {
        let mut climb = bot::climb(&first);
        change(&mut climb);
        floor_climb::sign(&climb, 1, &signing)
    };
    // The test signs as the server does, so that what is refused below is refused for what it says.
    submit(&mut client, signed(&|_| ()), acts.clone()).await.unwrap();
    let mut altered = receipt.clone();
    *altered.climb.last_mut().unwrap() ^= 1;
    let cut = acts[..acts.len() - 1].to_vec();
    let mut walled = acts.clone();
    walled.insert(0, 8);
    for (what, receipt, acts, code, words) in [
        ("altered", altered, acts.clone(), Code::InvalidArgument, "receipt: the signature is not"),
        ("another key", Receipt { key: 9, ..receipt.clone() }, acts.clone(), Code::InvalidArgument, "has no key 9"),
        ("none", Receipt::default(), acts.clone(), Code::InvalidArgument, "has no key 0"),
        ("too short", receipt.clone(), cut, Code::InvalidArgument, "and not on the stairs"),
        ("no act", receipt.clone(), vec![4, 9], Code::InvalidArgument, "acts: byte 1 of the log, 9, is no act"),
        (
            "impossible",
            receipt.clone(),
            walled,
            Code::InvalidArgument,
            "acts: act 0 of the log, Buy(Mail), is impossible",
        ),
        ("long", receipt.clone(), vec![4; 10_001], Code::InvalidArgument, "a floor has 10000 acts at most"),
        (
            "tenant",
            signed(&|climb| climb.tenant = "acme".into()),
            acts.clone(),
            Code::PermissionDenied,
            "another tenant",
        ),
        (
            "generator",
            signed(&|climb| climb.generator_version += 1),
            acts.clone(),
            Code::FailedPrecondition,
            "of the generator, and this server has",
        ),
        ("rules", signed(&|climb| climb.rules_version = 0), acts.clone(), Code::FailedPrecondition, "of the rules"),
        (
            "pack",
            signed(&|climb| climb.pack = "mine@0123456789abcdef".into()),
            acts.clone(),
            Code::NotFound,
            "no pack mine@",
        ),
        ("top", signed(&|climb| climb.floor = 1_000_001), acts.clone(), Code::FailedPrecondition, "floor 1000001"),
    ] {
        let status = submit(&mut client, receipt, acts).await.expect_err(what);
        assert_eq!(status.code(), code, "{what}: {status:?}");
        assert!(status.message().contains(words), "{what}: {}", status.message());
    }
    // The clock of the server that signed was ahead: time stands still until this one's is there.
    let ahead = signed(&|climb| (climb.started_ms, climb.reached_ms) = (u64::MAX - 9, u64::MAX));
    let next = bot::climb(&submit(&mut client, ahead, acts.clone()).await.unwrap());
    assert_eq!((next.started_ms, next.reached_ms), (u64::MAX - 9, u64::MAX));
    // Other towers have other floors, of which the acts are none.
    for tower in 0..20 {
        let other = signed(&|climb| climb.tower = format!("other-{tower}"));
        assert!(submit(&mut client, other, acts.clone()).await.is_err());
    }
    let names = ["", "Tower", "a b", &"a".repeat(65)].map(|tower| (start(tower), "tower"));
    let sides = [StartClimbRequest { width: 15, ..start("a") }, StartClimbRequest { height: 513, ..start("a") }];
    let players = ["a\nb".to_owned(), "ü".repeat(33)].map(|player| StartClimbRequest { player, ..start("a") });
    let wrong = sides.into_iter().zip(["width", "height"]).chain(players.into_iter().zip(["player", "player"]));
    for (request, field) in names.into_iter().chain(wrong) {
        let status = client.start_climb(request).await.unwrap_err();
        assert_eq!((status.code(), invalid_fields(&status)), (Code::InvalidArgument, vec![field.to_owned()]));
    }
}

/// What a client may do to a receipt or to acts, again and again: the server answers each call, and reveals no floor.
#[tokio::test]
async fn no_altered_call_reveals_a_floor() {
    let data = TempDir::new().unwrap();
    let server = setup(&data, &[0]).start();
    let mut client = server.client().await;
    let (first, acts) = easy_climb(&mut client).await;
    let receipt = first.receipt.unwrap();
    for round in 0..2_000 {
        let (mut receipt, mut acts, at) = (receipt.clone(), acts.clone(), round / 4);
        let said = receipt.climb.len();
        match round % 4 {
            0 => receipt.climb[at % said] ^= 1 << (at % 8),
            1 => receipt.signature[at % 64] ^= 1 << (at / 64 % 8),
            2 => acts.insert(at % acts.len(), 9 + (at % 247) as u8),
            _ => acts.truncate(at % acts.len()),
        }
        let status = submit(&mut client, receipt, acts).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
    }
}

/// 32 bytes that the server derives of one of [`KEYS`].
fn derived(key: usize, input: &[&[u8]]) -> [u8; 32] {
    let mut bytes = [0; 32];
    let derivation = Hkdf::<Sha256>::new(Some(b"floor-server sealed towers 1"), &KEYS[key]);
    derivation.expand(&input.join(&0), &mut bytes).unwrap();
    bytes
}

#[tokio::test]
async fn no_seed_leaves_the_server_and_no_store_has_a_sealed_floor() {
    let data = TempDir::new().unwrap();
    let collector = Setup::new(&data).env("RUST_LOG", "trace").with("LOG__ACCESS", "1");
    let server = collector.with("TOWERS__KEY_FILE", key_file(&data, &[0]).to_str().unwrap()).start();
    let mut client = server.client().await;
    let (first, acts) = easy_climb(&mut client).await;
    let tower = bot::climb(&first).tower;
    let next = submit(&mut client, first.receipt.clone().unwrap(), acts).await.unwrap();
    // A public floor goes through the chain and to the store, so that there is one.
    let public = client.get_floor(GetFloorRequest { spec: Some(spec(1, 1)) }).await.unwrap().into_inner();
    let floors = [first.floor.clone().unwrap(), next.floor.clone().unwrap()];
    let pages = ["/metrics", "/status", "/chain", "/callers"].map(|page| server.page(page).1).join("\n");
    let log = server.stop();
    let store = fs::read(data.path().join("lmdb/data.mdb")).unwrap();
    let has = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    assert!(has(&store, &public.content_hash.to_le_bytes()), "the store has the public floor");
    let answers = [first.encode_to_vec(), next.encode_to_vec()].concat();
    for floor in floors {
        let sent = floor.spec.as_ref().unwrap();
        let seed = seed(&tower, sent.number, sent.kind as u8);
        // The test derives the seed as the server does: with it, the generator makes the floor.
        let resolved = floor_gen::FloorSpec::resolve(seed, sent.number, 40, 40, None).unwrap();
        let made = floor_wire::message(&floor_gen::generate(&resolved));
        assert_eq!(made.terrain, floor.terrain);
        let of_public = hash::content_hash(&made);
        for secret in [seed, of_public] {
            for bytes in [secret.to_be_bytes(), secret.to_le_bytes()] {
                assert!(!has(&store, &bytes) && !has(&answers, &bytes));
            }
            let mut varint = Vec::new();
            prost::encoding::encode_varint(secret, &mut varint);
            assert!(!has(&answers, &varint));
            for text in [secret.to_string(), format!("{secret:x}"), format!("{secret:X}")] {
                assert!(!log.contains(&text) && !pages.contains(&text));
            }
        }
        assert!(!has(&store, &floor.content_hash.to_le_bytes()), "no store has a sealed floor");
    }
    assert!(log.contains("SubmitFloor"), "the log has the calls");
}

/// The seed of a floor of 40x40 cells of the built-in pack, by the first key.
fn seed(tower: &str, number: u32, kind: u8) -> u64 {
    let first = |bytes: [u8; 32]| u64::from_be_bytes(*bytes.first_chunk().unwrap());
    let tower = first(derived(0, &[b"tower", b"", tower.as_bytes()]));
    let kind = floor_gen::Kind::from_number(kind.into()).unwrap();
    let spec = floor_gen::FloorSpec::resolve(tower, number, 40, 40, Some(kind)).unwrap();
    let key = bevy_server::key::of_sealed(&spec, 1.try_into().unwrap());
    first(derived(0, &[b"seed", &key.as_bytes()[..31]]))
}

#[tokio::test]
async fn the_tower_of_the_day_is_the_same_on_every_server_with_the_key() {
    let data = [(); 3].map(|()| TempDir::new().unwrap());
    let servers = [setup(&data[0], &[0]).start(), setup(&data[1], &[0]).start(), setup(&data[2], &[1]).start()];
    let mut dailies = Vec::new();
    for server in &servers {
        dailies.push(server.client().await.get_daily(GetDailyRequest {}).await.unwrap().into_inner());
    }
    let [one, same, other] = dailies.try_into().unwrap();
    // Unless midnight has passed in between.
    if one.date == other.date {
        assert_eq!((&one.tower, one.width), (&same.tower, 100));
        assert_ne!(one.tower, other.tower);
    }
    assert!(one.tower.starts_with(&one.date) && (1..=86_400).contains(&one.seconds_left));
    let request = StartClimbRequest { tower: one.tower, ..StartClimbRequest::default() };
    servers[0].client().await.start_climb(request).await.unwrap();
}

#[tokio::test]
async fn a_key_is_made_once_and_without_one_there_are_no_climbs() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let daily = server.client().await.get_daily(GetDailyRequest {}).await.unwrap().into_inner();
    assert!(server.stop().contains("a key for sealed towers was made"));
    let file = fs::read_to_string(data.path().join("data/towers.key")).unwrap();
    assert!(file.starts_with("1:") && file.len() == "1:\n".len() + 64);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(data.path().join("data/towers.key")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    assert_eq!(fs::read_dir(data.path().join("data")).unwrap().count(), 1, "nothing else is left there");
    let server = Server::start(&data);
    let again = server.client().await.get_daily(GetDailyRequest {}).await.unwrap().into_inner();
    assert!(again.tower == daily.tower || again.date != daily.date);
    assert!(!server.stop().contains("was made"));
    // Where none can be made, all else works.
    #[cfg(target_os = "linux")]
    for (path, words) in [("", ""), ("/proc/towers.key", "towers.key_file cannot be made")] {
        let server = Setup::new(&data).with("TOWERS__KEY_FILE", path).start();
        let mut client = server.client().await;
        client.get_floor(GetFloorRequest { spec: Some(spec(1, 1)) }).await.unwrap();
        let status = client.start_climb(start("a")).await.unwrap_err();
        assert_eq!(status.code(), Code::FailedPrecondition);
        assert!(status.message().contains("towers.key_file"), "{}", status.message());
        assert!(client.get_server_info(GetServerInfoRequest {}).await.unwrap().into_inner().receipt_keys.is_empty());
        assert!(server.stop().contains(words));
    }
}

/// The viewer's page may connect to the operations port alone, so that passes on what the page calls, and nothing else.
#[test]
fn the_operations_port_passes_on_the_calls_of_the_viewers_page() {
    let data = TempDir::new().unwrap();
    let server = setup(&data, &[0]).start();
    let call = |rpc: &str, content_type: &str, message: &[u8]| {
        let (head, length) = (format!("POST /floors.v1.FloorService/{rpc} HTTP/1.1"), message.len());
        let head =
            format!("{head}\r\nhost: localhost\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n\r\n");
        http1(&server.ops, &head, message)
    };
    let (status, _, daily) = call("GetDaily", "application/proto", &[]);
    let Daily { tower, .. } = Daily::decode(&*daily).unwrap();
    assert_eq!((status, tower.is_empty()), (200, false));
    let (_, _, revealed) = call("StartClimb", "application/proto", &start(&tower).encode_to_vec());
    let receipt = ClimbFloor::decode(&*revealed).unwrap().receipt;
    let submitted = SubmitFloorRequest { receipt, acts: vec![4; 10_000] }.encode_to_vec();
    let (status, _, error) = call("SubmitFloor", "application/proto", &submitted);
    assert_eq!((status, String::from_utf8_lossy(&error).contains("acts: ")), (400, true));
    // Of another site's page a browser asks first, and gets no leave.
    for content_type in ["text/plain", "application/json", "application/grpc-web"] {
        let (_, _, body) = call("GetDaily", content_type, b"{}");
        assert!(!body.windows(tower.len()).any(|part| part == tower.as_bytes()), "{content_type}");
    }
    assert_eq!(call("GetFloor", "application/proto", &[]).0, 501);
}

/// A caller pays for what the replay takes, whether the acts are right or not; one that has paid too much waits.
#[tokio::test]
async fn a_submit_is_charged_to_the_quota_of_its_caller() {
    let data = TempDir::new().unwrap();
    let server = setup(&data, &[0]).with("LIMITS__CELLS_PER_SECOND", "1000").start();
    let mut client = server.client().await;
    let first = client.start_climb(start("a")).await.unwrap().into_inner();
    for _ in 0..2 {
        let status = submit(&mut client, first.receipt.clone().unwrap(), vec![4; 10_000]).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "the burst has room for two: {status:?}");
    }
    let status = submit(&mut client, first.receipt.unwrap(), vec![4; 10_000]).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    let delay = tonic_types::StatusExt::get_error_details(&status).retry_info().unwrap().retry_delay.unwrap();
    assert!(delay.as_secs() > 1_000, "{delay:?}");
}

#[tokio::test]
async fn a_tenant_has_towers_of_its_own_and_a_token_for_players_none() {
    let data = TempDir::new().unwrap();
    let entry = |name: &str, rest: &str| {
        let digest: String = Sha256::digest(name).iter().map(|byte| format!("{byte:02x}")).collect();
        format!("[[token]]\nname = \"{name}\"\nsha256 = \"{digest}\"\n{rest}\n")
    };
    let tokens = data.path().join("tokens.toml");
    let tenants = entry("acme-game", "tenant = \"acme\"") + &entry("globex-game", "tenant = \"globex\"");
    fs::write(&tokens, tenants + &entry("player", "scopes = [\"player\"]")).unwrap();
    let server = setup(&data, &[0]).with("AUTH__TOKENS_FILE", tokens.to_str().unwrap());
    let server = server.with("TENANTS__ACME__SHARE", "0.25").with("TENANTS__GLOBEX__SHARE", "0.25").start();
    let mut client = server.client().await;
    let mut start_as = async |token: &str| {
        let mut request = Request::new(start("tower"));
        request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        client.start_climb(request).await.map(tonic::Response::into_inner)
    };
    let (acme, globex) = (start_as("acme-game").await.unwrap(), start_as("globex-game").await.unwrap());
    assert_eq!(bot::climb(&acme).tenant, "acme");
    assert_ne!(acme.floor, globex.floor);
    assert_eq!(acme.floor, start_as("acme-game").await.unwrap().floor);
    assert_eq!(start_as("player").await.unwrap_err().code(), Code::PermissionDenied);
}
