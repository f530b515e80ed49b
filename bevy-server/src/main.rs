//! The server's binary: parses the command line, then runs the app or a command.

use std::{path::Path, process::ExitCode};

use bevy::app::AppExit;
use bevy_server::{
    cli::{Cli, Command},
    config::DEFAULTS,
    config_check, healthcheck, memory,
};
use clap::Parser;

/// musl's allocator has one lock for all threads (docs/decisions/0106-static-releases.md).
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    memory::keep_freed();
    let cli = Cli::parse();
    match run(&cli) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("bevy-server: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> anyhow::Result<ExitCode> {
    if cli.print_defaults {
        print!("{DEFAULTS}");
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(command) = &cli.command
        && command.describe_program()?
    {
        return Ok(ExitCode::SUCCESS);
    }
    let file = cli.config.as_deref().map(Path::new);
    let config = config_check::resolve(file)?;
    if cli.check_config {
        let checked = config_check::check(&config)?;
        checked.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
        print!("{}", config.resolved());
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(Command::Healthcheck) = cli.command {
        println!("{}", healthcheck::check(&config)?);
        return Ok(ExitCode::SUCCESS);
    }
    Ok(match bevy_server::app(&config)?.run() {
        AppExit::Success => ExitCode::SUCCESS,
        AppExit::Error(code) => ExitCode::from(code.get()),
    })
}
