//! The command line of `bevy-server`.

use std::{
    fs,
    io::{self, Write as _},
    path::PathBuf,
};

use anyhow::Context as _;
use clap::{CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;

/// Serves procedural tower floors over gRPC through a chain of cache tiers.
///
/// Configuration comes from defaults, then --config, then the environment: FLOORS__SECTION__KEY, as in
/// FLOORS__CACHE__CHAIN='["lru","redis"]' or FLOORS__CACHE__LRU__CAPACITY=64MiB. The key
/// log.level, or RUST_LOG, decides what is logged. With FLOORS_UNKNOWN_KEYS=warn an unknown key is a warning.
#[derive(Debug, Parser)]
#[command(
    name = "bevy-server",
    version,
    after_help = "\
Ports: gRPC, gRPC-Web, health and reflection on 127.0.0.1:50051; /metrics, /healthz and /readyz on 127.0.0.1:50052.
Stop it with Ctrl-C or SIGTERM: it finishes the calls in flight, flushes queued writes, and exits with 0.
SIGHUP reads the configuration again and logs what was applied and what needs a restart."
)]
pub struct Cli {
    /// A TOML file that overrides the defaults
    #[arg(long, value_name = "FILE.toml", global = true)]
    pub config: Option<PathBuf>,

    /// Check that a start could use the configuration, print it, secrets redacted, and exit
    #[arg(long)]
    pub check_config: bool,

    /// Print the defaults as a commented TOML file and exit
    #[arg(long, conflicts_with = "check_config")]
    pub print_defaults: bool,

    /// Run a command instead of the server
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The commands that do not start a server.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check that the configured server is serving: exit 0 if it is, 1 if not (for containers)
    Healthcheck,
    /// Print a completion script for a shell
    Completions {
        /// The shell to complete in
        shell: Shell,
    },
    /// Write the manual pages, one for bevy-server and one for each command
    Man {
        /// The directory for the pages, created unless it exists
        #[arg(long, short, value_name = "DIR")]
        output: PathBuf,
    },
}

impl Command {
    /// Runs a command that describes the program and needs no configuration. Returns whether this is one. Fails if the
    /// description cannot be written.
    pub fn describe_program(&self) -> anyhow::Result<bool> {
        match self {
            Self::Healthcheck => return Ok(false),
            Self::Completions { shell } => {
                // Generated into memory, since `generate` panics if a write fails, as to a closed pipe.
                let mut script = Vec::new();
                clap_complete::generate(*shell, &mut Cli::command(), "bevy-server", &mut script);
                io::stdout().write_all(&script).context("cannot write the completion script")?;
            }
            Self::Man { output } => fs::create_dir_all(output)
                .and_then(|()| clap_mangen::generate_to(Cli::command(), output))
                .with_context(|| format!("cannot write manual pages to {}", output.display()))?,
        }
        Ok(true)
    }
}
