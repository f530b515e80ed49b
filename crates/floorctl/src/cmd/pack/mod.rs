//! `floorctl pack`: writes, checks, draws and compares content packs, and gets them from a server.

mod build;
mod check;
mod check_module;
mod diff;
mod freeze;
mod get;
mod list;
mod new;
mod schema;
mod show;
mod unpack;
mod watch;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::server::Server;

const AFTER_HELP: &str = "\
A pack is what a designer may change about floors: a folder with pack.toml, vaults/*.txt and floors/*.json, or the same \
in one .floorpack file. What it does not say is as in tower, the built-in pack. Wherever a pack is expected, `tower` \
stands for that one. `list` and `get` ask a server; the others need none.

Examples:
  floorctl pack new mine
  floorctl pack watch mine
  floorctl pack check mine
  floorctl pack build mine --output mine.floorpack
  floorctl pack list";

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
    Freeze(freeze::Freeze),
    Unpack(unpack::Unpack),
    Diff(diff::Diff),
    Watch(watch::Watch),
    Schema(schema::Schema),
    List(list::List),
    Get(get::Get),
}

impl Pack {
    pub(crate) async fn run(self, server: &Server) -> anyhow::Result<ExitCode> {
        match self.command {
            PackCommand::New(new) => new.run().map(|()| ExitCode::SUCCESS),
            PackCommand::Check(check) => check.run(),
            PackCommand::Show(show) => show.run().map(|()| ExitCode::SUCCESS),
            PackCommand::Build(build) => build.run().map(|()| ExitCode::SUCCESS),
            PackCommand::Freeze(freeze) => freeze.run().map(|()| ExitCode::SUCCESS),
            PackCommand::Unpack(unpack) => unpack.run().map(|()| ExitCode::SUCCESS),
            PackCommand::Diff(diff) => diff.run(),
            PackCommand::Watch(watch) => watch.run().await.map(|()| ExitCode::SUCCESS),
            PackCommand::Schema(schema) => schema.run().map(|()| ExitCode::SUCCESS),
            PackCommand::List(list) => list.run(server).await.map(|()| ExitCode::SUCCESS),
            PackCommand::Get(get) => get.run(server).await.map(|()| ExitCode::SUCCESS),
        }
    }
}
