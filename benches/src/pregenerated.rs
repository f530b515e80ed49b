//! A source that returns floors generated beforehand, so that the benches time a chain without generation.

use std::{collections::HashMap, time::Duration};

use bytes::Bytes;
use floor_cache::{Class, Key, Made, Priority, Source, SourceError};
use futures_util::{FutureExt, future::BoxFuture};

use crate::floors::Entries;

/// The generation time that it reports: about that of a 100x100 floor, so that the chain's policy decides as usual.
const REPORTED_TIME: Duration = Duration::from_micros(200);

/// Returns the value of a key from a table; fails for other keys.
#[derive(Debug)]
pub struct PregeneratedSource(HashMap<Key, Bytes>);

impl PregeneratedSource {
    /// A source of `entries`.
    #[must_use]
    pub fn new(entries: &Entries) -> Self {
        Self(entries.all().iter().cloned().collect())
    }
}

impl Source for PregeneratedSource {
    fn generate(&self, key: Key, _: Priority) -> BoxFuture<'static, Result<Made, SourceError>> {
        let made = match self.0.get(&key) {
            Some(value) => Ok(Made { value: value.clone(), took: REPORTED_TIME, cpu: REPORTED_TIME }),
            None => Err(SourceError::Failed { key, reason: "it was not generated beforehand".to_owned() }),
        };
        std::future::ready(made).boxed()
    }

    fn class_name(&self, _: Class) -> &'static str {
        "standard"
    }
}
