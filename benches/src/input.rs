//! What clients may send: for each kind of input the bytes, and the most instructions that one of them may cost the
//! server. The bench `instructions` counts them, and `hostile` sends them to a server beside another client.

use std::iter;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use floor_proto::{limits::MAX_BATCH, rpc::Rpc, v1};
use prost::Message;

use crate::{floors::TOWER, load::framed};

/// What a client of HTTP/2 sends first.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Calls that a connection may have open, as in the server's defaults.
pub const MAX_STREAMS: u32 = 128;
/// Frames that lead to nothing in one operation: fewer than a connection may send at once.
const FRAMES: u32 = 1000;
/// Calls in one operation.
const CALLS: u32 = 100;
/// Bytes that are received at once. A body that is longer comes in several such pieces.
const PIECE: usize = 48 << 10;
/// Bytes of a request in JSON: just below the limit.
const JSON_BYTES: usize = (128 << 10) - 1;

/// What a client sends on a connection of its own, in one operation.
#[derive(Debug)]
pub struct Input {
    /// Whether it is for HTTP/1, not HTTP/2.
    pub is_http1: bool,
    /// What comes first and does not count: the preface, and calls that are open or answered.
    pub before: Vec<u8>,
    /// What is received, one after the other.
    pub pieces: Vec<Vec<u8>>,
    /// What it leads to.
    pub expected: Expected,
    /// JSON that the server decodes in another thread.
    pub json: Option<(Rpc, Vec<u8>)>,
}

/// What an input leads to, beside what was before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// No call; the connection stays.
    Nothing,
    /// So many calls begin, none of which gets a floor.
    Calls(u32),
    /// So many calls are answered with a floor each.
    Floors(u32),
    /// The connection ends.
    End,
}

/// An input, and the most that it may cost.
#[derive(Debug)]
pub struct InputCase {
    /// What is sent.
    pub name: &'static str,
    /// How often the bench does it.
    pub operations: u64,
    /// The most instructions for a byte.
    pub most: u64,
    input: fn() -> Input,
}

const fn case(name: &'static str, most: u64, input: fn() -> Input) -> InputCase {
    InputCase { name, operations: 4, most, input }
}

/// An input that takes long.
const fn long(name: &'static str, most: u64, input: fn() -> Input) -> InputCase {
    InputCase { operations: 1, ..case(name, most, input) }
}

/// All inputs, in the order of the table in docs/benchmarks.md.
pub static INPUTS: [InputCase; 41] = [
    case("DATA, 16 KiB a frame", 1000000000, || data(16_384, 3)),
    case("DATA, 1 byte a frame", 1000000000, || data(1, FRAMES)),
    long("HEADERS, 400 literal fields", 1000000000, || heads(&distinct_fields(400))),
    long("HEADERS, 400 indexed fields", 1000000000, || heads(&[0x93; 400])),
    case("HEADERS with 65,000 indexed fields: 431, and the end", 1000000000, || too_large(65_000, Expected::End)),
    case("HEADERS with 1,600 indexed fields: 431", 1000000000, || too_large(1600, Expected::Nothing)),
    case("CONTINUATION, 16 KiB in all, 1 byte a frame", 1000000000, continuations),
    case("PRIORITY", 1000000000, || repeated(open_call(), FRAMES, &frame(PRIORITY, 0, 1, &[0, 0, 0, 0, 16]))),
    case("RST_STREAM, open stream", 1000000000, resets),
    case("HEADERS and RST_STREAM", 1000000000, rapid_resets),
    case("RST_STREAM, closed stream", 1000000000, || {
        repeated(ended_call(), FRAMES, &frame(RST_STREAM, 0, 1, &[0, 0, 0, 8]))
    }),
    case("SETTINGS, empty", 1000000000, || repeated(Vec::new(), FRAMES, &frame(SETTINGS, 0, 0, &[]))),
    case("SETTINGS, a new table size", 1000000000, || changing(Vec::new(), 1, [0, 4096])),
    case("INITIAL_WINDOW_SIZE, 128 open calls", 1000000000, || changing(open_calls(), 4, [1 << 20, 1 << 21])),
    case("INITIAL_WINDOW_SIZE 32 times, 128 open calls", 1000000000, window_sizes),
    case("INITIAL_WINDOW_SIZE, 128 calls that wait for a byte", 1000000000, opening_windows),
    case("PING", 1000000000, || repeated(Vec::new(), FRAMES, &frame(PING, 0, 0, &[7; 8]))),
    case("WINDOW_UPDATE, connection", 1000000000, || small_updates()),
    case("WINDOW_UPDATE, connection, 128 calls that wait for a byte", 1000000000, opening_connection),
    case("WINDOW_UPDATE, open stream", 1000000000, || repeated(open_call(), FRAMES, &window_update(1, 1))),
    case("WINDOW_UPDATE, open stream, each in a segment of its own", 1000000000, || {
        let pieces = vec![window_update(1, 1); CALLS as usize];
        Input { pieces, ..repeated(open_call(), 0, &[]) }
    }),
    case("WINDOW_UPDATE, a call that waits for a byte", 1000000000, opening_stream),
    case("WINDOW_UPDATE, closed stream", 1000000000, || repeated(ended_call(), FRAMES, &window_update(1, 1))),
    case("unknown frames", 1000000000, || repeated(Vec::new(), FRAMES, &frame(0xfe, 0, 0, &[]))),
    case("GOAWAY", 1000000000, || repeated(Vec::new(), FRAMES, &frame(GOAWAY, 0, 0, &[0; 8]))),
    case("gRPC: a hit, its head repeated", 1000000000, || hits("application/grpc", &framed(&get_floor()))),
    case("gRPC-Web, binary: a hit", 1000000000, || hits("application/grpc-web+proto", &framed(&get_floor()))),
    case("gRPC-Web, text: a hit", 1000000000, || {
        hits("application/grpc-web-text", STANDARD.encode(framed(&get_floor())).as_bytes())
    }),
    case("Connect, unary: a hit", 1000000000, || hits("application/proto", &get_floor().encode_to_vec())),
    case("Connect, stream: a floor", 1000000000, || {
        let first = Some(spec());
        let request = v1::StreamFloorsRequest { first, count: 1 };
        calls("StreamFloors", "application/connect+proto", &framed(&request), Expected::Floors(CALLS))
    }),
    long("JSON: a hit", 1000000000, || {
        hits("application/json", br#"{"spec":{"seed":"42","number":1,"kind":"FLOOR_KIND_STANDARD"}}"#)
    }),
    case("HTTP/1: a hit of Connect", 1000000000, http1_hits),
    case("HTTP/1: a head of 48 KiB", 1000000000, http1_large_head),
    case("gRPC: a batch of 256 invalid specs", 1000000000, || {
        let specs = vec![v1::FloorSpec { seed: u64::MAX, number: 1 << 30, ..spec() }; MAX_BATCH];
        body("BatchGetFloors", "application/grpc", &framed(&v1::BatchGetFloorsRequest { specs }))
    }),
    case("gRPC: 131,072 empty specs", 1000000000, || {
        body("BatchGetFloors", "application/grpc", &prefixed(&[10, 0].repeat(1 << 17)))
    }),
    case("gRPC: unknown fields", 1000000000, || {
        body("GetFloor", "application/grpc", &prefixed(&[0x78, 0].repeat(1 << 17)))
    }),
    case("JSON: 43,600 specs", 1000000000, || {
        json(Rpc::BatchGetFloors, &format!(r#"{{"specs":[{}]}}"#, vec!["{}"; 43_600].join(",")))
    }),
    case("JSON: 256 specs with every field", 1000000000, || {
        let spec = r#"{"seed":"18446744073709551615","number":1000000000,"width":100,"height":100,"kind":"FLOOR_KIND_STANDARD"}"#;
        json(Rpc::BatchGetFloors, &format!(r#"{{"specs":[{}]}}"#, vec![spec; MAX_BATCH].join(",")))
    }),
    case("JSON: digits", 1000000000, || {
        json(Rpc::GetFloor, &format!(r#"{{"spec":{{"seed":1.{}}}}}"#, "1".repeat(JSON_BYTES - 22)))
    }),
    case("JSON: escapes", 1000000000, || {
        json(Rpc::GetFloor, &format!(r#"{{"spec":{{"seed":"{}"}}}}"#, r"\u0031".repeat((JSON_BYTES - 22) / 6)))
    }),
    case("JSON: numbers with fractions", 1000000000, || {
        json(Rpc::BatchGetFloors, &format!(r#"{{"specs":[{{"number":[{}1]}}]}}"#, "1.0,".repeat((JSON_BYTES - 40) / 4)))
    }),
];

impl InputCase {
    /// What the client sends.
    pub fn input(&self) -> Input {
        (self.input)()
    }
}

impl Input {
    /// The bytes of all pieces.
    pub fn bytes(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.len() as u64).sum()
    }
}

/// Types of frames, and flags.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a frame is short").to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

fn setting(id: u16, value: u32) -> Vec<u8> {
    [&id.to_be_bytes()[..], &value.to_be_bytes()].concat()
}

fn window_update(stream: u32, increment: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, stream, &increment.to_be_bytes())
}

/// The stream of call `number`, from 0.
const fn stream(number: u32) -> u32 {
    2 * number + 1
}

/// The preface, with windows of the greatest size.
fn preface() -> Vec<u8> {
    preface_with(i32::MAX as u32, i32::MAX as u32 - 65_535)
}

/// The preface, with this window for each stream, and so much more for the connection.
fn preface_with(stream_window: u32, more: u32) -> Vec<u8> {
    let settings = frame(SETTINGS, 0, 0, &setting(4, stream_window));
    let more = if more == 0 { Vec::new() } else { window_update(0, more) };
    [&PREFACE[..], &settings, &more].concat()
}

/// The fields of a call as literals that enter the table: POST, http, path, authority, content type.
fn first_head(rpc: &str, content_type: &str) -> Vec<u8> {
    let text = |text: &str| [&[u8::try_from(text.len()).expect("short")], text.as_bytes()].concat();
    let path = format!("/floors.v1.FloorService/{rpc}");
    [&[0x83, 0x86, 0x44][..], &text(&path), &[0x41], &text("floors"), &[0x5f], &text(content_type)].concat()
}

/// The same fields, which the table has by then.
const REPEATED_HEAD: [u8; 5] = [0x83, 0x86, 0xc0, 0xbf, 0xbe];

fn spec() -> v1::FloorSpec {
    v1::FloorSpec { seed: TOWER, number: 1, kind: v1::FloorKind::Standard.into(), ..v1::FloorSpec::default() }
}

fn get_floor() -> v1::GetFloorRequest {
    v1::GetFloorRequest { spec: Some(spec()) }
}

/// `message` with its frame prefix.
fn prefixed(message: &[u8]) -> Vec<u8> {
    [&[0][..], &u32::try_from(message.len()).expect("short").to_be_bytes(), message].concat()
}

/// A call that has ended, on stream 1, whose fields are in the table.
fn ended_call() -> Vec<u8> {
    [&first_call(&first_head("GetFloor", "application/grpc"), &framed(&get_floor()))[..]].concat()
}

fn first_call(head: &[u8], body: &[u8]) -> Vec<u8> {
    [frame(HEADERS, END_HEADERS, 1, head), frame(DATA, END_STREAM, 1, body)].concat()
}

/// A call whose message is awaited, on stream 1.
fn open_call() -> Vec<u8> {
    frame(HEADERS, END_HEADERS, 1, &first_head("GetFloor", "application/grpc"))
}

/// As many such calls as a connection may have.
fn open_calls() -> Vec<u8> {
    let more = (1..MAX_STREAMS).flat_map(|number| frame(HEADERS, END_HEADERS, stream(number), &REPEATED_HEAD));
    open_call().into_iter().chain(more).collect()
}

/// After the preface and `before`, `count` times `frame` at once, which leads to nothing.
fn repeated(before: Vec<u8>, count: u32, frame: &[u8]) -> Input {
    let before = [preface(), before].concat();
    Input {
        is_http1: false,
        before,
        pieces: vec![frame.repeat(count as usize)],
        expected: Expected::Nothing,
        json: None,
    }
}

/// After the preface and `before`, SETTINGS with a setting that has these values in turn.
fn changing(before: Vec<u8>, id: u16, values: [u32; 2]) -> Input {
    let both = values.map(|value| frame(SETTINGS, 0, 0, &setting(id, value))).concat();
    repeated(before, FRAMES / 2, &both)
}

/// 32 changes in each frame, the most.
fn window_sizes() -> Input {
    let both = [setting(4, 1 << 20), setting(4, 1 << 21)].concat();
    repeated(open_calls(), CALLS, &frame(SETTINGS, 0, 0, &both.repeat(16)))
}

/// Updates of the connection's window, for which no call waits.
fn small_updates() -> Input {
    Input { before: preface_with(1 << 20, 0), ..repeated(Vec::new(), FRAMES, &window_update(0, 1)) }
}

/// Data of a call whose message is long.
fn data(length: usize, count: u32) -> Input {
    let message = [0, 0, 0x10, 0, 0];
    let before = [open_call(), frame(DATA, 0, 1, &message)].concat();
    repeated(before, count, &frame(DATA, 0, 1, &vec![b'd'; length]))
}

/// Calls that end with a head of `fields` and are answered 415, because none is a content type.
fn heads(fields: &[u8]) -> Input {
    let block = [&[0x83, 0x86, 0x84][..], fields].concat();
    let heads = (0..CALLS).map(|number| frame(HEADERS, END_HEADERS | END_STREAM, stream(number), &block));
    Input {
        expected: Expected::Calls(CALLS),
        pieces: in_pieces(&heads.collect::<Vec<_>>().concat()),
        ..repeated(Vec::new(), 0, &[])
    }
}

/// `count` different fields, each with a name of two bytes and a value of one, that do not enter the table.
fn distinct_fields(count: u16) -> Vec<u8> {
    let field = |number: u16| [0, 2, b'a' + (number / 26) as u8, b'a' + (number % 26) as u8, 1, b'v'];
    (0..count).flat_map(field).collect()
}

/// The head of a request with so many fields that are in the static table: `accept` without a value, of 38 bytes.
fn too_large(count: usize, expected: Expected) -> Input {
    let block = [&[0x83, 0x86, 0x84][..], &vec![0x93; count]].concat();
    let parts: Vec<&[u8]> = block.chunks(16_384).collect();
    let frames = parts.iter().enumerate().map(|(number, part)| {
        let ends = if number + 1 == parts.len() { END_HEADERS } else { 0 };
        if number == 0 { frame(HEADERS, END_STREAM | ends, 1, part) } else { frame(CONTINUATION, ends, 1, part) }
    });
    Input { pieces: in_pieces(&frames.collect::<Vec<_>>().concat()), expected, ..repeated(Vec::new(), 0, &[]) }
}

/// A head in frames of a byte each: a literal field with a long value.
fn continuations() -> Input {
    let before = frame(HEADERS, END_STREAM, 1, &[0x83, 0x86, 0x84, 0, 1, b'a', 0x7f, 0x80, 0x7f]);
    repeated(before, 15_000, &frame(CONTINUATION, 0, 1, b"v"))
}

/// Resets of calls that wait for their message.
fn resets() -> Input {
    let resets = (0..MAX_STREAMS).flat_map(|number| frame(RST_STREAM, 0, stream(number), &[0, 0, 0, 8]));
    Input { pieces: vec![resets.collect()], ..repeated(open_calls(), 0, &[]) }
}

/// Calls that are reset before they begin.
fn rapid_resets() -> Input {
    let call = |number| {
        let reset = frame(RST_STREAM, 0, stream(number), &[0, 0, 0, 8]);
        [frame(HEADERS, END_HEADERS, stream(number), &REPEATED_HEAD), reset].concat()
    };
    let pieces = vec![(1..=FRAMES).flat_map(call).collect()];
    Input { pieces, ..repeated(ended_call(), 0, &[]) }
}

/// The preface with these windows, and as many answered calls as a connection may have.
fn waiting_calls(stream_window: u32, more: u32) -> Input {
    let call = |number| {
        [
            frame(HEADERS, END_HEADERS, stream(number), &REPEATED_HEAD),
            frame(DATA, END_STREAM, stream(number), &framed(&get_floor())),
        ]
        .concat()
    };
    let before = [preface_with(stream_window, more), ended_call(), (1..MAX_STREAMS).flat_map(call).collect()].concat();
    Input { before, ..repeated(Vec::new(), 0, &[]) }
}

/// Each frame lets every call send a byte.
fn opening_windows() -> Input {
    let pieces = (1..=10).map(|window| frame(SETTINGS, 0, 0, &setting(4, window))).collect();
    Input { pieces, ..waiting_calls(0, 1 << 30) }
}

/// Each frame lets one of the calls send a byte, and wakes all of them.
fn opening_connection() -> Input {
    Input { pieces: vec![window_update(0, 1); 10], ..waiting_calls(1 << 20, 0) }
}

/// Each frame lets a call send a byte.
fn opening_stream() -> Input {
    Input { pieces: vec![window_update(1, 1); CALLS as usize], ..waiting_calls(0, 1 << 30) }
}

/// `input` as it is received: in pieces.
fn in_pieces(input: &[u8]) -> Vec<Vec<u8>> {
    input.chunks(PIECE).map(<[u8]>::to_vec).collect()
}

/// Calls whose heads the table has, each with `body`.
fn calls(rpc: &str, content_type: &str, body: &[u8], expected: Expected) -> Input {
    let before = [preface(), first_call(&first_head(rpc, content_type), body)].concat();
    let call = |number| {
        [frame(HEADERS, END_HEADERS, stream(number), &REPEATED_HEAD), frame(DATA, END_STREAM, stream(number), body)]
            .concat()
    };
    let pieces = vec![(1..=CALLS).flat_map(call).collect()];
    Input { is_http1: false, before, pieces, expected, json: None }
}

fn hits(content_type: &str, body: &[u8]) -> Input {
    calls("GetFloor", content_type, body, Expected::Floors(CALLS))
}

/// A call with a long body, which gets no floor.
fn body(rpc: &str, content_type: &str, body: &[u8]) -> Input {
    let head = frame(HEADERS, END_HEADERS, 1, &first_head(rpc, content_type));
    let parts: Vec<&[u8]> = body.chunks(16_384).collect();
    let last = parts.len() - 1;
    let parts = parts.iter().enumerate();
    let data = parts.flat_map(|(number, part)| frame(DATA, if number == last { END_STREAM } else { 0 }, 1, part));
    let pieces = in_pieces(&head.into_iter().chain(data).collect::<Vec<_>>());
    Input { pieces, expected: Expected::Calls(1), ..repeated(Vec::new(), 0, &[]) }
}

fn json(rpc: Rpc, json: &str) -> Input {
    assert!(json.len() <= JSON_BYTES, "{} bytes of JSON", json.len());
    Input { json: Some((rpc, json.into())), ..body(rpc.name(), "application/json", json.as_bytes()) }
}

fn http1_hits() -> Input {
    let body = get_floor().encode_to_vec();
    let head = format!(
        "POST /floors.v1.FloorService/GetFloor HTTP/1.1\r\nhost: floors\r\ncontent-type: application/proto\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let call = [head.as_bytes(), &body].concat();
    let pieces = iter::repeat_n(call.clone(), CALLS as usize).collect();
    Input { is_http1: true, before: call, pieces, expected: Expected::Floors(CALLS), json: None }
}

fn http1_large_head() -> Input {
    let fields: String = (0..90).map(|number| format!("x-{number}: {}\r\n", "v".repeat(500))).collect();
    let head = format!("GET /none HTTP/1.1\r\nhost: floors\r\n{fields}\r\n");
    Input {
        is_http1: true,
        before: Vec::new(),
        pieces: vec![head.into_bytes()],
        expected: Expected::Nothing,
        json: None,
    }
}
