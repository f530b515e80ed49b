//! The command line of `bevy-server`.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// Serves procedural tower floors over gRPC through a chain of cache tiers.
///
/// Configuration comes from defaults, then --config, then the environment: FLOORS__SECTION__KEY, as in
/// FLOORS__CACHE__CHAIN='["lru","redis"]' or FLOORS__CACHE__LRU__CAPACITY=64MiB. The key
/// log.level, or RUST_LOG, decides what is logged.
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
}
