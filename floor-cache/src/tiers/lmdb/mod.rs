//! The LMDB tier: a memory-mapped store on disk.

mod check;
mod clean;
mod file;
mod layout;
mod open_guard;
mod tier;

pub use tier::LmdbTier;

const NAME: &str = crate::TierKind::Lmdb.name();

/// LMDB's data file.
const DATA: &str = "data.mdb";

/// The databases of a store, and the length of their keys if it is fixed.
const DATABASES: [(&str, Option<usize>); 3] = [("meta", None), ("values", None), ("ages", Some(size_of::<Age>()))];

/// The prefix of a record in `values`: the age of the entry in `ages` (8 bytes, big-endian so that ages sort). The
/// envelope follows.
type Age = [u8; 8];
