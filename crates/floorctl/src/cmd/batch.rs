//! `floorctl batch`: fetches many floors in one call.

use std::io::Write as _;

use clap::Args;
use floor_client::{FloorSpec, limits};
use floor_export::json_layout;
use indicatif::HumanCount;
use serde::Serialize;

use crate::{
    failure::UsageError,
    json::{FloorJson, ServedJson},
    numbers::Numbers,
    output::{self, Destination, Format},
    progress,
    server::{FetchOptions, Server},
    target::Tower,
};

const AFTER_HELP: &str = "\
Makes one BatchGetFloors call, which returns all floors in the order of --numbers, or fails. A batch holds at most 256 \
floors and at most 4,194,304 cells in total. `floorctl stream` fetches more.

The JSON has two fields: `floors`, with one line per floor, and `served` for all of them. `floorctl get --help` \
describes a floor; here it has no `served`. With --format bin, the output is the bytes of a \
floors.v1.BatchGetFloorsResponse.

Examples:
  floorctl batch --seed 42 --numbers 1-10,20
  floorctl batch --numbers 1-100 | jq '.floors[].rooms | length'";

/// Fetch several floors in one call
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Batch {
    #[command(flatten)]
    tower: Tower,
    /// Floor numbers and ranges, e.g. 1-10,20
    #[arg(long, value_name = "LIST", help_heading = "Floor")]
    numbers: Numbers,
    #[command(flatten)]
    fetch: FetchOptions,
    #[command(flatten)]
    to: Destination,
}

#[derive(Serialize)]
struct BatchJson<'a> {
    floors: Vec<FloorJson<'a>>,
    served: ServedJson<'a>,
}

impl Batch {
    pub(crate) async fn run(self, server: &Server) -> anyhow::Result<()> {
        if self.numbers.len() > limits::MAX_BATCH as u64 {
            let (floors, most) = (HumanCount(self.numbers.len()), limits::MAX_BATCH);
            return Err(
                UsageError(format!("--numbers: a batch holds 1 to {most} floors, not {floors}; see stream")).into()
            );
        }
        let client = self.fetch.connect(server).await?;
        let specs = self.numbers.iter().map(|n| self.tower.floor(n)).collect::<Vec<FloorSpec>>();
        let clock = progress::clock("fetching");
        let answer = client.batch_encoded(&specs).await?;
        clock.finish_and_clear();
        let checked = answer.value.iter().zip(&specs).map(|(encoded, spec)| encoded.decode_for(spec));
        let floors = checked.collect::<Result<Vec<_>, _>>()?;
        let mut out = self.to.open()?;
        match self.to.format() {
            Format::Json => {
                let floors = floors.iter().map(|floor| FloorJson::new(floor, None)).collect();
                json_layout::write(&mut out, &BatchJson { floors, served: ServedJson::new(&answer.served) })?;
            }
            Format::Bin => {
                for encoded in &answer.value {
                    output::write_batch_entry(&mut out, encoded)?;
                }
            }
        }
        Ok(out.flush()?)
    }
}
