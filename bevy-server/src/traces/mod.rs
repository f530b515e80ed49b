//! Traces: spans of sampled calls, sent to an OpenTelemetry collector over OTLP (gRPC).
//!
//! Calls are not instrumented. A traced call is looked up with the trace that `floor-trace: 1` asks for too, and when it
//! has ended, a task makes its spans from what was measured (docs/decisions/0011-spans-from-measured-calls.md).
//! `mod` decides which calls are traced, `parent` reads `traceparent`, `call` is what is measured, `spans` makes the
//! spans, and `export` sends them.

mod call;
mod export;
mod parent;
mod spans;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use bevy::prelude::Resource;
use floor_cache::{Draw, Sampler};
use http::HeaderMap;
use opentelemetry::trace::{SpanContext, TraceId};
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator};
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot},
};

pub(crate) use call::{Lookup, TracedCall};
use export::{Command, Exporter};

use crate::{config::TraceSettings, rate_limit::RateLimit};

/// Traced calls that wait to be exported, and so the memory for them. Those beyond it are dropped.
const QUEUE: usize = 1024;
/// Calls that are traced in a second at most, for any reason.
const MAX_PER_SECOND: u32 = 100;
/// The least time between two warnings of one kind.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);

/// The traces of the server. Cheap to clone.
#[derive(Resource, Debug, Clone)]
pub struct Traces(Arc<State>);

#[derive(Debug)]
struct State {
    /// Picks calls without a `traceparent`.
    sampler: Sampler,
    /// Bounds the cost of traces that callers ask for.
    limit: RateLimit,
    ids: RandomIdGenerator,
    queue: mpsc::Sender<Command>,
    drop_warnings: RateLimit,
    counts: Arc<Counts>,
}

/// Traced calls by outcome.
#[derive(Debug, Default)]
struct Counts {
    exported: AtomicU64,
    failed: AtomicU64,
    dropped: AtomicU64,
    limited: AtomicU64,
}

/// The trace that a call belongs to.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    pub(crate) trace_id: TraceId,
    /// The caller's span.
    pub(crate) parent: Option<SpanContext>,
}

/// The exporter of traces cannot be built, for example because a variable `OTEL_EXPORTER_OTLP_...` is wrong, or because
/// the system trusts no authority and the collector has TLS.
#[derive(Debug, thiserror::Error)]
#[error("cannot export traces: {0}")]
pub struct TraceError(String);

impl Traces {
    /// Exports the spans of calls until every clone is dropped. Does not wait for the collector: one that cannot be
    /// reached is a warning in the log.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn start(settings: &TraceSettings, runtime: &Handle) -> Result<Self, TraceError> {
        let counts = Arc::<Counts>::default();
        let (queue, commands) = mpsc::channel(QUEUE);
        // The connection is made by a task of the runtime.
        let _entered = runtime.enter();
        let exporter = Exporter::new(settings, Arc::clone(&counts));
        let exporter = exporter.map_err(|error| {
            let advice = "; name the authorities that sign the collector's certificate in trace.ca";
            let advice = if settings.has_tls() && settings.ca.is_none() { advice } else { "" };
            TraceError(format!("{error}{advice}"))
        })?;
        runtime.spawn(exporter.run(commands));
        Ok(Self(Arc::new(State {
            sampler: Sampler::share(settings.sample),
            limit: RateLimit::new(MAX_PER_SECOND, Duration::from_secs(1)),
            ids: RandomIdGenerator::default(),
            queue,
            drop_warnings: RateLimit::new(1, WARNING_INTERVAL),
            counts,
        })))
    }

    /// The trace of a call with these headers; `None` if it is not traced. The caller's decision in `traceparent` holds
    /// for the call. Without one, the sampler decides.
    pub(crate) fn sample(&self, headers: &HeaderMap) -> Option<Origin> {
        let parent = parent::from_headers(headers);
        let is_wanted = match &parent {
            Some(parent) => parent.is_sampled(),
            None => self.0.sampler.picks(Draw::next()),
        };
        if !is_wanted {
            return None;
        }
        if self.0.limit.admit().is_none() {
            self.0.counts.limited.fetch_add(1, Relaxed);
            return None;
        }
        let trace_id = parent.as_ref().map_or_else(|| self.0.ids.new_trace_id(), SpanContext::trace_id);
        Some(Origin { trace_id, parent })
    }

    /// Queues a call that has ended. Never waits: if the queue is full, the call is dropped and counted.
    pub(crate) fn send(&self, call: TracedCall) {
        let command = Command::Call(Box::new(call), Instant::now());
        if self.0.queue.try_send(command).is_err() {
            self.0.counts.dropped.fetch_add(1, Relaxed);
            if let Some(more) = self.0.drop_warnings.admit() {
                tracing::warn!(
                    more,
                    "traces are dropped: the collector does not take them as fast as calls are traced"
                );
            }
        }
    }

    /// Traced calls by outcome: `exported`, `failed`, `dropped` or `limited`.
    pub(crate) fn counts(&self) -> [(&'static str, u64); 4] {
        let Counts { exported, failed, dropped, limited } = &*self.0.counts;
        let counts = [("exported", exported), ("failed", failed), ("dropped", dropped), ("limited", limited)];
        counts.map(|(outcome, count)| (outcome, count.load(Relaxed)))
    }

    /// Exports what is queued now, for `deadline` at most. Returns whether the queue was emptied in time.
    pub async fn flush(&self, deadline: Duration) -> bool {
        let (done, flushed) = oneshot::channel();
        let flush = async {
            self.0.queue.send(Command::Flush(done)).await.ok()?;
            flushed.await.ok()
        };
        matches!(tokio::time::timeout(deadline, flush).await, Ok(Some(())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLED: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const NOT_SAMPLED: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

    fn traces(sample: f64) -> Traces {
        // Nothing listens on port 9 (discard), and no test waits for it.
        let endpoint = "http://127.0.0.1:9".to_owned();
        let settings = TraceSettings { endpoint, ca: None, sample };
        Traces::start(&settings, &Handle::current()).unwrap()
    }

    fn headers(traceparent: &str) -> HeaderMap {
        HeaderMap::from_iter([(http::HeaderName::from_static("traceparent"), traceparent.parse().unwrap())])
    }

    #[tokio::test]
    async fn the_caller_decides_and_else_the_sampler() {
        let none = traces(0.0);
        let origin = none.sample(&headers(SAMPLED)).unwrap();
        assert_eq!(origin.trace_id.to_string(), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(origin.parent.unwrap().span_id().to_string(), "b7ad6b7169203331");
        assert!(none.sample(&HeaderMap::new()).is_none());
        let all = traces(1.0);
        assert!(all.sample(&headers(NOT_SAMPLED)).is_none());
        let [one, two] = [(); 2].map(|()| all.sample(&HeaderMap::new()).unwrap());
        assert!(one.parent.is_none() && one.trace_id != two.trace_id);
    }

    #[tokio::test]
    async fn a_caller_cannot_have_every_call_traced() {
        let traces = traces(0.0);
        let traced = (0..10_000).filter(|_| traces.sample(&headers(SAMPLED)).is_some()).count();
        // A slow machine may need more than a second.
        assert!(traced % 100 == 0 && (100..5000).contains(&traced), "{traced}");
        assert_eq!(traces.0.counts.limited.load(Relaxed), 10_000 - traced as u64);
    }
}
