//! The error of an invalid condition.

use std::ops::Range;

/// An error message and its byte range in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ParseError {
    pub(super) span: Range<usize>,
    pub(super) message: String,
}

impl ParseError {
    pub(super) fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { span, message: message.into() }
    }

    /// The message, the text, and carets under the range.
    pub(super) fn render(&self, text: &str) -> String {
        let characters = |range: Range<usize>| text.get(range).map_or(0, |part| part.chars().count());
        let column = characters(0..self.span.start);
        let carets = characters(self.span.clone()).max(1);
        let Self { message, .. } = self;
        // A line break in the text would misalign the carets.
        let text = text.replace(char::is_control, " ");
        format!("column {}: {message}\n\n  {text}\n  {:column$}{:^<carets$}", column + 1, "", "")
    }
}
