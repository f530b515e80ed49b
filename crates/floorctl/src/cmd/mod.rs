//! The command line and the list of commands. Each command has a file, with a struct of the flags and a method `run`.

mod backup;
mod batch;
mod bench;
mod capacity;
mod card;
mod compact;
mod completions;
mod contains;
mod diff;
mod explain;
mod export;
mod get;
mod import;
mod info;
mod man;
mod pack;
mod purge;
mod receipt;
mod render;
mod schema;
mod search;
mod stats;
mod stream;
mod tiers;
mod validate;
mod verify;
mod warm;

use std::{
    collections::BTreeMap,
    io::Write as _,
    process::{ExitCode, Termination},
};

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand, error::ErrorKind, parser::ValueSource};
use floor_proto::text;

use crate::{
    output,
    server::{OPS, OPS_TOKEN_FILE, SERVER, Server},
    target::PackArg,
};

const AFTER_HELP: &str = "\
Exit codes: 0 success; 1 the server answered with an error, a floor is wrong, validate found a \
broken rule, diff found a difference or search found no match; 2 invalid command line; 3 cannot connect to the server.

Examples:
  floorctl render --seed 42 --number 7
  floorctl render 42/7 --path --locks --png floor.png
  floorctl search --seed 42 --where 'kind == cavern && loops > 4'
  floorctl get --seed 42 --number 7 | jq -r '.terrain[]'
  floorctl export 42/7 --offline --to tiled --output maps
  floorctl warm --seed 42 --numbers 1-1000
  floorctl --server http://10.0.0.5:50051 tiers
  floorctl --server https://floors.example:50051 --ca ca.pem --token-file token info
  floorctl purge --seed 42 --numbers 1-1000";

/// The command-line client of the floor server: fetches, draws and compares floors; warms, checks, loads and inspects
/// the server; searches, explains, checks and exports floors without a server.
#[derive(Debug, Parser)]
#[command(name = "floorctl", version, after_help = AFTER_HELP, propagate_version = true, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(flatten)]
    server: Server,
    #[command(subcommand)]
    command: Command,
}

/// The port that a command calls. It decides which of the shared flags the command uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Port {
    Grpc,
    Operations,
    Both,
    None,
}

/// Defines the commands from one list: the module, which is also the name on the command line, the struct
/// with the flags, and the port that the command calls. The help lists them in this order.
macro_rules! commands {
    ($($module:ident::$Command:ident calls $port:ident,)+) => {
        #[derive(Debug, Subcommand)]
        enum Command {
            $($Command($module::$Command),)+
        }

        impl Command {
            async fn run(self, server: &Server) -> anyhow::Result<ExitCode> {
                match self {
                    $(Self::$Command(command) => commands!(@run $port command server).map(Termination::report),)+
                }
            }
        }

        const PORTS: &[(&str, Port)] = &[$((stringify!($module), Port::$port)),+];
    };
    (@run None $command:ident $server:ident) => { $command.run() };
    (@run $port:ident $command:ident $server:ident) => { $command.run($server).await };
}

commands! {
    get::Get calls Grpc,
    batch::Batch calls Grpc,
    stream::Stream calls Grpc,
    render::Render calls Grpc,
    card::Card calls Grpc,
    info::Info calls Grpc,
    pack::Pack calls Grpc,
    receipt::Receipt calls Grpc,
    tiers::Tiers calls Grpc,
    warm::Warm calls Grpc,
    verify::Verify calls Grpc,
    bench::Bench calls Grpc,
    capacity::Capacity calls Both,
    purge::Purge calls Operations,
    contains::Contains calls Operations,
    stats::Stats calls Operations,
    compact::Compact calls Operations,
    backup::Backup calls Operations,
    export::Export calls Grpc,
    import::Import calls None,
    validate::Validate calls Grpc,
    diff::Diff calls Grpc,
    explain::Explain calls Grpc,
    search::Search calls None,
    schema::Schema calls None,
    completions::Completions calls None,
    man::Man calls None,
}

/// The port that the command with that name calls.
fn port(command: &str) -> Port {
    let listed = PORTS.iter().find(|(name, _)| *name == command);
    listed.expect("clap's commands and the ports come from one list").1
}

/// The derived clap command with two changes. The help of each command hides the shared flags that the command does not
/// use. The usage line after an error is the one of the help; clap would list each given flag in it as if required.
pub(crate) fn command() -> clap::Command {
    let command = Cli::command();
    let shared = command.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect::<Vec<_>>();
    let command = command.mut_subcommands(|command| {
        let port = port(command.get_name());
        let uses = |flag: &str| match flag {
            SERVER => matches!(port, Port::Grpc | Port::Both),
            OPS | OPS_TOKEN_FILE => matches!(port, Port::Operations | Port::Both),
            _ => port != Port::None,
        };
        let unused = shared.iter().filter(|flag| !uses(flag.get_id().as_str()));
        let command = command.args(unused.map(|flag| flag.clone().hide(true)));
        // Those of `pack` that call no server.
        command.mut_subcommands(|part| match part.get_name() {
            "list" | "get" | "verify" => part,
            _ => part.args(shared.iter().map(|flag| flag.clone().hide(true))),
        })
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
        let matches = command().try_get_matches().unwrap_or_else(|error| refuse(&error));
        if let Some((name, flags)) = matches.subcommand() {
            let given = |flag: &str| flags.value_source(flag) == Some(ValueSource::CommandLine);
            let named = |flag: &str| given(flag) || flags.value_source(flag) == Some(ValueSource::EnvVariable);
            let pack = flags.try_get_one::<PackArg>("pack").ok().flatten();
            if let Some(what) = wrong_port(name, given, named).or_else(|| wrong_pack(name, pack?)) {
                command().error(ErrorKind::ArgumentConflict, what).exit();
            }
        }
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }

    /// Runs the command and returns its exit code. `Ok` with a failure code means a difference found, or no match.
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let Self { server, command } = self;
        server.check_urls()?;
        tokio::select! {
            code = Box::pin(command.run(&server)) => code,
            silent = server.silent() => Err(silent.into()),
        }
    }
}

/// Prints the error of an invalid command line, what is remarkable about its arguments, and exits. Help is such an error too.
fn refuse(error: &clap::Error) -> ! {
    let _ = error.print();
    if error.use_stderr() {
        // The argument itself is not shown: it may be an address with a password.
        for (number, argument) in std::env::args_os().enumerate().skip(1) {
            let remark = match argument.to_str() {
                None => Some("it is not UTF-8".to_owned()),
                Some(text) => text.chars().filter(|character| *character != '\n').find_map(text::remark),
            };
            if let Some(remark) = remark {
                let _ = writeln!(output::stderr(), "Note on argument {number}: {remark}.");
            }
        }
    }
    std::process::exit(error.exit_code())
}

/// The error message if a flag names a port that the command does not call, and none the one that it calls.
fn wrong_port(command: &str, given: impl Fn(&str) -> bool, named: impl Fn(&str) -> bool) -> Option<String> {
    match port(command) {
        Port::Operations if given(SERVER) && !named(OPS) => Some(format!(
            "--server names the port that players reach, and `{command}` asks the operations port: name that one with \
             --ops URL or FLOORCTL_OPS, e.g. --ops http://127.0.0.1:50052"
        )),
        Port::Grpc | Port::None if named(OPS) && named(SERVER) => None,
        Port::Grpc | Port::None if given(OPS) => {
            Some(format!("--ops names the operations port, and `{command}` does not ask it"))
        }
        Port::Grpc | Port::None if given(OPS_TOKEN_FILE) => {
            Some(format!("--ops-token-file is for the operations port, and `{command}` does not ask it"))
        }
        _ => None,
    }
}

/// The commands that can use a pack on this machine.
const WITH_LOCAL_PACK: [&str; 6] = ["get", "render", "export", "validate", "explain", "search"];

/// The error message if `--pack` is on this machine, and the command asks a server for the floors.
fn wrong_pack(command: &str, pack: &PackArg) -> Option<String> {
    let is_wrong = matches!(pack, PackArg::Local(_)) && !WITH_LOCAL_PACK.contains(&command);
    is_wrong.then(|| {
        format!(
            "`{command}` asks a server, which has packs by their names: write --pack NAME or NAME@HASH; a folder or a \
             file is for {}",
            WITH_LOCAL_PACK.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const PAGE: &str = include_str!("../../../../docs/floorctl.md");

    #[test]
    fn clap_accepts_the_commands() {
        command().debug_assert();
    }

    #[test]
    fn exactly_the_commands_of_an_operator_have_the_flag_for_the_operations_port() {
        let mut built = command();
        built.build();
        for (name, calls) in PORTS {
            let command = built.find_subcommand(name).unwrap();
            let mut shown = command.get_arguments().filter(|argument| !argument.is_hide_set());
            let flag = shown.any(|argument| argument.get_long() == Some(OPS));
            assert_eq!(flag, matches!(calls, Port::Operations | Port::Both), "{name}");
        }
    }

    #[test]
    fn the_help_of_every_command_has_an_example() {
        for command in command().get_subcommands_mut() {
            let (name, help) = (command.get_name().to_owned(), command.render_long_help().to_string());
            assert!(help.contains(&format!("  floorctl {name}")), "{name} shows no example:\n{help}");
        }
    }

    #[test]
    fn the_table_of_the_page_lists_every_command() {
        let cells = PAGE.lines().filter(|line| line.starts_with("| [`")).filter_map(|line| line.split('|').nth(1));
        let listed: BTreeSet<_> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
        assert_eq!(listed, PORTS.iter().map(|(name, _)| *name).collect::<BTreeSet<_>>());
    }
}
