//! The commands, one file each. Each is a struct with the flags and a method `run`.

mod batch;
mod bench;
mod compact;
mod completions;
mod contains;
mod diff;
mod explain;
mod get;
mod info;
mod purge;
mod render;
mod search;
mod stats;
mod stream;
mod tiers;
mod verify;
mod warm;

pub(crate) use self::{
    batch::Batch, bench::Bench, compact::Compact, completions::Completions, contains::Contains, diff::Diff,
    explain::Explain, get::Get, info::Info, purge::Purge, render::Render, search::Search, stats::Stats, stream::Stream,
    tiers::Tiers, verify::Verify, warm::Warm,
};
