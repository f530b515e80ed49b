//! The tier in a log-structured store on disk.

use std::{
    fmt, fs, io,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use bytes::Bytes;
use sled::{Batch, Db, IVec, Tree};
use tracing::debug;

use super::quarantine::open_or_put_aside;
use crate::{
    config::SledConfig,
    envelope::Envelope,
    key::Key,
    open_error::OpenError,
    tier::{Answer, Tier, TierError, TierErrorKind, TierStats},
};

/// Keeps values in sled.
///
/// Reads are lock-free and copy the value once. A write is one atomic batch for all entries; it may block on the log, so
/// the chain writes from a thread of its own.
pub struct SledTier {
    db: Db,
    values: Tree,
    envelope: Envelope,
    entries: AtomicU64,
    corrupt: AtomicU64,
}

/// What the store says it is, in its default tree under [`LAYOUT_KEY`].
const LAYOUT: &str = "floor-cache sled 1";
const LAYOUT_KEY: &str = "layout";

/// How many values there are, so that opening a large store need not count them. Written on a flush, so after a crash
/// it is a little behind: it is shown to people and decides nothing.
const ENTRIES_KEY: &str = "entries";

/// Bytes of sled's own page cache. Small, since the tier above keeps what is hot.
const PAGE_CACHE: u64 = 32 << 20;

impl SledTier {
    /// Opens the store in `config.path`, making directory and store if they are missing. A damaged store is put aside,
    /// under a name with the date, and a fresh one begun.
    ///
    /// # Errors
    /// When the directory cannot be written, is in use, or what lies there is a store of another version.
    #[expect(clippy::needless_pass_by_value, reason = "it is the tier's own from here on")]
    pub fn open(config: &SledConfig, envelope: Envelope) -> Result<Self, OpenError> {
        open_or_put_aside(&config.path, || Self::open_as_it_is(config, &envelope))
    }

    fn open_as_it_is(config: &SledConfig, envelope: &Envelope) -> Result<Self, OpenError> {
        let path = config.path.as_path();
        fs::create_dir_all(path).map_err(|error| OpenError::directory("sled", path, &error))?;
        let broken = |error: sled::Error| match &error {
            sled::Error::Io(io) if io.kind() == io::ErrorKind::WouldBlock || io.to_string().contains("lock") => {
                OpenError::Locked { tier: "sled", path: path.to_owned() }
            }
            sled::Error::Io(io) => OpenError::directory("sled", path, io),
            _ => OpenError::store("sled", path, &error),
        };
        let db = sled::Config::new().path(path).cache_capacity(PAGE_CACHE).open().map_err(broken)?;
        let values = db.open_tree("values").map_err(broken)?;
        match db.get(LAYOUT_KEY).map_err(broken)? {
            Some(layout) if layout == LAYOUT.as_bytes() => {}
            None if values.is_empty() => {
                db.insert(LAYOUT_KEY, LAYOUT).map_err(broken)?;
            }
            other => {
                let found = other.unwrap_or_default();
                return Err(OpenError::version("sled", path, &String::from_utf8_lossy(&found), LAYOUT));
            }
        }
        let entries = db.get(ENTRIES_KEY).map_err(broken)?;
        let entries = entries.and_then(|count| Some(u64::from_le_bytes(count.as_ref().try_into().ok()?)));
        Ok(Self {
            db,
            values,
            envelope: envelope.clone(),
            entries: AtomicU64::new(entries.unwrap_or(0)),
            corrupt: AtomicU64::new(0),
        })
    }

    fn read(&self, key: &Key) -> Result<Option<Bytes>, sled::Error> {
        let stored = self.envelope.stored(key);
        let Some(record) = self.values.get(stored.as_bytes())? else { return Ok(None) };
        match self.envelope.open(&stored, &record) {
            Ok(value) => Ok(Some(value)),
            Err(defect) => {
                debug!(tier = "sled", %key, %defect, "a stored value is wrong; removed");
                self.corrupt.fetch_add(1, Relaxed);
                // Only if it is still the one that was read: a good value may have come meanwhile.
                if self.values.compare_and_swap(stored.as_bytes(), Some(record), None::<IVec>)?.is_ok() {
                    self.count(0, 1);
                }
                Ok(None)
            }
        }
    }

    fn write(&self, entries: &[(Key, Bytes)]) -> Result<(), sled::Error> {
        let mut batch = Batch::default();
        let mut added = 0;
        for (key, value) in entries {
            let stored = self.envelope.stored(key);
            let mut record = Vec::new();
            if let Err(defect) = self.envelope.seal(&stored, value, &mut record) {
                debug!(tier = "sled", %key, %defect, "a value is not kept");
                continue;
            }
            added += u64::from(!self.values.contains_key(stored.as_bytes())?);
            batch.insert(stored.as_bytes(), record);
        }
        self.values.apply_batch(batch)?;
        self.count(added, 0);
        Ok(())
    }

    fn remove(&self, keys: &[Key]) -> Result<(), sled::Error> {
        for key in keys {
            if self.values.remove(self.envelope.stored(key).as_bytes())?.is_some() {
                self.count(0, 1);
            }
        }
        Ok(())
    }

    fn count(&self, added: u64, removed: u64) {
        let _ = self.entries.try_update(Relaxed, Relaxed, |entries| Some((entries + added).saturating_sub(removed)));
    }

    fn flush_all(&self) -> Result<(), sled::Error> {
        self.db.insert(ENTRIES_KEY, &self.entries.load(Relaxed).to_le_bytes())?;
        self.db.flush().map(|_bytes| ())
    }
}

fn failed(action: &'static str) -> impl FnOnce(sled::Error) -> TierError {
    move |error| {
        let full = matches!(&error, sled::Error::Io(io) if io.kind() == io::ErrorKind::StorageFull);
        TierError::new(if full { TierErrorKind::Refused } else { TierErrorKind::Internal }, action, error)
    }
}

impl Tier for SledTier {
    fn name(&self) -> &'static str {
        "sled"
    }

    fn get<'a>(&'a self, key: &'a Key) -> Answer<'a, Option<Bytes>> {
        Answer::Now(self.read(key).map_err(failed("read from sled")))
    }

    fn get_many<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, Vec<Option<Bytes>>> {
        let values: Result<_, _> = keys.iter().map(|key| self.read(key)).collect();
        Answer::Now(values.map_err(failed("read many from sled")))
    }

    fn put_many<'a>(&'a self, entries: &'a [(Key, Bytes)]) -> Answer<'a, ()> {
        Answer::Now(self.write(entries).map_err(failed("write to sled")))
    }

    fn remove_many<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, ()> {
        Answer::Now(self.remove(keys).map_err(failed("remove from sled")))
    }

    fn contains<'a>(&'a self, key: &'a Key) -> Answer<'a, bool> {
        Answer::Now(self.values.contains_key(self.envelope.stored(key).as_bytes()).map_err(failed("look in sled")))
    }

    fn stats(&self) -> TierStats {
        TierStats {
            entries: self.entries.load(Relaxed),
            bytes: self.db.size_on_disk().unwrap_or(0),
            corrupt: self.corrupt.load(Relaxed),
        }
    }

    fn flush(&self) -> Answer<'_, ()> {
        Answer::Now(self.flush_all().map_err(failed("flush sled")))
    }
}

impl fmt::Debug for SledTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SledTier").finish_non_exhaustive()
    }
}
