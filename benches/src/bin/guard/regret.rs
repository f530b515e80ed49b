//! The guard's cases of the automatic bypass, end to end: the cells of `regret --short`.

use anyhow::ensure;
use benches::{
    regret::{Cell, EVERY_BYPASS, Fleet, Keys, Plan, Shape, StoreKind, Verdict, fleet::can_run, grid},
    server::Setup,
};
use floor_cache::Bypass;

/// Calls of each variant in the smoke run.
const CALLS: u64 = 400;

/// The time of an answer (at low load: its median latency) with `auto` divided by that with the better fixed choice.
pub(crate) fn ratios() -> anyhow::Result<Vec<(String, f64)>> {
    let setup = Setup::new();
    let mut ratios = Vec::new();
    for cell in grid::SHORT.iter().copied().filter(|cell| can_run(cell, &setup)) {
        eprintln!("{cell}");
        let verdict = Verdict::of(cell, &Plan::SHORT.run(cell, &setup)?);
        ratios.push((format!("auto / the better fixed choice: {cell}"), 1.0 / verdict.primary.value));
    }
    Ok(ratios)
}

/// Makes some calls with each setting and checks which tiers answered. Returns the name of the cell.
pub(crate) fn smoke() -> anyhow::Result<Option<String>> {
    let (keys, shape) = (Keys::Uniform, Shape::new(2, 4));
    let cell = Cell { store: StoreKind::Lmdb, shape, keys, side: 32, batch: 1, servers: 1 };
    let setup = Setup::new();
    if !can_run(&cell, &setup) {
        return Ok(None);
    }
    let mut fleet = Fleet::start(cell, &setup, &EVERY_BYPASS, false)?;
    for (variant, bypass) in Bypass::ALL.into_iter().enumerate() {
        let tally = fleet.calls(variant, CALLS)?;
        let floors = |tier: &str| tally.served_by.get(tier).copied().unwrap_or(0);
        let all: u64 = tally.served_by.values().sum();
        ensure!(all == CALLS, "bypass = {bypass}: {CALLS} floors were requested, and the answers name {all}");
        match bypass {
            Bypass::Auto => {}
            Bypass::Off => {
                ensure!(floors("generated") == 0, "bypass = off: the store has every floor: {:?}", tally.served_by);
            }
            Bypass::Forced => {
                ensure!(floors("lmdb") == 0, "bypass = forced: the store is not asked: {:?}", tally.served_by);
            }
        }
    }
    Ok(Some(cell.to_string()))
}
