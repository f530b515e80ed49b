//! A source for examples that keeps a core busy, as generation does.

use std::time::{Duration, Instant};

use bytes::Bytes;
use floor_cache::{Class, Forecast, GenerationRequest, Key, Made, Source, SourceError};
use futures_util::{FutureExt, future::BoxFuture};

/// Generates the same value for every key.
#[derive(Debug)]
pub(crate) struct Busy {
    pub(crate) value: Bytes,
    /// How long a generation takes.
    pub(crate) took: Duration,
}

impl Source for Busy {
    fn generate(&self, _: GenerationRequest) -> BoxFuture<'static, Result<Made, SourceError>> {
        let (value, took) = (self.value.clone(), self.took);
        async move {
            let started = Instant::now();
            while started.elapsed() < took {
                std::hint::spin_loop();
            }
            Ok(Made { value, took, cpu: took })
        }
        .boxed()
    }

    fn class_name(&self, _: Class) -> &'static str {
        "standard"
    }

    fn forecast(&self, keys: &[Key]) -> Option<Forecast> {
        let run = self.took.as_secs_f64() * keys.len() as f64;
        Some(Forecast { response: run, run, cpu: run })
    }
}
