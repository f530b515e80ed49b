//! `floorctl verify`: compares floors from the chain with the same floors generated again.

use anyhow::bail;
use clap::Args;
use floor_client::{ClientError, EncodedFloor, FloorClient, FloorSpec, Served};
use indicatif::HumanCount;
use serde::Serialize;

use crate::{
    difference,
    json::serialize_served,
    numbers::Numbers,
    output::{self, ReportFormat},
    progress,
    server::Server,
    target::Tower,
};

const AFTER_HELP: &str = "\
Fetches each floor twice: from the chain, and with `cache-control: no-cache`, which makes the server generate it \
again. Checks the content hash of both, that both are the requested floor, and that they are equal to the byte. If \
any floor is wrong, describes the first difference and exits with code 1.

Examples:
  floorctl verify --seed 42 --numbers 1-100
  floorctl verify --numbers 1-1000 --json";

/// Floors per batch: few enough to generate in a fraction of a second, so that the progress bar moves.
const BATCH: usize = 64;

/// Compare floors from the chain with the same floors generated again
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Verify {
    #[command(flatten)]
    tower: Tower,
    /// Floor numbers and ranges, e.g. 1-100,200
    #[arg(long, value_name = "LIST", help_heading = "Floor", default_value = "1-100")]
    numbers: Numbers,
    #[command(flatten)]
    report: ReportFormat,
}

/// The results so far.
#[derive(Default, Serialize)]
struct Findings {
    floors: u64,
    wrong: u64,
    #[serde(rename = "firstWrong")]
    first: Option<WrongFloor>,
    #[serde(serialize_with = "serialize_served")]
    chain: Served,
    #[serde(rename = "anew", serialize_with = "serialize_served")]
    regenerated: Served,
}

#[derive(Debug, Serialize)]
struct WrongFloor {
    number: u32,
    what: String,
}

impl Verify {
    pub(crate) async fn run(self, server: &Server) -> anyhow::Result<()> {
        let chain = server.connect().await?;
        let uncached = chain.with_options(server.options().no_cache(true));
        let bar = progress::bar("verifying", self.numbers.len());
        let mut findings = Findings::default();
        let mut specs = self.numbers.iter().map(|number| self.tower.floor(number));
        let batch = self.tower.batch_len().min(BATCH);
        loop {
            let batch = specs.by_ref().take(batch).collect::<Vec<_>>();
            if batch.is_empty() {
                break;
            }
            findings.compare(&batch, &chain, &uncached).await?;
            bar.inc(batch.len() as u64);
        }
        bar.finish_and_clear();
        self.print(&findings)
    }

    fn print(&self, findings: &Findings) -> anyhow::Result<()> {
        if self.report.json {
            output::print_json(findings)?;
        } else if findings.wrong == 0 {
            let (floors, served) = (HumanCount(findings.floors), output::served(&findings.chain.by));
            output::print(format_args!("Verified {floors} floors: from the chain ({served}) as generated anew"))?;
        }
        match &findings.first {
            None => Ok(()),
            Some(WrongFloor { number, what }) => {
                let (wrong, floors) = (HumanCount(findings.wrong), HumanCount(findings.floors));
                bail!("{wrong} of {floors} floors are wrong; the first is floor {number}: {what}")
            }
        }
    }
}

impl Findings {
    async fn compare(
        &mut self,
        specs: &[FloorSpec],
        chain: &FloorClient,
        uncached: &FloorClient,
    ) -> Result<(), ClientError> {
        let from_chain = chain.batch_encoded(specs).await?;
        let regenerated = uncached.batch_encoded(specs).await?;
        self.chain.add(&from_chain.served);
        self.regenerated.add(&regenerated.served);
        for (spec, (cached, generated)) in specs.iter().zip(from_chain.value.iter().zip(&regenerated.value)) {
            self.floors += 1;
            if let Some(what) = wrong(spec, cached, generated) {
                self.wrong += 1;
                self.first.get_or_insert(WrongFloor { number: spec.number, what });
            }
        }
        Ok(())
    }
}

/// Describes what is wrong with the cached floor or with the generated one. `None` if both are valid and equal.
fn wrong(spec: &FloorSpec, cached: &EncodedFloor, generated: &EncodedFloor) -> Option<String> {
    match (cached.decode_for(spec), generated.decode_for(spec)) {
        (Err(invalid), _) => Some(format!("from the chain: {invalid}")),
        (_, Err(invalid)) => Some(format!("generated anew: {invalid}")),
        (Ok(cached), Ok(generated)) => {
            difference::between(("the chain", &cached), ("the floor generated anew", &generated))
        }
    }
}
