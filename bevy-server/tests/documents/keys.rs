//! The table of configuration keys in docs/operating.md, which is made of the comments in `defaults.toml`.

use std::{env, fmt::Write as _, fs};

use bevy_server::config::DEFAULTS;

use crate::{PAGE, root};

/// With this variable in the environment, the test writes the table instead of comparing it.
const UPDATE: &str = "UPDATE_DOCUMENTS";
/// The table is between these two lines.
const BEGIN: &str = "<!-- Made of bevy-server/src/config/defaults.toml by UPDATE_DOCUMENTS=1 cargo test --workspace --test documents -->\n\n";
const END: &str = "\n<!-- The end of the table. -->\n";

#[test]
fn the_table_of_keys_is_that_of_the_defaults() {
    let (before, rest) = PAGE.split_once(BEGIN).unwrap();
    let (listed, after) = rest.split_once(END).unwrap();
    let table = table();
    if env::var_os(UPDATE).is_some() {
        fs::write(root().join("docs/operating.md"), [before, BEGIN, &table, END, after].concat()).unwrap();
    } else {
        assert_eq!(listed, table, "set {UPDATE}=1 to write the table");
    }
}

/// A row for each key: its path, its default, and the comment above it.
fn table() -> String {
    let mut table = "| key | default | what it is |\n|---|---|---|\n".to_owned();
    let (mut prefix, mut comment) = ("", Vec::new());
    for line in DEFAULTS.lines() {
        if let Some(text) = line.strip_prefix("# ") {
            comment.push(text);
            continue;
        }
        if let Some((key, default)) = line.split_once(" = ") {
            assert!(!comment.is_empty(), "defaults.toml has no comment above {prefix}.{key}");
            writeln!(table, "| `{prefix}.{key}` | `{default}` | {} |", in_markdown(&comment.join(" "))).unwrap();
        } else if let Some(name) = line.strip_prefix('[') {
            prefix = name.trim_end_matches(']');
        }
        comment.clear();
    }
    table
}

/// A comment with its references to pages, such as `(docs/chain.md#eviction)`, as links.
fn in_markdown(comment: &str) -> String {
    let escaped = comment.replace('|', "\\|");
    let mut pieces = escaped.split("(docs/");
    let mut text = pieces.next().unwrap().to_owned();
    for piece in pieces {
        let (target, rest) = piece.split_once(')').unwrap();
        let (page, _) = target.split_once('#').unwrap_or((target, ""));
        let (name, target) = match target.strip_prefix("operating.md") {
            Some(anchor) => ("below", anchor),
            None => (page, target),
        };
        write!(text, "([{name}]({target})){rest}").unwrap();
    }
    text
}
