//! The commands, one file each: the flags as a struct, and `run`.

mod batch;
mod bench;
mod completions;
mod diff;
mod explain;
mod get;
mod info;
mod render;
mod search;
mod stream;
mod tiers;
mod verify;
mod warm;

pub(crate) use self::{
    batch::Batch, bench::Bench, completions::Completions, diff::Diff, explain::Explain, get::Get, info::Info,
    render::Render, search::Search, stream::Stream, tiers::Tiers, verify::Verify, warm::Warm,
};
