//! `floorctl validate`: checks a floor against every rule.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::{Args, ValueEnum};
use floor_export::json_layout;
use floor_pack::rules::{self, BrokenRule};
use serde::Serialize;

use crate::{
    json::FloorJson,
    output::{self, OutputFile},
    saved::SavedFloor,
    server::{FetchOptions, Server},
    source::{self, FloorSource},
    target::FloorName,
};

const AFTER_HELP: &str = "\
Checks what every floor promises: that it can be finished, that each key is reachable before its lock, that rooms, locks \
and metrics are what they say, and so on. The floor is a file that `floorctl get` wrote, and that may have been edited \
since, or - for standard input, or a floor of the server, or one that this program generates with --offline.

A wrong content hash only means that the floor was edited. It is reported and breaks no rule.

With --rehash, a floor whose only wrong parts are its metrics and its content hash is written anew with the correct \
ones. Nothing is written if another rule is broken.

Exit codes: 0 if the floor breaks no rule, or with --rehash none that it could not mend; 1 if it breaks a rule, or is no \
floor.

Examples:
  floorctl validate floor.json
  floorctl validate edited.json --rehash floor.json
  floorctl get 42/7 --format bin | floorctl validate - --format json | jq '.violations[].cells'";

/// Check a floor against every rule
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Validate {
    #[command(flatten)]
    source: FloorSource,
    #[command(flatten)]
    fetch: FetchOptions,
    /// The format of the report
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = "Output")]
    format: Format,
    /// The same as --format json
    #[arg(long, conflicts_with = "format", help_heading = "Output")]
    json: bool,
    /// Write the floor with correct metrics and a correct content hash: as JSON if the name ends in .json, else as
    /// bytes
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    rehash: Option<OutputFile>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// Violations of one rule that the text lists; more are counted.
const LISTED: usize = 10;
/// Cells of one violation that the text lists; more are counted.
const LISTED_CELLS: usize = 6;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ValidateJson<'a> {
    floor: String,
    valid: bool,
    edited: bool,
    generator_version: u32,
    content_hash: HashJson,
    violations: Vec<ViolationJson<'a>>,
}

#[derive(Serialize)]
struct HashJson {
    stated: String,
    computed: String,
}

#[derive(Serialize)]
struct ViolationJson<'a> {
    rule: &'static str,
    message: &'a str,
    cells: &'a [(u16, u16)],
}

impl Validate {
    pub(crate) async fn run(self, server: &Server) -> anyhow::Result<ExitCode> {
        self.source.tower().refuse_view("the rules are those of whole floors")?;
        let (saved, served) = self.source.load(server, &self.fetch).await?;
        let broken = rules::broken_by(&saved.message);
        let corrects = self.rehash.is_some() && broken.iter().all(BrokenRule::is_metric);
        if !matches!(self.rehash, Some(OutputFile::Stdout)) {
            let mut out = output::stdout();
            report(&mut out, &saved, &broken, corrects, self.json || self.format == Format::Json)?;
            out.flush()?;
        }
        source::print_notes(&saved)?;
        if let Some(served) = served {
            source::print_served(&served)?;
        }
        match &self.rehash {
            Some(file) if corrects => {
                write_rehashed(file, saved, &broken)?;
                if let OutputFile::Path(path) = file {
                    writeln!(output::stderr(), "wrote {}", path.display())?;
                }
                Ok(ExitCode::SUCCESS)
            }
            Some(_) => {
                writeln!(
                    output::stderr(),
                    "nothing was written: the floor breaks more rules than those of its metrics"
                )?;
                Ok(ExitCode::FAILURE)
            }
            None if broken.is_empty() => Ok(ExitCode::SUCCESS),
            None => Ok(ExitCode::FAILURE),
        }
    }
}

/// Writes what is wrong with a floor; `corrects`: all of it are metrics, which the command corrects.
pub(crate) fn report(
    out: &mut impl Write,
    saved: &SavedFloor,
    broken: &[BrokenRule],
    corrects: bool,
    json: bool,
) -> anyhow::Result<()> {
    if json {
        return Ok(json_layout::write(out, &ValidateJson::new(saved, broken))?);
    }
    Ok(write_text(out, saved, broken, corrects)?)
}

/// Writes the floor with correct metrics and a correct hash.
pub(crate) fn write_rehashed(file: &OutputFile, saved: SavedFloor, broken: &[BrokenRule]) -> anyhow::Result<()> {
    let SavedFloor { mut message, stated_hash, .. } = saved;
    rules::correct_metrics(&mut message, broken);
    let correct = SavedFloor::rehashed(message, stated_hash);
    let floor = correct.floor()?;
    file.write(|out| {
        if file.is_json() {
            Ok(json_layout::write(out, &FloorJson::new(&floor, None))?)
        } else {
            Ok(out.write_all(correct.encoded())?)
        }
    })
}

/// The name of the floor, as far as its spec has one.
fn name(saved: &SavedFloor) -> String {
    saved.message.spec.clone().map_or_else(|| "a floor without a spec".to_owned(), |spec| FloorName(spec).to_string())
}

fn write_text(out: &mut impl Write, saved: &SavedFloor, broken: &[BrokenRule], corrects: bool) -> io::Result<()> {
    if broken.is_empty() {
        return writeln!(out, "{}: every rule holds", name(saved));
    }
    if corrects {
        writeln!(out, "{}: every rule holds after these metrics are corrected", name(saved))?;
        return broken.iter().try_for_each(|metric| writeln!(out, "  {}", metric.message));
    }
    let mut names = broken.iter().map(|broken| broken.rule).collect::<Vec<_>>();
    names.dedup();
    let rules = if names.len() == 1 { "rule" } else { "rules" };
    writeln!(out, "{}: not valid, breaks {} {rules}", name(saved), names.len())?;
    for rule in broken.chunk_by(|one, other| one.rule == other.rule) {
        writeln!(out, "\n{}", rule[0].rule)?;
        for BrokenRule { message, cells, .. } in rule.iter().take(LISTED) {
            writeln!(out, "  {message}{}", listed(message, cells))?;
        }
        if rule.len() > LISTED {
            writeln!(out, "  and {} more", rule.len() - LISTED)?;
        }
    }
    Ok(())
}

/// The cells of a violation that its message does not name.
fn listed(message: &str, cells: &[(u16, u16)]) -> String {
    let cells = cells.iter().map(|(x, y)| format!("({x}, {y})")).filter(|cell| !message.contains(cell));
    let cells = cells.collect::<Vec<_>>();
    let (shown, rest) = cells.split_at(cells.len().min(LISTED_CELLS));
    match rest.len() {
        _ if shown.is_empty() => String::new(),
        0 => format!("; see {}", shown.join(", ")),
        more => format!("; see {} and {more} more", shown.join(", ")),
    }
}

impl<'a> ValidateJson<'a> {
    fn new(saved: &SavedFloor, broken: &'a [BrokenRule]) -> Self {
        let violation = |broken: &'a BrokenRule| ViolationJson {
            rule: broken.rule,
            message: &broken.message,
            cells: &broken.cells,
        };
        Self {
            floor: name(saved),
            valid: broken.is_empty(),
            edited: saved.is_edited(),
            generator_version: saved.message.generator_version,
            content_hash: HashJson { stated: saved.stated_hash.to_string(), computed: saved.hash.to_string() },
            violations: broken.iter().map(violation).collect(),
        }
    }
}
