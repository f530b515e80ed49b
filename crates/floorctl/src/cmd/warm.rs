//! `floorctl warm`: fills the cache of the server.

use std::time::{Duration, Instant};

use clap::Args;
use floor_client::{ClientError, FloorSpec, Served};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use indicatif::HumanCount;
use serde::Serialize;

use crate::{
    json::ServedJson,
    numbers::Numbers,
    output::{self, ReportFormat},
    progress,
    server::Server,
    target::Tower,
};

const AFTER_HELP: &str = "\
Requests the floors in batches. The server generates missing floors and stores them in every tier; floors that a \
lower tier holds are copied to the tiers above it. You can run this command at any time, stop it with Ctrl-C and run \
it again.

Examples:
  floorctl warm --seed 42 --numbers 1-1000
  floorctl warm --seed 42 --numbers 1-100 --size 64x64 --json";

/// Floors per batch: enough to save round trips, few enough that the progress bar moves.
const BATCH: usize = 64;

/// Fill the cache with floors
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Warm {
    #[command(flatten)]
    tower: Tower,
    /// Floor numbers and ranges, e.g. 1-1000,2000
    #[arg(long, value_name = "LIST", help_heading = "Floor", default_value = "1-100")]
    numbers: Numbers,
    /// Number of concurrent batches
    #[arg(long, value_name = "BATCHES", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=64))]
    concurrency: u8,
    #[command(flatten)]
    report: ReportFormat,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WarmJson<'a> {
    floors: u64,
    bytes: u64,
    seconds: f64,
    floors_per_second: f64,
    served: ServedJson<'a>,
}

impl Warm {
    pub(crate) async fn run(self, server: &Server) -> anyhow::Result<()> {
        let client = server.connect().await?;
        let bar = progress::bar("warming", self.numbers.len());
        let started = Instant::now();
        let batch = self.tower.batch_len().min(BATCH);
        let specs = self.numbers.iter().map(|number| self.tower.floor(number));
        let warmed = stream::iter(specs)
            .chunks(batch)
            .map(|specs: Vec<FloorSpec>| {
                let client = &client;
                async move { client.batch_encoded(&specs).await }
            })
            .buffer_unordered(self.concurrency.into())
            .try_fold((Served::default(), 0), async |(mut served, bytes), answer| {
                served.add(&answer.served);
                bar.inc(answer.value.len() as u64);
                Ok::<_, ClientError>((served, bytes + answer.value.iter().map(|f| f.bytes().len() as u64).sum::<u64>()))
            })
            .await;
        bar.finish_and_clear();
        let (served, bytes) = warmed?;
        self.print(started.elapsed(), bytes, &served)
    }

    fn print(&self, took: Duration, bytes: u64, served: &Served) -> anyhow::Result<()> {
        let floors = self.numbers.len();
        let seconds = took.as_secs_f64();
        let floors_per_second = floors as f64 / seconds;
        if self.report.json {
            let served = ServedJson::new(served);
            return output::print_json(&WarmJson { floors, bytes, seconds, floors_per_second, served });
        }
        output::print(format_args!(
            "Warmed {} in {seconds:.2} s ({} floors/s): {}",
            output::counted(floors, "floor"),
            HumanCount(floors_per_second.round() as u64),
            output::served(&served.by)
        ))
    }
}
