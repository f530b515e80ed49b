//! Text from elsewhere on a terminal: what could move its cursor, change its settings or reorder its text is shown as an
//! escape.
//!
//! The escapes are those of JSON, so that a document which is written through [`Escaped`] stays the same document.

use std::{
    borrow::Cow,
    fmt::Write as _,
    io::{self, Write},
};

/// Whether a terminal acts on the character instead of showing it: control characters but tab and line feed, and those
/// that break lines or reorder text (Unicode TR 9 and TR 36).
#[must_use]
pub fn is_unprintable(character: char) -> bool {
    (character.is_control() && !matches!(character, '\t' | '\n'))
        || matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text with an escape such as `\u001b` for each character that is [unprintable](is_unprintable).
#[must_use]
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unprintable) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_unprintable(character) {
            let _ = write!(out, "\\u{:04x}", u32::from(character));
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

/// The text as HTML, also between double quotes.
#[must_use]
pub fn in_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A writer that [escapes](escaped) the text that is written to it. What is no UTF-8 becomes U+FFFD.
#[derive(Debug)]
pub struct Escaped<W>(W);

impl<W: Write> Escaped<W> {
    /// A writer to `inner`.
    pub const fn new(inner: W) -> Self {
        Self(inner)
    }

    /// The inner writer, for drawings that escape the names in them and have colours of their own.
    pub const fn drawing(&mut self) -> &mut W {
        &mut self.0
    }
}

impl<W: Write> Write for Escaped<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(escaped(&String::from_utf8_lossy(bytes)).as_bytes())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_acts_on_is_shown() {
        assert_eq!(
            escaped("\u{1b}[2J\r\u{7f}\u{9b}31m\u{202e}\u{0}"),
            "\\u001b[2J\\u000d\\u007f\\u009b31m\\u202e\\u0000"
        );
        for plain in ["", "tower\tof\nbone", "größe 塔 — é", "C:\\u001b"] {
            assert!(matches!(escaped(plain), Cow::Borrowed(same) if same == plain), "{plain:?}");
        }
    }

    /// serde leaves DEL, C1 and the bidirectional controls as they are.
    #[test]
    fn a_json_document_stays_the_same() {
        let document = serde_json::json!({ "all": ('\0'..='\u{2100}').collect::<String>(), "\u{9b}": ["\u{202e}"] });
        let mut out = Vec::new();
        serde_json::to_writer(Escaped::new(&mut out), &document).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(!text.contains(is_unprintable));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), document);
    }

    #[test]
    fn the_writer_escapes_text_and_not_its_own_drawings() {
        let mut out = Escaped::new(Vec::new());
        write!(out, "a\x1bb").unwrap();
        out.write_all(b"\x9b").unwrap();
        out.drawing().write_all(b"\x1b[0m").unwrap();
        assert_eq!(out.0, "a\\u001bb\u{fffd}\x1b[0m".as_bytes());
    }
}
