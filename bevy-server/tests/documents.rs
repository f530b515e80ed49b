//! Checks that the configurations in deploy/ are valid, that the comments of the configuration keys name pages that there
//! are, that docs/operating.md lists exactly the metrics that there are, that docs/runbook.md has a paragraph for each
//! alert, and that documents cite exactly the records of measurements that there are. `limits` checks the documents of
//! limits on clients, `clients` that clients and their pages agree, `memory` the limits of memory, and `files`
//! that the files exist that documents name.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

#[path = "documents/clients.rs"]
mod callers;
#[path = "documents/files.rs"]
mod files;
#[path = "documents/limits.rs"]
mod limits;
#[path = "documents/memory.rs"]
mod memory;

use std::{collections::BTreeSet, fs, path::Path};

use bevy_server::config::{Config, DEFAULTS};

const RULES: &str = include_str!("../../deploy/prometheus/alerts.yml");
const DASHBOARD: &str = include_str!("../../deploy/grafana/dashboards/floors.json");
const PAGE: &str = include_str!("../../docs/operating.md");
const RUNBOOK: &str = include_str!("../../docs/runbook.md");
const SYSTEMD: &str = include_str!("../../deploy/systemd/floors.toml");
const CONFIG_MAP: &str = include_str!("../../deploy/kubernetes/servers.yaml");

/// The columns of each row of the tables in a section. A column may hold escaped pipes.
fn rows(section: &str) -> Vec<Vec<String>> {
    let rows = self::section(PAGE, section)
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.replace("\\|", "\0"));
    rows.map(|line| line.split('|').skip(1).map(|column| column.trim().replace('\0', "|")).collect()).collect()
}

/// The text under a heading of the second level.
fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no section {heading}"));
    rest.split("\n## ").next().unwrap()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The words in backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn every_key_has_a_comment_and_its_references_are_right() {
    let lines: Vec<_> = DEFAULTS.lines().collect();
    for lines in lines.windows(2).filter(|lines| !lines[1].starts_with('#') && lines[1].contains(" = ")) {
        assert!(lines[0].starts_with("# "), "no comment above {}", lines[1]);
    }
    for reference in DEFAULTS.split("(docs/").skip(1).map(|rest| rest.split(')').next().unwrap()) {
        let (page, anchor) = reference.split_once('#').unwrap_or((reference, ""));
        let page = fs::read_to_string(root().join("docs").join(page)).unwrap();
        let headings = page.lines().filter(|line| line.starts_with('#'));
        let mut anchors = headings.map(|line| line.trim_start_matches(['#', ' ']).to_lowercase().replace(' ', "-"));
        assert!(anchor.is_empty() || anchors.any(|it| it == anchor), "defaults.toml: no page has docs/{reference}");
    }
}

/// The entries of a configuration, as `table.key = value`.
fn entries(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (table, keys) in &text.parse::<toml::Table>().unwrap() {
        leaves(table, keys, &mut found);
    }
    found
}

fn leaves(prefix: &str, value: &toml::Value, found: &mut BTreeSet<String>) {
    match value.as_table() {
        Some(table) => table.iter().for_each(|(name, value)| leaves(&format!("{prefix}.{name}"), value, found)),
        None => {
            found.insert(format!("{prefix} = {value}"));
        }
    }
}

/// A line of a configuration, without the `#` if it is an entry or a table that is commented out.
fn uncommented(line: &str) -> &str {
    let is_key = |text: &str| text.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let is_entry = |text: &str| text.starts_with('[') || text.split_once(" = ").is_some_and(|(key, _)| is_key(key));
    line.strip_prefix("# ").filter(|rest| is_entry(rest)).unwrap_or(line)
}

#[test]
fn the_configurations_in_deploy_are_valid() {
    let names = |entries: BTreeSet<String>| -> BTreeSet<String> {
        entries.iter().map(|entry| entry.split(" = ").next().unwrap().to_owned()).collect()
    };
    let known = names(entries(DEFAULTS));
    for text in [SYSTEMD.to_owned(), config_map()] {
        let lines: Vec<_> = text.lines().map(uncommented).collect();
        let unknown: Vec<_> = names(entries(&lines.join("\n"))).difference(&known).cloned().collect();
        assert!(unknown.is_empty(), "no configuration has {unknown:?}");
        deployed(&lines);
    }
}

/// The configuration in the manifest of Kubernetes.
fn config_map() -> String {
    let (_, embedded) = CONFIG_MAP.split_once("  floors.toml: |\n").unwrap();
    let (embedded, _) = embedded.split_once("\n---\n").unwrap();
    embedded.lines().map(|line| line.strip_prefix("    ").unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// A configuration of deploy/, without the files that it names: they are not there.
fn deployed(lines: &[&str]) -> Config {
    let is_file = |line: &&&str| {
        let key = line.split(" = ").next().unwrap();
        key.ends_with("_file") || key == "cert" || key == "key"
    };
    let rest: Vec<_> = lines.iter().filter(|line| !is_file(line)).copied().collect();
    Config::from_toml(&rest.join("\n")).unwrap_or_else(|error| panic!("{error}: {rest:?}"))
}

/// The metrics of the page, without those of the process, which a library exports. `operations.rs` checks these.
fn listed_metrics() -> BTreeSet<String> {
    let rows = rows("Metrics");
    let names = rows.iter().flat_map(|row| quoted(&row[0])).filter(|name| !name.starts_with("process_"));
    names.map(str::to_owned).collect()
}

#[test]
fn the_page_lists_every_metric() {
    let mut sources = String::new();
    for krate in ["crates/floor-cache", "bevy-server"] {
        read_files(&root().join(krate).join("src"), "rs", &mut sources);
    }
    let literals = sources.split('"').filter(|text| text.starts_with("floors_") && text.chars().all(in_name));
    assert_eq!(literals.map(str::to_owned).collect::<BTreeSet<_>>(), listed_metrics());
}

#[test]
fn alerts_and_dashboard_use_metrics_of_the_page() {
    let listed = listed_metrics();
    for text in [RULES, DASHBOARD] {
        let words = text.split(|c: char| !in_name(c)).filter(|word| word.starts_with("floors_"));
        for word in words {
            let series = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| word.strip_suffix(suffix));
            let is_recorded = RULES.contains(&format!("record: job:{word}:"));
            assert!(is_recorded || listed.contains(series.unwrap_or(word)), "docs/operating.md has no metric {word}");
        }
    }
}

fn in_name(c: char) -> bool {
    c.is_ascii_lowercase() || c == '_'
}

fn read_files(directory: &Path, extension: &str, text: &mut String) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_files(&path, extension, text);
        } else if path.extension().is_some_and(|its| its == extension) {
            text.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}

/// The name and the text of each alert, in the order of the file.
fn alerts() -> impl Iterator<Item = (&'static str, &'static str)> {
    RULES.split("- alert: ").skip(1).map(|rule| rule.split_once('\n').unwrap())
}

#[test]
fn every_alert_has_its_paragraph_in_the_runbook() {
    let headings: Vec<_> = RUNBOOK.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    assert_eq!(headings, alerts().map(|(name, _)| name).collect::<Vec<_>>());
    for (name, rule) in alerts() {
        let severity = match rule.split("severity: ").nth(1).unwrap().split(' ').next().unwrap() {
            "page" => "Page. ",
            "ticket" => "Ticket. ",
            other => panic!("{name} has the severity {other}"),
        };
        assert!(RUNBOOK.contains(&format!("\n### {name}\n\n{severity}")), "the paragraph of {name} begins otherwise");
        for annotation in ["summary: ", "description: "] {
            assert!(rule.contains(annotation), "{name} has no {annotation}");
        }
        let link = format!("runbook_url: https://floors.example/docs/runbook.md#{}\n", name.to_lowercase());
        assert!(rule.contains(&link), "{name} lacks {link}");
    }
}

#[test]
fn every_record_is_cited_and_every_cited_record_is_there() {
    let mut text = String::new();
    for page in ["README.md", "CONTRIBUTING.md"] {
        text += &fs::read_to_string(root().join(page)).unwrap();
    }
    read_files(&root().join("docs"), "md", &mut text);
    // A citation is a path that begins with the day of the record.
    let citations = text.split("benches/records/").skip(1).map(|rest| {
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-_./".contains(c))).unwrap_or(rest.len());
        rest[..end].trim_end_matches('.').to_owned()
    });
    let cited: BTreeSet<String> = citations.filter(|path| path.contains('/')).collect();
    let mut found = BTreeSet::new();
    let records = root().join("benches/records");
    for day in fs::read_dir(&records).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
        for record in fs::read_dir(&day).unwrap() {
            let path = record.unwrap().path();
            found.insert(path.strip_prefix(&records).unwrap().to_str().unwrap().to_owned());
        }
    }
    assert_eq!(
        cited.difference(&found).collect::<Vec<_>>(),
        Vec::<&String>::new(),
        "cited, but not in benches/records/"
    );
    assert_eq!(found.difference(&cited).collect::<Vec<_>>(), Vec::<&String>::new(), "cited by no document");
}
