//! The files of a pack: their canonical form, their hash and their limits.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use floor_gen::pack::Files;

fn files(list: &[(&str, &str)]) -> Files {
    let mut files = Files::new();
    for (path, content) in list {
        files.insert(path, content.as_bytes()).unwrap();
    }
    files
}

#[test]
fn the_hash_depends_on_paths_and_text_alone() {
    let one = files(&[("pack.toml", "a = 1\n"), ("vaults/b.txt", "x\ny\n")]);
    let other = files(&[("vaults/b.txt", "\u{feff}x\r\ny"), ("pack.toml", "a = 1")]);
    assert_eq!((one.hash(), one.to_bytes()), (other.hash(), other.to_bytes()));
    assert_ne!(one.hash(), files(&[("pack.toml", "a = 1\n"), ("vaults/c.txt", "x\ny\n")]).hash());
    assert_eq!(Files::from_bytes(&one.to_bytes()), Ok(one));
}

#[test]
fn no_prefix_and_no_changed_order_is_a_pack() {
    let bytes = files(&[("a.txt", "x"), ("b.bin", "y\r\n")]).to_bytes();
    for end in 0..bytes.len() {
        // A cut after a whole file leaves a pack with fewer files.
        let is_whole = bytes[..end].ends_with(b"x\n\n") || end == b"floorpack 1\n".len();
        assert_eq!(Files::from_bytes(&bytes[..end]).is_ok(), is_whole, "{end}");
    }
    let swapped = b"floorpack 1\nfile b.txt 2\nx\n\nfile a.txt 2\nx\n\n";
    assert_eq!(Files::from_bytes(swapped).unwrap_err().what, "files are out of order, or text is not normalised");
    Files::from_bytes(b"floorpack 1\nfile a.txt 18446744073709551615\nx").unwrap_err();
}

/// A row for each thing that editors, systems and archivers do to the files of a pack.
#[test]
fn what_editors_add_to_a_file_is_taken_as_meant_or_refused() {
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
    for (path, content, expected) in [
        ("a.txt", b"\xef\xbb\xbfa\r\nb".to_vec(), Ok("a\nb\n")),
        ("a.toml", b"a = 1 \t\n".to_vec(), Ok("a = 1 \t\n")),
        ("a.toml", [b"\xff\xfe".to_vec(), utf16("a = 1\n")].concat(), Err("the text is UTF-16; save it as UTF-8")),
        ("a.toml", utf16("a = 1\n"), Err("the text is UTF-16; save it as UTF-8")),
        ("a.json", b"{\"\xfc\": 1}".to_vec(), Err("byte 2 is not UTF-8")),
        (
            "b\u{e4}r.txt",
            Vec::new(),
            Err("ASCII letters, digits, `.`, `_` and `-`, with `/` between its parts, and not U+00E4"),
        ),
        ("ba\u{308}r.txt", Vec::new(), Err(", and not U+0308")),
        ("well (1).txt", Vec::new(), Err(", and not U+0020")),
        ("we\u{200b}ll.txt", Vec::new(), Err(", and not U+200B")),
        ("vaults\\well.txt", Vec::new(), Err(", and not U+005C")),
    ] {
        let mut files = Files::new();
        match (files.insert(path, &content).map(|()| files.get(path).unwrap()), expected) {
            (Ok(read), expected) => assert_eq!(Ok(str::from_utf8(read).unwrap()), expected, "{path}"),
            (Err(error), expected) => assert!(error.what.contains(expected.unwrap_err()), "{path}: {error}"),
        }
    }
    let pack = files(&[("a.txt", "x")]).to_bytes();
    let text = String::from_utf8(pack).unwrap();
    for (bytes, expected) in [
        (b"PK\x03\x04rest".to_vec(), "it is a ZIP archive; unpack it"),
        (b"\x1f\x8brest".to_vec(), "it is a gzip archive; unpack it"),
        (format!("\u{feff}{text}").into_bytes(), "it was changed as a text"),
        (text.replace('\n', "\r\n").into_bytes(), "it was changed as a text"),
        (b"name = \"mine\"\n".to_vec(), "a pack begins with the line `floorpack 1`"),
    ] {
        let error = Files::from_bytes(&bytes).unwrap_err();
        assert!(error.what.contains(expected), "{error}");
    }
}

#[test]
fn limits_and_paths_are_checked() {
    let mut files = Files::new();
    for path in [
        "",
        "/a",
        "a/",
        "a//b",
        "../a",
        "a/..",
        ".hidden",
        "a\\b",
        "-a",
        "a b",
        "ä.txt",
        "a.",
        "nul",
        "vaults/Aux.txt",
        "com1/a",
        &"a".repeat(129),
    ] {
        assert!(files.insert(path, b"").is_err(), "{path:?}");
    }
    assert_eq!(files.insert("a.toml", &[b'a', 0xFF]).unwrap_err().what, "byte 1 is not UTF-8");
    // The canonical form also has its first line, a line for the file and a line feed behind it.
    let largest = Files::MAX_BYTES - "floorpack 1\n".len() - "file big.bin 4193246\n".len() - 1;
    let too_large = files.insert("big.bin", &vec![0; largest + 1]).unwrap_err();
    assert!(too_large.what.contains("at most 4193280 bytes"), "{too_large}");
    files.insert("big.bin", &vec![0; largest]).unwrap();
    assert_eq!((files.to_bytes().len(), files.get("big.bin").unwrap().len()), (Files::MAX_BYTES, 4_193_246));
    assert!(files.insert("m", b"").unwrap_err().what.contains("at most 4193280 bytes"));
    assert!(files.insert("big.bin", b"").unwrap_err().what.contains("twice"));
    let mut many = Files::new();
    for number in 0..Files::MAX_FILES {
        many.insert(&format!("{number}"), b"").unwrap();
    }
    assert!(many.insert("one-more", b"").unwrap_err().what.contains("at most 2000 files"));
}
