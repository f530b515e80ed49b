//! What is printed and written at the end: the answer, and each table with its picture.

use std::{
    fs::{self, File},
    path::PathBuf,
};

use anyhow::Context;
use benches::{
    figure::{Figure, escaped},
    report::Report,
};
use comfy_table::{Row, Table};

#[derive(Debug, clap::Args)]
pub(crate) struct Output {
    /// Also write a page with the answer, the pictures and the tables, which needs no other file
    #[arg(long, value_name = "FILE", global = true)]
    html: Option<PathBuf>,
    /// Also write each picture into this directory, as SVG
    #[arg(long, value_name = "DIR", global = true)]
    svg: Option<PathBuf>,
}

/// The result of a run.
pub(crate) struct Answer {
    pub(crate) title: &'static str,
    /// The sentence that answers, in Markdown.
    pub(crate) choice: String,
    pub(crate) parts: Vec<(Figure, Table)>,
    /// How it was measured.
    pub(crate) notes: String,
}

impl Output {
    /// Fails before the measurement if a file could not be written after it.
    pub(crate) fn ensure_writable(&self) -> anyhow::Result<()> {
        if let Some(directory) = &self.svg {
            fs::create_dir_all(directory).with_context(|| format!("cannot create {}", directory.display()))?;
        }
        if let Some(file) = &self.html {
            let opened = File::options().append(true).create(true).open(file);
            opened.with_context(|| format!("cannot write {}", file.display()))?;
        }
        Ok(())
    }

    /// Prints `answer`, and writes the files.
    pub(crate) fn finish(&self, report: &Report, answer: &Answer) -> anyhow::Result<()> {
        let tables: String = answer.parts.iter().map(|(_, table)| format!("{table}\n\n")).collect();
        report.finish(answer.title, &format!("{}\n\n{tables}{}\n", answer.choice, answer.notes));
        let page = self.html.iter().map(|file| (file.clone(), answer.page(report)));
        let figures = self.svg.iter().flat_map(|directory| {
            answer
                .parts
                .iter()
                .map(|(figure, _)| (directory.join(figure.name).with_extension("svg"), figure.svg.clone()))
        });
        for (file, text) in page.chain(figures) {
            fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        }
        Ok(())
    }
}

impl Answer {
    fn page(&self, report: &Report) -> String {
        let Self { title, choice, parts, notes } = self;
        let parts: String = parts.iter().map(|(figure, table)| format!("{}{}", figure.svg, html_of(table))).collect();
        let origin = report.origin();
        let origin: String = origin.split("\n\n").map(|part| format!("<p>{}</p>\n", inline(part))).collect();
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n<style>\n{STYLE}\
             </style>\n<h1>{title}</h1>\n<p class=\"answer\">{}</p>\n{parts}<p>{}</p>\n{origin}</html>\n",
            inline(choice),
            inline(notes)
        )
    }
}

const STYLE: &str = "\
:root { color-scheme: light dark; font: 15px/1.5 sans-serif }
body { max-width: 55rem; margin: 2rem auto; padding: 0 1rem }
.answer { font-size: 1.2em }
.figure { max-width: 100%; height: auto; margin-top: 2rem }
table { border-collapse: collapse; margin: 1rem 0; font-size: .9em; font-variant-numeric: tabular-nums }
td { white-space: nowrap }
th, td { padding: .2rem .7rem; border-bottom: 1px solid #8886; text-align: right }
th:first-child, td:first-child { padding-left: 0; text-align: left }
";

fn html_of(table: &Table) -> String {
    let row = |row: &Row, tag: &str| {
        let cells = row.cell_iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(&cell.content())));
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let header: String = table.header().iter().map(|header| row(header, "th")).collect();
    let rows: String = table.row_iter().map(|it| row(it, "td")).collect();
    format!("<table>\n{header}{rows}</table>\n")
}

/// Markdown with `**` and code as HTML.
fn inline(markdown: &str) -> String {
    let tagged = |text: &str, mark: &str, tag: &str| {
        let parts = text.split(mark).enumerate();
        parts.map(|(at, part)| if at % 2 == 1 { format!("<{tag}>{part}</{tag}>") } else { part.to_owned() }).collect()
    };
    let strong: String = tagged(&escaped(markdown), "**", "strong");
    tagged(&strong, "`", "code")
}

#[cfg(test)]
mod tests {
    use benches::{
        sample::{Sample, Samples},
        table::table,
    };

    use super::*;
    use crate::{chains::Candidate, workload};

    #[test]
    fn a_page_has_the_answer_the_picture_and_the_figures_of_the_table() {
        let (chains, mut samples) = ([Candidate(&[]), Candidate(&["lru"])], Samples::default());
        for (chain, server_cpu_us) in chains.into_iter().zip([90.0, 30.0]) {
            samples.push(Sample { server_cpu_us, ..Sample::default() }.named("log", chain.name(), 0));
        }
        let figure = workload::picture(&samples, &chains, chains[1], &[("log", "")]).unwrap();
        assert!(figure.svg.contains("generation only") && figure.svg.contains("90.0"), "{}", figure.svg);
        let mut cells = table(["chain", "CPU"]);
        cells.add_row(["a < b", "90.0"]);
        let choice = "**Use `[\"lru\"]`.** It is cheap.".to_owned();
        let answer = Answer { title: "T", choice, parts: vec![(figure, cells)], notes: "n".to_owned() };
        let (directory, report) = (tempfile::tempdir().unwrap(), Report::start("which-chain"));
        let output = Output { html: Some(directory.path().join("page.html")), svg: Some(directory.path().join("new")) };
        output.ensure_writable().unwrap();
        output.finish(&report, &answer).unwrap();
        let page = fs::read_to_string(directory.path().join("page.html")).unwrap();
        let svg = fs::read_to_string(directory.path().join("new/cost-of-chains.svg")).unwrap();
        for part in ["<strong>Use <code>[\"lru\"]</code>.</strong> It is", "<td>a &lt; b</td><td>90.0</td>", &svg] {
            assert!(page.contains(part), "no {part} in\n{page}");
        }
        let missing = Output { html: Some(directory.path().join("none/page.html")), svg: None };
        assert!(missing.ensure_writable().unwrap_err().to_string().contains("none/page.html"));
    }
}
