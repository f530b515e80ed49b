//! The commands, one file each: the flags as a struct, and `run`.

mod batch;
mod bench;
mod completions;
mod get;
mod info;
mod render;
mod stream;
mod tiers;
mod verify;
mod warm;

pub(crate) use self::{
    batch::Batch, bench::Bench, completions::Completions, get::Get, info::Info, render::Render, stream::Stream,
    tiers::Tiers, verify::Verify, warm::Warm,
};
