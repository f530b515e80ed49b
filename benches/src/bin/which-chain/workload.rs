//! What a million requests cost with each chain: from empty stores, and restarted on the stores that those filled.

use anyhow::Context;
use benches::{
    figure::{Bar, Bars, Caption},
    progress::Progress,
    regret::{Cell, Keys},
    report::Report,
    sample::{Figure, P99, RATE, Samples},
    server::Setup,
    timing::alternate,
};
use comfy_table::Table;

use crate::{
    Plan, all_cpu, bar,
    chains::{Candidate, Replay, Stores},
    figure,
};

/// The loads of the samples, whose variants are the chains.
pub(crate) const COLD: &str = "zipf, cold";
pub(crate) const WARM: &str = "zipf, warm";

/// Popularity is proportional to 1/rank: the customary round figure.
const CELL: Cell = Cell { keys: Keys::Zipf { tenths: 10 }, ..Cell::PLAIN };

/// Distinct floors of the load.
pub(crate) const FLOORS: u32 = CELL.floors();

/// Memory for the tier `lru`: about a sixth of the floors, so that the tiers below it matter.
pub(crate) const LRU_CAPACITY: &str = "4MiB";

pub(crate) fn measure(
    chains: &[Candidate],
    plan: &Plan,
    progress: &Progress,
    report: &mut Report,
) -> anyhow::Result<()> {
    let messages = CELL.messages().iter().take(plan.calls as usize).cloned().collect();
    let replay = Replay { messages, schedule: None };
    let setup = Setup::new().with("CACHE__LRU__CAPACITY", LRU_CAPACITY);
    for round in 0..plan.rounds {
        for chain in alternate(round, chains) {
            let name = chain.name();
            progress.show(format!("requests to {name}, round {} of {}", round + 1, plan.rounds));
            let stores = Stores::empty(chain.0)?;
            for load in [COLD, WARM] {
                let sample = stores.measure(&setup, &replay).with_context(|| format!("{load}, {name}"))?;
                report.add(sample.named(load, &name, round));
            }
            progress.advance(plan.chain());
        }
    }
    Ok(())
}

/// The cost of a million requests by chain under `loads`, which have headings, as a picture. `chosen` stands out.
pub(crate) fn picture(
    samples: &Samples,
    chains: &[Candidate],
    chosen: Candidate,
    loads: &[(&str, &str)],
) -> anyhow::Result<benches::figure::Figure> {
    let caption = Caption {
        name: "cost-of-chains",
        title: "What a million requests cost, by chain",
        axes: "CPU seconds of the server and of Redis; thin lines: the 95 % interval. The chain to use is bold.",
    };
    let bars = |load: &str| {
        let bar = |chain: &Candidate| Bar { is_marked: *chain == chosen, ..bar(samples, load, &chain.name(), all_cpu) };
        chains.iter().map(bar).collect()
    };
    let groups = loads.iter().map(|(load, heading)| ((*heading).to_owned(), bars(load))).collect();
    Bars { caption, groups }.draw()
}

/// The cost of a million requests by chain.
pub(crate) fn table(samples: &Samples, chains: &[Candidate]) -> Table {
    let header =
        ["chain", "a million cold, CPU s", "a million warm, CPU s", "answers/s cold", "answers/s warm", "p99 us warm"];
    let mut table = benches::table::table(header);
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
