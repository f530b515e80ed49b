//! What a shell, a word processor or an editor adds to arguments and files is taken as it was meant, or refused by its
//! name. A test for each door, a row for each addition. No server is needed.
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

use std::{
    ffi::OsStr,
    fs,
    process::{Command, Output},
};

/// Runs floorctl: the exit code, and what it prints.
fn floorctl(arguments: &[&OsStr]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_floorctl"));
    for variable in ["SERVER", "OPS", "OPS_TOKEN_FILE", "CA", "CERT", "KEY", "SERVER_NAME", "TOKEN_FILE"] {
        command.env_remove(format!("FLOORCTL_{variable}"));
    }
    let Output { status, stdout, stderr } = command.args(arguments).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap() + &String::from_utf8(stderr).unwrap())
}

fn run(arguments: &[&str]) -> (Option<i32>, String) {
    floorctl(&arguments.iter().map(OsStr::new).collect::<Vec<_>>())
}

/// Draws a floor in this program, with `arguments` that name it.
fn draw(arguments: &[&str]) -> (Option<i32>, String) {
    run(&[&["render", "--offline", "--plain", "--size", "16x16"], arguments].concat())
}

#[test]
fn numbers_on_the_command_line() {
    let wanted = draw(&["--seed", "42", "--number", "7"]);
    assert_eq!(wanted.0, Some(0), "{}", wanted.1);
    for (seed, number) in [
        ("0x2a", "7"),
        ("0X2A", "7"),
        ("+42", "7"),
        ("042", "007"),
        (" 42", "7"),
        ("42\r", "7"),
        ("４２", "7"),
        ("42\u{200b}", "7"),
        ("\u{feff}42", "7"),
    ] {
        assert_eq!(draw(&["--seed", seed, "--number", number]), wanted, "{seed} {number}");
    }
    for (flag, value, part) in [
        ("--seed", "18446744073709551616", "is no seed: a number is -2^63 to 2^64 - 1"),
        ("--seed", " ", "the name of a tower is empty"),
        ("--number", "7.0", "\"7.0\" is no floor number"),
        ("--number", "1e1", "\"1e1\" is no floor number"),
        ("--number", "1,000", "\"1,000\" is no floor number"),
        ("--number", "+7", "\"+7\" is no floor number"),
        ("--number", "７", "U+FF17 is a full-width form; write `7`."),
        ("--width", "16.0", "\"16.0\" is no number of cells"),
        ("--kind", "maze\r", "U+000D is a carriage return"),
        ("--pack", "tower\r", "U+000D is a carriage return"),
        ("--deadline", "10", "time unit needed"),
        ("--deadline", "５s", "U+FF15 is a full-width form"),
        ("--retries", "1e1", "invalid digit"),
        ("–-server", "x", "U+2013 is a typographic dash; write `-`."),
        ("—server", "x", "U+2014 is a typographic dash; write `-`."),
        ("", "“42/7”", "U+201C is a typographic quotation mark; write `\"`."),
        ("", "42\u{2215}7", "a floor is SEED/NUMBER"),
        ("", "42／7", "U+FF0F is a full-width form; write `/`."),
        ("", "42/7@16×16", "write width x height"),
        ("", "42/7\u{200b}", "\"7\\u{200b}\" is no floor number"),
    ] {
        let flags = [flag, value];
        let (code, printed) =
            run(&[&["render", "--offline", "--plain"], &flags[usize::from(flag.is_empty())..]].concat());
        assert!(code == Some(2) && printed.contains(part), "{flag} {value:?}: {code:?} {printed}");
    }
    for numbers in ["1–10", "1..10", "1-1e1", "1;2", "１-２", "10,000"] {
        let (code, printed) = run(&["batch", "--numbers", numbers]);
        assert!(code == Some(2) && printed.contains("invalid value"), "{numbers}: {printed}");
    }
    for valid in [
        &["render", "--offline", "--plain", "42/7:MAZE@16X16"][..],
        &["search", "--numbers", "1-2", "--where", "loops\u{a0}>= 0"],
    ] {
        let (code, printed) = run(valid);
        assert!(code == Some(0) && !printed.contains("Note"), "{valid:?}: {printed}");
    }
    // What is written in a comment or a name is nobody's mistake.
    let (code, help) = run(&["render", "--help", "“"]);
    assert!(code == Some(0) && !help.contains("Note on"), "{help}");
}

#[test]
fn addresses() {
    for url in [
        "http://127.0.0.1:1/floors",
        "http://127.0.0.1:1?tenant=acme",
        "http://127.0.0.1:1#x",
        "http://me:hush@127.0.0.1:1",
        "http://127.0.0.1:99999",
        "http://127.0.0.1:",
        "http:/127.0.0.1:1",
        "grpc://127.0.0.1:1",
        "http://127.0.0.1:1\r",
        "'http://127.0.0.1:1'",
        "http：//127.0.0.1:1",
        "",
    ] {
        for (flag, command) in [("--server", "info"), ("--ops", "stats")] {
            let (code, printed) = run(&[flag, url, command]);
            assert!(
                code == Some(2) && printed.contains("is no server address: "),
                "{flag} {url:?}: {code:?} {printed}"
            );
            assert!(!printed.contains("hush"), "{printed}");
        }
    }
}

#[cfg(unix)]
#[test]
fn paths() {
    use std::os::unix::ffi::OsStrExt as _;
    let dir = tempfile::tempdir().unwrap();
    let (_, json) = run(&["export", "42/7@16x16", "--offline", "--to", "json", "--output", "-"]);
    for name in ["a file.json", "bär.json", "ba\u{308}r.json", "we\u{200b}ll.json", "–.json"] {
        let path = dir.path().join(name);
        fs::write(&path, &json).unwrap();
        let (code, printed) = floorctl(&["validate".as_ref(), path.as_os_str()]);
        assert_eq!(code, Some(0), "{name}: {printed}");
    }
    let (code, printed) = floorctl(&["validate".as_ref(), OsStr::from_bytes(b"\xff.json")]);
    assert!(code == Some(2) && printed.contains("Note on argument 2: it is not UTF-8."), "{printed}");
    let (code, printed) = run(&["render", "--offline", "--pack", "~/mine"]);
    assert!(code == Some(2) && printed.contains("there is no such folder"), "{printed}");
}

#[test]
fn saved_floors() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("floor.json");
    let (_, json) = run(&["export", "42/7@16x16", "--offline", "--to", "json", "--output", "-"]);
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
    let seed = |value: &str| json.replacen("\"seed\": \"42\"", &format!("\"seed\": {value}"), 1).into_bytes();
    assert_ne!(seed("42"), json.as_bytes());
    for (content, part) in [
        (format!("\u{feff}{json}").into_bytes(), "every rule holds"),
        (json.replace('\n', "\r\n").into_bytes(), "every rule holds"),
        (seed("42"), "every rule holds"),
        (seed("42.0"), "every rule holds"),
        (seed("4.2e1"), "every rule holds"),
        (seed("42.5"), "spec.seed: expected integer"),
        (seed("9007199254740993"), "spec.seed: the number 9007199254740993 is beyond 9007199254740991"),
        (seed("9007199254740993.0"), "write it as a string"),
        (seed("41, \"seed\": 42"), "spec: seed is given twice"),
        (seed("\"42 \""), "spec.seed: invalid digit"),
        (utf16(&json), "it is UTF-16; save it as UTF-8"),
        ([b"\xff\xfe".to_vec(), utf16(&json)].concat(), "it is UTF-16; save it as UTF-8"),
        (json.replacen('"', "”", 1).into_bytes(), "U+201D is a typographic quotation mark; write `\"`"),
        (json.replacen(": ", ":\u{a0}", 1).into_bytes(), "U+00A0 is not the ordinary space"),
        (format!("{json}\0").into_bytes(), "U+0000 is a control character"),
        (json.replacen("##", "# #", 1).into_bytes(), "has 17 characters, not 16"),
    ] {
        fs::write(&path, &content).unwrap();
        let (code, printed) = floorctl(&["validate".as_ref(), path.as_os_str()]);
        let is_right = printed.contains(part) && (code == Some(0)) == (part == "every rule holds");
        assert!(is_right, "{part}: {code:?} {printed}\n{}", String::from_utf8_lossy(&content));
    }
}
