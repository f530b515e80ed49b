//! A source that returns floors generated beforehand, and chains on it, so that the benches time a chain without
//! generation.

use std::{collections::HashMap, sync::Arc, time::Duration};

use bytes::Bytes;
use floor_cache::{
    Chain, ChainBuilder, ChainConfig, Class, Forecast, GenerationRequest, Key, LruConfig, Made, Options, Source,
    SourceError, Tuning, assemble,
};
use futures_util::{FutureExt, future::BoxFuture};
use tokio::runtime::{Handle, Runtime};

use crate::floors::Entries;

/// The generation time that it reports: about that of a 100x100 floor, so that the chain's policy decides as usual.
const REPORTED_TIME: Duration = Duration::from_micros(200);

/// How long a chain may take to write its queue.
const FLUSH: Duration = Duration::from_secs(30);

/// Returns the value of a key from a table; fails for other keys.
#[derive(Debug)]
pub struct PregeneratedSource(HashMap<Key, Bytes>);

impl PregeneratedSource {
    /// A source of `entries`.
    pub fn new(entries: &Entries) -> Self {
        Self(entries.all().iter().cloned().collect())
    }
}

impl Source for PregeneratedSource {
    fn generate(&self, request: GenerationRequest) -> BoxFuture<'static, Result<Made, SourceError>> {
        let key = request.key;
        let made = match self.0.get(&key) {
            Some(value) => Ok(Made { value: value.clone(), took: REPORTED_TIME, cpu: REPORTED_TIME }),
            None => Err(SourceError::Failed { key, reason: "it was not generated beforehand".to_owned() }),
        };
        std::future::ready(made).boxed()
    }

    fn class_name(&self, _: Class) -> &'static str {
        "standard"
    }

    fn forecast(&self, keys: &[Key]) -> Option<Forecast> {
        let run = REPORTED_TIME.as_secs_f64() * keys.len() as f64;
        Some(Forecast { response: run, run, cpu: run })
    }
}

/// The names of the layers of [`layers_in_memory`], from the first.
pub const LAYERS: [&str; 4] = ["first", "second", "third", "fourth"];

/// A chain of `layers` in memory. All of `entries` were put into it.
pub fn layers_in_memory(layers: &[LruConfig], tuning: &Tuning, entries: &Entries, handle: &Handle) -> Chain {
    let config = ChainConfig::default();
    let mut builder = ChainBuilder::new(&config, tuning, handle).expect("a good name");
    for (number, layer) in layers.iter().enumerate() {
        builder = builder.memory(LAYERS[number], layer).expect("a layer in memory");
    }
    let chain = builder.build(Arc::new(PregeneratedSource::new(entries)));
    entries.all().iter().for_each(|(key, value)| chain.put(*key, value));
    chain
}

/// The chain of `config`. Every tier has all of `entries`, and each was read back and compared.
pub fn filled_chain(config: &ChainConfig, entries: &Entries, runtime: &Runtime) -> Chain {
    let source = Arc::new(PregeneratedSource::new(entries));
    let chain = assemble(config, source, runtime.handle()).expect("empty directories");
    runtime.block_on(async {
        let keys: Vec<Key> = entries.all().iter().map(|(key, _)| *key).collect();
        chain.get_many(&keys, Options::default()).await.expect("they were generated beforehand");
        assert!(chain.close(FLUSH).await, "every tier has written its queue");
        for (key, value) in entries.all() {
            let served = chain.get(*key, Options::default()).await.expect("a warm chain");
            assert_eq!(served.value, *value, "the chain returns the source's value");
        }
    });
    chain
}
