//! Clients that attack, from addresses of their own.

use std::{sync::Arc, time::Duration};

use floor_proto::v1::{BatchGetFloorsRequest, GetFloorRequest};
use test_support::{
    frame,
    http2::{LARGE_WINDOW, RawHttp2},
    spec,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    task::JoinHandle,
    time::timeout,
};

use crate::target::{Stream, Target};

/// Addresses from which attacks come.
const ADDRESSES: u32 = 2048;
const GET_FLOOR: &str = "/floors.v1.FloorService/GetFloor";
const ENHANCE_YOUR_CALM: u32 = 11;

/// What an attacker sends, and for how long it stays.
struct Attack {
    /// Instead of a handshake, on a port with TLS.
    replaces_tls: bool,
    bytes: Vec<u8>,
    reads: bool,
    stays: Duration,
}

pub(crate) fn spawn(target: &Arc<Target>) -> Vec<JoinHandle<()>> {
    (0..KINDS.len()).map(|kind| tokio::spawn(attack(Arc::clone(target), kind))).collect()
}

/// Makes an attack.
type Kind = fn(&mut Random) -> Attack;

/// Every kind of attack, and the pause between two of it.
const KINDS: [(Kind, Duration); 11] = [
    (rapid_resets, Duration::from_secs(2)),
    (pings, Duration::from_secs(3)),
    (half_requests, Duration::from_secs(1)),
    (half_messages, Duration::from_secs(2)),
    (head_references, Duration::from_secs(2)),
    (unread_answers, Duration::from_secs(3)),
    (random_bytes, Duration::from_millis(400)),
    (random_frames, Duration::from_millis(400)),
    (broken_handshake, Duration::from_millis(400)),
    (half_http1, Duration::from_secs(1)),
    (watches, Duration::from_secs(2)),
];

async fn attack(target: Arc<Target>, kind: usize) {
    let mut random = Random(1 + kind as u64);
    let (make, pause) = KINDS[kind];
    while target.pause(pause).await {
        let Attack { replaces_tls, bytes, reads, stays } = make(&mut random);
        let address = random.below(ADDRESSES);
        let source = format!("127.1.{}.{}", address / 256, address % 256);
        let connected = match replaces_tls {
            true => target.connect_without_tls(&source).await.map(|stream| Box::new(stream) as Box<dyn Stream>),
            false => target.connect(&source, "h2").await,
        };
        let Ok(mut stream) = connected else { continue };
        target.count(|counts| &counts.attacks);
        // Ends with an error when the server closes the connection.
        let _ = timeout(stays.min(target.rest()), async {
            let (mut reader, mut writer) = tokio::io::split(&mut stream);
            let write = async {
                let _ = writer.write_all(&bytes).await;
                let _ = writer.flush().await;
            };
            let read = async {
                if reads {
                    read_frames(&mut reader, &target).await;
                } else {
                    std::future::pending::<()>().await;
                }
            };
            tokio::join!(write, read)
        })
        .await;
    }
}

/// Reads frames until the connection ends, and counts a GOAWAY with ENHANCE_YOUR_CALM.
async fn read_frames(reader: &mut (impl AsyncReadExt + Unpin), target: &Target) {
    loop {
        let mut head = [0; 9];
        if reader.read_exact(&mut head).await.is_err() {
            return;
        }
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        if reader.read_exact(&mut payload).await.is_err() {
            return;
        }
        if head[3] == RawHttp2::GO_AWAY && payload.get(4..8) == Some(&ENHANCE_YOUR_CALM.to_be_bytes()[..]) {
            target.count(|counts| &counts.calmed);
        }
    }
}

/// An HTTP/2 connection that sends these frames.
fn over_http2(frames: Vec<u8>, stays: Duration) -> Attack {
    let preface = RawHttp2::preface(LARGE_WINDOW);
    Attack { replaces_tls: false, bytes: [preface, frames].concat(), reads: true, stays }
}

fn streams(count: u32) -> impl Iterator<Item = u32> {
    (0..count).map(|number| 2 * number + 1)
}

fn rapid_resets(_: &mut Random) -> Attack {
    let message = frame(&GetFloorRequest { spec: Some(spec(1, 1)) });
    let frames = streams(3000).flat_map(|stream| {
        let data = RawHttp2::frame(RawHttp2::DATA, RawHttp2::LAST, stream, &message);
        [RawHttp2::headers(GET_FLOOR, stream, &[]), data, RawHttp2::reset(stream)].concat()
    });
    over_http2(frames.collect(), Duration::from_secs(10))
}

fn pings(_: &mut Random) -> Attack {
    over_http2(RawHttp2::ping().repeat(20_000), Duration::from_secs(5))
}

/// Heads whose body never comes. Some stay until the server ends them.
fn half_requests(random: &mut Random) -> Attack {
    let frames = streams(100).flat_map(|stream| RawHttp2::headers(GET_FLOOR, stream, &[]));
    over_http2(frames.collect(), Duration::from_secs(u64::from(random.below(15))))
}

fn half_messages(random: &mut Random) -> Attack {
    let part = [&[0, 0, 0, 0x10, 0][..], &[0; 1900]].concat();
    let frames = streams(30).flat_map(|stream| {
        [RawHttp2::headers(GET_FLOOR, stream, &[]), RawHttp2::frame(RawHttp2::DATA, 0, stream, &part)].concat()
    });
    over_http2(frames.collect(), Duration::from_secs(u64::from(random.below(15))))
}

/// Heads that refer to one entry of the HPACK table many times.
fn head_references(random: &mut Random) -> Attack {
    const END_HEADERS: u8 = 4;
    // HPACK: POST, http and the path / from the static table, then a literal that becomes entry 62.
    let first = [0x83, 0x86, 0x84, 0x40, 1, b'x', 1, b'y'];
    let frames = streams(100).flat_map(|stream| {
        let block = if stream == 1 { &first[..] } else { &first[..3] };
        RawHttp2::frame(RawHttp2::HEADERS, END_HEADERS, stream, &[block, &[0xbe; 400]].concat())
    });
    over_http2(frames.collect(), Duration::from_secs(u64::from(random.below(10))))
}

/// Large answers without a reader. Some stay until the server resets their streams.
fn unread_answers(random: &mut Random) -> Attack {
    let seed = u64::from(random.below(30));
    let batch = BatchGetFloorsRequest { specs: (1..=64).map(|number| spec(seed, number)).collect() };
    let frames = streams(10).flat_map(|stream| RawHttp2::call("BatchGetFloors", stream, &[], &batch));
    Attack { reads: false, ..over_http2(frames.collect(), Duration::from_secs(u64::from(random.below(8)))) }
}

fn random_bytes(random: &mut Random) -> Attack {
    let bytes = random.bytes(2000);
    Attack { replaces_tls: false, bytes, reads: true, stays: Duration::from_secs(2) }
}

/// Frames of any kind, with any flags, on any stream.
fn random_frames(random: &mut Random) -> Attack {
    let frames = (0..100).flat_map(|_| {
        let [kind, flags, stream, length] = std::array::from_fn(|_| random.byte());
        let payload = random.bytes(usize::from(length));
        RawHttp2::frame(kind % 10, flags, u32::from(stream % 32), &payload)
    });
    over_http2(frames.collect(), Duration::from_secs(2))
}

/// Where a handshake is expected: nothing, the half of one, another protocol, or anything.
fn broken_handshake(random: &mut Random) -> Attack {
    let bytes = match random.below(4) {
        0 => Vec::new(),
        1 => vec![0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00],
        2 => b"GET / HTTP/1.1\r\nhost: floors\r\n\r\n".to_vec(),
        _ => random.bytes(600),
    };
    Attack { replaces_tls: true, bytes, reads: true, stays: Duration::from_secs(3) }
}

fn half_http1(random: &mut Random) -> Attack {
    let head = format!("POST {GET_FLOOR} HTTP/1.1\r\nhost: floors\r\n");
    let half = match random.below(3) {
        0 => format!("{head}x: {}", "y".repeat(7 << 10)),
        1 => format!("{head}content-type: application/json\r\ncontent-length: 90000\r\n\r\n{}", " ".repeat(60_000)),
        _ => format!("{head}content-type: application/grpc-web\r\ntransfer-encoding: chunked\r\n\r\n4\r\nAA"),
    };
    let stays = Duration::from_secs(u64::from(random.below(15)));
    Attack { replaces_tls: false, bytes: half.into_bytes(), reads: true, stays }
}

fn watches(random: &mut Random) -> Attack {
    let frames = streams(50).flat_map(|stream| {
        let data = RawHttp2::frame(RawHttp2::DATA, RawHttp2::LAST, stream, &[0; 5]);
        [RawHttp2::headers("/grpc.health.v1.Health/Watch", stream, &[]), data].concat()
    });
    over_http2(frames.collect(), Duration::from_secs(u64::from(random.below(8))))
}

/// SplitMix64: the same attacks in each run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn byte(&mut self) -> u8 {
        self.next().to_be_bytes()[0]
    }

    fn below(&mut self, limit: u32) -> u32 {
        (self.next() % u64::from(limit)) as u32
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.byte()).collect()
    }
}
