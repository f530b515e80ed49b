//! What a cache with an async `get` implements to be compared.

use std::path::Path;

use benches::floors::Entries;
use bytes::Bytes;
use floor_cache::Key;

/// Bytes of the memory over files: a twentieth of the floors, so that nearly every hit is in the files.
pub(crate) const OVER_FILES: usize = 256 << 10;

/// A cache with an async `get`.
pub(crate) trait AsyncPeer: Sized {
    /// The name in benches.
    const NAME: &'static str;

    /// The type of its keys, which are converted before the clock runs.
    type Key;

    fn key(key: &Key) -> Self::Key;

    /// A cache with `entries`, all of them in files of `directory` if it has files.
    fn filled(entries: &Entries, directory: &Path) -> impl Future<Output = Self>;

    fn get(&self, key: &Self::Key) -> impl Future<Output = Option<Bytes>>;
}
