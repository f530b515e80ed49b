//! The LMDB tier: a memory-mapped store on disk.

mod backup;
mod early_end;
mod file;
mod open_guard;
mod reserve;
mod tier;

pub use tier::LmdbTier;

const NAME: &str = crate::TierKind::Lmdb.name();

/// LMDB's data file.
const DATA: &str = "data.mdb";

/// LMDB's reader table, which LMDB writes through a map.
const LOCK: &str = "lock.mdb";

/// The prefix of a record in `values`: the age of the entry in `ages` (8 bytes, big-endian so that ages sort). The
/// envelope follows.
type Age = [u8; 8];
