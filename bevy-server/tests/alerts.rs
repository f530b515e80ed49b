//! Checks that docs/operating.md lists exactly the alerts of deploy/prometheus/alerts.yml.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

const RULES: &str = include_str!("../../deploy/prometheus/alerts.yml");
const PAGE: &str = include_str!("../../docs/operating.md");

/// The value of a key in each rule, in the order of the file.
fn each(key: &str) -> Vec<String> {
    let lines = RULES.lines().map(|line| line.trim_start().trim_start_matches("- "));
    lines.filter_map(|line| line.strip_prefix(key)).map(|value| value.trim().to_owned()).collect()
}

#[test]
fn the_page_lists_every_alert_with_its_severity_and_expression() {
    let severity = |labels: String| labels.replace("{ severity: ", "").replace(" }", "");
    let severities = each("labels:").into_iter().map(severity);
    let rules = each("alert:").into_iter().zip(severities).zip(each("expr:"));
    // Markdown tables need pipes escaped.
    let rows = rules.map(|((name, severity), expression)| {
        format!("| `{name}` | {severity} | `{}`", expression.replace('|', "\\|"))
    });
    let rows = rows.collect::<Vec<_>>();
    let section = PAGE.split("\n## Alerts\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let listed = section.lines().filter(|line| line.starts_with("| `")).collect::<Vec<_>>();
    assert_eq!(listed.len(), rows.len(), "{listed:#?}");
    for (line, row) in listed.iter().zip(&rows) {
        assert!(line.starts_with(row.as_str()), "docs/operating.md has\n  {line}\nand alerts.yml\n  {row}");
    }
}
