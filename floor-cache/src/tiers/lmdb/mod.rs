//! The tier in a memory-mapped file.

mod check;
mod clean;
mod file;
mod layout;
mod open_guard;
mod tier;

pub use tier::LmdbTier;
