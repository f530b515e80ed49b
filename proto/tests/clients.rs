//! Checks that the clients of all languages, and docs/protocol.md, have what the .proto has.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::{collections::BTreeSet, fs, path::Path};

use floor_proto::rpc::Rpc;
use prost::Message as _;
use prost_types::{FileDescriptorProto, FileDescriptorSet};

/// The generated code of each language.
const GENERATED: [(&str, &[&str]); 2] = [
    (
        "clients/go/generate",
        &["clients/go/floorsv1/floors.pb.go", "clients/go/floorsv1/floorsv1connect/floors.connect.go"],
    ),
    ("clients/typescript/generate", &["clients/typescript/src/gen/floors/v1/floors_pb.ts"]),
];

/// How a file spells a value of an enum, given its prefix, name and number.
type Spelling = fn(&str, &str, i32) -> String;

/// The files with enums that are written by hand.
const BY_HAND: [(&str, Spelling); 6] = [
    ("clients/c/floor_gen.h", |prefix, name, number| format!("FLOOR_GEN_{prefix}{name} = {number}")),
    ("clients/csharp/Floor.cs", |_, name, _| name.to_owned()),
    ("clients/godot/floor_codec.gd", |_, name, _| name.to_owned()),
    ("clients/python/src/floors/spec.py", |_, name, number| format!("{name} = {number}")),
    ("clients/typescript-gen/src/floor-gen.ts", |_, name, _| name.to_owned()),
    ("web/src/floor.ts", |_, name, _| name.to_owned()),
];

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn words(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).collect()
}

/// The names of everything in the .proto.
fn names(file: &FileDescriptorProto) -> impl Iterator<Item = &str> {
    let messages = file.message_type.iter().flat_map(|message| {
        [message.name()].into_iter().chain(message.field.iter().map(prost_types::FieldDescriptorProto::name))
    });
    let values = file.enum_type.iter().flat_map(|kind| kind.value.iter().map(|value| value.name()));
    let methods = file.service.iter().flat_map(|service| service.method.iter().map(|method| method.name()));
    messages.chain(values).chain(methods)
}

#[test]
fn generated_code_has_every_name_of_the_proto() {
    let set = FileDescriptorSet::decode(floor_proto::FILE_DESCRIPTOR_SET).unwrap();
    let file = set.file.iter().find(|file| file.package() == "floors.v1").unwrap();
    for (generate, paths) in GENERATED {
        let text: String = paths.iter().copied().map(read).collect();
        let known = words(&text);
        let missing: Vec<_> = names(file).filter(|name| !known.contains(name)).collect();
        assert!(missing.is_empty(), "run {generate}: it has not written {missing:?}");
    }
}

/// Letters and digits in lower case, without the comments of C.
fn plain(text: &str) -> String {
    let text = text.split("/*").map(|part| part.split_once("*/").map_or(part, |(_, rest)| rest)).collect::<String>();
    text.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

#[test]
fn enums_written_by_hand_have_the_values_of_the_proto() {
    let set = FileDescriptorSet::decode(floor_proto::FILE_DESCRIPTOR_SET).unwrap();
    let file = set.file.iter().find(|file| file.package() == "floors.v1").unwrap();
    for (path, spelling) in BY_HAND {
        let text = plain(&read(path));
        for kind in file.enum_type.iter().filter(|kind| kind.name() != "GridEncoding") {
            let prefix = kind.value[0].name().trim_end_matches("UNSPECIFIED");
            let values = kind.value[1..].iter();
            let all = values.map(|value| spelling(prefix, &value.name()[prefix.len()..], value.number()));
            let all = all.collect::<Vec<_>>().join(", ");
            assert!(text.contains(&plain(&all)), "the enum {} of {path} is not {all}", kind.name());
        }
    }
}

#[test]
fn every_client_calls_every_rpc() {
    let constants = read("clients/python/src/floors/calls.py");
    for rpc in Rpc::ALL.map(Rpc::name) {
        let lower = format!("{}{}", rpc[..1].to_lowercase(), &rpc[1..]);
        let constant = constants.lines().find_map(|line| line.strip_suffix(&format!(" = \"{rpc}\"")));
        let python = format!("calls.{}", constant.unwrap_or_else(|| panic!("calls.py does not name {rpc}")));
        // Both clients make the calls of a climb by one file.
        let is_climb = matches!(rpc, "StartClimb" | "SubmitFloor");
        let python_client = |own| if is_climb { "clients/python/src/floors/climb.py" } else { own };
        for (client, call) in [
            ("crates/floor-client/src/client.rs", format!("Rpc::{rpc}")),
            (
                match rpc {
                    "StreamFloors" => "clients/go/stream.go",
                    "SearchFloors" => "clients/go/search.go",
                    _ => "clients/go/client.go",
                },
                format!(".rpc.{rpc}"),
            ),
            (python_client("clients/python/src/floors/aio.py"), python.clone()),
            (python_client("clients/python/src/floors/client.py"), python),
            ("clients/typescript/src/client.ts", format!("this.#rpc.{lower}")),
        ] {
            assert!(read(client).contains(&call), "{client} does not call {rpc}: it lacks {call}");
        }
    }
}

#[test]
fn the_protocol_describes_every_rpc() {
    let page = read("docs/protocol.md");
    for rpc in Rpc::ALL.map(Rpc::name) {
        let row = format!("\n| `{rpc}` | ");
        assert!(page.contains(&row), "docs/protocol.md has no row for {rpc} under The services");
    }
}
