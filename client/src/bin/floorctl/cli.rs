//! The command line: what every command shares, and which commands there are.

use std::{process::ExitCode, time::Duration};

use clap::{Args, Parser, Subcommand};
use floor_client::{CallOptions, ClientError, FloorClient};

use crate::cmd;

const AFTER_HELP: &str = "\
Exit codes: 0 fine; 1 the server said no, or what it sent is wrong, or diff found a difference, or search nothing;
2 usage; 3 cannot connect.

Examples:
  floorctl render --seed 42 --number 7
  floorctl render 42/7 --path --locks --png floor.png
  floorctl search --seed 42 --where 'kind == cavern && loops > 4'
  floorctl get --seed 42 --number 7 | jq -r '.terrain[]'
  floorctl warm --seed 42 --numbers 1-1000
  floorctl --server http://10.0.0.5:50051 tiers
  floorctl purge --seed 42 --numbers 1-1000";

/// Ask a floor server for floors, draw and compare them, warm, check and load the server; find and explain floors
/// without one.
#[derive(Debug, Parser)]
#[command(name = "floorctl", version, after_help = AFTER_HELP, propagate_version = true, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(flatten)]
    server: Server,
    #[command(subcommand)]
    command: Command,
}

impl Cli {
    /// The exit code of a command that went as it should: failure only where finding nothing, or a difference, is the
    /// answer.
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let Self { server, command } = self;
        let done = match command {
            Command::Get(get) => get.run(&server).await,
            Command::Batch(batch) => batch.run(&server).await,
            Command::Stream(stream) => stream.run(&server).await,
            Command::Render(render) => render.run(&server).await,
            Command::Info(info) => info.run(&server).await,
            Command::Tiers(tiers) => tiers.run(&server).await,
            Command::Warm(warm) => warm.run(&server).await,
            Command::Verify(verify) => verify.run(&server).await,
            Command::Bench(bench) => bench.run(&server).await,
            Command::Purge(purge) => purge.run().await,
            Command::Contains(contains) => contains.run().await,
            Command::Stats(stats) => stats.run().await,
            Command::Compact(compact) => compact.run().await,
            Command::Completions(completions) => completions.run(),
            Command::Explain(explain) => explain.run(&server).await,
            Command::Diff(diff) => return diff.run(&server).await,
            Command::Search(search) => return search.run(),
        };
        done.map(|()| ExitCode::SUCCESS)
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    Get(cmd::Get),
    Batch(cmd::Batch),
    Stream(cmd::Stream),
    Render(cmd::Render),
    Info(cmd::Info),
    Tiers(cmd::Tiers),
    Warm(cmd::Warm),
    Verify(cmd::Verify),
    Bench(cmd::Bench),
    Purge(cmd::Purge),
    Contains(cmd::Contains),
    Stats(cmd::Stats),
    Compact(cmd::Compact),
    Diff(cmd::Diff),
    Explain(cmd::Explain),
    Search(cmd::Search),
    Completions(cmd::Completions),
}

/// Which server, and how patiently it is asked.
#[derive(Debug, Args)]
pub(crate) struct Server {
    /// The server's address
    #[arg(
        long = "server",
        global = true,
        env = "FLOORCTL_SERVER",
        default_value = "http://127.0.0.1:50051",
        value_name = "URL"
    )]
    url: String,
    /// Give up on a call after this long, e.g. 500ms or 2s; no limit by default
    #[arg(long, global = true, value_name = "TIME", value_parser = humantime::parse_duration)]
    deadline: Option<Duration>,
    /// Try a call again this often when the server is full, draining or gone, waiting as it asks
    #[arg(long, global = true, value_name = "TIMES", default_value_t = 0)]
    retries: usize,
}

impl Server {
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Connects at once, so that a server that is not there is found before anything is printed.
    pub(crate) async fn connect(&self) -> Result<FloorClient, ClientError> {
        Ok(FloorClient::connect(&self.url).await?.with_options(self.options()))
    }

    /// The options of a call that asks for nothing else.
    pub(crate) fn options(&self) -> CallOptions {
        let options = CallOptions::default().retries(self.retries);
        self.deadline.map_or(options, |deadline| options.deadline(deadline))
    }
}

/// How a floor is to be served.
#[derive(Debug, Args)]
pub(crate) struct Serving {
    /// Skip every tier: have the floor generated anew and the chain refreshed
    #[arg(long)]
    no_cache: bool,
    /// Ask what each tier answered and what it cost
    #[arg(long)]
    trace: bool,
}

impl Serving {
    pub(crate) async fn connect(&self, server: &Server) -> Result<FloorClient, ClientError> {
        let options = server.options().no_cache(self.no_cache).trace(self.trace);
        Ok(server.connect().await?.with_options(options))
    }
}
