//! The LMDB tier: reads from the map, writes in batches, evicts before the map is full.

use std::{
    fmt,
    fs::File,
    ops::Bound::{Excluded, Included, Unbounded},
    path::Path,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

use bytes::Bytes;
use heed::{
    CommitOrAbort, Database, Env, EnvOpenOptions, MdbError, PutFlags, RoTxn, RwTxn, WithoutTls,
    types::{Bytes as Raw, Str},
};
use tracing::{debug, warn};

use super::{
    Age, DATA, LOCK, NAME, backup,
    early_end::{self, EarlyEnd},
    file,
    open_guard::OpenGuard,
    reserve::{self, Reserve},
};
use crate::{
    config::LmdbConfig,
    envelope::{Defect, Envelope, MAX_ENVELOPE, MAX_VALUE, StoredKey, StoredPattern},
    key::{Key, KeyPattern},
    open_error::OpenError,
    sync::Mutex,
    tier::{Answer, Backup, RemovedBatch, ScanPosition, Tier, TierAdmin, TierError, TierErrorKind, TierStats},
    tiers::{
        directory,
        pending_deletes::{PendingDeletes, Taken},
        quarantine,
        sieve::Sieve,
    },
};

/// A tier in an LMDB store.
///
/// A read is a read transaction on the caller's thread and copies the value once, from the map. A write is one
/// transaction for all entries and one sync of the file. It blocks, so the chain writes from its writer thread.
pub struct LmdbTier {
    env: Env<WithoutTls>,
    /// The data file.
    data: File,
    /// The format and the hand of the store, under [`LAYOUT_KEY`] and [`HAND_KEY`].
    meta: Database<'static, Str, Str>,
    /// Stored key -> age and envelope.
    values: Database<'static, Raw, Raw>,
    /// Age -> stored key, in the order of the sieve. It may name a removed key, or a key twice if an age in `values`,
    /// which no hash covers, was damaged.
    ages: Database<'static, Raw, Raw>,
    envelope: Envelope,
    sieve: Sieve,
    /// Bytes of the map above which entries are evicted.
    high_water: u64,
    /// Bytes of the map that one transaction may use.
    transaction_limit: u64,
    corrupt: AtomicU64,
    pending_deletes: PendingDeletes,
    reserve: Reserve,
    /// Whether LMDB has reported damage. It is not used again, because it might write outside its memory.
    is_damaged: AtomicBool,
    /// Until the store is flushed, as by a clean end, or closed. Dropped after `env`.
    early_end: Mutex<Option<EarlyEnd>>,
}

/// The format of the store, in `meta` under [`LAYOUT_KEY`].
const LAYOUT: &str = "floor-cache lmdb 1";
const LAYOUT_KEY: &str = "layout";

/// The key of the [`Sieve`]'s hand in `meta`, in decimal digits. It is missing in a store of an earlier release, which
/// ignores it.
const HAND_KEY: &str = "hand";

/// The smallest map: in a smaller one, the pages of the trees leave too little for values.
const MIN_MAP: u64 = 1 << 20;

/// The most concurrent readers, including those of other servers on the same store.
const MAX_READERS: u32 = 512;

/// LMDB never overwrites a page that a reader may see: the pages that a transaction frees are reusable two transactions
/// later. So a map is not filled above this,
const HIGH_WATER_PERCENT: u64 = 85;

/// and one transaction writes at most one part in this of the map: about four transactions fit above the high water.
const TRANSACTIONS: u64 = 32;

impl LmdbTier {
    /// Opens the store in `config.path`, or creates it. A store that is damaged or of another version is put aside under a
    /// name with the date, and a new one created.
    ///
    /// # Errors
    /// When the directory cannot be written, or the store is in use.
    #[expect(clippy::needless_pass_by_value, reason = "it is the tier's own from here on")]
    pub fn open(config: &LmdbConfig, envelope: Envelope) -> Result<Self, OpenError> {
        let is_of_store = |name: &str| [DATA, LOCK, file::DAMAGED, early_end::FILE, reserve::FILE].contains(&name);
        quarantine::open_or_put_aside(&config.path, is_of_store, || Self::open_existing(config, &envelope))
    }

    /// Whether a start could use the directory and the map of `config`, as far as it can be found without opening the store.
    pub(crate) fn check(config: &LmdbConfig) -> Result<(), OpenError> {
        directory::check(NAME, &config.path, &[DATA, LOCK])?;
        file::check_map(map_size(config))
    }

    fn open_existing(config: &LmdbConfig, envelope: &Envelope) -> Result<Self, OpenError> {
        let path = config.path.as_path();
        directory::create(NAME, path)?;
        let guard = OpenGuard::acquire(path, MAX_READERS)?;
        let early_end = guard.begin_early_end();
        let opened = Self::open_prepared(config, envelope, early_end);
        if matches!(opened, Err(OpenError::NoSpace { .. } | OpenError::MapSize { .. })) {
            guard.remove_new_files();
        }
        opened
    }

    fn open_prepared(config: &LmdbConfig, envelope: &Envelope, early_end: Option<EarlyEnd>) -> Result<Self, OpenError> {
        let path = config.path.as_path();
        let map_size = map_size(config);
        // With a reader for each thread, a thread that ends gives its reader back, in memory that the last owner of the
        // store may unmap at that moment: the process crashed now and then when it stopped.
        let mut options = EnvOpenOptions::new().read_txn_without_tls();
        options.max_dbs(3).max_readers(MAX_READERS);
        let (env, data) = file::open(options, map_size, path, LAYOUT)?;
        let broken = |error: heed::Error| match &error {
            heed::Error::Io(io) => OpenError::directory(NAME, path, io),
            _ => OpenError::store(NAME, path, &error),
        };

        env.clear_stale_readers().map_err(broken)?;
        let mut hand = 0;
        let txn = env.write_txn().map_err(broken)?;
        let opened = env.create_databases_and_commit(txn, |env, txn| -> Result<_, heed::Error> {
            let meta = env.create_database::<Str, Str>(txn, Some("meta"))?;
            let values = env.create_database::<Raw, Raw>(txn, Some("values"))?;
            let ages = env.create_database::<Raw, Raw>(txn, Some("ages"))?;
            match meta.get(txn, LAYOUT_KEY)? {
                Some(LAYOUT) => {}
                None if values.is_empty(txn)? => meta.put(txn, LAYOUT_KEY, LAYOUT)?,
                Some(other) => return Ok(CommitOrAbort::Abort(OpenError::version(NAME, path, other, LAYOUT))),
                None => return Ok(CommitOrAbort::Abort(OpenError::store(NAME, path, &"it has values and no layout"))),
            }
            hand = meta.get(txn, HAND_KEY)?.and_then(|hand| hand.parse().ok()).unwrap_or(0);
            Ok(CommitOrAbort::Commit((meta, values, ages)))
        });
        let (meta, values, ages) = match opened.map_err(broken)? {
            CommitOrAbort::Commit(databases) => databases,
            CommitOrAbort::Abort(error) => return Err(error),
        };
        let tier = Self {
            env,
            data,
            meta,
            values,
            ages,
            envelope: envelope.clone(),
            sieve: Sieve::new(map_size, hand),
            high_water: map_size / 100 * HIGH_WATER_PERCENT,
            transaction_limit: map_size / TRANSACTIONS,
            corrupt: AtomicU64::new(0),
            pending_deletes: PendingDeletes::default(),
            reserve: Reserve::of(path),
            is_damaged: AtomicBool::new(false),
            early_end: Mutex::new(early_end),
        };
        let used = tier.env.read_txn().and_then(|txn| tier.used(&txn)).map_err(broken)?;
        if used > tier.high_water {
            warn!(
                tier = NAME,
                used,
                limit = tier.high_water,
                "the store exceeds its map size; the oldest entries will be evicted"
            );
            // Space for the transactions that evict.
            file::extend_map(&tier.env, map_size - tier.high_water).map_err(broken)?;
        }
        Ok(tier)
    }

    fn read(&self, txn: &RoTxn<'_>, key: &Key) -> Result<Option<Bytes>, heed::Error> {
        let stored = self.envelope.stored(key);
        let Some(record) = self.values.get(txn, stored.as_bytes())? else { return Ok(None) };
        let envelope = record.split_first_chunk::<{ size_of::<Age>() }>().map_or(&[][..], |(_, envelope)| envelope);
        match self.envelope.open(&stored, envelope) {
            Ok(value) => {
                self.sieve.visit(stored.as_bytes());
                Ok(Some(value))
            }
            Err(Defect::UnknownKey) => Ok(None),
            Err(defect) => {
                debug!(tier = NAME, %key, %defect, "a stored value is wrong; it will be removed");
                self.corrupt.fetch_add(1, Relaxed);
                self.pending_deletes.add(stored);
                Ok(None)
            }
        }
    }

    /// A read transaction, unless LMDB has reported damage.
    fn read_txn(&self) -> Result<RoTxn<'_, WithoutTls>, heed::Error> {
        self.check_usable()?;
        self.env.read_txn()
    }

    /// An error if LMDB has reported damage.
    fn check_usable(&self) -> Result<(), heed::Error> {
        if self.is_damaged.load(Relaxed) { Err(heed::Error::Mdb(MdbError::Corrupted)) } else { Ok(()) }
    }

    /// Writes `entries` in as few transactions as the map allows.
    fn write(&self, entries: &[(Key, Bytes)]) -> Result<(), heed::Error> {
        let mut rest = entries;
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = |(_, value): &&(Key, Bytes)| {
                bytes += footprint(value.len() + RECORD_OVERHEAD) + LEAF_BYTES;
                bytes <= self.transaction_limit
            };
            let (now, later) = rest.split_at(rest.iter().take_while(fits).count().max(1));
            match self.write_transaction(now) {
                Err(heed::Error::Mdb(MdbError::MapFull)) => {
                    self.free_space();
                    self.write_transaction(now)?;
                }
                other => other?,
            }
            self.reserve.restore();
            rest = later;
        }
        Ok(())
    }

    fn write_transaction(&self, entries: &[(Key, Bytes)]) -> Result<(), heed::Error> {
        let mut txn = self.begin()?;
        let pending = self.remove_pending(&mut txn)?;
        let incoming: u64 = entries.iter().map(|(_, value)| footprint(value.len() + RECORD_OVERHEAD)).sum();
        // Bytes above the high water (after a smaller map or a wrong estimate) are evicted over several transactions.
        let over = self.used(&txn)?.saturating_add(incoming).saturating_sub(self.high_water);
        if over > 0 {
            self.evict(&mut txn, over.min(incoming + incoming / 2))?;
            self.meta.put(&mut txn, HAND_KEY, &self.sieve.hand().to_string())?;
        }
        let mut next_age = self.next_age(&txn)?;
        let mut record = Vec::new();
        for (key, value) in entries {
            let stored = self.envelope.stored(key);
            let known = self.age(&txn, stored.as_bytes())?;
            let age = known.unwrap_or_else(|| next_age.to_be_bytes());
            record.clear();
            record.extend_from_slice(&age);
            if let Err(defect) = self.envelope.seal(&stored, value, &mut record) {
                debug!(tier = NAME, %key, %defect, "a value cannot be stored");
                continue;
            }
            self.values.put(&mut txn, stored.as_bytes(), &record)?;
            if known.is_none() {
                self.ages.put_with_flags(&mut txn, PutFlags::APPEND, &age, stored.as_bytes())?;
                next_age = next_age.saturating_add(1);
            } else {
                // It was asked for, although not here: memory serves it, or the tier was bypassed.
                self.sieve.visit(stored.as_bytes());
            }
        }
        self.commit(txn, pending)
    }

    /// A write transaction. Extends the file by the most space that it may use.
    fn begin(&self) -> Result<RwTxn<'_>, heed::Error> {
        self.check_usable()?;
        file::write_txn(&self.env, &self.data, 2 * self.transaction_limit + MIN_MAP)
    }

    fn commit(&self, txn: RwTxn<'_>, pending: Taken<'_>) -> Result<(), heed::Error> {
        txn.commit()?;
        pending.removed();
        file::extend_to_last_page(&self.env, &self.data);
        Ok(())
    }

    /// Evicts entries from a full map, whose free pages are too fragmented or in use by a reader.
    fn free_space(&self) {
        // In small steps, because removing takes pages too.
        let evict = || {
            // A server that was killed while reading holds pages until it is removed from the reader table.
            self.env.clear_stale_readers()?;
            for _ in 0..16 {
                let mut txn = self.begin()?;
                self.evict(&mut txn, self.transaction_limit / 16)?;
                txn.commit()?;
            }
            file::extend_to_last_page(&self.env, &self.data);
            Ok::<_, heed::Error>(())
        };
        if let Err(error) = evict() {
            warn!(tier = NAME, %error, "the map is full and entries could not be evicted");
        }
    }

    /// Evicts until `wanted` bytes are free: first the entries that the sieve chooses, then entries without an age.
    ///
    /// # Errors
    /// Those of LMDB; [`MdbError::Corrupted`] when an entry is not found by its own key, as in a damaged tree.
    fn evict(&self, txn: &mut RwTxn<'_>, wanted: u64) -> Result<(), heed::Error> {
        let (mut freed, mut evicted) = (0, 0_u64);
        while freed < wanted {
            let victims = self.victims(txn, wanted - freed)?;
            if victims.is_empty() {
                break;
            }
            for victim in victims {
                require_found(self.ages.delete(txn, &victim.age)?)?;
                if self.values.delete(txn, &victim.stored)? {
                    freed += victim.bytes;
                }
                evicted += 1;
            }
        }
        while freed < wanted {
            let Some((stored, record)) = self.values.first(txn)? else { break };
            freed += footprint(record.len());
            let stored = stored.to_vec();
            require_found(self.values.delete(txn, &stored)?)?;
            evicted += 1;
        }
        if evicted > 0 {
            debug!(tier = NAME, evicted, freed, "evicted entries");
        }
        Ok(())
    }

    /// Entries whose removal frees `wanted` bytes, or less if one pass of the sieve finds no more.
    fn victims(&self, txn: &RoTxn<'_>, wanted: u64) -> Result<Vec<Victim>, heed::Error> {
        let mut sweep = self.sieve.sweep(self.next_age(txn)?, self.ages.len(txn)?);
        let start = sweep.start();
        let newer = self.ages.range(txn, &(Included(&start[..]), Unbounded))?;
        let mut entries = newer.chain(self.ages.range(txn, &(Unbounded, Excluded(&start[..])))?);
        let (mut victims, mut freed) = (Vec::new(), 0);
        while freed < wanted {
            let Some((age, stored)) = entries.next().transpose()? else { break };
            // An age of another length is damaged and cannot move the hand.
            if age.try_into().is_ok_and(|age| !sweep.should_evict(u64::from_be_bytes(age), stored)) {
                continue;
            }
            let bytes = self.values.get(txn, stored)?.map_or(0, |record| footprint(record.len()));
            victims.push(Victim { age: age.into(), stored: stored.into(), bytes });
            freed += bytes;
        }
        Ok(victims)
    }

    /// Bytes of all used pages.
    fn used(&self, txn: &RoTxn<'_>) -> Result<u64, heed::Error> {
        let mut used = 0;
        for stat in [self.values.stat(txn)?, self.ages.stat(txn)?] {
            let pages = stat.branch_pages.saturating_add(stat.leaf_pages).saturating_add(stat.overflow_pages);
            used = (pages as u64).saturating_mul(u64::from(stat.page_size)).saturating_add(used);
        }
        Ok(used)
    }

    fn next_age(&self, txn: &RoTxn<'_>) -> Result<u64, heed::Error> {
        let last = self.ages.last(txn)?.and_then(|(age, _)| age.first_chunk().copied());
        Ok(last.map_or(0, |age: Age| u64::from_be_bytes(age).saturating_add(1)))
    }

    /// The age of the entry under `stored`, if `ages` confirms it. A damaged age may belong to another entry.
    fn age(&self, txn: &RoTxn<'_>, stored: &[u8]) -> Result<Option<Age>, heed::Error> {
        let record = self.values.get(txn, stored)?;
        let Some(age) = record.and_then(|record| record.first_chunk::<{ size_of::<Age>() }>()) else { return Ok(None) };
        Ok((self.ages.get(txn, age)? == Some(stored)).then_some(*age))
    }

    /// Removes what is under the stored `keys` and returns how many there were. A transaction copies the pages that it
    /// changes, so in a full map or on a full disk many keys take several transactions. What the first ones free is used by
    /// the next ones.
    fn remove<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<u64, heed::Error> {
        let (error, most) = match self.remove_at_once(keys) {
            Err(error @ heed::Error::Mdb(MdbError::MapFull)) => (error, 1),
            Err(heed::Error::Io(error)) if file::is_disk_full(self.env.path(), &error) => {
                (heed::Error::Io(error), reserve::KEYS)
            }
            removed => return removed,
        };
        if keys.len() > most {
            let (first, rest) = keys.split_at(keys.len() / 2);
            return Ok(self.remove(first)? + self.remove(rest)?);
        }
        let may_release = matches!(error, heed::Error::Io(_)) && !keys.is_empty();
        if may_release && self.reserve.release() { self.remove(keys) } else { Err(error) }
    }

    fn remove_at_once<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<u64, heed::Error> {
        let mut txn = self.begin()?;
        let pending = self.remove_pending(&mut txn)?;
        let mut removed = 0;
        for key in keys {
            removed += u64::from(self.remove_stored(&mut txn, key.as_ref())?);
        }
        self.commit(txn, pending)?;
        Ok(removed)
    }

    /// Removes a batch of the entries whose stored keys match `pattern`, after `from`.
    fn remove_batch(&self, pattern: &StoredPattern, from: Option<&ScanPosition>) -> Result<RemovedBatch, heed::Error> {
        let most = usize::try_from(self.transaction_limit / LEAF_BYTES).map_or(SCAN_BATCH, |most| most.min(SCAN_BATCH));
        let (keys, last) = {
            let txn = self.read_txn()?;
            let start = from.map_or(Included(pattern.start()), |ScanPosition(last)| Excluded(last.as_slice()));
            let (mut keys, mut last) = (Vec::new(), None);
            for entry in self.values.range(&txn, &(start, Unbounded))?.take(most.max(1)) {
                let (stored, _) = entry?;
                if !stored.starts_with(pattern.start()) {
                    break;
                }
                last = Some(stored);
                if pattern.matches(stored) {
                    keys.push(stored.to_vec());
                }
            }
            (keys, last.map(<[u8]>::to_vec))
        };
        let entries = if keys.is_empty() { 0 } else { self.remove(&keys)? };
        Ok(RemovedBatch { entries, next: last.map(ScanPosition) })
    }

    fn remove_pending(&self, txn: &mut RwTxn<'_>) -> Result<Taken<'_>, heed::Error> {
        let pending = self.pending_deletes.take();
        pending.keys().try_for_each(|stored| self.remove_stored(txn, stored).map(drop))?;
        Ok(pending)
    }

    /// Whether there was an entry under `stored`.
    fn remove_stored(&self, txn: &mut RwTxn<'_>, stored: &[u8]) -> Result<bool, heed::Error> {
        if let Some(age) = self.age(txn, stored)? {
            self.ages.delete(txn, &age)?;
        }
        self.values.delete(txn, stored)
    }

    /// Records damage that `error` shows, once.
    fn record_damage(&self, error: &heed::Error) {
        if file::shows_damage(error) && !self.is_damaged.swap(true, Relaxed) {
            file::record_damage(&self.env, &self.data, error);
        }
    }

    fn failed(&self, action: &'static str) -> impl FnOnce(heed::Error) -> TierError {
        move |error| {
            self.record_damage(&error);
            let kind = match &error {
                heed::Error::Mdb(MdbError::MapFull | MdbError::ReadersFull | MdbError::TxnFull) => {
                    TierErrorKind::Refused
                }
                _ => TierErrorKind::Internal,
            };
            TierError::new(kind, action, error)
        }
    }

    /// As [`failed`](Self::failed), for a change. An error of the disk then says nothing about reads, which need no write.
    fn failed_change(&self, action: &'static str) -> impl FnOnce(heed::Error) -> TierError {
        move |error| match error {
            heed::Error::Io(error) if file::is_disk_full(self.env.path(), &error) => {
                TierError::new(TierErrorKind::Full, action, "no space left on the disk")
            }
            heed::Error::Io(error) => TierError::new(TierErrorKind::Refused, action, error),
            error => self.failed(action)(error),
        }
    }
}

/// The size of the map of `config`.
fn map_size(config: &LmdbConfig) -> u64 {
    config.map_size.max(MIN_MAP) / file::MAP_GRANULARITY * file::MAP_GRANULARITY
}

/// An entry to evict.
struct Victim {
    age: Box<[u8]>,
    stored: Box<[u8]>,
    /// Bytes of the map that it uses.
    bytes: u64,
}

/// An error if an entry of a tree was not `found` by its key: the tree is damaged.
fn require_found(found: bool) -> Result<(), heed::Error> {
    if found { Ok(()) } else { Err(heed::Error::Mdb(MdbError::Corrupted)) }
}

/// Largest overhead of a record: its age and its envelope.
const RECORD_OVERHEAD: usize = size_of::<Age>() + MAX_ENVELOPE - MAX_VALUE;

/// Bytes of the leaves that a transaction rewrites per entry, at most: the leaf of the new entry, and one or two of the
/// evicted ones.
const LEAF_BYTES: u64 = 3 * PAGE;

/// Entries that one batch of a removal by pattern looks at, at most: a few milliseconds, for which writes wait.
const SCAN_BATCH: usize = 1024;

/// The page size of most systems.
const PAGE: u64 = 4096;

/// Bytes of the map for a record of `len` bytes, with its key, age and share of the tree. A record too long for a leaf
/// takes whole pages.
const fn footprint(len: usize) -> u64 {
    const KEYS: u64 = 256;
    let len = len as u64 + KEYS;
    if len > PAGE / 2 { len.div_ceil(PAGE) * PAGE + KEYS } else { 2 * len }
}

impl Tier for LmdbTier {
    fn name(&self) -> &'static str {
        NAME
    }

    fn get<'a>(&'a self, key: &'a Key) -> Answer<'a, Option<Bytes>> {
        let read = || {
            let txn = self.read_txn()?;
            self.read(&txn, key)
        };
        Answer::Now(read().map_err(self.failed("read from lmdb")))
    }

    fn get_many<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, Vec<Option<Bytes>>> {
        let read = || {
            let txn = self.read_txn()?;
            keys.iter().map(|key| self.read(&txn, key)).collect::<Result<_, heed::Error>>()
        };
        Answer::Now(read().map_err(self.failed("read many from lmdb")))
    }

    fn put_many<'a>(&'a self, entries: &'a [(Key, Bytes)]) -> Answer<'a, ()> {
        Answer::Now(self.write(entries).map_err(self.failed_change("write to lmdb")))
    }

    /// Half of the limit, because a value takes more of the map than its bytes. A batch of small values may still take
    /// several transactions.
    fn batch_bytes(&self) -> usize {
        usize::try_from(self.transaction_limit / 2).unwrap_or(usize::MAX)
    }

    fn remove_many<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, ()> {
        let stored: Vec<StoredKey> = keys.iter().map(|key| self.envelope.stored(key)).collect();
        Answer::Now(self.remove(&stored).map(drop).map_err(self.failed_change("remove from lmdb")))
    }

    fn flush(&self) -> Answer<'_, ()> {
        let flush = || {
            if !self.pending_deletes.is_empty() {
                self.remove::<StoredKey>(&[])?;
            }
            self.check_usable()?;
            self.env.force_sync()?;
            // A clean end of the server flushes last.
            drop(self.early_end.lock().take());
            Ok(())
        };
        Answer::Now(flush().map_err(self.failed("flush lmdb")))
    }
}

impl TierAdmin for LmdbTier {
    fn contains<'a>(&'a self, key: &'a Key) -> Answer<'a, bool> {
        let look = || {
            let txn = self.read_txn()?;
            self.values.get(&txn, self.envelope.stored(key).as_bytes()).map(|record| record.is_some())
        };
        Answer::Now(look().map_err(self.failed("look in lmdb")))
    }

    fn remove_matching<'a>(
        &'a self,
        pattern: &'a KeyPattern,
        from: Option<&'a ScanPosition>,
    ) -> Answer<'a, RemovedBatch> {
        let removed = self.remove_batch(&self.envelope.stored_pattern(pattern), from);
        Answer::Now(removed.map_err(self.failed_change("remove from lmdb by pattern")))
    }

    fn stats(&self) -> TierStats {
        let read = || {
            let txn = self.read_txn()?;
            Ok::<_, heed::Error>((self.values.len(&txn)?, self.used(&txn)?))
        };
        let (entries, bytes) = read().unwrap_or_else(|error| {
            self.record_damage(&error);
            warn!(tier = NAME, %error, "the entries could not be counted");
            (0, 0)
        });
        TierStats {
            entries,
            bytes,
            corrupt: self.corrupt.load(Relaxed),
            limit: self.high_water,
            disk: file::disk(&self.data),
            ..TierStats::default()
        }
    }

    fn directory(&self) -> Option<&Path> {
        Some(self.env.path())
    }

    fn aside_bytes(&self) -> Option<u64> {
        Some(quarantine::aside_bytes(self.env.path()))
    }

    fn back_up(&self) -> Result<Backup, TierError> {
        let used = self.read_txn().and_then(|txn| self.used(&txn)).map_err(self.failed("back up lmdb"))?;
        backup::back_up(&self.env, used).map_err(|error| TierError::new(TierErrorKind::Refused, "back up lmdb", error))
    }
}

impl fmt::Debug for LmdbTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LmdbTier").field("path", &self.env.path()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Barrier, thread};

    use futures_util::FutureExt;

    use super::*;
    use crate::{envelope::Namespace, key::Class};

    /// A thread that kept a reader would write to LMDB's table of readers when it ends. The owner of the store may have
    /// unmapped the table before.
    #[test]
    fn a_thread_keeps_no_reader() {
        let home = tempfile::tempdir().unwrap();
        let config = LmdbConfig { path: home.path().join("lmdb"), map_size: 64 << 20 };
        let envelope = Envelope::new(Namespace::new("test").unwrap(), 1);
        let tier = LmdbTier::open(&config, envelope).unwrap();
        let key = Key::new([0; Key::LEN - 1], Class::new(1));
        let (turn, all_have_read) = (Mutex::new(()), Barrier::new(8));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    {
                        let _turn = turn.lock();
                        assert_eq!(tier.get(&key).now_or_never().unwrap().unwrap(), None);
                    }
                    all_have_read.wait();
                });
            }
        });
        assert_eq!(tier.env.info().number_of_readers, 1, "of eight threads that read in turn");
    }
}
