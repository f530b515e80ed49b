//! `floorctl stream`: fetches consecutive floors in one streaming call.

use std::io::Write as _;

use clap::Args;
use floor_client::limits::{MAX_FLOOR, MAX_STREAM};
use floor_export::json_layout;
use indicatif::{HumanCount, ProgressBar};

use crate::{
    failure::UsageError,
    json::FloorJson,
    output::{self, Destination, Format},
    progress,
    server::{FetchOptions, Server},
    target::Target,
};

const AFTER_HELP: &str = "\
Prints each floor when it arrives, as one line of JSON (see `floorctl get --help`). At the end, it prints to stderr \
which tiers served the floors. With --format bin, the output is the bytes of a floors.v1.BatchGetFloorsResponse.

Examples:
  floorctl stream --seed 42 --number 1 --count 100 | jq -c '[.spec.number, .metrics.difficulty]'
  floorctl stream --number 1 --count 10000 | head -3";

/// Fetch consecutive floors, starting with --number
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Stream {
    #[command(flatten)]
    first: Target,
    /// The number of floors, 1 to 10,000
    #[arg(long, default_value_t = 10, help_heading = "Floor",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_STREAM)))]
    count: u32,
    #[command(flatten)]
    fetch: FetchOptions,
    #[command(flatten)]
    to: Destination,
}

impl Stream {
    pub(crate) async fn run(self, server: &Server) -> anyhow::Result<()> {
        let first = self.first.floor().number;
        if self.count - 1 > MAX_FLOOR - first {
            let (count, left) = (HumanCount(self.count.into()), HumanCount((MAX_FLOOR - first + 1).into()));
            let first = HumanCount(first.into());
            return Err(UsageError(format!("--count: from floor {first} there are {left} floors, not {count}")).into());
        }
        let client = self.fetch.connect(server).await?;
        let mut floors = client.stream(self.first.floor(), self.count).await?;
        let mut out = self.to.open()?;
        // Other output may go to the terminal of the bar.
        let bar = if self.to.is_file() { progress::bar("streaming", self.count.into()) } else { ProgressBar::hidden() };
        while let Some((spec, encoded)) = floors.next_encoded().await? {
            let floor = encoded.decode_for(&spec)?;
            match self.to.format() {
                Format::Json => json_layout::write_line(&mut out, &FloorJson::new(&floor, None))?,
                Format::Bin => output::write_batch_entry(&mut out, &encoded)?,
            }
            // Shows each floor immediately, and detects a closed pipe early.
            out.flush()?;
            bar.inc(1);
        }
        bar.finish_and_clear();
        let served = floors.served().await?;
        writeln!(
            output::stderr(),
            "{} served by {}",
            output::counted(self.count.into(), "floor"),
            output::served(&served.by)
        )?;
        Ok(())
    }
}
