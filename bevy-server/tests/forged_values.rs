//! Values in a shared Redis that are sealed correctly but are not the floor of their key. Each is counted as corrupt
//! and replaced, and the correct floor is served.
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

use bevy_server::key;
use bytes::Bytes;
use floor_cache::{
    Key,
    envelope::{Envelope, Namespace},
};
use floor_gen::{FloorSpec, GENERATOR_VERSION};
use floor_proto::v1::{BatchGetFloorsRequest, Floor, GetFloorRequest, StreamFloorsRequest};
use prost::Message;
use tempfile::TempDir;
use test_support::{Redis, Server, Setup, spec, wait_until};

const SEED: u64 = 42;

/// Stores `value` under `key` in a valid envelope.
fn forge(redis: &Redis, key: &Key, value: &[u8]) {
    let envelope = envelope();
    let mut record = Vec::new();
    envelope.seal(&envelope.stored(key), value, &mut record).unwrap();
    assert_eq!(redis.command(&[b"SET", envelope.stored(key).as_bytes(), &record]), b"+OK\r\n");
}

/// Whether the correct floor is stored for floor `number`.
fn holds(redis: &Redis, number: u32) -> bool {
    let (key, value) = correct(number);
    let envelope = envelope();
    let stored = envelope.stored(&key);
    let length = redis.command(&[b"STRLEN", stored.as_bytes()]);
    let digest = redis.command(&[b"GETRANGE", stored.as_bytes(), b"0", b"23"]);
    let mut record = Vec::new();
    envelope.seal(&stored, &value, &mut record).unwrap();
    length == format!(":{}\r\n", record.len()).into_bytes() && digest == [b"$24\r\n", &record[..24], b"\r\n"].concat()
}

/// The envelope of a server with the default configuration.
fn envelope() -> Envelope {
    Envelope::new(Namespace::new("floors").unwrap(), GENERATOR_VERSION)
}

/// Key and framed bytes of floor `number`.
fn correct(number: u32) -> (Key, Bytes) {
    let spec = FloorSpec::resolve(SEED, number, 0, 0, None).unwrap();
    (key::of(&spec), floor_wire::framed(&floor_gen::generate(&spec)))
}

fn floor(number: u32) -> Floor {
    Floor::decode(floor_wire::unframed(&correct(number).1)).unwrap()
}

/// Makes a forged value from the correct one and from that of another floor.
type Forgery = fn(correct: &[u8], other: &[u8]) -> Vec<u8>;

const FORGERIES: [(&str, Forgery); 9] = [
    ("nothing", |_, _| Vec::new()),
    ("less than a prefix", |_, _| vec![0; 4]),
    ("a frame that claims 4 GiB", |_, _| vec![0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0x00]),
    ("an empty frame", |_, _| vec![0; 5]),
    ("another floor", |_, other| other.to_vec()),
    ("a frame that claims to be compressed", |correct, _| [&[1], &correct[1..]].concat()),
    ("a floor and one byte more", |correct, _| [correct, &[0]].concat()),
    ("two frames", |correct, other| [correct, other].concat()),
    ("a frame of noise", |_, _| [&[0, 0, 0, 0, 32][..], &[0xA5; 32]].concat()),
];

/// Stores one forgery per floor, for the floors `1..=FORGERIES.len()`.
fn forge_all(redis: &Redis) {
    let other = correct(1000).1;
    for (number, (_, forgery)) in (1..).zip(FORGERIES) {
        let (key, value) = correct(number);
        forge(redis, &key, &forgery(&value, &other));
    }
}

fn server(data: &TempDir, redis: &Redis, chain: &str) -> Server {
    Setup::new(data)
        .with("CACHE__CHAIN", chain)
        .with("CACHE__BYPASS", "off")
        .with("CACHE__REDIS__URL", &redis.url())
        .with("CACHE__REDIS__TIMEOUT", "5s")
        .with("GENERATION__PREFETCH", "false")
        .start()
}

#[tokio::test]
async fn every_rpc_counts_a_forged_value_as_a_miss() {
    let Some(redis) = Redis::start() else { return };
    let count = FORGERIES.len() as u32;
    for chain in [r#"["redis"]"#, r#"["lru","redis"]"#] {
        for call in ["GetFloor", "BatchGetFloors", "StreamFloors"] {
            let data = TempDir::new().unwrap();
            forge_all(&redis);
            let server = server(&data, &redis, chain);
            let mut client = server.client().await;
            let mut floors = Vec::new();
            match call {
                "GetFloor" => {
                    for number in 1..=count {
                        let request = GetFloorRequest { spec: Some(spec(SEED, number)) };
                        floors.push(client.get_floor(request).await.unwrap().into_inner());
                    }
                }
                "BatchGetFloors" => {
                    let specs = (1..=count).map(|number| spec(SEED, number)).collect();
                    floors =
                        client.batch_get_floors(BatchGetFloorsRequest { specs }).await.unwrap().into_inner().floors;
                }
                _ => {
                    let request = StreamFloorsRequest { first: Some(spec(SEED, 1)), count };
                    let mut stream = client.stream_floors(request).await.unwrap().into_inner();
                    while let Some(floor) = stream.message().await.unwrap() {
                        floors.push(floor);
                    }
                }
            }
            assert_eq!(floors.len(), FORGERIES.len());
            for ((number, (name, _)), served) in (1..).zip(FORGERIES).zip(floors) {
                assert!(served == floor(number), "{call} by {chain}: {name}: wrong floor");
            }
            let corrupt = server.metric("floors_tier_requests_total{outcome=\"corrupt\",tier=\"redis\"}");
            assert_eq!(corrupt, f64::from(count), "{call} by {chain}");
            let failed = server.metric("floors_tier_requests_total{outcome=\"error\",tier=\"redis\"}");
            assert_eq!(failed, 0.0, "Redis has no failures");
            for (number, (name, _)) in (1..).zip(FORGERIES) {
                wait_until(&format!("{name} is replaced by the correct floor"), || holds(&redis, number));
            }
            server.stop();
        }
    }
}
