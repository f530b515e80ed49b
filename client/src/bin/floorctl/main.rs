//! `floorctl`: ask a floor server for floors, draw them, warm, check and load it.

mod cli;
mod cmd;
mod difference;
mod failure;
#[cfg(test)]
mod fixture;
mod json;
mod layout;
mod names;
mod numbers;
mod output;
mod picture;
mod progress;
mod target;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::Cli;

#[tokio::main]
async fn main() -> ExitCode {
    match Cli::parse().run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure::report(&error),
    }
}
