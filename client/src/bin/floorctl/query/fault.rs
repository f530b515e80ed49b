//! What is wrong with a condition, and where.

use std::ops::Range;

/// A fault at a place of the text, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) at: Range<usize>,
    pub(super) what: String,
}

impl Fault {
    pub(super) fn new(at: Range<usize>, what: impl Into<String>) -> Self {
        Self { at, what: what.into() }
    }

    /// The fault in words, the text, and carets under the place.
    pub(super) fn shown_in(&self, text: &str) -> String {
        let characters = |range: Range<usize>| text.get(range).map_or(0, |part| part.chars().count());
        let column = characters(0..self.at.start);
        let carets = characters(self.at.clone()).max(1);
        let Self { what, .. } = self;
        // A line break in the text would tear the carets off their place.
        let text = text.replace(char::is_control, " ");
        format!("column {}: {what}\n\n  {text}\n  {:column$}{:^<carets$}", column + 1, "", "")
    }
}
