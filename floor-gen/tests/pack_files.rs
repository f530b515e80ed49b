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
