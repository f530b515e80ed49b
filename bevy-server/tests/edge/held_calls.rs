//! Calls that never end: whatever a client makes the server hold, the process grows by little.

use std::{
    io::Write,
    net::TcpStream,
    time::{Duration, Instant},
};

use tempfile::TempDir;
use test_support::{
    Server, Setup, TIMEOUT, connect_from,
    http2::{LARGE_WINDOW, RawHttp2},
    web_of,
};

use super::{
    get,
    kinds::{
        BATCH, CALLS, CHECK, GET_FLOOR, GRPC, INFO, OLD_REFLECTION, PACK, PACKS, REFLECTION, SEARCH, STREAM, WATCH,
        body, speaks_http1,
    },
    tokens::{GAME, OTHER, entry, write_tokens},
};

/// The most calls that a connection may have open.
const STREAMS: u32 = 128;
/// What may be left of the growth, and for how long.
const MAX_REST: u64 = 32 << 20;
const REST_TIMEOUT: Duration = Duration::from_secs(10);
/// References to one entry of the HPACK table: a byte each on the wire, and over a hundred in memory.
const REFERENCES: usize = 400;
/// A connection of HTTP/1 has one call.
const HTTP1_FACTOR: usize = 4;
/// The part of a message that is sent. All of a connection's calls fit its window.
const PART: usize = 1900;

/// Calls whose answers nobody reads: every RPC, and every way to encode an answer.
const UNREAD: [(&str, &str); 17] = [
    (GET_FLOOR, GRPC),
    (BATCH, GRPC),
    (SEARCH, GRPC),
    (INFO, GRPC),
    (PACK, GRPC),
    (PACKS, GRPC),
    (STREAM, GRPC),
    (CHECK, GRPC),
    (WATCH, GRPC),
    (REFLECTION, GRPC),
    (OLD_REFLECTION, GRPC),
    (BATCH, "application/grpc-web"),
    (BATCH, "application/grpc-web-text"),
    (BATCH, "application/proto"),
    (BATCH, "application/json"),
    (PACK, "application/json"),
    (STREAM, "application/connect+json"),
];

/// Who attacks.
struct Attackers {
    addresses: u8,
    /// Connections of each address. An address may have 256, and what one call holds is refused long before.
    connections: usize,
    /// By how much they may make the process grow.
    max_growth: u64,
    /// Whether callers need a token. Then every second connection has one.
    with_tokens: bool,
}

const ONE: Attackers = Attackers { addresses: 1, connections: 60, max_growth: 64 << 20, with_tokens: false };
const SIXTEEN: Attackers = Attackers { addresses: 16, connections: 15, max_growth: 256 << 20, with_tokens: false };

/// A call that is held open over HTTP/2: its head, and the data that follow it.
pub(crate) struct Held {
    what: String,
    path: &'static str,
    content_type: &'static str,
    references: usize,
    data: Vec<u8>,
    ends: bool,
    /// How many bytes of an answer the client takes.
    window: u32,
    /// How many times as many connections as usual.
    factor: usize,
}

impl Held {
    pub(crate) fn new(what: &str, (path, content_type): (&'static str, &'static str), data: Vec<u8>) -> Self {
        let what = format!("HTTP/2, {what}, {content_type} to {path}");
        Self { what, path, content_type, references: REFERENCES, data, ends: false, window: LARGE_WINDOW, factor: 1 }
    }

    /// A whole call whose answer is not read.
    pub(crate) fn unread((path, content_type): (&'static str, &'static str)) -> Self {
        let data = body(content_type, path);
        Self { references: 0, ends: true, window: 0, ..Self::new("an unread answer", (path, content_type), data) }
    }

    /// Its head, in whose memory the references take most.
    fn head(&self, stream: u32, token: Option<&str>) -> Vec<u8> {
        let text = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
        // HPACK: POST and http, then path, authority and content type as literals that are not indexed.
        let mut block = [&[0x83, 0x86, 0x04][..], &text(self.path), &[0x01], &text("floors"), &[0x0f, 0x10]].concat();
        block.extend(text(self.content_type));
        if let Some(token) = token {
            // In the static table, its name has the index 23.
            block.extend([&[0x0f, 0x08][..], &text(token)].concat());
        }
        if stream == 1 {
            // A literal that becomes entry 62 of the table.
            block.extend([0x40, 1, b'x', 1, b'y']);
        }
        block.extend(std::iter::repeat_n(0xbe, self.references));
        RawHttp2::frame(RawHttp2::HEADERS, 4, stream, &block)
    }

    /// Opens a connection full of such calls, and waits until the server has read them.
    pub(crate) fn hold(&self, server: &Server, source: &str, token: Option<&str>) -> RawHttp2 {
        let mut peer = self.open(server, source, token);
        peer.await_ping();
        peer
    }

    /// Opens a connection full of such calls.
    fn open(&self, server: &Server, source: &str, token: Option<&str>) -> RawHttp2 {
        let mut peer = RawHttp2::connect_from(source, server, self.window);
        let mut frames = Vec::new();
        for stream in (0..STREAMS).map(|number| 2 * number + 1) {
            frames.extend(self.head(stream, token));
            let flags = if self.ends { RawHttp2::LAST } else { 0 };
            if self.ends || !self.data.is_empty() {
                frames.extend(RawHttp2::frame(RawHttp2::DATA, flags, stream, &self.data));
            }
        }
        // The server may close the connection of a client that has too much.
        let _ = peer.stream.write_all(&[frames, RawHttp2::ping()].concat());
        peer
    }
}

/// What every kind of call over HTTP/2 can make the server hold.
fn kinds_of_http2() -> Vec<Held> {
    let part = |content_type: &str| match content_type {
        "application/json" => vec![b' '; PART],
        text if text.starts_with("application/grpc-web-text") => [&b"AAAAEAAA"[..], &[b'A'; PART]].concat(),
        _ => [&[0, 0, 0, 0x10, 0][..], &[0; PART]].concat(),
    };
    let whole = |(path, content_type)| body(content_type, path);
    let call = CALLS[0];
    let mut kinds = vec![
        Held::new("a head", call, Vec::new()),
        Held::new("a whole message", call, whole(call)),
        Held::new("a message and more", call, [whole(call), vec![0; PART]].concat()),
        Held::new("what nothing serves", ("/nothing", "text/plain"), vec![b' '; PART]),
    ];
    kinds.extend(CALLS.map(|call| Held::new("a part", call, part(call.1))));
    kinds.extend(UNREAD.map(|call| Held {
        // Small answers cost most by their number.
        factor: if [INFO, PACKS, CHECK].contains(&call.0) { 4 } else { 1 },
        ..Held::unread(call)
    }));
    // The answers to one stream of requests add up.
    kinds.extend([REFLECTION, OLD_REFLECTION].map(|path| Held {
        references: 0,
        window: 0,
        ..Held::new("unread answers", (path, GRPC), whole((path, GRPC)).repeat(30))
    }));
    kinds
}

/// What a request over HTTP/1 can make the server hold, and the bytes of the request.
fn kinds_of_http1(token: Option<&str>) -> Vec<(String, Vec<u8>)> {
    let token = token.map(|token| format!("authorization: {token}\r\n")).unwrap_or_default();
    let post = |(path, content_type), body: &[u8], missing: usize| {
        let length = format!("{token}content-length: {}\r\n", body.len() + missing);
        [web_of(path, content_type, &length).as_bytes(), body].concat()
    };
    let head = format!("POST {GET_FLOOR} HTTP/1.1\r\nhost: floors\r\n{token}");
    let mut kinds = vec![
        ("HTTP/1, a head".to_owned(), format!("{head}x: {}", "y".repeat(7 << 10)).into_bytes()),
        ("HTTP/1, many fields".to_owned(), (head.clone() + &"x:y\r\n".repeat(90)).into_bytes()),
        ("HTTP/1, what nothing serves".to_owned(), post(("/nothing", "text/plain"), &[b' '; 60_000], 1)),
    ];
    for call in CALLS.into_iter().filter(|(_, content_type)| speaks_http1(content_type)) {
        let (path, content_type) = call;
        let start = if content_type.contains("text") { &b"AAABAAAA"[..] } else { &[0, 0, 1, 0, 0] };
        let filler = if content_type.ends_with("json") || content_type.contains("text") { b'A' } else { 0 };
        let part = match content_type {
            "application/json" => vec![b' '; 60_000],
            "application/proto" => vec![0; 60_000],
            _ => [start, &[filler; 60_000]].concat(),
        };
        kinds.push((format!("HTTP/1, a part, {content_type} to {path}"), post(call, &part, 1)));
    }
    for content_type in ["application/json", "application/grpc-web+proto"] {
        let call = (GET_FLOOR, content_type);
        let more = [body(content_type, GET_FLOOR), vec![b' '; 60_000]].concat();
        kinds.push((format!("HTTP/1, a message and more, {content_type}"), post(call, &more, 1)));
    }
    for call in UNREAD.into_iter().filter(|(_, content_type)| *content_type != GRPC) {
        let (path, content_type) = call;
        // Pipelined: the next request waits until the answer to this one is taken.
        let requests = post(call, &body(content_type, path), 0).repeat(8);
        kinds.push((format!("HTTP/1, unread answers, {content_type} to {path}"), requests));
    }
    kinds
}

/// Waits until the process grows no more. Returns its growth in bytes.
fn settled_growth(server: &Server, idle: u64) -> u64 {
    const STEP: u64 = 1 << 20;
    let mut growth = 0;
    for _ in 0..20 {
        let next = server.resident_bytes().saturating_sub(idle);
        if next <= growth + STEP {
            return growth.max(next);
        }
        growth = next;
        std::thread::sleep(Duration::from_millis(100));
    }
    growth
}

/// The growth of a server's process, and what was wrong with it.
struct Growth<'a> {
    server: &'a Server,
    idle: u64,
    attackers: &'a Attackers,
    failures: Vec<String>,
}

impl Growth<'_> {
    /// Checks the growth while the attackers hold what they can.
    fn check_held(&mut self, what: &str) {
        let growth = settled_growth(self.server, self.idle);
        println!("{} addresses, {what}: {} MiB", self.attackers.addresses, growth >> 20);
        if growth > self.attackers.max_growth {
            self.failures.push(format!("{what}: the process has grown by {} MiB", growth >> 20));
        }
    }

    /// Checks what is left after the attackers have gone.
    fn check_rest(&mut self, what: &str) {
        let closed = Instant::now();
        let rest = || self.server.resident_bytes().saturating_sub(self.idle);
        while rest() > MAX_REST && closed.elapsed() < REST_TIMEOUT {
            std::thread::sleep(Duration::from_millis(50));
        }
        let rest = rest();
        if rest > MAX_REST {
            self.failures.push(format!("{what}: {} MiB are left", rest >> 20));
        }
    }
}

/// Expects that a client at another address is served.
fn assert_serves_others(server: &Server, token: Option<&str>, what: &str) {
    let mut peer = RawHttp2::connect_from("127.0.1.1", server, LARGE_WINDOW);
    let headers: Vec<_> = token.map(|token| ("authorization", token)).into_iter().collect();
    peer.send(&RawHttp2::call("GetFloor", 1, &headers, &get(1, 1)));
    let frames = std::iter::from_fn(|| (peer.responses == 0).then(|| peer.read_frame()));
    // An error has no data.
    assert!(frames.into_iter().any(|frame| frame.kind == RawHttp2::DATA), "{what}: another client is refused");
}

impl Attackers {
    /// Opens the connections of all addresses, of which every second has a token.
    fn open<T>(&self, factor: usize, token: Option<&str>, open: impl Fn(&str, Option<&str>) -> T) -> Vec<T> {
        let connections = factor * self.connections;
        let sources = (1..=self.addresses).flat_map(|last| vec![format!("127.0.0.{last}"); connections]);
        sources.enumerate().map(|(number, source)| open(&source, token.filter(|_| number % 2 == 0))).collect()
    }

    fn assert_bounded(&self) {
        let data = TempDir::new().unwrap();
        let (game, other) = (format!("Bearer {GAME}"), format!("Bearer {OTHER}"));
        let token = self.with_tokens.then_some(&*game);
        // A token is one client at all addresses.
        let other = self.with_tokens.then_some(&*other);
        let setup = Setup::new(&data).with("GENERATION__PREFETCH", "false");
        let server = match token {
            None => setup,
            Some(_) => {
                let path = write_tokens(&data, &(entry("game", GAME, "") + &entry("other", OTHER, "")));
                setup.with("AUTH__TOKENS_FILE", &path.display().to_string())
            }
        }
        .start();
        // What first calls allocate once.
        assert_serves_others(&server, other, "before");
        let idle = server.resident_bytes();
        let mut growth = Growth { server: &server, idle, attackers: self, failures: Vec::new() };
        for held in kinds_of_http2() {
            let what = &held.what;
            let mut peers = self.open(held.factor, token, |source, token| held.open(&server, source, token));
            peers.iter_mut().for_each(RawHttp2::await_ping);
            growth.check_held(what);
            assert_serves_others(&server, other, what);
            drop(peers);
            growth.check_rest(what);
        }
        for (what, request) in kinds_of_http1(token) {
            let peers = self.open(HTTP1_FACTOR, token, |source, _| {
                let mut peer = connect_from(source, &server.grpc);
                peer.set_write_timeout(Some(TIMEOUT)).unwrap();
                // The server may have refused it.
                let _ = peer.write_all(&request);
                peer
            });
            growth.check_held(&what);
            assert_serves_others(&server, other, &what);
            drop::<Vec<TcpStream>>(peers);
            growth.check_rest(&what);
        }
        assert!(growth.failures.is_empty(), "{:#?}", growth.failures);
        assert!(server.refusals("receiving") > 0.0 && server.refusals("unsent") > 0.0);
    }

    /// As [`assert_bounded`](Self::assert_bounded), if `FLOORS_TEST_SERVER` names a program: a debug build converts JSON
    /// thirty times slower than a release build, and would take minutes.
    fn assert_bounded_with_release_build(&self) {
        if std::env::var_os("FLOORS_TEST_SERVER").is_some() {
            self.assert_bounded();
        } else {
            println!("skipped: it needs a release build in FLOORS_TEST_SERVER");
        }
    }
}

#[test]
fn calls_of_one_address_that_never_end_take_bounded_memory() {
    ONE.assert_bounded();
}

#[test]
fn calls_of_one_address_that_never_end_take_bounded_memory_if_callers_need_tokens() {
    Attackers { with_tokens: true, ..ONE }.assert_bounded_with_release_build();
}

#[test]
fn calls_of_sixteen_addresses_that_never_end_take_bounded_memory() {
    SIXTEEN.assert_bounded_with_release_build();
}

#[test]
fn calls_of_sixteen_addresses_that_never_end_take_bounded_memory_if_callers_need_tokens() {
    Attackers { with_tokens: true, ..SIXTEEN }.assert_bounded_with_release_build();
}
