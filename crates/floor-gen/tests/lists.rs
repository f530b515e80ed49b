//! Checks that the viewer and docs/generator.md know every kind.

use std::{fs, path::Path};

use floor_gen::Kind;

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The viewer finds the name of a kind by its number.
#[test]
fn the_viewer_lists_the_kinds_in_the_order_of_their_numbers() {
    let names = Kind::ALL.map(|kind| format!("\"{kind}\"")).join(", ");
    for (path, list) in [
        ("web/src/floor.ts", format!("export const KINDS = [\"scheduled\", {names}];")),
        ("web/tests/viewer.mjs", format!("const KINDS = [{names}];")),
    ] {
        assert!(read(path).contains(&list), "{path} lacks the line {list}");
    }
    assert!(Kind::ALL.iter().zip(1..).all(|(kind, number)| *kind as u32 == number), "a gap in the numbers");
}

#[test]
fn the_manual_describes_and_shows_every_kind() {
    const MANUAL: &str = "docs/generator.md";
    let manual = read(MANUAL);
    for kind in Kind::ALL {
        let (name, picture) = (kind.name().to_uppercase(), format!("generator/{kind}.png"));
        for part in [format!("\n| {name} | "), format!("![{name}]({picture}) {name}")] {
            assert!(manual.contains(&part), "{MANUAL} lacks {part}");
        }
        let picture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(picture);
        assert!(picture.is_file(), "the example gallery has not written {}", picture.display());
    }
}
