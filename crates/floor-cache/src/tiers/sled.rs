//! The sled tier: a log-structured store on disk with eviction above its capacity.

use std::{
    fmt, fs, io,
    ops::Bound::{Excluded, Included, Unbounded},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use bytes::Bytes;
use sled::{Db, IVec, Tree};
use tracing::debug;

use super::{directory, quarantine, sieve::Sieve};
use crate::{
    config::{SledConfig, TierKind},
    envelope::{Defect, Envelope, StoredPattern},
    key::{Key, KeyPattern},
    open_error::OpenError,
    sync::Mutex,
    tier::{Answer, RemovedBatch, ScanPosition, Tier, TierAdmin, TierError, TierErrorKind, TierStats},
};

/// A tier in a sled store.
///
/// Reads are lock-free and copy the value once. A write may block on the log, so the chain writes from its writer
/// thread.
pub struct SledTier {
    store: Store,
    path: PathBuf,
    envelope: Envelope,
    sieve: Sieve,
    /// Bytes of entries above which entries are evicted.
    capacity: u64,
    /// The age of the next value. The lock serialises writes.
    next_age: Mutex<u64>,
    entries: AtomicU64,
    bytes: AtomicU64,
    corrupt: AtomicU64,
}

/// An open store.
struct Store {
    db: Db,
    /// Stored key -> envelope, and the counts under [`COUNTS_KEY`].
    values: Tree,
    /// Age -> stored key, in the order of the sieve. It may name a removed key, or a key twice. A value has no age only
    /// if the server was killed between the two writes.
    ages: Tree,
}

const NAME: &str = TierKind::Sled.name();

/// The format of the store, in its default tree under [`LAYOUT_KEY`].
const LAYOUT: &str = "floor-cache sled 1";
const LAYOUT_KEY: &str = "layout";

/// The key of the [`Sieve`]'s hand in the default tree, big-endian. It is missing in a store of an earlier release,
/// which ignores it.
const HAND_KEY: &str = "hand";

/// The number of values and their bytes, so that opening need not count them: two little-endian words, written after
/// each batch of the chain. After a crash they may be off by a part of a batch. No stored key starts like this.
const COUNTS_KEY: &[u8] = b"\0counts";

/// Values that one batch of a removal by pattern looks at: a few milliseconds, for which writes wait.
const SCAN_BATCH: usize = 512;

/// Bytes of sled's page cache. Small, because the memory tier caches hot values.
const PAGE_CACHE: u64 = 32 << 20;

impl SledTier {
    /// Opens the store in `config.path`, or creates it. A store that is damaged or of another version is put aside under a
    /// name with the date, and a new one created.
    ///
    /// # Errors
    /// When the directory cannot be written, or the store is in use.
    #[expect(clippy::needless_pass_by_value, reason = "it is the tier's own from here on")]
    pub fn open(config: &SledConfig, envelope: Envelope) -> Result<Self, OpenError> {
        let is_of_store = |name: &str| ["conf", "db", "blobs"].contains(&name) || name.starts_with("snap.");
        quarantine::open_or_put_aside(&config.path, is_of_store, || Self::open_existing(config, &envelope))
    }

    fn open_existing(config: &SledConfig, envelope: &Envelope) -> Result<Self, OpenError> {
        let path = config.path.as_path();
        directory::create(NAME, path)?;
        let broken = |error: sled::Error| match &error {
            sled::Error::Io(io) if io.kind() == io::ErrorKind::WouldBlock || io.to_string().contains("lock") => {
                OpenError::Locked { tier: NAME, path: path.to_owned() }
            }
            sled::Error::Io(io) => OpenError::directory(NAME, path, io),
            sled::Error::Unsupported(_) if has_settings(path) => {
                OpenError::version(NAME, path, "another version of sled, or other settings", LAYOUT)
            }
            _ => OpenError::store(NAME, path, &error),
        };
        let store = Store::open(path).map_err(broken)?;
        match store.db.get(LAYOUT_KEY).map_err(broken)? {
            Some(layout) if layout == LAYOUT.as_bytes() => {}
            None if store.values.is_empty() => {
                store.db.insert(LAYOUT_KEY, LAYOUT).map_err(broken)?;
            }
            other => {
                let found = other.unwrap_or_default();
                return Err(OpenError::version(NAME, path, &String::from_utf8_lossy(&found), LAYOUT));
            }
        }
        let (entries, bytes) = match store.values.get(COUNTS_KEY).map_err(broken)?.as_deref().and_then(counts_from) {
            Some(counts) => counts,
            // A new store, or one of an earlier release.
            None => store.count_and_age().map_err(broken)?,
        };
        let hand = store.db.get(HAND_KEY).map_err(broken)?.map_or(0, |hand| age_from(&hand));
        let youngest = store.ages.last().map_err(broken)?;
        Ok(Self {
            store,
            path: path.to_owned(),
            envelope: envelope.clone(),
            sieve: Sieve::new(config.capacity, hand),
            capacity: if config.capacity == 0 { u64::MAX } else { config.capacity },
            next_age: Mutex::new(youngest.map_or(0, |(age, _)| age_from(&age).saturating_add(1))),
            entries: AtomicU64::new(entries),
            bytes: AtomicU64::new(bytes),
            corrupt: AtomicU64::new(0),
        })
    }

    fn read(&self, key: &Key) -> Result<Option<Bytes>, sled::Error> {
        let stored = self.envelope.stored(key);
        let Some(record) = self.store.values.get(stored.as_bytes())? else { return Ok(None) };
        match self.envelope.open(&stored, &record) {
            Ok(value) => {
                self.sieve.visit(stored.as_bytes());
                Ok(Some(value))
            }
            Err(Defect::UnknownKey) => Ok(None),
            Err(defect) => {
                debug!(tier = NAME, %key, %defect, "a stored value is wrong; removed");
                self.corrupt.fetch_add(1, Relaxed);
                // Only if it is unchanged since the read: a valid value may have replaced it.
                let size = size_of_entry(stored.as_bytes(), &record);
                if self.store.values.compare_and_swap(stored.as_bytes(), Some(record), None::<IVec>)?.is_ok() {
                    change(&self.entries, 0, 1);
                    change(&self.bytes, 0, size);
                }
                Ok(None)
            }
        }
    }

    /// Writes the entries one by one. A batch blocks readers. Also, a batch that rereads a page evicted from sled's
    /// cache waits for the page to become durable, which waits for the batch, under a lock on every sled store of the
    /// process (sled 0.34: `pagecache/logger.rs`, `read`).
    fn write(&self, entries: &[(Key, Bytes)]) -> Result<(), sled::Error> {
        let mut next_age = self.next_age.lock();
        for (key, value) in entries {
            let stored = self.envelope.stored(key);
            let mut record = Vec::new();
            if let Err(defect) = self.envelope.seal(&stored, value, &mut record) {
                debug!(tier = NAME, %key, %defect, "a value cannot be stored");
                continue;
            }
            let size = size_of_entry(stored.as_bytes(), &record);
            match self.store.values.insert(stored.as_bytes(), record)? {
                Some(held) => {
                    change(&self.bytes, size, size_of_entry(stored.as_bytes(), &held));
                    // It was asked for, although not here: memory serves it, or the tier was bypassed.
                    self.sieve.visit(stored.as_bytes());
                }
                None => {
                    change(&self.entries, 1, 0);
                    change(&self.bytes, size, 0);
                    self.store.ages.insert(next_age.to_be_bytes(), stored.as_bytes())?;
                    *next_age += 1;
                }
            }
        }
        self.evict_to_capacity(*next_age)?;
        self.store_counts()
    }

    /// Evicts until the store is within its capacity: first the entries that the sieve chooses, then entries without an
    /// age.
    fn evict_to_capacity(&self, next_age: u64) -> Result<(), sled::Error> {
        let is_full = || self.bytes.load(Relaxed) > self.capacity;
        if !is_full() {
            return Ok(());
        }
        while is_full() && self.sweep(next_age, is_full)? {}
        self.store.db.insert(HAND_KEY, &self.sieve.hand().to_be_bytes())?;
        if !is_full() {
            return Ok(());
        }
        // The remaining values lost their ages when a server was killed.
        for key in self.store.values.iter().keys() {
            let key = key?;
            if key != COUNTS_KEY {
                self.remove_stored(&key)?;
            }
            if !is_full() {
                break;
            }
        }
        Ok(())
    }

    /// Evicts in one pass of the sieve while the store is full. Returns whether any entry was evicted.
    fn sweep(&self, next_age: u64, is_full: impl Fn() -> bool) -> Result<bool, sled::Error> {
        let mut sweep = self.sieve.sweep(next_age, self.entries.load(Relaxed));
        let start = sweep.start();
        let (newer, older) = (self.store.ages.range(start..), self.store.ages.range(..start));
        let mut evicted = false;
        for entry in newer.chain(older) {
            let (age, stored) = entry?;
            if sweep.should_evict(age_from(&age), &stored) {
                self.remove_stored(&stored)?;
                self.store.ages.remove(age)?;
                evicted = true;
            }
            if !is_full() {
                break;
            }
        }
        Ok(evicted)
    }

    fn remove(&self, keys: &[Key]) -> Result<(), sled::Error> {
        let _write_lock = self.next_age.lock();
        for key in keys {
            self.remove_stored(self.envelope.stored(key).as_bytes())?;
        }
        self.store_counts()
    }

    /// Looks at [`SCAN_BATCH`] values after `from` and removes those whose stored keys match `pattern`.
    fn remove_batch(&self, pattern: &StoredPattern, from: Option<&ScanPosition>) -> Result<RemovedBatch, sled::Error> {
        let _write_lock = self.next_age.lock();
        let start = from.map_or(Included(pattern.start()), |ScanPosition(last)| Excluded(last.as_slice()));
        let (mut entries, mut next) = (0, None);
        let values = self.store.values.range::<&[u8], _>((start, Unbounded));
        for (index, stored) in values.keys().enumerate() {
            let stored = stored?;
            if !stored.starts_with(pattern.start()) {
                break;
            }
            if pattern.matches(&stored) {
                entries += u64::from(self.remove_stored(&stored)?);
            }
            if index + 1 == SCAN_BATCH {
                next = Some(ScanPosition(stored.to_vec()));
                break;
            }
        }
        self.store_counts()?;
        Ok(RemovedBatch { entries, next })
    }

    /// Whether there was a value under `stored`.
    fn remove_stored(&self, stored: &[u8]) -> Result<bool, sled::Error> {
        let held = self.store.values.remove(stored)?;
        if let Some(held) = &held {
            change(&self.entries, 0, 1);
            change(&self.bytes, 0, size_of_entry(stored, held));
        }
        Ok(held.is_some())
    }

    fn store_counts(&self) -> Result<(), sled::Error> {
        let (entries, bytes) = (self.entries.load(Relaxed), self.bytes.load(Relaxed));
        let counts = (u128::from(bytes) << 64 | u128::from(entries)).to_le_bytes();
        self.store.values.insert(COUNTS_KEY, &counts).map(|_before| ())
    }
}

impl Store {
    fn open(path: &Path) -> Result<Self, sled::Error> {
        let db = sled::Config::new().path(path).cache_capacity(PAGE_CACHE).open()?;
        let (values, ages) = (db.open_tree("values")?, db.open_tree("ages")?);
        Ok(Self { db, values, ages })
    }

    /// Counts entries and bytes by iteration. If no entry has an age, assigns ages in key order.
    fn count_and_age(&self) -> Result<(u64, u64), sled::Error> {
        let unaged = self.ages.is_empty();
        self.values.iter().try_fold((0, 0), |(entries, bytes): (u64, u64), entry| {
            let (key, envelope) = entry?;
            if unaged {
                self.ages.insert(entries.to_be_bytes(), key.clone())?;
            }
            Ok((entries + 1, bytes + size_of_entry(&key, &envelope)))
        })
    }
}

/// Whether sled's settings in `path` are text and a checksum. Otherwise they are damaged, which sled mistakes for a
/// version before 0.29.
fn has_settings(path: &Path) -> bool {
    const CHECKSUM: usize = 4;
    let settings = fs::read(path.join("conf")).unwrap_or_default();
    let lines = settings.len().checked_sub(CHECKSUM).map(|len| &settings[..len]);
    lines.is_some_and(|lines| std::str::from_utf8(lines).is_ok())
}

/// Adds `added` to a count and subtracts `removed`, saturating at zero: an invalid value may be subtracted twice if it
/// is overwritten meanwhile.
fn change(count: &AtomicU64, added: u64, removed: u64) {
    let _ = count.fetch_update(Relaxed, Relaxed, |count| Some((count + added).saturating_sub(removed)));
}

/// Decodes a stored age. One of another length counts as the oldest.
fn age_from(stored: &[u8]) -> u64 {
    stored.try_into().map_or(0, u64::from_be_bytes)
}

/// Decodes the entries and bytes under [`COUNTS_KEY`].
fn counts_from(stored: &[u8]) -> Option<(u64, u64)> {
    let counts = u128::from_le_bytes(stored.try_into().ok()?);
    Some((counts as u64, (counts >> 64) as u64))
}

/// Bytes of an entry with its age, which count against the capacity.
const fn size_of_entry(key: &[u8], envelope: &[u8]) -> u64 {
    (2 * key.len() + envelope.len() + size_of::<u64>()) as u64
}

fn failed(action: &'static str) -> impl FnOnce(sled::Error) -> TierError {
    move |error| {
        if matches!(&error, sled::Error::Io(io) if io.kind() == io::ErrorKind::StorageFull) {
            let reason = format!("{error}; free space and restart the server: sled keeps the error of a write");
            TierError::new(TierErrorKind::Refused, action, reason)
        } else {
            TierError::new(TierErrorKind::Internal, action, error)
        }
    }
}

impl Tier for SledTier {
    fn name(&self) -> &'static str {
        NAME
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

    fn flush(&self) -> Answer<'_, ()> {
        Answer::Now(self.store.db.flush().map(|_bytes| ()).map_err(failed("flush sled")))
    }
}

impl TierAdmin for SledTier {
    fn contains<'a>(&'a self, key: &'a Key) -> Answer<'a, bool> {
        let held = self.store.values.contains_key(self.envelope.stored(key).as_bytes());
        Answer::Now(held.map_err(failed("look in sled")))
    }

    fn remove_matching<'a>(
        &'a self,
        pattern: &'a KeyPattern,
        from: Option<&'a ScanPosition>,
    ) -> Answer<'a, RemovedBatch> {
        let removed = self.remove_batch(&self.envelope.stored_pattern(pattern), from);
        Answer::Now(removed.map_err(failed("remove from sled by pattern")))
    }

    fn stats(&self) -> TierStats {
        TierStats {
            entries: self.entries.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            corrupt: self.corrupt.load(Relaxed),
            limit: if self.capacity == u64::MAX { 0 } else { self.capacity },
            disk: self.store.db.size_on_disk().unwrap_or(0),
            ..TierStats::default()
        }
    }

    fn directory(&self) -> Option<&Path> {
        Some(&self.path)
    }

    fn aside_bytes(&self) -> Option<u64> {
        Some(quarantine::aside_bytes(&self.path))
    }
}

impl fmt::Debug for SledTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SledTier").finish_non_exhaustive()
    }
}
