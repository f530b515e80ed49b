//! Texts that come from outside: what editors put before them, and characters in them that are taken for others or not
//! seen at all.

/// The byte order mark that some editors write before UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// `bytes` without a byte order mark of UTF-8.
#[must_use]
pub fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(MARK).unwrap_or(bytes)
}

/// The text in the bytes of a file, without a byte order mark.
///
/// # Errors
/// If they are not UTF-8: what they are, and what to do. Follows the name of the file.
pub fn decode(bytes: &[u8]) -> Result<&str, String> {
    if is_utf16(bytes) {
        return Err("is UTF-16; save it as UTF-8".to_owned());
    }
    let text = without_mark(bytes);
    std::str::from_utf8(text).map_err(|error| {
        let line = 1 + text[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
        format!("is not UTF-8 in line {line}; save it as UTF-8")
    })
}

/// Whether `bytes` begin as text in UTF-16 does: with its byte order mark, or with an ASCII character.
#[must_use]
pub const fn is_utf16(bytes: &[u8]) -> bool {
    matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, 1..=127, ..] | [1..=127, 0, ..])
}

/// What a character is that people do not see, or take for another: its code, its name, and what to do. `None` for others.
#[must_use]
pub fn remark(character: char) -> Option<String> {
    let full_width;
    let (name, instead) = match character {
        '\u{feff}' => ("a byte order mark", ""),
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' => ("invisible", ""),
        '\t' => ("a tab", ""),
        '\r' => ("a carriage return", ""),
        control if control.is_control() => ("a control character", ""),
        ' ' => return None,
        space if space.is_whitespace() => ("not the ordinary space", " "),
        '\u{2018}'..='\u{201b}' => ("a typographic quotation mark", "'"),
        '\u{201c}'..='\u{201f}' | '«' | '»' => ("a typographic quotation mark", "\""),
        '\u{2010}'..='\u{2015}' | '\u{2212}' => ("a typographic dash", "-"),
        '\u{ff01}'..='\u{ff5e}' => {
            full_width = char::from_u32(u32::from(character) - 0xfee0)?.to_string();
            ("a full-width form", full_width.as_str())
        }
        _ => return None,
    };
    let advice = if instead.is_empty() { "remove it".to_owned() } else { format!("write `{instead}`") };
    Some(format!("U+{:04X} is {name}; {advice}", u32::from(character)))
}

/// The [`remark`] on the character of `text` at `byte`, or that `byte` is a part of.
#[must_use]
pub fn remark_at(text: &[u8], byte: usize) -> Option<String> {
    let start = (0..=byte.min(text.len())).rev().find(|&at| text.get(at).is_none_or(|byte| byte & 0xc0 != 0x80))?;
    remark(text.get(start..)?.utf8_chunks().next()?.valid().chars().next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_lose_their_mark_and_others_are_named() {
        assert_eq!(decode("\u{feff}a\r\n".as_bytes()), Ok("a\r\n"));
        assert_eq!(decode(b""), Ok(""));
        for utf16 in [&b"\xff\xfea\0"[..], b"\xfe\xff\0a", b"a\0b\0", b"\0a\0b"] {
            assert_eq!(decode(utf16).unwrap_err(), "is UTF-16; save it as UTF-8");
        }
        assert_eq!(decode(b"a\nb\n\xfcber").unwrap_err(), "is not UTF-8 in line 3; save it as UTF-8");
    }

    #[test]
    fn characters_that_people_do_not_see_or_take_for_others_have_a_remark() {
        for (character, expected) in [
            ('\u{feff}', "U+FEFF is a byte order mark; remove it"),
            ('\u{200b}', "U+200B is invisible; remove it"),
            ('\u{a0}', "U+00A0 is not the ordinary space; write ` `"),
            ('\0', "U+0000 is a control character; remove it"),
            ('“', "U+201C is a typographic quotation mark; write `\"`"),
            ('–', "U+2013 is a typographic dash; write `-`"),
            ('４', "U+FF14 is a full-width form; write `4`"),
        ] {
            assert_eq!(remark(character).as_deref(), Some(expected));
        }
        for ordinary in ['a', '"', ' ', 'é', '界', '❤'] {
            assert_eq!(remark(ordinary), None, "{ordinary}");
        }
        let text = "a“b".as_bytes();
        assert!((1..4).all(|byte| remark_at(text, byte).unwrap().starts_with("U+201C")));
        assert!([0, 4, 5, 9].into_iter().all(|byte| remark_at(text, byte).is_none()));
        assert_eq!(remark_at(b"\xff", 0), None);
    }
}
