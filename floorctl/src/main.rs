//! `floorctl`: the command-line client of the floor server. It generates floors itself to explain and search them.

mod cli;
mod cmd;
mod comparison;
mod difference;
mod failure;
#[cfg(test)]
mod fixture;
mod json;
mod json_layout;
mod local;
mod names;
mod numbers;
mod operations;
mod output;
mod parallel_scan;
mod picture;
mod profile;
mod progress;
mod target;

use std::process::ExitCode;

use crate::cli::Cli;

#[tokio::main]
async fn main() -> ExitCode {
    match Cli::read().run().await {
        Ok(code) => code,
        Err(error) => failure::report(&error),
    }
}
