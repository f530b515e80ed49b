//! `floorctl`: the command-line client of the floor server. It generates floors itself to explain and search them.

mod cli;
mod cmd;
mod comparison;
mod credentials;
mod difference;
mod export;
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
mod rules;
mod saved;
mod saved_json;
mod source;
mod target;

use std::process::ExitCode;

use crate::cli::Cli;

/// musl's allocator has one lock for all threads (docs/decisions/0106-static-releases.md).
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    match Cli::read().run().await {
        Ok(code) => code,
        Err(error) => failure::report(&error),
    }
}
