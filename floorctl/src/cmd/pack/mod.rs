//! `floorctl pack`: writes, checks, draws, packs and compares content packs.

mod build;
mod check;
mod diff;
mod new;
mod show;
mod unpack;
mod watch;

use std::process::ExitCode;

use clap::{Args, Subcommand};

const AFTER_HELP: &str = "\
A pack is what a designer may change about floors: a folder with pack.toml, vaults/*.txt and floors/*.json, or the same \
in one .floorpack file. What it does not say is as in tower, the built-in pack. Wherever a pack is expected, `tower` \
stands for that one.

Examples:
  floorctl pack new mine
  floorctl pack watch mine
  floorctl pack check mine
  floorctl pack build mine --output mine.floorpack";

/// Write, check, draw and compare content packs
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Pack {
    #[command(subcommand)]
    command: PackCommand,
}

#[derive(Debug, Subcommand)]
enum PackCommand {
    New(new::New),
    Check(check::Check),
    Show(show::Show),
    Build(build::Build),
    Unpack(unpack::Unpack),
    Diff(diff::Diff),
    Watch(watch::Watch),
}

impl Pack {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        match self.command {
            PackCommand::New(new) => new.run().map(|()| ExitCode::SUCCESS),
            PackCommand::Check(check) => check.run(),
            PackCommand::Show(show) => show.run().map(|()| ExitCode::SUCCESS),
            PackCommand::Build(build) => build.run().map(|()| ExitCode::SUCCESS),
            PackCommand::Unpack(unpack) => unpack.run().map(|()| ExitCode::SUCCESS),
            PackCommand::Diff(diff) => diff.run(),
            PackCommand::Watch(watch) => watch.run().map(|()| ExitCode::SUCCESS),
        }
    }
}
