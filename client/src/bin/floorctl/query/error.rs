//! What is wrong with a condition, and where.

use std::ops::Range;

/// A fault at a place of the text, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ParseError {
    pub(super) span: Range<usize>,
    pub(super) message: String,
}

impl ParseError {
    pub(super) fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { span, message: message.into() }
    }

    /// The fault in words, the text, and carets under the place.
    pub(super) fn render(&self, text: &str) -> String {
        let characters = |range: Range<usize>| text.get(range).map_or(0, |part| part.chars().count());
        let column = characters(0..self.span.start);
        let carets = characters(self.span.clone()).max(1);
        let Self { message, .. } = self;
        // A line break in the text would tear the carets off their place.
        let text = text.replace(char::is_control, " ");
        format!("column {}: {message}\n\n  {text}\n  {:column$}{:^<carets$}", column + 1, "", "")
    }
}
