//! What clients may send, with the most that a byte of it may cost.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use floor_proto::v1::{BatchGetFloorsRequest, FloorSpec, GetFloorRequest, StreamFloorsRequest};
use prost::Message;
use test_support::{
    frame as framed,
    http2::{LARGE_WINDOW, RawHttp2},
    spec,
};

/// Calls that a connection may have open, as in the server's defaults.
const MAX_STREAMS: u32 = 128;
/// Frames that lead to nothing in one input: fewer than a client may send at once.
const FRAMES: u32 = 1000;
/// Calls in one input.
const CALLS: u32 = 100;
/// Bytes of a request in JSON: just below the limit.
const JSON_BYTES: usize = (128 << 10) - 1;
/// A floor of 100x100 has more, in any encoding.
const FLOOR_BYTES: usize = 4 << 10;

const PRIORITY: u8 = 2;
const GO_AWAY: u8 = 7;
const CONTINUATION: u8 = 9;
const UNKNOWN: u8 = 0xfe;
const END_HEADERS: u8 = 4;
/// The setting SETTINGS_INITIAL_WINDOW_SIZE.
const STREAM_WINDOW: u16 = 4;
/// `accept` without a value, of 38 bytes as HPACK counts them, from the static table.
const INDEXED: u8 = 0x93;
/// POST, http and the path / from the static table.
const POST: [u8; 3] = [0x83, 0x86, 0x84];

/// Something that a client sends on a connection of its own.
pub(crate) struct Input {
    pub(crate) name: &'static str,
    /// The most instructions that a byte of `steps` may cost.
    pub(crate) most: u64,
    /// What comes first and does not count: the preface, and calls that are open or answered.
    pub(crate) before: Step,
    pub(crate) steps: Vec<Step>,
    /// How many frames of the client's budget the steps take.
    pub(crate) units: u32,
    pub(crate) end: End,
}

/// What the connection is at the end of an input.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// HTTP/2, and open.
    Open,
    /// HTTP/2, and closed by the server.
    Closed,
    /// HTTP/1, and closed after so many answers, each with this status.
    Http1 { answers: usize, status: &'static str },
}

/// Bytes that are sent at once, and what the server sends then.
#[derive(Default)]
pub(crate) struct Step {
    pub(crate) bytes: Vec<u8>,
    /// Heads and trailers of answers.
    pub(crate) heads: u32,
    /// Answers that are complete.
    pub(crate) answers: u32,
    /// The least bytes of data.
    pub(crate) data: usize,
}

impl From<Vec<u8>> for Step {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, ..Self::default() }
    }
}

impl Input {
    pub(crate) const fn is_http1(&self) -> bool {
        matches!(self.end, End::Http1 { .. })
    }

    /// The bytes that count.
    pub(crate) fn bytes(&self) -> usize {
        self.steps.iter().map(|step| step.bytes.len()).sum()
    }

    /// After the preface and `before`, `count` times `frame`, which leads to nothing and takes `units` of the budget.
    fn repeated(name: &'static str, most: u64, before: Vec<u8>, count: u32, frame: &[u8], units: u32) -> Self {
        let before = [RawHttp2::preface(LARGE_WINDOW), before].concat().into();
        let steps = vec![frame.repeat(count as usize).into()];
        Self { name, most, before, steps, units, end: End::Open }
    }

    /// Calls whose heads the table of HPACK has, each with `body` and answered with a floor.
    fn floors(name: &'static str, most: u64, rpc: &str, content_type: &str, body: &[u8]) -> Self {
        let first = [first_head(rpc, content_type), last_data(1, body)].concat();
        let call = |number| [repeated_head(stream(number)), last_data(stream(number), body)].concat();
        let calls = Step {
            bytes: (1..=CALLS).flat_map(call).collect(),
            answers: CALLS,
            data: CALLS as usize * FLOOR_BYTES,
            ..Step::default()
        };
        let input = Self::repeated(name, most, first, 0, &[], 0);
        Self { before: Step { answers: 1, ..input.before }, steps: vec![calls], ..input }
    }

    /// Heads of requests, each with the pseudo-headers and `fields`, that are answered with a status.
    fn heads(name: &'static str, most: u64, count: u32, fields: &[u8], units: u32) -> Self {
        let block = [&POST[..], fields].concat();
        let heads = (0..count)
            .map(|number| RawHttp2::frame(RawHttp2::HEADERS, END_HEADERS | RawHttp2::LAST, stream(number), &block));
        let step = Step { bytes: heads.collect::<Vec<_>>().concat(), answers: count, ..Step::default() };
        Self { steps: vec![step], units, ..Self::repeated(name, most, Vec::new(), 0, &[], 0) }
    }

    /// A request over HTTP/1, `count` times.
    fn http1(
        name: &'static str,
        most: u64,
        rpc: &str,
        kind: &str,
        body: &[u8],
        count: usize,
        status: &'static str,
    ) -> Self {
        let head = |close: &str| {
            format!(
                "POST /floors.v1.FloorService/{rpc} HTTP/1.1\r\nhost: floors\r\ncontent-type: application/{kind}\r\n\
                 content-length: {}\r\n{close}\r\n",
                body.len()
            )
        };
        let call = |close| [head(close).as_bytes(), body].concat();
        let bytes = [call("").repeat(count - 1), call("connection: close\r\n")].concat();
        let end = End::Http1 { answers: count, status };
        Self { name, most, before: Step::default(), steps: vec![bytes.into()], units: 0, end }
    }

    /// A request in JSON that is refused.
    fn json(name: &'static str, most: u64, rpc: &str, json: &str) -> Self {
        assert!(json.len() <= JSON_BYTES, "{} bytes of JSON", json.len());
        Self::http1(name, most, rpc, "json", json.as_bytes(), 1, "400")
    }
}

// Long because it is a table.
/// All inputs, in the order in which their costs are printed.
pub(crate) fn all() -> Vec<Input> {
    let no_calls = Vec::new;
    let empty_settings = RawHttp2::frame(RawHttp2::SETTINGS, 0, 0, &[]);
    let reset = RawHttp2::reset;
    let get_floor = GetFloorRequest { spec: Some(spec(42, 1)) };
    let first_of_stream = StreamFloorsRequest { first: Some(spec(42, 1)), count: 1 };
    let full_spec =
        FloorSpec { seed: u64::MAX, number: 1 << 30, width: 100, height: 100, kind: 1, ..FloorSpec::default() };
    let full_json =
        r#"{"seed":"18446744073709551615","number":4294967295,"width":100,"height":100,"kind":"FLOOR_KIND_STANDARD"}"#;
    let json_floor = br#"{"spec":{"seed":"42","number":1}}"#;
    let escapes = r"\u0031".repeat((JSON_BYTES - 22) / 6);
    vec![
        Input::repeated("DATA, 16 KiB a frame", 9, begun_call(), 3, &data(16_384), 0),
        Input::repeated("DATA, 1 byte a frame", 45, begun_call(), FRAMES, &data(1), 0),
        Input::heads("HEADERS, 400 literal fields", 500, CALLS, &literals(400), 0),
        Input::heads("HEADERS, 400 indexed fields", 700, CALLS, &[INDEXED; 400], 0),
        Input::heads("HEADERS, 1,600 indexed fields: 431", 350, CALLS, &[INDEXED; 1600], CALLS),
        large_head(),
        continuations(),
        Input::repeated(
            "PRIORITY",
            55,
            open_calls(1),
            FRAMES,
            &RawHttp2::frame(PRIORITY, 0, 1, &[0, 0, 0, 0, 16]),
            FRAMES,
        ),
        Input {
            steps: vec![(0..MAX_STREAMS).flat_map(|number| reset(stream(number))).collect::<Vec<_>>().into()],
            ..Input::repeated("RST_STREAM", 1500, open_calls(MAX_STREAMS), 0, &[], MAX_STREAMS)
        },
        Input {
            steps: vec![
                (1..=FRAMES)
                    .flat_map(|number| [repeated_head(stream(number)), reset(stream(number))].concat())
                    .collect::<Vec<_>>()
                    .into(),
            ],
            ..Input::repeated("HEADERS and RST_STREAM", 140, open_calls(1), 0, &[], FRAMES)
        },
        Input::repeated("SETTINGS, empty", 90, no_calls(), FRAMES, &empty_settings, FRAMES),
        Input::repeated("SETTINGS: 32 windows, 128 calls open", 40, open_calls(MAX_STREAMS), CALLS, &windows(), CALLS),
        opened_windows(),
        Input::repeated("PING", 50, no_calls(), FRAMES, &RawHttp2::ping(), FRAMES),
        Input::repeated("WINDOW_UPDATE of the connection", 25, no_calls(), FRAMES, &update(0), 0),
        opened_connection(),
        Input::repeated("WINDOW_UPDATE of a stream", 65, open_calls(1), FRAMES, &update(1), FRAMES),
        Input::repeated("GOAWAY", 45, no_calls(), FRAMES, &RawHttp2::frame(GO_AWAY, 0, 0, &[0; 8]), FRAMES),
        Input::repeated("unknown frames", 80, no_calls(), FRAMES, &RawHttp2::frame(UNKNOWN, 0, 0, &[]), FRAMES),
        Input::floors("gRPC: a hit", 950, "GetFloor", "application/grpc", &framed(&get_floor)),
        Input::floors("gRPC-Web: a hit", 1100, "GetFloor", "application/grpc-web+proto", &framed(&get_floor)),
        Input::floors(
            "gRPC-Web, text: a hit",
            1100,
            "GetFloor",
            "application/grpc-web-text",
            STANDARD.encode(framed(&get_floor)).as_bytes(),
        ),
        Input::floors("Connect: a hit", 1500, "GetFloor", "application/proto", &get_floor.encode_to_vec()),
        Input::floors(
            "Connect, stream: a floor",
            1400,
            "StreamFloors",
            "application/connect+proto",
            &framed(&first_of_stream),
        ),
        Input::floors("Connect, JSON: a hit", 60_000, "GetFloor", "application/json", json_floor),
        Input::http1(
            "HTTP/1, Connect: a hit",
            300,
            "GetFloor",
            "proto",
            &get_floor.encode_to_vec(),
            CALLS as usize,
            "200",
        ),
        Input::http1(
            "protobuf: 256 invalid specs",
            400,
            "BatchGetFloors",
            "proto",
            &BatchGetFloorsRequest { specs: vec![full_spec; 256] }.encode_to_vec(),
            1,
            "400",
        ),
        Input::http1(
            "protobuf: 131,072 empty specs",
            60,
            "BatchGetFloors",
            "proto",
            &[10, 0].repeat(1 << 17),
            1,
            "400",
        ),
        Input::http1("protobuf: unknown fields", 60, "GetFloor", "proto", &[0x78, 0].repeat(1 << 17), 1, "400"),
        Input::json(
            "JSON: 43,600 specs",
            15,
            "BatchGetFloors",
            &format!(r#"{{"specs":[{}]}}"#, vec!["{}"; 43_600].join(",")),
        ),
        Input::json(
            "JSON: 256 invalid specs",
            500,
            "BatchGetFloors",
            &format!(r#"{{"specs":[{}]}}"#, vec![full_json; 256].join(",")),
        ),
        Input::json("JSON: escapes", 65, "GetFloor", &format!(r#"{{"spec":{{"seed":"{escapes}"}}}}"#)),
        Input::json(
            "JSON: numbers with fractions",
            280,
            "GetFloor",
            &format!(r#"{{"x":[{}1]}}"#, "1.0,".repeat((JSON_BYTES - 40) / 4)),
        ),
    ]
}

/// The stream of call `number`, from 0.
const fn stream(number: u32) -> u32 {
    2 * number + 1
}

fn data(length: usize) -> Vec<u8> {
    RawHttp2::frame(RawHttp2::DATA, 0, 1, &vec![b'd'; length])
}

fn last_data(stream: u32, body: &[u8]) -> Vec<u8> {
    RawHttp2::frame(RawHttp2::DATA, RawHttp2::LAST, stream, body)
}

/// A window, of a stream or of the connection, that is opened by a byte.
fn update(stream: u32) -> Vec<u8> {
    RawHttp2::frame(RawHttp2::WINDOW_UPDATE, 0, stream, &[0, 0, 0, 1])
}

fn window_setting(window: u32) -> Vec<u8> {
    [&STREAM_WINDOW.to_be_bytes()[..], &window.to_be_bytes()].concat()
}

/// The head of a call on stream 1, whose fields enter the table of HPACK: POST, http, path, authority, content type.
fn first_head(rpc: &str, content_type: &str) -> Vec<u8> {
    let text = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    let path = format!("/floors.v1.FloorService/{rpc}");
    let block =
        [&[0x83, 0x86, 0x44][..], &text(&path), &[0x41], &text("floors"), &[0x5f], &text(content_type)].concat();
    RawHttp2::frame(RawHttp2::HEADERS, END_HEADERS, 1, &block)
}

/// The head of another such call: references to these fields.
fn repeated_head(stream: u32) -> Vec<u8> {
    RawHttp2::frame(RawHttp2::HEADERS, END_HEADERS, stream, &[0x83, 0x86, 0xc0, 0xbf, 0xbe])
}

/// Calls whose messages are awaited.
fn open_calls(count: u32) -> Vec<u8> {
    let more = (1..count).flat_map(|number| repeated_head(stream(number)));
    first_head("GetFloor", "application/grpc").into_iter().chain(more).collect()
}

/// A call whose message is long and has begun.
fn begun_call() -> Vec<u8> {
    [open_calls(1), RawHttp2::frame(RawHttp2::DATA, 0, 1, &[0, 0, 0x10, 0, 0])].concat()
}

/// As many calls as a connection may have, on streams whose window has this size. All are answered, and few can be sent.
fn waiting_calls(stream_window: u32, more: u32, data: usize) -> Step {
    let message = framed(&GetFloorRequest { spec: Some(spec(42, 1)) });
    let settings = RawHttp2::frame(RawHttp2::SETTINGS, 0, 0, &window_setting(stream_window));
    let more = RawHttp2::frame(RawHttp2::WINDOW_UPDATE, 0, 0, &more.to_be_bytes());
    let preface = [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &settings, &more].concat();
    let head =
        |number| if number == 0 { first_head("GetFloor", "application/grpc") } else { repeated_head(stream(number)) };
    let calls = (0..MAX_STREAMS).flat_map(|number| [head(number), last_data(stream(number), &message)].concat());
    Step { bytes: preface.into_iter().chain(calls).collect(), heads: MAX_STREAMS, data, answers: 0 }
}

/// Settings that let each of 128 calls send a byte.
fn opened_windows() -> Input {
    const TIMES: u32 = 10;
    let step = |window| Step {
        bytes: RawHttp2::frame(RawHttp2::SETTINGS, 0, 0, &window_setting(window)),
        data: MAX_STREAMS as usize,
        ..Step::default()
    };
    Input {
        name: "SETTINGS: a window that lets 128 calls send a byte",
        most: 55_000,
        before: waiting_calls(0, LARGE_WINDOW, 0),
        steps: (1..=TIMES).map(step).collect(),
        units: TIMES * (1 + MAX_STREAMS),
        end: End::Open,
    }
}

/// Updates of the connection's window, for which 115 calls wait, that let one of them send a byte and wake all.
fn opened_connection() -> Input {
    const WINDOW: usize = 65_536;
    const TIMES: u32 = 10;
    const WAITING: u32 = 115;
    let step = || Step { bytes: update(0), data: 1, ..Step::default() };
    Input {
        name: "WINDOW_UPDATE of the connection, 115 calls wait",
        most: 40_000,
        before: waiting_calls(1 << 20, 1, WINDOW),
        steps: (0..TIMES).map(|_| step()).collect(),
        units: TIMES * WAITING,
        end: End::Open,
    }
}

/// 32 changes of the window in one frame.
fn windows() -> Vec<u8> {
    let both = [window_setting(1 << 20), window_setting(1 << 21)].concat();
    RawHttp2::frame(RawHttp2::SETTINGS, 0, 0, &both.repeat(16))
}

/// `count` different fields, each with a name of two bytes and a value of one, that do not enter the table.
fn literals(count: u16) -> Vec<u8> {
    let letter = |number: u16| b'a' + u8::try_from(number % 26).unwrap();
    (0..count).flat_map(|number| [0, 2, letter(number / 26), letter(number), 1, b'v']).collect()
}

/// A header block as long as a frame allows, of which four times the limit is decoded.
fn large_head() -> Input {
    let block = [&POST[..], &[INDEXED; 16_000]].concat();
    let step = RawHttp2::frame(RawHttp2::HEADERS, END_HEADERS | RawHttp2::LAST, 1, &block).into();
    let input = Input::repeated("HEADERS, 16,000 indexed fields: 431, and the end", 40, Vec::new(), 0, &[], 1);
    Input { steps: vec![step], end: End::Closed, ..input }
}

/// A head in frames of a byte each: a literal field with a long value.
fn continuations() -> Input {
    let begin = [&POST[..], &[0, 1, b'a', 0x7f, 0x80, 0x7c]].concat();
    let begin = RawHttp2::frame(RawHttp2::HEADERS, RawHttp2::LAST, 1, &begin);
    let parts = RawHttp2::frame(CONTINUATION, 0, 1, b"v").repeat(15_998);
    let end = RawHttp2::frame(CONTINUATION, END_HEADERS, 1, b"v");
    let input = Input::repeated("CONTINUATION, 1 byte a frame", 20, Vec::new(), 0, &[], 0);
    Input { steps: vec![Step { answers: 1, ..[begin, parts, end].concat().into() }], ..input }
}
