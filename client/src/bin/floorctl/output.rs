//! Where results go: standard output or a file, buffered, never `println!`, which panics when the reader has gone.

use std::{
    fs::File,
    io::{self, BufWriter, IsTerminal as _, Write},
    path::PathBuf,
};

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use floor_client::{EncodedFloor, ServedBy};
use indicatif::HumanCount;
use serde::Serialize;

use crate::json_layout;

/// Standard output, locked and buffered. Flush it: dropping it hides a failed write.
pub(crate) fn stdout() -> BufWriter<io::StdoutLock<'static>> {
    BufWriter::new(io::stdout().lock())
}

/// Writes one JSON document and a newline.
pub(crate) fn print_json(document: &impl Serialize) -> anyhow::Result<()> {
    let mut out = stdout();
    json_layout::write(&mut out, document)?;
    Ok(out.flush()?)
}

/// Writes a floor as a field of a `floors.v1.BatchGetFloorsResponse`; any number of them in a row are one.
pub(crate) fn write_batch_entry(out: &mut impl Write, floor: &EncodedFloor) -> io::Result<()> {
    let mut entry = Vec::with_capacity(floor.bytes().len() + 8);
    prost::encoding::bytes::encode(1, floor.bytes(), &mut entry);
    out.write_all(&entry)
}

/// Which tiers served how many floors, such as `lru 1,000, generated 24`; a single floor by its tier alone.
pub(crate) fn served(by: &ServedBy) -> String {
    match by.iter().collect::<Vec<_>>()[..] {
        [] | [(_, 1)] => by.to_string(),
        ref counts => {
            let counts = counts.iter().map(|(tier, count)| format!("{tier} {}", HumanCount(*count)));
            counts.collect::<Vec<_>>().join(", ")
        }
    }
}

/// How floors are written, and where to.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Destination {
    /// json: readable; bin: the message as it travelled
    #[arg(long, value_enum, default_value_t = Format::Json)]
    format: Format,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Write to a file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Json,
    Bin,
}

impl Destination {
    pub(crate) const fn format(&self) -> Format {
        self.format
    }

    /// Opens the destination. Bytes never go to a terminal, where they do harm and help nobody.
    pub(crate) fn open(&self) -> anyhow::Result<Box<dyn Write>> {
        match &self.output {
            Some(path) => {
                let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
                Ok(Box::new(BufWriter::new(file)))
            }
            None if self.format == Format::Bin && io::stdout().is_terminal() => {
                bail!("will not write bytes to a terminal; pipe them or name a file with --output");
            }
            None => Ok(Box::new(stdout())),
        }
    }
}

/// Whether a report is text or JSON.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct ReportFormat {
    /// Print one JSON document instead of text
    #[arg(long)]
    pub(crate) json: bool,
}
