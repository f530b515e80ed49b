//! Runs `floorctl pack` on good and on broken packs.

#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::{Command, Output, Stdio},
};

use floor_gen::pack::Files;
use serde_json::Value;

/// Runs floorctl in a folder: the exit code, standard output and standard error.
fn floorctl(dir: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_floorctl"));
    let Output { status, stdout, stderr } = command.current_dir(dir).args(arguments).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// Standard output of a command that succeeds.
fn run(dir: &Path, arguments: &[&str]) -> String {
    let (code, stdout, stderr) = floorctl(dir, arguments);
    assert_eq!(code, Some(0), "{arguments:?}: {stdout}{stderr}");
    stdout
}

fn json(dir: &Path, arguments: &[&str]) -> (Option<i32>, Value) {
    let (code, stdout, stderr) = floorctl(dir, arguments);
    (code, serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}")))
}

/// A folder with a new pack, `mine`.
fn with_new_pack() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    run(dir.path(), &["pack", "new", "mine"]);
    dir
}

/// A folder with a pack, `bad`, that has errors in its values and in a vault.
fn with_broken_pack() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("bad/vaults")).unwrap();
    let text = "name = \"bad\"\n\n[rooms]\nleast = 9999\ntriez = 3\n\n[kinds.cavrn.lakes]\namount = 2000\n";
    fs::write(dir.path().join("bad/pack.toml"), text).unwrap();
    fs::write(dir.path().join("bad/vaults/pit.txt"), "name: pit\nmap:\n#####\n#.?.@\n#####\n").unwrap();
    dir
}

#[test]
fn a_new_pack_has_no_errors_and_its_vault_is_on_floors() {
    let dir = with_new_pack();
    let (code, report) = json(dir.path(), &["pack", "check", "mine", "--floors", "200", "--json"]);
    assert_eq!((code, &report["valid"], &report["brokenFloors"]), (Some(0), &true.into(), &Value::Array(vec![])));
    assert!(report["pack"].as_str().unwrap().starts_with("mine@"));
    let kinds = report["kinds"].as_array().unwrap();
    assert_eq!(kinds.len(), 9);
    assert!(kinds.iter().all(|kind| kind["floors"] == 200 && kind["medianUs"].as_f64() > Some(0.0)), "{kinds:?}");
    let vaults = report["vaults"].as_array().unwrap();
    let well = vaults.iter().find(|vault| vault["vault"] == "mine well").unwrap();
    assert!(well["floors"].as_u64() > Some(0), "{well}");

    let schema = fs::read_to_string(dir.path().join("mine/.pack.schema.json")).unwrap();
    assert_eq!(schema.trim_end(), run(dir.path(), &["pack", "schema"]).trim_end());
    let properties: Value = serde_json::from_str(&schema).unwrap();
    assert!(properties["properties"]["kinds"].is_object() && properties["properties"]["rooms"].is_object());

    let (code, stdout, stderr) = floorctl(dir.path(), &["pack", "new", "mine"]);
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert!(stderr.contains("mine/pack.toml is there already; name another folder"), "{stderr}");
}

#[test]
fn what_editors_leave_in_a_folder_is_named_and_changes_no_hash() {
    let dir = with_new_pack();
    let version = run(dir.path(), &["pack", "build", "mine"]);
    fs::write(dir.path().join("mine/vaults/well.txt~"), "old").unwrap();
    fs::write(dir.path().join("mine/Thumbs.db"), [0]).unwrap();
    for command in [&["pack", "build", "mine"][..], &["pack", "check", "mine", "--floors", "0"]] {
        let (code, stdout, stderr) = floorctl(dir.path(), command);
        assert_eq!(code, Some(0), "{stderr}");
        assert!(stdout.contains(version.trim()), "{stdout}");
        assert!(stderr.contains("skipped 2 files that are no part of a pack: Thumbs.db, vaults/well.txt~"), "{stderr}");
    }
}

#[test]
fn a_pack_needs_a_name() {
    let dir = tempfile::tempdir().unwrap();
    for (name, expected) in [("Mine", "a name is a letter"), ("tower", "the built-in pack has this name")] {
        let (code, _, stderr) = floorctl(dir.path(), &["pack", "new", name]);
        assert_eq!(code, Some(2));
        assert!(stderr.contains(expected), "{stderr}");
    }
    let (code, _, stderr) = floorctl(dir.path(), &["pack", "check", "nowhere"]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("there is no such folder and no such file"), "{stderr}");
}

#[test]
fn the_built_in_pack_can_be_drawn_and_checked_by_name_and_as_a_copy() {
    let dir = tempfile::tempdir().unwrap();
    run(dir.path(), &["pack", "unpack", "tower", "copy"]);
    let draw = |pack| {
        run(dir.path(), &["pack", "show", pack, "--kind", "cavern", "--size", "16x16", "--scale", "1", "-o", pack]);
        fs::read(dir.path().join(pack).join("tower-cavern.png")).unwrap()
    };
    assert_eq!(draw("tower"), draw("copy"));
    fs::remove_dir_all(dir.path().join("tower")).unwrap();
    // Of a picture in its folder it is no copy any more.
    fs::remove_file(dir.path().join("copy/tower-cavern.png")).unwrap();
    for pack in ["tower", "copy"] {
        let (code, report) = json(dir.path(), &["pack", "check", pack, "--floors", "0", "--json"]);
        assert_eq!((code, &report["valid"], &report["pack"]), (Some(0), &true.into(), &"tower".into()), "{pack}");
    }
    let manifest = dir.path().join("copy/pack.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, format!("{text}# mine\n")).unwrap();
    draw("copy");
    for command in ["check", "build"] {
        let (code, stdout, stderr) = floorctl(dir.path(), &["pack", command, "copy"]);
        assert_eq!(code, Some(1), "{command}: a server has a pack of that name");
        assert!(format!("{stdout}{stderr}").contains("the name tower is taken by the built-in pack; choose another"));
    }
    fs::write(&manifest, text.replace("name = \"tower\"", "name = \"mine\"")).unwrap();
    assert!(run(dir.path(), &["pack", "build", "copy"]).starts_with("mine@"));
}

#[test]
fn a_frozen_pack_says_which_server_it_needs() {
    let dir = tempfile::tempdir().unwrap();
    let (code, _, stderr) = floorctl(dir.path(), &["pack", "freeze", "tower", "-o", "tower-now.floorpack"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("--features modules"), "{stderr}");
    let (code, stdout, _) = floorctl(dir.path(), &["pack", "check", "tower-now.floorpack", "--floors", "1"]);
    if cfg!(feature = "modules") {
        assert_eq!(code, Some(0), "{stdout}");
    } else {
        assert_eq!((code, stdout.contains("--features modules")), (Some(1), true), "{stdout}");
    }
}

#[test]
fn every_error_is_shown_at_its_place() {
    let dir = with_broken_pack();
    let (code, stdout, stderr) = floorctl(dir.path(), &["pack", "check", "bad"]);
    assert_eq!(code, Some(1), "{stderr}");
    insta::assert_snapshot!(stdout);
    let (code, report) = json(dir.path(), &["pack", "check", "bad", "--json"]);
    assert_eq!((code, &report["valid"], &report["pack"]), (Some(1), &false.into(), &Value::Null));
    let errors = report["errors"].as_array().unwrap();
    let first = &errors[0];
    assert_eq!((&first["file"], &first["line"]), (&"pack.toml".into(), &4.into()));
    assert!(first["column"].as_u64() > Some(0), "{first}");
    // Commands that need a pack without errors say the same.
    for command in ["build", "show", "diff"] {
        let more: &[&str] = if command == "diff" { &["tower"] } else { &[] };
        let (code, _, stderr) = floorctl(dir.path(), &[&["pack", command, "bad"], more].concat());
        assert_eq!(code, Some(1));
        assert_eq!(stderr.trim_end(), format!("error: {}", stdout.trim_end()), "{command}");
    }
}

#[test]
fn what_no_floor_uses_is_listed() {
    let dir = with_new_pack();
    let manifest = dir.path().join("mine/pack.toml");
    let mut text = fs::read_to_string(&manifest).unwrap();
    text += "\n[items]\nplain = [\"gold\", { name = \"unicorn\", from = 999999 }]\n";
    fs::write(&manifest, text).unwrap();
    let (_, report) = json(dir.path(), &["pack", "check", "mine", "--floors", "20", "--json"]);
    let unused = report["unused"].as_array().unwrap();
    let items = unused.iter().find(|unused| unused["what"] == "items").unwrap();
    assert_eq!(items["names"], serde_json::json!(["unicorn"]));
}

#[test]
fn a_built_pack_depends_on_nothing_but_its_text() {
    let dir = with_new_pack();
    let reference = run(dir.path(), &["pack", "build", "mine"]);
    let bytes = fs::read(dir.path().join("mine.floorpack")).unwrap();
    assert!(Files::from_bytes(&bytes).is_ok());
    // The same files, written in another order, with the line ends of another system.
    let other = dir.path().join("other");
    fs::create_dir_all(other.join("vaults")).unwrap();
    for path in ["vaults/well.txt", "pack.toml"] {
        let text = fs::read_to_string(dir.path().join("mine").join(path)).unwrap();
        fs::write(other.join(path), format!("\u{feff}{}", text.trim_end().replace('\n', "\r\n"))).unwrap();
    }
    fs::write(other.join(".hidden"), "left out").unwrap();
    assert_eq!(run(dir.path(), &["pack", "build", "other", "--output", "other.floorpack"]), reference);
    assert_eq!(fs::read(dir.path().join("other.floorpack")).unwrap(), bytes);

    let kept = run(dir.path(), &["pack", "build", "mine.floorpack", "--keep", "--output", "other"]);
    assert_eq!(fs::read(other.join(format!("{}.floorpack", kept.trim_end()))).unwrap(), bytes);
    run(dir.path(), &["pack", "unpack", "mine.floorpack", "again"]);
    assert!(run(dir.path(), &["pack", "diff", "mine", "again"]).contains("the packs have the same files: mine@"));
    let (code, _, stderr) = floorctl(dir.path(), &["pack", "unpack", "mine.floorpack", "again"]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("again is not empty"), "{stderr}");
    for (output, expected) in [("a.zip", "does not end in .floorpack"), ("nowhere/", "is no folder")] {
        let (code, _, stderr) = floorctl(dir.path(), &["pack", "build", "mine", "--output", output]);
        assert_eq!(code, Some(2));
        assert!(stderr.contains(expected), "{stderr}");
    }
}

#[test]
fn a_difference_is_shown_by_file_by_key_and_by_floors() {
    let dir = with_new_pack();
    run(dir.path(), &["pack", "build", "mine"]);
    let manifest = dir.path().join("mine/pack.toml");
    let text = fs::read_to_string(&manifest).unwrap() + "\n[kinds.cavern.lakes]\namount = 0\n";
    fs::write(&manifest, text).unwrap();
    fs::remove_file(dir.path().join("mine/vaults/well.txt")).unwrap();
    let (code, report) = json(dir.path(), &["pack", "diff", "mine.floorpack", "mine", "--floors", "20", "--json"]);
    assert_eq!((code, &report["equal"]), (Some(1), &false.into()));
    let files = serde_json::json!([
        { "path": "pack.toml", "change": "changed" },
        { "path": "vaults/well.txt", "change": "removed" },
    ]);
    assert_eq!(report["files"], files);
    let values = serde_json::json!([{ "key": "kinds.cavern.lakes.amount", "a": "2000", "b": "0" }]);
    assert_eq!(report["values"], values);
    let changed = |kind: &str| {
        let floors = report["floors"].as_array().unwrap();
        floors.iter().find(|floors| floors["kind"] == kind).unwrap()["changed"].as_u64().unwrap()
    };
    assert!(changed("cavern") > 0 && changed("event") > 0, "{report}");
    assert_eq!((changed("maze"), changed("story")), (0, 0), "{report}");
    let (_, report) = json(dir.path(), &["pack", "diff", "tower", "mine", "--floors", "0", "--json"]);
    let keys = report["values"].as_array().unwrap().iter().map(|value| value["key"].as_str().unwrap());
    assert_eq!(keys.collect::<Vec<_>>(), ["description", "kinds.cavern.lakes.amount", "name"]);
    assert_eq!(report["files"], serde_json::json!([{ "path": "pack.toml", "change": "added" }]));
    let (_, stdout, _) = floorctl(dir.path(), &["pack", "diff", "mine.floorpack", "mine", "--floors", "2"]);
    for expected in ["  ~ pack.toml\n", "  - vaults/well.txt\n", "  kinds.cavern.lakes.amount: 2000 -> 0\n"] {
        assert!(stdout.contains(expected), "{stdout}");
    }
}

#[test]
fn a_sheet_is_a_picture_of_16_floors() {
    let dir = with_new_pack();
    let manifest = dir.path().join("mine/pack.toml");
    let text = fs::read_to_string(&manifest).unwrap() + "\n[schedule]\nwidth = 40\nheight = 30\n";
    fs::write(&manifest, text).unwrap();
    let sheet = |arguments: &[&str], path: &str| {
        run(dir.path(), &[&["pack", "show", "mine", "--output", "out"], arguments].concat());
        let file = fs::File::open(dir.path().join("out").join(path)).unwrap();
        let info = png::Decoder::new(BufReader::new(file)).read_info().unwrap();
        (info.info().width, info.info().height)
    };
    let of = |width: u32, height: u32, side: u32| (4 * (width * side + 8) + 8, 28 + 4 * (height * side + 14 + 8));
    assert_eq!(sheet(&["--kind", "maze", "--size", "32x24", "--scale", "5"], "mine-maze.png"), of(32, 24, 5));
    assert_eq!(sheet(&["--kind", "maze"], "mine-maze.png"), of(40, 30, 6), "of the size of the pack");
    assert_eq!(sheet(&["--seed", "42", "--number", "7"], "mine-42.png"), of(40, 30, 6));
    assert_eq!(sheet(&["--seed", "42", "--kind", "boss", "--size", "200x100"], "mine-42-boss.png"), of(200, 100, 3));
}

#[test]
fn commands_without_a_server_take_a_pack_of_this_machine() {
    let dir = with_new_pack();
    let manifest = dir.path().join("mine/pack.toml");
    let text = fs::read_to_string(&manifest).unwrap() + "\n[items]\nplain = [\"acorn\"]\nfine = [\"acorn\"]\n";
    fs::write(&manifest, text).unwrap();
    run(dir.path(), &["pack", "build", "mine"]);
    let get = |pack: &str| run(dir.path(), &["get", "42/7:maze@48x48", "--pack", pack]);
    let floor = get("mine");
    let json: Value = serde_json::from_str(&floor).unwrap();
    let archetypes = json["items"].as_array().unwrap().iter().map(|item| item["archetype"].as_str().unwrap());
    assert!(
        archetypes.clone().any(|name| name == "acorn") && !archetypes.clone().any(|name| name == "gold"),
        "{floor}"
    );
    assert!(json["spec"]["pack"].as_str().unwrap().starts_with("mine@"), "{floor}");
    assert_eq!(get("./mine.floorpack"), floor);
    assert!(run(dir.path(), &["render", "42/7:maze@48x48", "--pack", "mine", "--plain"]).contains("acorn"));
    assert!(run(dir.path(), &["validate", "42/7:maze@48x48", "--pack", "mine"]).contains("every rule holds"));
    assert!(run(dir.path(), &["explain", "42/7:maze@48x48", "--pack", "mine"]).contains("every rule holds"));
    let exported = run(dir.path(), &["export", "42/7:maze@48x48", "--pack", "mine", "--to", "json"]);
    assert_eq!(serde_json::from_str::<Value>(&exported).unwrap()["items"], json["items"]);
    run(dir.path(), &["search", "--pack", "mine", "--where", "items > 3", "--limit", "1"]);

    // The floor becomes an authored one, under its own number in every tower.
    fs::create_dir(dir.path().join("mine/floors")).unwrap();
    fs::write(dir.path().join("mine/floors/12.json"), &exported).unwrap();
    let authored: Value = serde_json::from_str(&run(dir.path(), &["get", "1/12", "--pack", "mine"])).unwrap();
    assert_eq!((&authored["terrain"], &authored["items"]), (&json["terrain"], &json["items"]));
    assert!(run(dir.path(), &["pack", "check", "mine", "--floors", "1"]).contains("no errors in 1 authored floor"));
    let items = format!("kind == maze && width == 48 && items == {}", json["items"].as_array().unwrap().len());
    let found = run(dir.path(), &["search", "--seed", "1", "--numbers", "12", "--pack", "mine", "--where", &items]);
    assert!(found.starts_with("1/12:maze@48x48"), "{found}");
    let (code, _, stderr) = floorctl(dir.path(), &["explain", "1/12", "--pack", "mine"]);
    assert!(code == Some(1) && stderr.contains("is authored"), "{stderr}");

    for (arguments, expected) in [
        (&["batch", "--numbers", "1", "--pack", "./mine"][..], "`batch` asks a server, which has packs by their names"),
        (&["render", "42/7", "--offline", "--pack", "other"], "name the folder or the .floorpack file"),
        (&["render", "42/7", "--pack", "Other"], "there is no such folder, and it names no pack"),
        (&["render", "42/7", "--pack", "./other"], "there is no such folder and no such file"),
    ] {
        let (code, _, stderr) = floorctl(dir.path(), arguments);
        assert!(code == Some(2) && stderr.contains(expected), "{arguments:?}: {stderr}");
    }
}

/// A request to the page of `pack watch`: the connection after the answer's head.
fn get(address: &str, path: &str) -> BufReader<TcpStream> {
    let mut socket = TcpStream::connect(address).unwrap();
    write!(socket, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").unwrap();
    BufReader::new(socket)
}

/// The next event of the page.
fn event(events: &mut BufReader<TcpStream>) -> Value {
    loop {
        let mut line = String::new();
        assert_ne!(events.read_line(&mut line).unwrap(), 0, "the events end");
        if let Some(data) = line.strip_prefix("data: ") {
            return serde_json::from_str(data).unwrap();
        }
    }
}

#[test]
fn the_page_follows_each_save() {
    let dir = with_new_pack();
    let mut command = Command::new(env!("CARGO_BIN_EXE_floorctl"));
    command.current_dir(dir.path()).args(["pack", "watch", "mine", "--size", "24x24"]);
    let mut watch = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(watch.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim_end().strip_prefix("http://").unwrap().trim_end_matches('/').to_owned();

    let mut events = get(&address, "/events");
    let first = event(&mut events);
    assert!(first["pack"].as_str().unwrap().starts_with("mine@") && first["errors"].is_null(), "{first}");
    // The status and the body.
    let answer = |path: &str| {
        let (mut head, mut body) = (String::new(), Vec::new());
        let mut answer = get(&address, path);
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(answer.read_line(&mut head).unwrap(), 0, "{head}");
        }
        answer.read_to_end(&mut body).unwrap();
        (head.split(' ').nth(1).unwrap().to_owned(), body)
    };
    let names = |path| serde_json::from_slice::<Vec<String>>(&answer(path).1).unwrap();
    let floors = names("/floors/*/7:event");
    assert!(floors.len() == 16 && floors.iter().all(|name| name.contains(":event@100x100")), "{floors:?}");
    assert_eq!(names("/floors/42/7:keep@48x40")[0], "42/7:keep@48x40");
    let (status, why) = answer("/floors/42/9@9x9");
    assert!(status == "400" && String::from_utf8(why).unwrap().contains("16 to 512 cells"));
    let drawn = || answer("/small/1%2F7:event@48x48").1;
    let before = drawn();
    assert!(before.starts_with(b"\x89PNG\r\n\x1a\n") && answer("/large/1/7:event@48x48").1.len() > before.len());
    let page = String::from_utf8(answer("/").1).unwrap();
    assert!(page.contains("value=\"24x24\"") && page.contains("<option>cavern") && page.contains(" --pack mine<"));

    let manifest = dir.path().join("mine/pack.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    // At once, as many editors save, so that no event shows a part of the file.
    let save = |text: String| {
        fs::write(dir.path().join("saved"), text).unwrap();
        fs::rename(dir.path().join("saved"), &manifest).unwrap();
    };
    save(format!("{text}\n[nonsense]\n"));
    let broken = event(&mut events);
    assert!(broken["errors"].as_str().unwrap().contains("nonsense"), "{broken}");
    assert!(broken["pack"] == first["pack"] && drawn() == before, "the floors of before stay");

    save(format!("{text}\n[kinds.event.rooms]\ncells = 2000\n"));
    let repaired = event(&mut events);
    assert!(repaired["errors"].is_null() && repaired["pack"] != first["pack"], "{repaired}");
    assert!(drawn() != before);

    let mut socket = TcpStream::connect(&address).unwrap();
    socket.write_all(b"GET / HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    watch.kill().unwrap();
    watch.wait().unwrap();
}
