//! What the reports of the commands share: Markdown tables, where and how a run was made, and the files of a record.

use std::{fmt, fs, path::PathBuf};

use anyhow::{Context, ensure};
use clap::Args;
use comfy_table::{Table, presets::ASCII_MARKDOWN};
use serde::Serialize;

use crate::machine;

/// Fails in a debug build, whose figures mean nothing.
pub fn ensure_release() -> anyhow::Result<()> {
    ensure!(!cfg!(debug_assertions), "figures of a debug build mean nothing; add --release");
    Ok(())
}

/// Where a command writes its record.
#[derive(Debug, Clone, Args)]
pub struct RecordArgs {
    /// Directory for the record; without it no record is written
    #[arg(long = "record", value_name = "DIRECTORY", global = true)]
    directory: Option<PathBuf>,
}

impl RecordArgs {
    /// Prints `text`. If there is a directory, also writes it to `DIRECTORY/DATE/NAME.md`, and `samples` to `NAME.json`
    /// beside it.
    pub fn report(
        &self,
        origin: &Origin,
        name: &str,
        title: &str,
        text: &str,
        samples: &impl Serialize,
    ) -> anyhow::Result<()> {
        println!("{text}");
        let Some(directory) = &self.directory else { return Ok(()) };
        let directory = directory.join(&origin.date);
        fs::create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
        let put = |end: &str, text: String| {
            let path = directory.join(format!("{name}.{end}"));
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
        };
        put("json", serde_json::to_string_pretty(samples)? + "\n")?;
        put("md", format!("# {title}, {}\n\n{text}", origin.date))
    }
}

/// The date, machine and command of a run. Every report begins with it.
#[derive(Debug, Clone, Serialize)]
pub struct Origin {
    /// As in 2026-11-21.
    pub date: String,
    /// The machine, the toolchain and the commit.
    pub machine: String,
    /// The command line, without the options that contain paths of this machine.
    pub command: String,
}

impl Origin {
    /// The origin of a run of this process, which is the binary `name`.
    pub fn of(name: &str) -> Self {
        let mut arguments = std::env::args().skip(1);
        let mut command = format!("cargo run --release -p benches --bin {name} --");
        while let Some(argument) = arguments.next() {
            match argument.split('=').next() {
                Some("--server-binary" | "--record") => {
                    if !argument.contains('=') {
                        arguments.next();
                    }
                }
                _ => command.extend([" ", &argument]),
            }
        }
        command.truncate(command.trim_end_matches(" --").len());
        Self { date: machine::today(), machine: machine::describe(), command }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n\n`{}`, {}", self.machine, self.command, self.date)
    }
}

/// An empty table with `header`.
pub fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_preset(ASCII_MARKDOWN).set_header(header);
    table
}
