//! `floorctl diff`: shows the differences between two floors.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use anstream::{AutoStream, ColorChoice};
use clap::Args;
use floor_client::Floor;
use floor_export::picture::{self, Scene};
use indicatif::HumanCount;
use serde::Serialize;

use crate::{
    comparison::{Comparison, FieldDiff, ListDiff},
    output::{self, ReportFormat},
    server::Server,
    source::{self, Source},
    target::FloorName,
};

const AFTER_HELP: &str = "\
A floor is given by its name, SEED/NUMBER[:KIND][@WxH], and fetched from the server; or it is a file that \
`floorctl get` wrote, as JSON or as bytes; - is standard input. With --no-cache, the command compares a floor with the \
same floor generated again.

Prints the fields that differ, the elements that only the first (-) or only the second (+) floor has, and the rows of \
cells that differ. Exit codes: 0 if the floors are the same to the byte, 1 if they differ.

Examples:
  floorctl diff 42/7 --no-cache
  floorctl diff 42/7:cavern 43/7:cavern
  floorctl get 42/7 --format bin -o before.bin; floorctl diff before.bin 42/7";

/// Show the differences between two floors
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Diff {
    /// The name of a floor, or a file
    #[arg(value_name = "A")]
    one: Source,
    /// The floor or file to compare with
    #[arg(value_name = "B", required_unless_present = "no_cache", conflicts_with = "no_cache")]
    other: Option<Source>,
    /// Compare A with the same floor generated again
    #[arg(long, help_heading = "Server")]
    no_cache: bool,
    /// Do not draw the cells that differ
    #[arg(long, help_heading = "Output")]
    no_cells: bool,
    #[command(flatten)]
    report: ReportFormat,
}

#[derive(Serialize)]
struct DiffJson<'a> {
    equal: bool,
    facts: &'a [FieldDiff],
    /// Null for floors of different sizes.
    cells: Option<&'a [(u32, u32)]>,
    lists: &'a [ListDiff],
}

impl Diff {
    pub(crate) async fn run(self, server: &Server) -> anyhow::Result<ExitCode> {
        let one = open(&self.one, server).await?;
        let other = match &self.other {
            Some(other) => open(other, server).await?,
            None => {
                let uncached = server.connect().await?.with_options(server.options().no_cache(true));
                uncached.get(one.spec().clone()).await?.value
            }
        };
        let comparison = Comparison::of(&one, &other);
        let mut out = output::stdout();
        if self.report.json {
            floor_export::json_layout::write(&mut out, &DiffJson::new(&comparison))?;
        } else {
            write_text(&mut out, &comparison)?;
            if !self.no_cells && comparison.cells.is_some() {
                let (one, other) = Scene::pair(&one, &other);
                let coloured = AutoStream::choice(&io::stdout()) != ColorChoice::Never;
                picture::draw_diff(out.drawing(), &one, &other, coloured.then(output::colour_depth))?;
            }
        }
        out.flush()?;
        Ok(if comparison.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Fetches or reads a floor.
async fn open(source: &Source, server: &Server) -> anyhow::Result<Floor> {
    match source {
        Source::Named(FloorName(spec)) => Ok(server.connect().await?.get(spec.clone()).await?.value),
        Source::Saved(file) => {
            let saved = file.read()?;
            source::print_notes(&saved)?;
            Ok(saved.floor()?)
        }
    }
}

fn write_text(out: &mut impl Write, comparison: &Comparison) -> io::Result<()> {
    if comparison.is_empty() {
        return writeln!(out, "the floors are the same to the byte");
    }
    for FieldDiff { name, one, other } in &comparison.fields {
        writeln!(out, "{name:<18} {one} -> {other}")?;
    }
    match comparison.cells.as_deref() {
        None => writeln!(out, "{:<18} not compared: the sizes differ", "cells")?,
        Some([]) => {}
        Some(cells) => writeln!(out, "{:<18} {} differ in terrain or room", "cells", HumanCount(cells.len() as u64))?,
    }
    for ListDiff { name, removed, added } in &comparison.lists {
        writeln!(out, "\n{name}: {} removed, {} added", removed.len(), added.len())?;
        for line in removed {
            writeln!(out, "- {line}")?;
        }
        for line in added {
            writeln!(out, "+ {line}")?;
        }
    }
    writeln!(out)
}

impl<'a> DiffJson<'a> {
    fn new(comparison: &'a Comparison) -> Self {
        Self {
            equal: comparison.is_empty(),
            facts: &comparison.fields,
            cells: comparison.cells.as_deref(),
            lists: &comparison.lists,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use floor_export::json_layout;

    #[test]
    fn the_page() {
        let mut page = Vec::new();
        write_text(&mut page, &Comparison::of(&fixture::floor(), &fixture::altered())).unwrap();
        insta::assert_snapshot!(String::from_utf8(page).unwrap());
    }

    #[test]
    fn the_json() {
        let comparison = Comparison::of(&fixture::floor(), &fixture::altered());
        let mut page = Vec::new();
        json_layout::write(&mut page, &DiffJson::new(&comparison)).unwrap();
        insta::assert_snapshot!(String::from_utf8(page).unwrap());
    }
}
