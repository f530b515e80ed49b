//! How long calls keep the threads that serve connections: those of other calls wait as long.

use std::{fs, path::Path, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use floor_gen::{FloorSpec as Resolved, Kind};
use floor_proto::v1::{
    BatchGetFloorsRequest, FloorSpec, GetFloorRequest, GetPackRequest, Receipt, SearchFloorsRequest,
    StreamFloorsRequest,
};
use prost::Message;
use tempfile::TempDir;
use test_support::{Server, Setup, http2::RawHttp2, spec, wait_until};

use super::kinds::{BATCH, CALLS, GET_FLOOR, PACK, SEARCH, STREAM, SUBMIT, body, body_of, submit, tower_key};

/// The most CPU time of these threads by which a call may exceed a usual one, on average. A batch of 256 hits takes 150 us
/// more, in two parts, and as much again on a busy machine; what does not belong there takes milliseconds.
const MOST: Duration = Duration::from_micros(400);
/// Connections of one kind of call, and calls on each. Together their requests fit a window, and their answers the memory
/// for answers.
const CONNECTIONS: u32 = 8;
const CALLS_OF_ONE: u32 = 2;
/// Of a file in a pack that has almost 4 MiB.
const LARGE_BYTES: usize = 3_900_000;
/// Where the floor of a module lies in its memory.
const AT: usize = 4096;

/// A kind of call.
struct CallKind {
    name: String,
    path: &'static str,
    content_type: &'static str,
    body: Vec<u8>,
}

/// A generator that is as slow to resolve a request as it may be, a millisecond of arithmetic, in a file with so many bytes
/// more than that takes.
fn slow_module(padding: usize) -> Vec<u8> {
    let spec = Resolved::resolve(1, 1, 16, 16, Some(Kind::Standard)).unwrap();
    let floor = floor_wire::message(&floor_gen::generate(&spec)).encode_to_vec();
    let data: String = floor.iter().map(|byte| format!("\\{byte:02x}")).collect();
    let of_floor = "(param i64 i32 i32 i32 i32) (result i64)";
    let resolved = (Kind::Standard as u64) << 32 | 16 << 16 | 16;
    let generated = (AT as u64) << 32 | floor.len() as u64;
    wat::parse_str(format!(
        r#"(module (@custom "padding" "{}") (memory (export "memory") 2)
            (func (export "floor_abi") (result i32) (i32.const 1))
            (func (export "floor_input") (param i32) (result i32) (i32.const 65536))
            (func (export "floor_load") (result i64) (i64.const 0))
            (func (export "floor_resolve") {of_floor} (local $n i32)
                (local.set $n (i32.const 150000))
                (loop $again
                    (local.set $n (i32.sub (local.get $n) (i32.const 1)))
                    (br_if $again (local.get $n)))
                (i64.const {resolved}))
            (func (export "floor_generate") {of_floor} (i64.const {generated}))
            (data (i32.const {AT}) "{data}"))"#,
        "x".repeat(padding)
    ))
    .unwrap()
}

/// A pack with a slow generator, and one of almost 4 MiB.
fn write_packs(packs: &Path) {
    let write = |path: &str, content: &[u8]| {
        let path = packs.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    };
    write("slow/pack.toml", b"name = \"slow\"\n");
    write("slow/generator.wasm", &slow_module(0));
    write("large/pack.toml", b"name = \"large\"\n");
    write("large/generator.wasm", &slow_module(LARGE_BYTES));
}

/// Every kind of call with a small message, and the largest work of each RPC in every framing.
fn kinds() -> Vec<CallKind> {
    let small = CALLS.map(|(path, content_type)| CallKind {
        name: format!("{path}, {content_type}"),
        path,
        content_type,
        body: body(content_type, path),
    });
    let of = |pack: &str, side| FloorSpec { pack: pack.to_owned(), width: side, height: side, ..spec(1, 1) };
    let numbered = |pack: &str, number| FloorSpec { number, ..of(pack, 0) };
    let batch = |pack: &str| BatchGetFloorsRequest { specs: (1..=256).map(|number| numbered(pack, number)).collect() };
    let batch_json = |pack: &str| {
        let spec = |number| format!(r#"{{"seed":"1","number":{number},"pack":"{pack}"}}"#);
        format!(r#"{{"specs":[{}]}}"#, (1..=256).map(spec).collect::<Vec<_>>().join(","))
    };
    let get = |spec| GetFloorRequest { spec: Some(spec) }.encode_to_vec();
    let stream = StreamFloorsRequest { first: Some(of("slow", 0)), count: 16 }.encode_to_vec();
    let search = |pack: &str, condition: String| {
        let json =
            format!(r#"{{"first":{{"seed":"1","number":1,"pack":"{pack}"}},"count":99999,"condition":"{condition}"}}"#);
        (
            SearchFloorsRequest { first: Some(of(pack, 0)), count: 99_999, condition, ..Default::default() }
                .encode_to_vec(),
            json,
        )
    };
    // Of names and of what floors hold.
    let (names, facts) = ("number < 0".to_owned(), "bytes + groups + ".repeat(115) + "1 < 0");
    let [(by_name, by_name_json), (by_facts, by_facts_json), (slow, slow_json)] =
        [search("", names), search("", facts), search("slow", "rooms > 0".to_owned())];
    let acts = BASE64.encode(vec![4; 10_000]);
    let climb = submit(10_000);
    let Receipt { climb: claims, signature, key } = climb.receipt.clone().unwrap();
    let (claims, signature) = (BASE64.encode(claims), BASE64.encode(signature));
    let receipt = format!(r#"{{"climb":"{claims}","signature":"{signature}","key":{key}}}"#);
    let large: [(&str, &str, Vec<u8>, String); 10] = [
        ("10,000 acts", SUBMIT, climb.encode_to_vec(), format!(r#"{{"receipt":{receipt},"acts":"{acts}"}}"#)),
        ("a search by names", SEARCH, by_name, by_name_json),
        ("a search by facts", SEARCH, by_facts, by_facts_json),
        ("a search of a slow module", SEARCH, slow, slow_json),
        (
            "512x512",
            GET_FLOOR,
            get(of("", 512)),
            r#"{"spec":{"seed":"1","number":1,"width":512,"height":512}}"#.to_owned(),
        ),
        ("a batch of 256", BATCH, batch("").encode_to_vec(), batch_json("")),
        (
            "a pack of 4 MiB",
            PACK,
            GetPackRequest { pack: "large".to_owned() }.encode_to_vec(),
            r#"{"pack":"large"}"#.to_owned(),
        ),
        (
            "a slow module",
            GET_FLOOR,
            get(of("slow", 0)),
            r#"{"spec":{"seed":"1","number":1,"pack":"slow"}}"#.to_owned(),
        ),
        ("a batch of a slow module", BATCH, batch("slow").encode_to_vec(), batch_json("slow")),
        (
            "a stream of a slow module",
            STREAM,
            stream,
            r#"{"first":{"seed":"1","number":1,"pack":"slow"},"count":16}"#.to_owned(),
        ),
    ];
    let framings = |path: &'static str| {
        let like = if path == STREAM { STREAM } else { GET_FLOOR };
        CALLS.into_iter().filter(move |call| call.0 == like).map(|call| call.1)
    };
    let large = large.iter().flat_map(|(what, path, message, json)| {
        framings(path).map(move |content_type| CallKind {
            name: format!("{path}, {what}, {content_type}"),
            path,
            content_type,
            body: body_of(content_type, message, json),
        })
    });
    small.into_iter().chain(large).collect()
}

/// CPU time of the threads that serve connections. Others of the runtime have another name.
fn cpu_of_connections(server: &Server) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{}/task", server.pid())).unwrap();
    let of_task = |task: &Path| {
        let read = |file| fs::read_to_string(task.join(file)).unwrap_or_default();
        let nanoseconds = read("schedstat").split(' ').next().and_then(|time| time.parse().ok()).unwrap_or(0);
        if read("comm").trim_end() == "connections" { Duration::from_nanos(nanoseconds) } else { Duration::ZERO }
    };
    tasks.map(|task| of_task(&task.unwrap().path())).sum()
}

impl CallKind {
    /// Makes the calls on connections that are closed before an answer is read.
    fn call_and_hang_up(&self, server: &Server) {
        for _ in 0..CONNECTIONS {
            let mut peer = RawHttp2::connect_with_window(server, 0);
            let mut frames = Vec::new();
            for stream in (0..CALLS_OF_ONE).map(|number| 2 * number + 1) {
                frames.extend(RawHttp2::headers_of(self.path, self.content_type, stream, &[]));
                let mut chunks = self.body.chunks(16 << 10).peekable();
                while let Some(chunk) = chunks.next() {
                    let flags = if chunks.peek().is_none() { RawHttp2::LAST } else { 0 };
                    frames.extend(RawHttp2::frame(RawHttp2::DATA, flags, stream, chunk));
                }
            }
            peer.send(&[frames, RawHttp2::ping()].concat());
            peer.await_ping();
        }
        let has_ended = || server.metric("floors_connections") == 0.0 && server.metric("floors_calls_in_flight") == 0.0;
        wait_until("the calls have ended", has_ended);
    }
}

#[test]
fn no_call_keeps_a_thread_of_connections() {
    if std::env::var_os("FLOORS_TEST_SERVER").is_none() {
        return println!("skipped: it needs a release build in FLOORS_TEST_SERVER");
    }
    let data = TempDir::new().unwrap();
    let packs = data.path().join("packs");
    write_packs(&packs);
    let setup =
        Setup::new(&data).with("GENERATION__PREFETCH", "false").with("PACKS__DIR", &packs.display().to_string());
    fs::write(data.path().join("towers.key"), tower_key()).unwrap();
    let setup = setup.with("TOWERS__KEY_FILE", "towers.key");
    let server = setup.with("CACHE__CHAIN", r#"["lru"]"#).start();
    let mut times = Vec::new();
    for kind in kinds() {
        // The first calls generate floors, and frame and compile what later ones share.
        kind.call_and_hang_up(&server);
        let before = cpu_of_connections(&server);
        kind.call_and_hang_up(&server);
        let each = (cpu_of_connections(&server) - before) / (CONNECTIONS * CALLS_OF_ONE);
        println!("{each:?} {}", kind.name);
        times.push((each, kind.name));
    }
    // Most of it is what the connections cost.
    let mut usual: Vec<_> = times[..CALLS.len()].iter().map(|(each, _)| *each).collect();
    usual.sort_unstable();
    let most = usual[usual.len() / 2] + MOST;
    let too_long: Vec<_> = times.iter().filter(|(each, _)| *each > most).collect();
    assert!(too_long.is_empty(), "longer than {most:?}: {too_long:#?}");
}
