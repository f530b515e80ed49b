//! The LMDB tier: a memory-mapped store on disk.

mod check;
mod clean;
mod file;
mod layout;
mod open_guard;
mod tier;

pub use tier::LmdbTier;

const NAME: &str = crate::TierKind::Lmdb.name();
