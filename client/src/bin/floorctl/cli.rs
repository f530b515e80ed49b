//! The command line: what every command shares, and which commands there are.

use std::{collections::BTreeMap, process::ExitCode, time::Duration};

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, error::ErrorKind, parser::ValueSource};
use floor_client::{CallOptions, ClientError, FloorClient};

use crate::cmd;

const AFTER_HELP: &str = "\
Exit codes: 0 fine; 1 the server said no, or what it sent is wrong, or diff found a difference, or search nothing; \
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

/// The commands that ask the operations port, and nothing of the server's address.
const OPERATIONS: [&str; 4] = ["purge", "contains", "stats", "compact"];
/// The commands that ask no server.
const OFFLINE: [&str; 2] = ["search", "completions"];

/// The command line as clap is to read it: the derived one, where each command shows only those of the shared flags that
/// it heeds, and the same usage line in its help and after an error. (Left to itself, clap names a flag that was given,
/// or set in the environment, as if it had to be.)
pub(crate) fn command() -> clap::Command {
    let command = Cli::command();
    let shared = command.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect::<Vec<_>>();
    let command = command.mut_subcommands(|command| {
        let name = command.get_name().to_owned();
        let uses = |flag: &str| match flag {
            SERVER => !OFFLINE.contains(&name.as_str()) && !OPERATIONS.contains(&name.as_str()),
            _ => !OFFLINE.contains(&name.as_str()),
        };
        let unused = shared.iter().filter(|flag| !uses(flag.get_id().as_str()));
        command.args(unused.map(|flag| flag.clone().hide(true)))
    });
    let mut built = command.clone();
    built.build();
    let usage = |command: &mut clap::Command| {
        let usage = command.render_usage().to_string();
        (command.get_name().to_owned(), usage.trim_start_matches("Usage: ").to_owned())
    };
    let mut usages = built.get_subcommands_mut().map(usage).collect::<BTreeMap<_, _>>();
    command.mut_subcommands(|command| match usages.remove(command.get_name()) {
        Some(usage) => command.override_usage(usage),
        None => command,
    })
}

impl Cli {
    /// Reads the command line, or says what is wrong with it and exits.
    pub(crate) fn read() -> Self {
        let matches = command().get_matches();
        if let Some((name, flags)) = matches.subcommand()
            && OPERATIONS.contains(&name)
            && flags.value_source(SERVER) == Some(ValueSource::CommandLine)
        {
            let what = format!(
                "--server names the port that players reach, and `{name}` asks the operations port: name that one with \
                 --ops URL or FLOORCTL_OPS, e.g. --ops http://127.0.0.1:50052"
            );
            command().error(ErrorKind::ArgumentConflict, what).exit();
        }
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }

    /// The exit code of a command that went as it should: failure only where finding nothing, or a difference, is the
    /// answer.
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let Self { server, command } = self;
        let result = match command {
            Command::Get(get) => get.run(&server).await,
            Command::Batch(batch) => batch.run(&server).await,
            Command::Stream(stream) => stream.run(&server).await,
            Command::Render(render) => render.run(&server).await,
            Command::Info(info) => info.run(&server).await,
            Command::Tiers(tiers) => tiers.run(&server).await,
            Command::Warm(warm) => warm.run(&server).await,
            Command::Verify(verify) => verify.run(&server).await,
            Command::Bench(bench) => bench.run(&server).await,
            Command::Purge(purge) => purge.run(&server.limits).await,
            Command::Contains(contains) => contains.run(&server.limits).await,
            Command::Stats(stats) => stats.run(&server.limits).await,
            Command::Compact(compact) => compact.run(&server.limits).await,
            Command::Completions(completions) => completions.run(),
            Command::Explain(explain) => explain.run(&server).await,
            Command::Diff(diff) => return diff.run(&server).await,
            Command::Search(search) => return search.run(),
        };
        result.map(|()| ExitCode::SUCCESS)
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

/// The id of the flag that names the server.
const SERVER: &str = "server";

/// Which server, and how patiently it is asked.
#[derive(Debug, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct Server {
    /// The server's address
    #[arg(
        id = SERVER,
        long,
        global = true,
        env = "FLOORCTL_SERVER",
        default_value = "http://127.0.0.1:50051",
        value_name = "URL"
    )]
    url: String,
    #[command(flatten)]
    limits: CallLimits,
}

/// How patiently a server is asked.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct CallLimits {
    /// Give up on a call after this long, e.g. 500ms or 2s; no limit by default
    #[arg(long, global = true, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) deadline: Option<Duration>,
    /// Try a call again this often when the server is full, draining or gone, waiting as it asks
    #[arg(long, global = true, value_name = "TIMES", default_value_t = 0)]
    pub(crate) retries: usize,
}

impl Server {
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Connects at once, so that a server that is not there is found before anything is printed.
    pub(crate) async fn connect(&self) -> Result<FloorClient, ClientError> {
        let connecting = FloorClient::connect(&self.url);
        let client = match self.limits.deadline {
            None => connecting.await?,
            Some(deadline) => match tokio::time::timeout(deadline, connecting).await {
                Ok(connected) => connected?,
                Err(_) => {
                    let reason = format!("it does not answer within {}", humantime::format_duration(deadline));
                    return Err(ClientError::Unreachable { server: self.url.clone(), reason });
                }
            },
        };
        Ok(client.with_options(self.options()))
    }

    /// The options of a call that asks for nothing else.
    pub(crate) fn options(&self) -> CallOptions {
        let CallLimits { deadline, retries } = self.limits;
        let options = CallOptions::default().retries(retries);
        deadline.map_or(options, |deadline| options.deadline(deadline))
    }
}

/// How a floor is to be served.
#[derive(Debug, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct FetchOptions {
    /// Skip every tier: have the floor generated anew and the chain refreshed
    #[arg(long)]
    no_cache: bool,
    /// Ask what each tier answered and what it cost
    #[arg(long)]
    trace: bool,
}

impl FetchOptions {
    pub(crate) async fn connect(&self, server: &Server) -> Result<FloorClient, ClientError> {
        let options = server.options().no_cache(self.no_cache).trace(self.trace);
        Ok(server.connect().await?.with_options(options))
    }
}
