//! Caches with an async `get`, compared with ours: two layers in memory, and memory over files.

use std::{cell::LazyCell, hint::black_box, path::Path, sync::Arc, time::Instant};

use benches::{
    floors::Entries,
    pregenerated::{FLUSH, PregeneratedSource, layers_in_memory},
    stores,
};
use bytes::Bytes;
use criterion::Criterion;
use floor_cache::{Bypass, Chain, ChainConfig, Key, LmdbConfig, LruConfig, Options, TierKind, Tuning, assemble};
use prometheus::Registry;
use tempfile::TempDir;
use tokio::runtime::{Handle, Runtime};

use crate::{
    COUNT,
    async_peer::{AsyncPeer, OVER_FILES},
    foyer_peers::FoyerHybrid,
    multi_tier_cache::MultiTier,
};

pub(crate) fn async_peers(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("peers/hit-in-two-layers");
    hits::<Ours<false>>(&mut group);
    hits::<MultiTier>(&mut group);
    group.finish();
    let mut group = criterion.benchmark_group("peers/hit-in-files");
    hits::<Ours<true>>(&mut group);
    hits::<FoyerHybrid>(&mut group);
}

struct FilledPeer<A: AsyncPeer> {
    cache: A,
    keys: Vec<(A::Key, usize)>,
    runtime: Runtime,
    _directory: TempDir,
}

impl<A: AsyncPeer> FilledPeer<A> {
    fn new() -> Self {
        let (runtime, directory, entries) =
            (stores::runtime(), tempfile::tempdir().expect("a directory"), Entries::floors(COUNT));
        let cache = runtime.block_on(async {
            let cache = A::filled(&entries, directory.path()).await;
            for (key, value) in entries.all() {
                let found = cache.get(&A::key(key)).await;
                assert_eq!(found.as_ref(), Some(value), "{} gives back what was put", A::NAME);
            }
            cache
        });
        let visited = (0..u64::from(COUNT)).map(|step| entries.at(step));
        let keys = visited.map(|(key, value)| (A::key(key), value.len())).collect();
        Self { cache, keys, runtime, _directory: directory }
    }
}

fn hits<A: AsyncPeer>(group: &mut crate::Group<'_>) {
    let filled = LazyCell::new(FilledPeer::<A>::new);
    group.bench_function(A::NAME, |bencher| {
        bencher.iter_custom(|steps| {
            let FilledPeer { cache, keys, runtime, .. } = &*filled;
            runtime.block_on(async {
                let started = Instant::now();
                for (key, length) in keys.iter().cycle().take(steps as usize) {
                    let found = black_box(cache.get(key).await);
                    assert!(found.is_some_and(|value| value.len() == *length), "every lookup is a hit");
                }
                started.elapsed()
            })
        });
    });
}

/// Our chain: of two layers in memory, or of a small memory over LMDB.
struct Ours<const OVER_LMDB: bool>(Chain);

impl<const OVER_LMDB: bool> AsyncPeer for Ours<OVER_LMDB> {
    const NAME: &'static str = if OVER_LMDB { "floor-cache-lru-over-lmdb" } else { "floor-cache" };

    type Key = Key;

    fn key(key: &Key) -> Key {
        *key
    }

    async fn filled(entries: &Entries, directory: &Path) -> Self {
        if !OVER_LMDB {
            let layers = [LruConfig::default(), LruConfig::default()];
            return Self(layers_in_memory(&layers, &Tuning::default(), entries, &Handle::current()));
        }
        let config = ChainConfig {
            chain: vec![TierKind::Lru, TierKind::Lmdb],
            bypass: Bypass::Off,
            lru: LruConfig { capacity: OVER_FILES as u64, ttl: None },
            lmdb: LmdbConfig { path: directory.to_owned(), ..LmdbConfig::default() },
            ..ChainConfig::default()
        };
        let chain = assemble(&config, Arc::new(PregeneratedSource::new(entries)), &Registry::new(), &Handle::current())
            .unwrap();
        entries.all().iter().for_each(|(key, value)| chain.put(*key, value));
        assert!(chain.close(FLUSH).await, "LMDB has taken what was queued");
        Self(chain)
    }

    async fn get(&self, key: &Key) -> Option<Bytes> {
        let served = self.0.get(*key, Options::default()).await.ok()?;
        (served.by != "generated").then_some(served.value)
    }
}
