//! What the reports of the commands share: Markdown tables, where and how a run was made, and the files of a record.

use std::{fmt, fs, path::Path};

use anyhow::Context;
use comfy_table::{Table, presets::ASCII_MARKDOWN};
use serde::Serialize;

use crate::machine;

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
    #[must_use]
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

    /// Writes `text` to `DIRECTORY/DATE/NAME.md` and `samples` to `NAME.json` beside it.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(
        &self,
        directory: &Path,
        name: &str,
        title: &str,
        text: &str,
        samples: &impl Serialize,
    ) -> anyhow::Result<()> {
        let directory = directory.join(&self.date);
        fs::create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
        let put = |end: &str, text: String| {
            let path = directory.join(format!("{name}.{end}"));
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
        };
        put("json", serde_json::to_string_pretty(samples)? + "\n")?;
        put("md", format!("# {title}, {}\n\n{text}", self.date))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n\n`{}`, {}", self.machine, self.command, self.date)
    }
}

/// An empty table with `header`.
#[must_use]
pub fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_preset(ASCII_MARKDOWN).set_header(header);
    table
}
