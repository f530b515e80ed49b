//! Writes JSON in a layout that is readable for people and programs.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Formatter;

/// Writes a document with one line for each field of the outer object and for each element of the lists in it. Deeper
/// values stay on one line: a floor's rows are aligned, and a room takes one line.
///
/// # Errors
/// As of `out`.
pub fn write(out: &mut (impl Write + ?Sized), document: &impl Serialize) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(&mut *out, ShallowFormatter::default());
    document.serialize(&mut serializer)?;
    out.write_all(b"\n")
}

/// Writes a document on one line.
///
/// # Errors
/// As of `out`.
pub fn write_line(out: &mut (impl Write + ?Sized), document: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, document)?;
    out.write_all(b"\n")
}

/// Breaks lines only in the outer object and in the lists directly in it.
#[derive(Default)]
struct ShallowFormatter {
    /// For each open list or object, outermost first: whether each value is on its own line.
    multiline: Vec<bool>,
    /// Whether the innermost one has a value yet.
    has_values: bool,
}

impl ShallowFormatter {
    fn begin<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8], multiline: bool) -> io::Result<()> {
        self.multiline.push(multiline);
        self.has_values = false;
        out.write_all(bracket)
    }

    fn separate<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.has_values = true;
        let multiline = self.multiline.last() == Some(&true);
        match (multiline, first) {
            (true, true) => self.new_line(out),
            (true, false) => out.write_all(b",").and_then(|()| self.new_line(out)),
            (false, true) => Ok(()),
            (false, false) => out.write_all(b", "),
        }
    }

    fn end<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        let multiline = self.multiline.pop() == Some(true);
        if multiline && self.has_values {
            self.new_line(out)?;
        }
        // The list or object that holds this one.
        self.has_values = true;
        out.write_all(bracket)
    }

    fn new_line<W: ?Sized + Write>(&self, out: &mut W) -> io::Result<()> {
        write!(out, "\n{:1$}", "", 2 * self.multiline.len())
    }
}

impl Formatter for ShallowFormatter {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        let multiline = self.multiline.len() <= 1 && self.multiline.iter().all(|multiline| *multiline);
        self.begin(out, b"[", multiline)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.separate(out, first)
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"]")
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        let multiline = self.multiline.is_empty();
        self.begin(out, b"{", multiline)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.separate(out, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.end(out, b"}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_outer_levels_span_lines() {
        let document = json!({"a": {"b": [1, 2]}, "c": [{"d": []}, [3, 4]], "e": [], "f": {}});
        let mut out = Vec::new();
        write(&mut out, &document).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(
            text,
            "{\n  \"a\": {\"b\": [1, 2]},\n  \"c\": [\n    {\"d\": []},\n    [3, 4]\n  ],\n  \"e\": [],\n  \"f\": {}\n}\n"
        );
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), document);
    }
}
