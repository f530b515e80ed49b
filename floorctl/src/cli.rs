//! The command line: the flags that commands share, and the list of commands.

use std::{collections::BTreeMap, process::ExitCode, time::Duration};

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, error::ErrorKind, parser::ValueSource};
use floor_client::{CallOptions, ClientError, FloorClient};

use crate::cmd;

const AFTER_HELP: &str = "\
Exit codes: 0 success; 1 the server answered with an error, a floor is wrong, diff found a difference or search found \
no match; 2 invalid command line; 3 cannot connect to the server.

Examples:
  floorctl render --seed 42 --number 7
  floorctl render 42/7 --path --locks --png floor.png
  floorctl search --seed 42 --where 'kind == cavern && loops > 4'
  floorctl get --seed 42 --number 7 | jq -r '.terrain[]'
  floorctl warm --seed 42 --numbers 1-1000
  floorctl --server http://10.0.0.5:50051 tiers
  floorctl purge --seed 42 --numbers 1-1000";

/// The command-line client of the floor server: fetches, draws and compares floors; warms, checks, loads and inspects
/// the server; searches and explains floors without a server.
#[derive(Debug, Parser)]
#[command(name = "floorctl", version, after_help = AFTER_HELP, propagate_version = true, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(flatten)]
    server: Server,
    #[command(subcommand)]
    command: Command,
}

/// The commands that call the operations port and ignore the server's address.
const OPERATIONS: [&str; 4] = ["purge", "contains", "stats", "compact"];
/// The commands that call no server.
const OFFLINE: [&str; 2] = ["search", "completions"];

/// The derived clap command with two changes. The help of each command hides the shared flags that the command does not
/// use. The usage line after an error is the one of the help; clap would list each given flag in it as if required.
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
    /// Parses the command line. Prints a usage error and exits if it is invalid.
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

    /// Runs the command and returns its exit code. `Ok` with a failure code means a difference found, or no match.
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

/// The server to call, and the limits of calls.
#[derive(Debug, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct Server {
    /// The address of the server
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

/// The deadline and the retries of calls.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct CallLimits {
    /// Time limit of each call with all its retries, e.g. 500ms or 2s; none by default
    #[arg(long, global = true, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) deadline: Option<Duration>,
    /// Retry a call at most this many times if the server is full, draining or unreachable; waits as long
    /// as the server asks
    #[arg(long, global = true, value_name = "TIMES", default_value_t = 0)]
    pub(crate) retries: usize,
}

impl Server {
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Connects immediately, so that an unreachable server is reported before anything is printed.
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

    /// The call options that follow from the flags.
    pub(crate) fn options(&self) -> CallOptions {
        let CallLimits { deadline, retries } = self.limits;
        let options = CallOptions::default().retries(retries);
        deadline.map_or(options, |deadline| options.deadline(deadline))
    }
}

/// The options for fetching a floor.
#[derive(Debug, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct FetchOptions {
    /// Skip the cache: the server generates the floor again and stores it in every tier
    #[arg(long)]
    no_cache: bool,
    /// Request the result and the time of each tier
    #[arg(long)]
    trace: bool,
}

impl FetchOptions {
    pub(crate) async fn connect(&self, server: &Server) -> Result<FloorClient, ClientError> {
        let options = server.options().no_cache(self.no_cache).trace(self.trace);
        Ok(server.connect().await?.with_options(options))
    }
}
