//! What a million requests cost with each chain: from empty stores, and restarted on the stores that those filled.

use std::{sync::Arc, thread, time::Duration};

use anyhow::Context;
use benches::{
    chains::{Candidate, Stores},
    load::{ClosedLoop, Shape},
    regret::{Cell, Keys},
    report::{self, Record},
    sample::{Figure, P99, RATE, Sample, Samples, Snapshot},
    server::Setup,
    timing::alternate,
};
use bytes::Bytes;
use comfy_table::Table;
use indicatif::ProgressBar;

use crate::{Plan, all_cpu, figure};

/// The loads of the samples, whose variants are the chains.
pub(crate) const COLD: &str = "zipf, cold";
pub(crate) const WARM: &str = "zipf, warm";

/// Popularity is proportional to 1/rank: the customary round figure.
const CELL: Cell = Cell { keys: Keys::Zipf { tenths: 10 }, shape: Shape::new(4, 10), ..Cell::PLAIN };

/// Distinct floors of the load.
pub(crate) const FLOORS: u32 = CELL.floors();

/// Memory for the tier `lru`: about a sixth of the floors, so that the tiers below it matter.
pub(crate) const LRU_CAPACITY: &str = "4MiB";

/// Time in which the server writes what it has queued.
const WRITES: Duration = Duration::from_millis(200);

pub(crate) fn measure(
    chains: &[Candidate],
    plan: &Plan,
    progress: &ProgressBar,
    record: &mut Record,
) -> anyhow::Result<()> {
    let messages = CELL.messages();
    let messages: Arc<[Bytes]> = messages.iter().take(plan.calls as usize).cloned().collect();
    for round in 0..plan.rounds {
        for chain in alternate(round, chains) {
            let name = chain.name();
            progress.set_message(format!("requests to {name}, round {} of {}", round + 1, plan.rounds));
            let stores = Stores::empty(chain.tiers())?;
            for load in [COLD, WARM] {
                let sample = run(&stores, &messages).with_context(|| format!("{load}, {name}"))?;
                record.add(sample.named(load, &name, round))?;
            }
            progress.inc(1);
        }
    }
    Ok(())
}

fn run(stores: &Stores, messages: &Arc<[Bytes]>) -> anyhow::Result<Sample> {
    let servers = [stores.serve(&Setup::new().with("CACHE__LRU__CAPACITY", LRU_CAPACITY))?];
    let mut load = ClosedLoop::new([servers[0].grpc], CELL.rpc(), CELL.shape, Arc::clone(messages));
    let before = Snapshot::of(&servers, &stores.redis)?;
    let tally = load.run_calls(messages.len() as u64)?;
    // The writes that the load caused count too.
    thread::sleep(WRITES);
    let sample = Sample::of(&tally, &before, &Snapshot::of(&servers, &stores.redis)?);
    // The server writes its queue, so that the next run's stores are complete.
    let [server] = servers;
    server.stop()?;
    Ok(sample)
}

/// The cost of a million requests by chain.
pub(crate) fn table(samples: &Samples, chains: &[Candidate]) -> Table {
    let header =
        ["chain", "a million cold, CPU s", "a million warm, CPU s", "answers/s cold", "answers/s warm", "p99 us warm"];
    let mut table = report::table(header);
    for chain in chains {
        let name = chain.name();
        let of = |load, decimals, column: Figure| figure(samples, load, &name, decimals, column);
        table.add_row([
            name.clone(),
            of(COLD, 1, all_cpu),
            of(WARM, 1, all_cpu),
            of(COLD, 0, RATE.2),
            of(WARM, 0, RATE.2),
            of(WARM, 0, P99.2),
        ]);
    }
    table
}
