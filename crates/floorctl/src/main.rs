//! `floorctl`: the command-line client of the floor server. It generates floors itself to explain and search them.

mod chart;
mod cmd;
mod comparison;
mod credentials;
mod difference;
mod export;
mod failure;
mod figures;
#[cfg(test)]
#[path = "../../floor-export/src/fixture.rs"]
mod fixture;
mod json;
mod load;
mod local;
mod metrics;
mod numbers;
mod operations;
mod output;
mod pack_sample;
mod pack_sheet;
mod pack_source;
mod pack_survey;
mod pack_text;
mod parallel_scan;
mod profile;
mod progress;
mod saved;
mod server;
mod source;
mod target;
mod tenant;
mod tier_rates;

use std::process::ExitCode;

// The fixture names it from the root of its crate.
#[cfg(test)]
use floor_export::picture;

use crate::cmd::Cli;

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
