//! The caches that are compared. Each has a tenth of all values in memory, and room for all of them below it.

use std::{future::Future, path::PathBuf, pin::Pin, sync::Arc, time::Duration};

use anyhow::anyhow;
use bytes::Bytes;
use floor_cache::{Bypass, Cache};
use foyer::{BlockEngineConfig, DeviceBuilder as _, FsDeviceBuilder, HybridCacheBuilder};
use hitbox::offload::OffloadManager;
use hitbox_fn::prelude::*;
use hitbox_moka::MokaBackend;
use hitbox_redis::{ConnectionMode, RedisBackend};
use multi_tier_cache::{CacheStrategy, CacheSystemBuilder, MokaCacheConfig, RedisCache};
use serde::{Deserialize, Serialize};

use crate::sources::Values;

/// One in so many values fits into memory.
const IN_MEMORY: u64 = 10;

/// Room below memory, more than any source fills.
const STORE_BYTES: usize = 512 << 20;

/// Values do not change, so they are kept for longer than the measurement takes.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// How long what waits for a store may take to be written.
const WRITTEN: Duration = Duration::from_secs(30);

/// Values that are asked for at once to fill a store.
const AT_ONCE: u64 = 100;

/// The future of a value.
pub type Value = Pin<Box<dyn Future<Output = anyhow::Result<Bytes>> + Send>>;

/// A cache that is measured: it gets a value by its number.
#[derive(Clone)]
pub struct Subject {
    pub name: &'static str,
    get: Arc<dyn Fn(u64) -> Value + Send + Sync>,
    /// The cache, if it is this project's: it can be asked to write what waits.
    floor: Option<Cache>,
}

/// The store below memory.
#[derive(Debug, Clone)]
pub enum Below {
    Redis(String),
    /// A directory, in which each cache has one of its own.
    Disk(PathBuf),
}

impl Subject {
    fn new(name: &'static str, get: impl Fn(u64) -> Value + Send + Sync + 'static) -> Self {
        Self { name, get: Arc::new(get), floor: None }
    }

    /// The value of `number`.
    pub fn get(&self, number: u64) -> Value {
        (self.get)(number)
    }

    /// Asks for every value once and waits until the store has them.
    pub async fn fill(&self, values: Values) -> anyhow::Result<()> {
        let mut number = 0;
        while number < values.count {
            let until = values.count.min(number + AT_ONCE);
            let tasks: Vec<_> = (number..until).map(|number| tokio::spawn(self.get(number))).collect();
            for task in tasks {
                task.await??;
            }
            self.written().await;
            number = until;
        }
        Ok(())
    }

    async fn written(&self) {
        if let Some(cache) = &self.floor {
            cache.flush(WRITTEN).await;
        }
    }
}

/// floor-cache with a rule by which it skips the store.
pub fn floor(values: Values, below: &Below, bypass: Bypass) -> anyhow::Result<Subject> {
    let memory = bytes_in_memory(values)?;
    let builder = Cache::builder("any-source").memory(memory).bypass(bypass);
    let cache = match below {
        Below::Redis(url) => builder.redis(url),
        Below::Disk(path) => builder.lmdb(path.join(name_of(bypass)), STORE_BYTES as u64),
    }
    .build()?;
    let asked = cache.clone();
    let get = move |number: u64| -> Value {
        let cache = asked.clone();
        Box::pin(async move {
            let (key, compute) = (number.to_le_bytes(), move || values.compute(number));
            Ok(if values.source.blocks() {
                cache.get_or_compute_blocking(key, compute).await?
            } else {
                cache.get_or_compute(key, move || async move { compute() }).await?
            })
        })
    };
    Ok(Subject { floor: Some(cache), ..Subject::new(name_of(bypass), get) })
}

const fn name_of(bypass: Bypass) -> &'static str {
    match bypass {
        Bypass::Auto => "floor-cache",
        Bypass::Off => "always ask",
        Bypass::Forced => "never ask",
    }
}

/// The bytes of a tenth of the values.
fn bytes_in_memory(values: Values) -> anyhow::Result<u64> {
    const SAMPLES: u64 = 20;
    let step = values.count / SAMPLES;
    let lengths = (0..SAMPLES).map(|sample| Ok(values.compute(sample * step)?.len()));
    let sampled: usize = lengths.sum::<anyhow::Result<usize>>()?;
    Ok(sampled as u64 * (values.count / IN_MEMORY) / SAMPLES)
}

/// multi-tier-cache with moka and Redis.
pub async fn multi_tier(values: Values, url: &str) -> anyhow::Result<Subject> {
    let memory = MokaCacheConfig { max_capacity: values.count / IN_MEMORY, time_to_live: KEPT, time_to_idle: KEPT };
    let redis = Arc::new(RedisCache::with_url(url).await?);
    let system = CacheSystemBuilder::new().with_moka_config(memory).with_l2(redis).build().await?;
    let manager = system.cache_manager().clone();
    Ok(Subject::new("multi-tier-cache", move |number| {
        let manager = manager.clone();
        Box::pin(async move {
            let compute = || async move {
                let value = values.compute(number);
                value.map(Bytes::from).map_err(|error| multi_tier_cache::CacheError::InternalError(error.to_string()))
            };
            let strategy = CacheStrategy::Custom(KEPT);
            Ok(manager.get_or_compute_with(&format!("value:{number}"), strategy, compute).await?)
        })
    }))
}

/// A value as hitbox stores it.
#[derive(Debug, Clone, Serialize, Deserialize, CacheableResponse)]
struct Stored {
    #[serde(with = "serde_bytes")]
    bytes: Vec<u8>,
}

#[cached(prefix = "value", skip(values))]
async fn compute(values: Values, number: u64) -> Result<Stored, String> {
    let bytes = values.compute(number).map_err(|error| error.to_string())?;
    Ok(Stored { bytes })
}

/// hitbox with moka and Redis. What Redis answers goes into memory, which is not its default.
pub fn hitbox(values: Values, url: &str) -> anyhow::Result<Subject> {
    use hitbox_backend::{Compose as _, composition::policy::RefillPolicy, format::BincodeFormat};
    // Its memory holds JSON by default, in which bytes are arrays of numbers.
    let memory = MokaBackend::builder().max_entries(values.count / IN_MEMORY).value_format(BincodeFormat).build();
    let redis = RedisBackend::builder().connection(ConnectionMode::single(url)).build()?;
    let backend = memory.compose(redis, OffloadManager::with_defaults()).refill(RefillPolicy::Always);
    let policy = PolicyConfig::builder().ttl(KEPT).build();
    let cache = Arc::new(hitbox_fn::Cache::builder().backend(backend).policy(policy).build());
    Ok(Subject::new("hitbox", move |number| {
        let cache = cache.clone();
        Box::pin(async move {
            let stored = compute(values, number).cache(&cache).await.map_err(|error| anyhow!(error))?;
            Ok(Bytes::from(stored.bytes))
        })
    }))
}

/// foyer with memory and a directory.
pub async fn foyer(values: Values, path: PathBuf) -> anyhow::Result<Subject> {
    let device = FsDeviceBuilder::new(path.join("foyer")).with_capacity(STORE_BYTES).build()?;
    let cache = HybridCacheBuilder::new()
        .memory(bytes_in_memory(values)? as usize)
        .with_weighter(|_: &u64, value: &Vec<u8>| value.len())
        .storage()
        .with_engine_config(BlockEngineConfig::new(device))
        .build()
        .await?;
    Ok(Subject::new("foyer", move |number| {
        let cache = cache.clone();
        Box::pin(async move {
            let entry = cache.get_or_fetch(&number, || async move { values.compute(number) }).await?;
            Ok(Bytes::copy_from_slice(entry.value()))
        })
    }))
}
