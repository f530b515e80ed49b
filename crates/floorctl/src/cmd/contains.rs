//! `floorctl contains`: shows which tiers hold which floors.

use std::{collections::BTreeSet, fmt::Write as _, io::Write as _};

use anyhow::bail;
use clap::Args;
use floor_proto::operations::{Contained, FailedTier, FloorTiers};

use super::purge::queries;
use crate::{
    output::{self, ReportFormat},
    progress,
    server::Server,
    target::FloorSelection,
    tenant::{Whose, owned},
};

const AFTER_HELP: &str = "\
Prints one line per floor, with its pack if that is not the built-in one, and with the tiers that hold it; per floor and tenant, \
if the server has tenants. A tier that could not be asked has a ? behind it. Does not read or generate floors, and does not count as an \
access. Calls the operations port.

Examples:
  floorctl contains 42/7
  floorctl contains --seed 42 --numbers 1-1000 | grep -c lmdb";

/// Show which tiers hold which floors
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Contains {
    #[command(flatten)]
    selection: FloorSelection,
    #[command(flatten)]
    whose: Whose,
    #[command(flatten)]
    report: ReportFormat,
}

impl Contains {
    pub(crate) async fn run(self, server: &Server) -> anyhow::Result<()> {
        let mut out = output::stdout();
        let mut all = Contained::default();
        let mut failures = BTreeSet::new();
        let numbers = self.selection.numbers();
        let paths: Vec<_> = queries("/contains", &self.selection.pattern(), &numbers).collect();
        let bar = progress::bar("asking for", numbers.len());
        for (done, path) in (1..).zip(&paths) {
            let Contained { floors } = server.operations()?.get(&self.whose.path(path)).await?;
            bar.set_position(numbers.len() * done / paths.len() as u64);
            let failed = floors.iter().flat_map(|floor| &floor.failed);
            failures.extend(failed.map(|FailedTier { tier, error }| format!("{tier} failed: {error}")));
            if self.report.json {
                all.floors.extend(floors);
                continue;
            }
            let mut rows = String::new();
            for FloorTiers { floor, pack, tenant, tiers, failed } in floors {
                let held = tiers.iter().map(|tier| owned(tenant.as_deref(), tier));
                let unknown = failed.iter().map(|failed| owned(tenant.as_deref(), &failed.tier) + "?");
                let tiers: Vec<_> = held.chain(unknown).collect();
                let none = || owned(tenant.as_deref(), "-");
                let tiers = if tiers.is_empty() { none() } else { tiers.join(" ") };
                let of_pack = pack.map(|pack| format!(" --pack {pack}")).unwrap_or_default();
                writeln!(rows, "{floor}{of_pack}  {tiers}")?;
            }
            bar.suspend(|| out.write_all(rows.as_bytes()).and_then(|()| out.flush()))?;
        }
        bar.finish_and_clear();
        drop(out);
        if self.report.json {
            output::print_json(&all)?;
        }
        if failures.is_empty() { Ok(()) } else { bail!("{}", Vec::from_iter(failures).join("; ")) }
    }
}
