//! The memory tier: a sharded LRU, bounded by bytes, with protection against scans.

use std::{
    fmt,
    time::{Duration, Instant},
};

use bytes::Bytes;
use lru::LruCache;

use crate::{
    config::{LruConfig, TierKind},
    doorkeeper::Doorkeeper,
    ewma::AtomicMean,
    hash::{Hashed, IdentityHasher},
    key::{Key, KeyPattern},
    memory_tier::{LeadingHits, MemoryTier},
    report::{RequestCounts, TierReport, micros},
    sampler::{Draw, Sampler},
    served::Served,
    sync::Mutex,
    tier::{Answer, RemovedBatch, ScanPosition, Tier, TierAdmin, TierError, TierStats},
};

/// A cache in this process's memory. Its limit in bytes includes the overhead of each entry.
///
/// A full shard inserts a value that was not seen recently at the cold end, where the next such value replaces it. A
/// scan of values used once therefore does not evict frequently used values. (Insertion at the cold end: Qureshi and
/// others, 2007.) Hits have no extra cost.
///
/// A hit clones a [`Bytes`], which neither copies nor allocates. Hits and misses are counted under the shard's lock,
/// where a count is almost free.
pub struct LruTier {
    name: &'static str,
    shards: Box<[Aligned]>,
    ttl: Option<Duration>,
    hit_cost: AtomicMean,
    miss_cost: AtomicMean,
    started: Instant,
}

/// A shard on its own cache lines (two, since processors fetch pairs), so that threads in different shards do not
/// contend.
#[repr(align(128))]
struct Aligned(Mutex<Shard>);

struct Shard {
    entries: LruCache<Hashed, Entry, IdentityHasher>,
    doorkeeper: Doorkeeper,
    bytes: usize,
    capacity: usize,
    hits: u64,
    misses: u64,
}

struct Entry {
    value: Bytes,
    expires: Option<Instant>,
}

/// Overhead of an entry: the list node (key, entry, two links), the map's slot (pointers and control byte, at a load of
/// 7/16 to 7/8), the reference count of `Bytes`, and the headers of three allocations.
const OVERHEAD: usize = size_of::<(Hashed, Entry)>() + 2 * size_of::<usize>() + 28 + 24 + 3 * 16;

/// Bytes of a shard per key in the doorkeeper: about the size of a small value.
const BYTES_PER_KEY: usize = 1024;

/// The most keys in a shard's doorkeeper: that of a capacity beyond all memory could not be allocated, which would end the
/// process.
const MAX_WINDOW: usize = 1 << 26;

/// The TTL of an entry is shortened by up to one part in this, depending on its key, so that values inserted together
/// do not expire together.
const JITTER: u32 = 10;

/// Least bytes of a shard: in a smaller one, a large value would evict too many others.
const MIN_SHARD: u64 = 4 << 20;

/// The most shards: threads rarely contend in one of 64.
const MAX_SHARDS: u64 = 64;

impl LruTier {
    /// An empty tier named `lru`.
    #[must_use]
    pub fn new(config: &LruConfig) -> Self {
        Self::named(TierKind::Lru.name(), config)
    }

    /// An empty tier named `name`, for chains with several memory tiers.
    #[must_use]
    pub fn named(name: &'static str, config: &LruConfig) -> Self {
        let count = (config.capacity / MIN_SHARD).clamp(1, MAX_SHARDS);
        // A power of two, so that a mask selects the shard.
        let count = 1 << count.ilog2();
        let capacity = usize::try_from(config.capacity).unwrap_or(usize::MAX) / count;
        let shards = (0..count).map(|_| Aligned(Mutex::new(Shard::new(capacity)))).collect();
        Self {
            name,
            shards,
            ttl: config.ttl,
            hit_cost: AtomicMean::default(),
            miss_cost: AtomicMean::default(),
            started: Instant::now(),
        }
    }

    #[inline(always)]
    fn shards(&self) -> Shards<'_> {
        Shards(&self.shards)
    }

    #[inline]
    fn shard(&self, key: &Hashed) -> &Mutex<Shard> {
        self.shards().of(key)
    }
}

/// The shards of a tier.
#[derive(Clone, Copy)]
struct Shards<'a>(&'a [Aligned]);

impl<'a> Shards<'a> {
    #[inline(always)]
    fn of(self, key: &Hashed) -> &'a Mutex<Shard> {
        &self.0[key.shard(self.0.len())].0
    }

    /// The result of `take` on the value, counted as a hit or a miss and as a use.
    #[inline(always)]
    fn lookup<T>(self, key: &Hashed, take: impl FnOnce(&Bytes) -> T) -> Option<T> {
        let mut shard = self.of(key).lock();
        let shard = &mut *shard;
        // The value that was used last is often used next. It is found without a search, and moved nowhere.
        let found = match shard.entries.peek_mru() {
            Some((last, entry)) if last == key => Some(entry),
            _ => shard.entries.get(key),
        };
        match found {
            Some(entry) if entry.expires.is_none_or(|at| Instant::now() < at) => {
                let value = take(&entry.value);
                shard.hits += 1;
                Some(value)
            }
            found => {
                if found.is_some() {
                    shard.remove(key);
                }
                shard.misses += 1;
                None
            }
        }
    }
}

/// By how much the TTL of `key` is shortened.
fn jitter(ttl: Duration, key: &Hashed) -> Duration {
    let part = (key.hash() >> 48) as u32;
    ttl / JITTER * part / (1 << 16)
}

impl Shard {
    fn new(capacity: usize) -> Self {
        let window = (capacity / BYTES_PER_KEY).min(MAX_WINDOW);
        Self {
            entries: LruCache::unbounded_with_hasher(IdentityHasher::default()),
            doorkeeper: Doorkeeper::new(window),
            bytes: 0,
            capacity: capacity.saturating_sub(Doorkeeper::footprint(window)),
            hits: 0,
            misses: 0,
        }
    }

    fn insert(&mut self, key: Hashed, entry: Entry) {
        let size = size_of_entry(&entry);
        if size > self.capacity {
            return;
        }
        if let Some(held) = self.entries.get_mut(&key) {
            self.bytes = self.bytes - size_of_entry(held) + size;
            *held = entry;
            self.evict_to_fit(0);
            return;
        }
        let seen = self.doorkeeper.mark_seen(key.hash());
        let was_full = self.evict_to_fit(size);
        self.bytes += size;
        self.entries.put(key, entry);
        if was_full && !seen {
            self.entries.demote(&key);
        }
    }

    /// Evicts the coldest entries until `size` more bytes fit. Returns whether the shard was full.
    fn evict_to_fit(&mut self, size: usize) -> bool {
        let was_full = self.bytes + size > self.capacity;
        while self.bytes + size > self.capacity {
            let Some((_, coldest)) = self.entries.pop_lru() else { break };
            self.bytes -= size_of_entry(&coldest);
        }
        was_full
    }

    fn remove(&mut self, key: &Hashed) {
        if let Some(entry) = self.entries.pop(key) {
            self.bytes -= size_of_entry(&entry);
        }
    }

    /// Removes the entries whose keys match `pattern` and returns how many there were.
    fn remove_matching(&mut self, pattern: &KeyPattern) -> u64 {
        let keys = self.entries.iter().map(|(key, _)| *key).filter(|key| pattern.matches(key.key()));
        let keys: Vec<Hashed> = keys.collect();
        keys.iter().for_each(|key| self.remove(key));
        keys.len() as u64
    }
}

fn size_of_entry(entry: &Entry) -> usize {
    entry.value.len() + OVERHEAD
}

impl MemoryTier for LruTier {
    fn counts(&self) -> RequestCounts {
        self.shards.iter().map(|shard| shard.0.lock()).fold(RequestCounts::default(), |sum, shard| RequestCounts {
            hits: sum.hits + shard.hits,
            misses: sum.misses + shard.misses,
            ..sum
        })
    }

    fn miss_cost(&self) -> Duration {
        self.miss_cost.get()
    }

    fn record_time(&self, hit: bool, took: Duration) {
        if hit { self.hit_cost.add(took) } else { self.miss_cost.add(took) }
    }

    fn report(&self) -> TierReport {
        let (counts, stats) = (self.counts(), self.stats());
        let hit_ratio = counts.hits as f64 / (counts.hits + counts.misses).max(1) as f64;
        let (hit_cost_us, miss_cost_us) = (micros(self.hit_cost.get()), micros(self.miss_cost.get()));
        TierReport {
            name: self.name,
            hits: counts.hits,
            misses: counts.misses,
            entries: stats.entries,
            bytes: stats.bytes,
            hit_cost_us,
            miss_cost_us,
            hit_ratio,
            probe_cost_us: hit_ratio * hit_cost_us + (1.0 - hit_ratio) * miss_cost_us,
            asked_ratio: 1.0,
            reason: "configured",
            verdict: "probed",
            since: self.started.elapsed(),
            // Not compared with generation: leading memory tiers are always asked.
            ..TierReport::default()
        }
    }

    #[inline]
    fn lookup(&self, key: &Hashed) -> Option<Bytes> {
        self.shards().lookup(key, Bytes::clone)
    }

    fn peek(&self, key: &Hashed) -> Option<Bytes> {
        let shard = self.shard(key).lock();
        let entry = shard.entries.peek(key)?;
        entry.expires.is_none_or(|at| Instant::now() < at).then(|| entry.value.clone())
    }

    fn insert(&self, key: &Hashed, value: &Bytes) {
        // The first clone of a `Bytes` from a vector allocates its reference count. Clone here, so that the first hit
        // does not.
        let value = value.clone();
        let expires = self.ttl.map(|ttl| Instant::now() + ttl - jitter(ttl, key));
        self.shard(key).lock().insert(*key, Entry { value, expires });
    }

    fn remove(&self, key: &Hashed) {
        self.shard(key).lock().remove(key);
    }

    fn holds(&self, key: &Hashed) -> bool {
        self.shard(key).lock().entries.peek(key).is_some_and(|entry| entry.expires.is_none_or(|at| Instant::now() < at))
    }

    /// Each key is hashed before the previous one is looked up, because no read may move ahead of taking a lock. The
    /// values are pushed in place, and the slice of shards is read once.
    fn leading_hits(&self, keys: &[Key], sampler: Sampler, served: &mut Vec<Served>) -> LeadingHits {
        let (shards, by) = (self.shards(), self.name);
        let mut next = keys.first().map(Hashed::new);
        let mut rest = keys.iter().skip(1);
        while let Some(key) = next {
            next = rest.next().map(Hashed::new);
            let draw = Draw::next();
            if sampler.picks(draw) {
                return LeadingHits::Sampled(draw);
            }
            let take = |value: &Bytes| {
                served.push(Served { value: value.clone(), by, coalesced: false, trace: None });
            };
            if shards.lookup(&key, take).is_none() {
                return LeadingHits::Missed;
            }
        }
        LeadingHits::All
    }
}

impl Tier for LruTier {
    fn name(&self) -> &'static str {
        self.name
    }

    fn get<'a>(&'a self, key: &'a Key) -> Answer<'a, Option<Bytes>> {
        Answer::Now(Ok(self.lookup(&Hashed::new(key))))
    }

    fn get_many<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, Vec<Option<Bytes>>> {
        Answer::Now(Ok(keys.iter().map(|key| self.lookup(&Hashed::new(key))).collect()))
    }

    fn put_many<'a>(&'a self, entries: &'a [(Key, Bytes)]) -> Answer<'a, ()> {
        for (key, value) in entries {
            self.insert(&Hashed::new(key), value);
        }
        Answer::Now(Ok(()))
    }

    fn remove_many<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, ()> {
        for key in keys {
            self.remove(&Hashed::new(key));
        }
        Answer::Now(Ok(()))
    }
}

impl TierAdmin for LruTier {
    fn contains<'a>(&'a self, key: &'a Key) -> Answer<'a, bool> {
        Answer::Now(Ok::<_, TierError>(self.holds(&Hashed::new(key))))
    }

    /// A batch is a shard. Its lock is held while its entries are walked.
    fn remove_matching<'a>(
        &'a self,
        pattern: &'a KeyPattern,
        from: Option<&'a ScanPosition>,
    ) -> Answer<'a, RemovedBatch> {
        let index = from.map_or(0, |ScanPosition(index)| index.first().map_or(0, |index| usize::from(*index)));
        let entries = self.shards.get(index).map_or(0, |shard| shard.0.lock().remove_matching(pattern));
        // At most `MAX_SHARDS` (64), which a byte holds.
        let next = (index + 1 < self.shards.len()).then(|| ScanPosition(vec![(index + 1) as u8]));
        Answer::Now(Ok(RemovedBatch { entries, next }))
    }

    fn stats(&self) -> TierStats {
        self.shards.iter().map(|shard| shard.0.lock()).fold(TierStats::default(), |sum, shard| TierStats {
            entries: sum.entries + shard.entries.len() as u64,
            bytes: sum.bytes + shard.bytes as u64,
            limit: sum.limit + shard.capacity as u64,
            ..sum
        })
    }
}

impl fmt::Debug for LruTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LruTier")
            .field("name", &self.name)
            .field("shards", &self.shards.len())
            .field("ttl", &self.ttl)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Class;

    #[test]
    fn entries_inserted_together_do_not_expire_together() {
        let ttl = Duration::from_secs(100);
        let key = |number| Hashed::new(&Key::new([number; Key::LEN - 1], Class::new(0)));
        let mut early: Vec<Duration> = (0..200).map(|number| jitter(ttl, &key(number))).collect();
        early.sort_unstable();
        assert!(early[199] < ttl / JITTER);
        assert!(early[20] < Duration::from_secs(3) && early[180] > Duration::from_secs(7), "{early:?}");
    }
}
