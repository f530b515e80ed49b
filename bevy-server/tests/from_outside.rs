//! What a client's library, a shell, a compose file or an editor adds or rounds is taken as it was meant, or refused by its
//! name; it is never changed silently. A test for each door of the server, a row for each addition.
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

use std::fs;

use serde_json::Value;
use tempfile::TempDir;
use test_support::{Server, Setup, http1};

/// What becomes of what was added: the value that was meant, or an error that contains a text.
enum Outcome {
    Meant(&'static str),
    Refused(&'static str),
}

use Outcome::{Meant, Refused};

/// Sends a request for a floor to the gRPC port. Returns the status and the JSON of the answer.
fn call(server: &Server, head: &str, body: &[u8]) -> (u16, Value) {
    let length = body.len();
    let head = format!("{head}host: floors\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
    let (status, _, answer) = http1(&server.grpc, &head, body);
    (status, serde_json::from_slice(&answer).unwrap_or_else(|error| panic!("{error}: {answer:?}")))
}

/// Checks that the answer is the floor with the spec that was meant, or the error.
fn check((status, answer): &(u16, Value), expected: &Outcome, shown: &str) {
    match expected {
        Meant(spec) => {
            let spec: Value = serde_json::from_str(spec).unwrap();
            assert_eq!(*status, 200, "{shown}: {answer}");
            for (field, value) in spec.as_object().unwrap() {
                assert_eq!(&answer["spec"][field], value, "{shown}");
            }
        }
        Refused(part) => {
            assert_eq!((*status, &answer["code"]), (400, &"invalid_argument".into()), "{shown}: {answer}");
            assert!(answer["message"].as_str().unwrap().contains(part), "{shown}: {answer}");
        }
    }
}

// Long because it is a table: a line for each input.
#[test]
fn json_of_requests() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let post = |content_type: &str, body: &[u8]| {
        let head = format!("POST /floors.v1.FloorService/GetFloor HTTP/1.1\r\ncontent-type: {content_type}\r\n");
        call(&server, &head, body)
    };
    for (seed, expected) in [
        ("42", Meant(r#"{"seed":"42"}"#)),
        ("\"42\"", Meant(r#"{"seed":"42"}"#)),
        ("\"+42\"", Meant(r#"{"seed":"42"}"#)),
        ("42.0", Meant(r#"{"seed":"42"}"#)),
        ("4.2e1", Meant(r#"{"seed":"42"}"#)),
        ("420E-1", Meant(r#"{"seed":"42"}"#)),
        ("-0", Meant(r#"{"seed":null}"#)),
        ("null", Meant(r#"{"seed":null}"#)),
        ("9007199254740991", Meant(r#"{"seed":"9007199254740991"}"#)),
        ("\"18446744073709551615\"", Meant(r#"{"seed":"18446744073709551615"}"#)),
        // JavaScript writes 9007199254740992 for 9007199254740993.
        ("9007199254740992", Refused("spec.seed: the number 9007199254740992 is beyond 9007199254740991")),
        ("9007199254740993.0", Refused("write it as a string")),
        ("90071992547409930e-1", Refused("write it as a string")),
        ("18446744073709551615", Refused("write it as a string")),
        ("1.8446744073709552e19", Refused("write it as a string")),
        ("1e400", Refused("write it as a string")),
        ("1.00000000000000000001", Refused("spec.seed: 1.00000000000000000001 is read as a whole number and is none")),
        ("1e-400", Refused("spec.seed: ")),
        ("0.5", Refused("spec.seed: expected integer")),
        ("-1", Refused("spec.seed: ")),
        ("true", Refused("spec.seed: invalid type: boolean")),
        ("[]", Refused("spec.seed: ")),
        ("\" 42\"", Refused("spec.seed: ")),
        ("\"42\\n\"", Refused("spec.seed: ")),
        ("\"42.0\"", Refused("spec.seed: ")),
        ("\"0x2a\"", Refused("spec.seed: ")),
        ("\"1_000\"", Refused("spec.seed: ")),
        ("\"\"", Refused("spec.seed: ")),
        ("\"４２\"", Refused("spec.seed: ")),
        ("042", Refused("spec.seed: ")),
        ("+42", Refused("spec.seed: ")),
        ("NaN", Refused("spec.seed: ")),
        ("0x2a", Refused("spec: ")),
        ("42,\"seed\":43", Refused("spec: seed is given twice")),
        ("42,\"Seed\":43", Refused("spec.Seed: no such field")),
        ("42,\"kind\":\"FLOOR_KIND_MAZE\"", Meant(r#"{"kind":"FLOOR_KIND_MAZE"}"#)),
        ("42,\"kind\":6", Meant(r#"{"kind":"FLOOR_KIND_MAZE"}"#)),
        ("42,\"kind\":6.0", Meant(r#"{"kind":"FLOOR_KIND_MAZE"}"#)),
        ("42,\"kind\":\"6\"", Refused("spec.kind: ")),
        ("42,\"kind\":\"floor_kind_maze\"", Refused("FLOOR_KIND_MAZE")),
        ("42,\"kind\":\"MAZE\"", Refused("FLOOR_KIND_MAZE")),
        ("42,\"kind\":6.5", Refused("spec.kind: ")),
        ("42,\"pack\":\"tower\\n\"", Refused("spec.pack: ")),
        ("42,\"pack\":\" tower\"", Refused("spec.pack: ")),
        ("42,\"pack\":\"Tower\"", Refused("spec.pack: ")),
    ] {
        let body = format!(r#"{{"spec":{{"number":1,"width":16,"height":16,"seed":{seed}}}}}"#);
        check(&post("application/json", body.as_bytes()), &expected, seed);
    }
    let text = r#"{"spec":{"seed":"42","number":1,"width":16,"height":16}}"#;
    let floor = || Meant(r#"{"seed":"42","number":1}"#);
    let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (body, expected) in [
        (format!("\u{feff}{text}\r\n").into_bytes(), floor()),
        (format!(" \t\r\n{text}\n").into_bytes(), floor()),
        (utf16.clone(), Refused("the text is UTF-16")),
        ([b"\xff\xfe".to_vec(), utf16].concat(), Refused("the text is UTF-16")),
        (format!("{text}\0").into_bytes(), Refused("U+0000 is a control character")),
        (format!("\u{a0}{text}").into_bytes(), Refused("U+00A0 is not the ordinary space")),
        (format!("{{\u{200b}{}", &text[1..]).into_bytes(), Refused("U+200B is invisible")),
        (text.replacen('"', "“", 2).into_bytes(), Refused("U+201C is a typographic quotation mark; write `\"`")),
        (text.replacen(':', "：", 1).into_bytes(), Refused("U+FF1A is a full-width form; write `:`")),
        (text.replace("}}", "},}").into_bytes(), Refused("trailing comma")),
        (format!("{0}{0}", text).into_bytes(), Refused("trailing characters")),
        (Value::from(text).to_string().into_bytes(), Refused("invalid type: string")),
        (Vec::new(), Refused("EOF")),
    ] {
        check(&post("application/json", &body), &expected, &String::from_utf8_lossy(&body));
    }
    for content_type in ["application/json; charset=utf-8", "Application/JSON", "application/json ;charset=\"UTF-8\""] {
        check(&post(content_type, text.as_bytes()), &floor(), content_type);
    }
    for content_type in ["text/json", "text/plain", "application/x-www-form-urlencoded"] {
        let (status, answer) = post(content_type, text.as_bytes());
        assert!(status == 415 && answer["message"].as_str().unwrap().contains("application/json"), "{answer}");
    }
}

#[test]
fn queries_of_connect() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let json = "%7B%22spec%22%3A%7B%22seed%22%3A%2242%22%2C%22number%22%3A1%7D%7D";
    let floor = || Meant(r#"{"seed":"42","number":1}"#);
    for (query, expected) in [
        (format!("encoding=json&message={json}"), floor()),
        (
            format!("encoding=json&message={}", json.replace("%3A", "%3A+").replace('%', "%25").replace("%25", "%")),
            floor(),
        ),
        (format!("encoding=json&message={}&utm_source=x", json.to_lowercase()), floor()),
        (format!("encoding=json&message=%EF%BB%BF{json}%0D%0A"), floor()),
        (
            format!("encoding=json&message={json}&message={}", json.replace("42", "43")),
            Refused("message is given twice"),
        ),
        (format!("encoding=json&message={json}&encoding=proto"), Refused("encoding is given twice")),
        (format!("encoding=json&message={json}%"), Refused("a % without two hexadecimal digits")),
        (format!("encoding=json&message={}", &json[..json.len() - 1]), Refused("a % without two hexadecimal digits")),
        (format!("encoding=json&amp;message={json}"), Refused("message is missing")),
        (format!("Encoding=json&message={json}"), Refused("encoding is missing")),
        (format!("encoding=JSON&message={json}"), Refused("json or proto")),
        (format!("encoding=json&base64=true&message={json}"), Refused("base64 must be 0 or 1")),
        (format!("encoding=json&message={json}&generator_version=v1"), Refused("generator_version must be a number")),
    ] {
        let head = format!("GET /floors.v1.FloorService/GetFloor?{query} HTTP/1.1\r\n");
        check(&call(&server, &head, b""), &expected, &query);
    }
}

#[test]
fn headers_of_calls() {
    let data = TempDir::new().unwrap();
    let server = Server::start(&data);
    let body = br#"{"spec":{"seed":"42","number":1,"width":16,"height":16}}"#;
    // Which of the headers of an answer show that the header was taken as it was meant.
    for (header, expected) in [
        ("floor-trace: 1", Meant("floor-server-us")),
        ("floor-trace:  1 ", Meant("floor-server-us")),
        ("floor-trace: true", Meant("floor-server-us")),
        ("floor-trace: True", Meant("floor-server-us")),
        ("floor-trace: yes", Refused("floor-trace \"yes\" is neither 1 nor 0")),
        ("floor-trace: 2", Refused("floor-trace \"2\" is neither 1 nor 0")),
        ("cache-control: No-Cache, max-age=0", Meant("floor-served-by: generated")),
        ("cache-control: max-age=0,\tno-cache", Meant("floor-served-by: generated")),
        // Browsers add these when a page is loaded again.
        ("cache-control: max-age=0", Meant("floor-served-by: lru")),
        ("pragma: no-cache", Meant("floor-served-by: lru")),
        ("floor-generator-version: v4", Refused("floor-generator-version \"v4\" is no number")),
        ("floor-generator-version: 4.0", Refused("floor-generator-version \"4.0\" is no number")),
        ("floor-generator-version:", Refused("floor-generator-version \"\" is no number")),
        ("connect-timeout-ms: 10000", Meant("floor-served-by: lru")),
        ("connect-timeout-ms: 10s", Refused("connect-timeout-ms \"10s\" is not 1 to 10 decimal digits")),
        ("connect-timeout-ms: 1e4", Refused("connect-timeout-ms \"1e4\"")),
        ("connect-timeout-ms: -1", Refused("connect-timeout-ms \"-1\"")),
        ("connect-protocol-version: 1.0", Refused("connect-protocol-version \"1.0\" is unknown")),
    ] {
        let head = format!(
            "POST /floors.v1.FloorService/GetFloor HTTP/1.1\r\nhost: floors\r\nconnection: close\r\ncontent-type: \
             application/json\r\ncontent-length: {}\r\n{header}\r\n\r\n",
            body.len()
        );
        let (status, head, answer) = http1(&server.grpc, &head, body);
        let answer = String::from_utf8_lossy(&answer).replace("\\\"", "\"");
        match expected {
            Meant(part) => assert!(status == 200 && head.contains(part), "{header}: {head}"),
            Refused(part) => assert!(status == 400 && answer.contains(part), "{header}: {answer}"),
        }
    }
    for off in ["0", "false", ""] {
        let head = format!(
            "POST /floors.v1.FloorService/GetFloor HTTP/1.1\r\nhost: floors\r\nconnection: close\r\ncontent-type: \
             application/json\r\ncontent-length: {}\r\nfloor-trace: {off}\r\n\r\n",
            body.len()
        );
        let (status, head, _) = http1(&server.grpc, &head, body);
        assert!(status == 200 && !head.contains("floor-server-us"), "{off}: {head}");
    }
}

#[test]
fn queries_of_operators() {
    let data = TempDir::new().unwrap();
    let server = Setup::new(&data).with("CACHE__CHAIN", "[\"lru\"]").start();
    for (query, expected) in [
        ("seed=42&first=1", Meant("42/1:")),
        ("seed=%34%32&%66irst=1&pack=t%6Fwer", Meant("42/1:")),
        ("&seed=42&&first=1&", Meant("42/1:")),
        ("seed=42&first=1&pack=tower%400000000000000000", Meant("42/1:")),
        ("seed=+42&first=1", Refused("seed is \" 42\"")),
        ("seed=42%20&first=1", Refused("seed is \"42 \"")),
        ("seed=42%0D&first=1", Refused("seed is \"42\\r\"")),
        ("seed=42%E2%80%8B&first=1", Refused("seed is \"42\\u{200b}\"")),
        ("seed=0x2a&first=1", Refused("seed is \"0x2a\"")),
        ("seed=1e3&first=1", Refused("seed is \"1e3\"")),
        ("seed=&first=1", Refused("seed is \"\"")),
        ("Seed=42&first=1", Refused("Seed is no parameter")),
        ("seed=42&first=1&first=2", Refused("first is given twice")),
        ("seed=42&first=1&fir%73t=2", Refused("first is given twice")),
        ("seed=42&amp;first=1", Refused("amp;first is no parameter")),
        ("seed=42;first=1", Refused("seed is \"42;first=1\"")),
        ("seed=42&first=1&kind=Maze", Refused("kind is \"Maze\"")),
        ("seed=42&first=1&width=", Refused("width is \"\"")),
        ("seed=42&first=1&x=1", Refused("x is no parameter")),
    ] {
        let (status, body) = server.page(&format!("/contains?{query}"));
        match expected {
            Meant(floor) => assert!(status == 200 && body.contains(floor), "{query}: {body}"),
            Refused(part) => assert!(status == 400 && body.contains(part), "{query}: {body}"),
        }
    }
    for query in [
        "/stats?x=1",
        "/purge?all=True",
        "/purge?all=1",
        "/purge?tower=+42",
        "/purge?tower=42&t%6Fwer=43",
        "/compact?x",
    ] {
        let answer = if query.starts_with("/stats") { server.page(query) } else { server.post(query, "") };
        assert_eq!(answer.0, 400, "{query}: {}", answer.1);
    }
    // curl -d 'tenant=acme' '.../purge?all=true' does not purge all tenants.
    for (path, body) in
        [("/purge?all=true", &b"tenant=acme"[..]), ("/compact", b"\xef\xbb\xbf{}"), ("/log-level?filter=info", b"x")]
    {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let (status, _, answer) = http1(&server.ops, &head, body);
        let answer = String::from_utf8_lossy(&answer);
        assert!(status == 400 && answer.contains("write the parameters in the URL"), "{path}: {answer}");
    }
    let head =
        "POST /purge?all=true HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n";
    assert_eq!(http1(&server.ops, head, b"0\r\n\r\n").0, 200, "a body without bytes is none");
}

/// What `--check-config` says of `setup`: the line of `key` without its source, or the errors.
fn checked(setup: Setup, key: &str) -> Result<String, String> {
    let (code, shown, errors) = setup.arg("--check-config").run();
    if code != Some(0) {
        return Err(errors);
    }
    let (table, name) = key.rsplit_once('.').unwrap();
    let section = shown.split("\n\n").find(|section| section.starts_with(&format!("[{table}]"))).unwrap();
    let line = section.lines().find(|line| line.starts_with(&format!("{name} = "))).unwrap();
    Ok(line.rsplit_once('#').unwrap().0.trim().strip_prefix(name).unwrap().trim_start_matches(" = ").to_owned())
}

fn check_value(found: Result<String, String>, expected: &Outcome, shown: &str) {
    match (expected, found) {
        (Meant(value), found) => assert_eq!(found.as_deref(), Ok(*value), "{shown}"),
        (Refused(part), found) => {
            let errors = found.expect_err(shown);
            assert!(errors.contains(part), "{shown}: {errors}");
        }
    }
}

// Long because it is a table: a line for each value.
#[test]
fn variables_of_shells_and_compose_files() {
    let data = TempDir::new().unwrap();
    for (key, value, expected) in [
        ("cache.lru.capacity", "256MiB\r", Meant("\"256MiB\"")),
        ("cache.lru.capacity", " 256MiB ", Meant("\"256MiB\"")),
        ("cache.lru.capacity", "\"256MiB\"", Meant("\"256MiB\"")),
        ("cache.lru.capacity", "256 mib", Meant("\"256MiB\"")),
        ("cache.lru.capacity", "268435456", Meant("\"256MiB\"")),
        ("cache.lru.capacity", "268435456.0", Refused("cache.lru.capacity is \"268435456.0\"")),
        ("cache.lru.capacity", "'256MiB'", Refused("cache.lru.capacity is \"'256MiB'\"")),
        ("cache.lru.capacity", "\u{feff}256MiB", Refused("\\u{feff}256MiB")),
        ("cache.lru.capacity", "256MiB\u{200b}", Refused("256MiB\\u{200b}")),
        ("cache.lru.capacity", "1GiB # of memory", Refused("\"1GiB # of memory\"")),
        ("cache.lru.capacity", "1e9", Refused("\"1e9\"")),
        ("cache.lru.capacity", "1_000_000_000", Refused("\"1_000_000_000\"")),
        ("cache.lru.capacity", "", Refused("cache.lru.capacity is \"\"")),
        ("cache.redis.timeout", "50 ms\r", Meant("\"50ms\"")),
        ("cache.redis.timeout", "0.05s", Meant("\"50ms\"")),
        ("cache.redis.timeout", "50", Refused("write a duration of 1ms ..= 60s")),
        ("cache.redis.timeout", "50MS", Refused("\"50MS\"")),
        ("grpc.max_connections_per_ip", "+128\r", Meant("128")),
        ("grpc.max_connections_per_ip", "\"128\"", Meant("128")),
        ("grpc.max_connections_per_ip", "128.5", Refused("write a whole number")),
        ("grpc.max_connections_per_ip", "1_28", Refused("\"1_28\"")),
        ("grpc.max_connections_per_ip", "1e2", Refused("\"1e2\"")),
        ("grpc.max_connections_per_ip", "0x80", Refused("\"0x80\"")),
        ("grpc.max_connections_per_ip", "0o200", Refused("\"0o200\"")),
        ("grpc.max_connections_per_ip", "１２８", Refused("\"１２８\"")),
        ("grpc.max_connections_per_ip", "-1", Refused("write a whole number")),
        ("grpc.max_connections_per_ip", "true", Refused("write a whole number")),
        ("generation.prefetch", "false\r", Meant("false")),
        ("generation.prefetch", "\"false\"", Meant("false")),
        ("generation.prefetch", "False", Refused("write true or false")),
        ("generation.prefetch", "no", Refused("write true or false")),
        ("generation.prefetch", "off", Refused("write true or false")),
        ("generation.prefetch", "0", Refused("write true or false")),
        ("generation.prefetch", "", Refused("write true or false")),
        ("cache.bypass", "\"auto\" ", Meant("\"auto\"")),
        ("cache.bypass", "Auto", Refused("cache.bypass is \"Auto\"")),
        ("cache.bypass", "no", Refused("cache.bypass is \"no\"")),
        ("cache.chain", "[\"lru\", \"lmdb\"]\r", Meant("[\"lru\", \"lmdb\"]")),
        ("cache.chain", "[lru,lmdb]", Meant("[\"lru\", \"lmdb\"]")),
        ("cache.chain", "['lru','lmdb']", Refused("cache.chain is ")),
        ("cache.chain", "lru,lmdb", Refused("cache.chain is \"lru,lmdb\"")),
        ("cache.chain", "[“lru”]", Refused("cache.chain is ")),
        ("cache.chain", "[\"LRU\"]", Refused("cache.chain is [\"LRU\"]")),
        ("cache.lmdb.path", "\"./my data\"\r", Meant("\"./my data\"")),
        ("cache.lmdb.path", "C:\\data", Meant("'C:\\data'")),
        ("cache.lmdb.path", "~/data", Refused("begins with ~, which only a shell replaces")),
        ("cache.sled.path", "~", Refused("begins with ~, which only a shell replaces")),
        ("packs.default", "tower\r", Meant("\"tower\"")),
        ("packs.default", "Tower", Refused("packs.default is \"Tower\"")),
        ("grpc.listen", "\"127.0.0.1:5\"\r", Meant("\"127.0.0.1:5\"")),
        ("grpc.listen", "http://127.0.0.1:5", Refused("write an address and a port")),
        ("cache.redis.url", "redis://cache:6379\r", Meant("\"redis://cache:6379\"")),
        (
            "cache.redis.url",
            "\u{200b}redis://cache:6379",
            Refused("has an unknown scheme: U+200B is invisible; remove it"),
        ),
    ] {
        let variable = key.replace('.', "__").to_uppercase();
        check_value(checked(Setup::new(&data).with(&variable, value), key), &expected, &format!("{key}={value:?}"));
    }
    let capacity = "cache.lru.capacity";
    for (name, expected) in [
        ("FLOORS__CACHE__LRU__CAPACITY ", Meant("\"64MiB\"")),
        ("floors__cache__lru__capacity", Meant("\"64MiB\"")),
        (
            "\u{feff}FLOORS__CACHE__LRU__CAPACITY",
            Refused("\\u{feff}FLOORS__CACHE__LRU__CAPACITY is not read; did you mean"),
        ),
        ("export FLOORS__CACHE__LRU__CAPACITY", Refused("is not read; did you mean FLOORS__CACHE__LRU__CAPACITY?")),
        ("FLOORS.CACHE.LRU.CAPACITY", Refused("is not read; did you mean FLOORS__CACHE__LRU__CAPACITY?")),
        ("FLOORS_CACHE_LRU_CAPACITY", Refused("is not read; did you mean FLOORS__CACHE__LRU__CAPACITY?")),
        ("FLOORS__CACHE__LRU-CAPACITY", Refused("the nearest is cache.lru.capacity")),
        ("OLD_FLOORS__CACHE__LRU__CAPACITY", Meant("\"256MiB\"")),
    ] {
        check_value(checked(Setup::new(&data).env(name, "64MiB"), capacity), &expected, name);
    }
    for (tolerance, expected) in [
        ("warn\r", Meant("\"256MiB\"")),
        ("WARN", Refused("FLOORS_UNKNOWN_KEYS must be \"error\" or \"warn\", not \"WARN\"")),
    ] {
        let setup = Setup::new(&data).env("FLOORS_UNKNOWN_KEYS", tolerance).with("CACHE__NEW", "1");
        check_value(checked(setup, capacity), &expected, tolerance);
    }
    #[cfg(unix)]
    {
        let path = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"./data/\xff");
        let found = checked(Setup::new(&data).env("FLOORS__CACHE__SLED__PATH", path), "cache.sled.path");
        check_value(found, &Refused("FLOORS__CACHE__SLED__PATH is not UTF-8"), "a path that is not UTF-8");
    }
}

#[test]
fn the_file_of_the_configuration() {
    let data = TempDir::new().unwrap();
    let file = data.path().join("floors.toml");
    let (key, text) = ("cache.lru.capacity", "[cache.lru]\ncapacity = \"64MiB\"\n");
    let meant = || Meant("\"64MiB\"");
    for (content, expected) in [
        (format!("\u{feff}{text}"), meant()),
        (text.replace('\n', "\r\n"), meant()),
        (text.replace(" = ", "\t=\t"), meant()),
        (text.replace("\"64MiB\"", "67_108_864"), meant()),
        (text.replace("\"64MiB\"", "6.7108864e7"), meant()),
        (text.replace('\n', "\r"), Refused("U+000D is a carriage return; remove it")),
        (
            text.replace(" =", "\u{a0}="),
            Refused(
                "line 2, column 9: invalid unquoted key, expected letters, numbers, `-`, `_`; U+00A0 is not the ordinary",
            ),
        ),
        (text.replace('"', "“"), Refused("U+201C is a typographic quotation mark; write `\"`")),
        (text.replace('=', "＝"), Refused("U+FF1D is a full-width form; write `=`")),
        (text.replace("MiB", "MiB\u{200b}"), Refused("is \"64MiB\\u{200b}\"")),
        (format!("{text}\0"), Refused("U+0000 is a control character")),
        (format!("{text}capacity = \"1MiB\"\n"), Refused("duplicate key")),
        (text.replace("cache", "Cache"), Refused("Cache.lru.capacity is no key")),
        ("cache:\n  lru:\n    capacity: 64MiB\n".to_owned(), Refused("is not TOML at line 1")),
    ] {
        fs::write(&file, &content).unwrap();
        check_value(checked(Setup::new(&data).arg("--config").arg(&file), key), &expected, &content);
    }
    let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (bytes, expected) in [
        ([b"\xff\xfe".to_vec(), utf16.clone()].concat(), "is UTF-16; save it as UTF-8"),
        (utf16, "is UTF-16; save it as UTF-8"),
        (format!("{text}# Gr").into_bytes().into_iter().chain(*b"\xfc\xdfe\n").collect(), "is not UTF-8 in line 3"),
    ] {
        fs::write(&file, &bytes).unwrap();
        let found = checked(Setup::new(&data).arg("--config").arg(&file), key);
        check_value(found, &Refused(expected), expected);
    }
}
