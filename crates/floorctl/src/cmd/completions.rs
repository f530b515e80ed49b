//! `floorctl completions`: prints a shell script that completes commands and flags.

use std::io::Write as _;

use clap::Args;
use clap_complete::Shell;

use crate::output;

const AFTER_HELP: &str = "\
Examples:
  floorctl completions bash > ~/.local/share/bash-completion/completions/floorctl
  floorctl completions fish > ~/.config/fish/completions/floorctl.fish";

/// Print a completion script for a shell
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Completions {
    /// The shell to complete in
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        // Generated into memory, since `generate` panics if a write fails, as to a closed pipe.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut super::command(), "floorctl", &mut script);
        let mut out = output::stdout();
        out.write_all(&script)?;
        Ok(out.flush()?)
    }
}
