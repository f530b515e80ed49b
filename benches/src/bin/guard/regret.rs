//! The guard's cases of the automatic bypass, end to end: the cells of `regret --short`.

use anyhow::ensure;
use benches::{
    load::Shape,
    regret::{Cell, Fleet, Keys, Plan, StoreKind, Verdict, every_bypass, grid, measure},
    sample::Samples,
    server::Setup,
};
use floor_cache::{Bypass, TierKind};

/// Calls of each variant in the smoke run.
const CALLS: u64 = 400;

/// The time of an answer (at low load: its median latency) with `auto` divided by that with the better fixed choice.
pub(crate) fn ratios() -> anyhow::Result<Vec<(String, f64)>> {
    let setup = Setup::new();
    let mut ratios = Vec::new();
    let cells: Vec<Cell> = grid::SHORT.iter().copied().filter(|cell| cell.can_run()).collect();
    for (at, &cell) in cells.iter().enumerate() {
        eprintln!("cell {} of {}, 40 s or more: {cell}", at + 1, cells.len());
        let mut samples = Samples::default();
        measure(cell, &setup, &Plan::SHORT, |sample| {
            samples.push(sample);
            Ok(())
        })?;
        let verdict = Verdict::of(cell, &samples);
        ratios.push((format!("auto / the better fixed choice: {cell}"), 1.0 / verdict.primary.value));
    }
    Ok(ratios)
}

/// Makes some calls with each setting and checks which tiers answered. Returns the name of the cell.
pub(crate) fn smoke() -> anyhow::Result<Option<String>> {
    let cell = Cell {
        store: StoreKind::of(TierKind::Lmdb),
        shape: Shape::new(2, 4),
        keys: Keys::Uniform,
        side: 32,
        ..Cell::PLAIN
    };
    let setup = Setup::new();
    if !cell.can_run() {
        return Ok(None);
    }
    let mut fleet = Fleet::start(cell, &setup, &every_bypass(), false)?;
    for (variant, bypass) in Bypass::ALL.into_iter().enumerate() {
        let tally = fleet.calls(variant, CALLS)?;
        let floors = |tier: &str| tally.served_by.get(tier).copied().unwrap_or(0);
        let all: u64 = tally.served_by.values().sum();
        ensure!(all == CALLS, "bypass = {bypass}: {CALLS} floors were requested, and the answers name {all}");
        let wrong = match bypass {
            Bypass::Auto => 0,
            // The store has every floor.
            Bypass::Off => floors("generated"),
            // The store is not asked.
            Bypass::Forced => floors("lmdb"),
        };
        ensure!(wrong == 0, "bypass = {bypass}: {wrong} answers from the wrong tier: {:?}", tally.served_by);
    }
    Ok(Some(cell.to_string()))
}
