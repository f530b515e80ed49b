//! Output of commands to standard output, standard error or a file. Commands do not use `println!`, which panics on a
//! closed pipe, nor the streams themselves: a server or a file may send a terminal what it acts on.

use std::{
    fmt::Display,
    fs::File,
    io::{self, BufWriter, IsTerminal as _, Write},
    ops::RangeInclusive,
    path::PathBuf,
    str::FromStr,
};

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use comfy_table::{CellAlignment, Table};
use floor_client::{EncodedFloor, ServedBy};
use floor_export::{escape::Escaped, picture::Depth};
use indicatif::HumanCount;
use serde::Serialize;

pub(crate) use floor_export::counts::counted;
use floor_export::json_layout;

/// Standard output for text, locked, buffered and escaped. The caller must flush it, since dropping it ignores write
/// errors.
pub(crate) fn stdout() -> Escaped<BufWriter<io::StdoutLock<'static>>> {
    Escaped::new(stdout_for_bytes())
}

/// Standard output for what no terminal reads.
fn stdout_for_bytes() -> BufWriter<io::StdoutLock<'static>> {
    BufWriter::new(io::stdout().lock())
}

/// Standard error, escaped.
pub(crate) fn stderr() -> Escaped<io::Stderr> {
    Escaped::new(io::stderr())
}

/// Writes one JSON document and a newline.
pub(crate) fn print_json(document: &impl Serialize) -> anyhow::Result<()> {
    let mut out = stdout();
    json_layout::write(&mut out, document)?;
    Ok(out.flush()?)
}

/// Writes text and a newline.
pub(crate) fn print(text: impl Display) -> anyhow::Result<()> {
    let mut out = stdout();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}

/// A table of text under a header, in which the columns of `numbers` are aligned to the right.
pub(crate) fn table<const N: usize>(
    preset: &str,
    header: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
    numbers: RangeInclusive<usize>,
) -> Table {
    let mut table = Table::new();
    table.load_preset(preset).set_header(header).add_rows(rows);
    for column in numbers {
        table.column_mut(column).expect("the header has this column").set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Writes a floor as one field of a `floors.v1.BatchGetFloorsResponse`. A sequence of such fields is a valid response.
pub(crate) fn write_batch_entry(out: &mut impl Write, floor: &EncodedFloor) -> io::Result<()> {
    let mut entry = Vec::with_capacity(floor.bytes().len() + 8);
    prost::encoding::bytes::encode(1, floor.bytes(), &mut entry);
    out.write_all(&entry)
}

/// The depth in `COLORTERM`, otherwise 256 colours, which all common terminals support.
pub(crate) fn colour_depth() -> Depth {
    match std::env::var("COLORTERM").as_deref() {
        Ok("truecolor" | "24bit") => Depth::TrueColour,
        _ => Depth::Ansi256,
    }
}

/// The number of floors from each tier, such as `lru 1,000, generated 24`; only the tier for a single floor.
pub(crate) fn served(by: &ServedBy) -> String {
    match by.iter().collect::<Vec<_>>()[..] {
        [] | [(_, 1)] => by.to_string(),
        ref counts => {
            let counts = counts.iter().map(|(tier, count)| format!("{tier} {}", HumanCount(*count)));
            counts.collect::<Vec<_>>().join(", ")
        }
    }
}

/// The format and the destination of floors.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Destination {
    /// json: readable text; bin: the bytes of the received message
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

    pub(crate) const fn is_file(&self) -> bool {
        self.output.is_some()
    }

    /// Opens the destination. Fails if binary data would go to a terminal.
    pub(crate) fn open(&self) -> anyhow::Result<Box<dyn Write>> {
        match &self.output {
            Some(path) => {
                let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
                Ok(Box::new(BufWriter::new(file)))
            }
            None if self.format == Format::Bin && io::stdout().is_terminal() => {
                bail!("will not write bytes to a terminal; pipe them or name a file with --output");
            }
            None if self.format == Format::Bin => Ok(Box::new(stdout_for_bytes())),
            None => Ok(Box::new(stdout())),
        }
    }
}

/// A file to write; `-` is standard output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OutputFile {
    Path(PathBuf),
    Stdout,
}

impl FromStr for OutputFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "" => Err("name a file, or - for standard output".to_owned()),
            "-" => Ok(Self::Stdout),
            path => Ok(Self::Path(path.into())),
        }
    }
}

impl OutputFile {
    /// Whether the name ends in `.json`.
    pub(crate) fn is_json(&self) -> bool {
        matches!(self, Self::Path(path) if path.extension().is_some_and(|extension| extension == "json"))
    }

    /// Writes what `write` writes. Fails if bytes would go to a terminal.
    pub(crate) fn write(&self, write: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>) -> anyhow::Result<()> {
        match self {
            Self::Path(path) => {
                let cannot = || format!("cannot write {}", path.display());
                let mut file = BufWriter::new(File::create(path).with_context(cannot)?);
                write(&mut file)?;
                file.flush().with_context(cannot)
            }
            Self::Stdout if io::stdout().is_terminal() => {
                bail!("will not write bytes to a terminal; pipe them or name a file")
            }
            Self::Stdout => {
                let mut out = stdout_for_bytes();
                write(&mut out)?;
                Ok(out.flush()?)
            }
        }
    }
}

/// The format of a report: text or JSON.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct ReportFormat {
    /// Print one JSON document instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    /// The lines of sources that write to a stream past [`Escaped`](super::Escaped).
    fn unescaped(folder: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                unescaped(&path, found);
            } else if !path.ends_with("output.rs") {
                let text = fs::read_to_string(&path).unwrap();
                let writes = |line: &&str| {
                    let names = ["io::stdout()", "io::stderr()", "println!", "print!("];
                    // These ask what the stream is.
                    names.iter().any(|name| line.contains(name))
                        && !line.contains(".is_terminal()")
                        && !line.contains("choice(")
                };
                found.extend(text.lines().filter(writes).map(|line| format!("{}: {line}", path.display())));
            }
        }
    }

    #[test]
    fn commands_write_to_terminals_through_this_module() {
        let mut found = Vec::new();
        unescaped(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
        assert_eq!(found, Vec::<String>::new(), "use output::stdout() and output::stderr()");
    }
}
