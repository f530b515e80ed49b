//! The tier in a memory-mapped file.

mod file;
mod tier;

pub use tier::LmdbTier;
