//! Tables in Markdown, for the reports of all commands.

use comfy_table::{Table, presets::ASCII_MARKDOWN};

/// An empty table with `header`.
pub fn table<H: Into<String>>(header: impl IntoIterator<Item = H>) -> Table {
    let mut table = Table::new();
    table.load_preset(ASCII_MARKDOWN).set_header(header.into_iter().map(Into::into).collect::<Vec<String>>());
    table
}
