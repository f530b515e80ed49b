//! The commands, one file each, with a struct of the flags and a method `run`. The list is in [`cli`](crate::cli).

pub(crate) mod backup;
pub(crate) mod batch;
pub(crate) mod bench;
pub(crate) mod capacity;
pub(crate) mod compact;
pub(crate) mod completions;
pub(crate) mod contains;
pub(crate) mod diff;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod get;
pub(crate) mod import;
pub(crate) mod info;
pub(crate) mod man;
pub(crate) mod pack;
pub(crate) mod purge;
pub(crate) mod render;
pub(crate) mod schema;
pub(crate) mod search;
pub(crate) mod stats;
pub(crate) mod stream;
pub(crate) mod tiers;
pub(crate) mod validate;
pub(crate) mod verify;
pub(crate) mod warm;
