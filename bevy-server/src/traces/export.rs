//! The task that makes spans of traced calls and sends them to the collector.

use std::{
    env,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

use floor_cache::tls::Certificates;
use opentelemetry::KeyValue;
use opentelemetry_otlp::{
    ExporterBuildError, SpanExporter, WithExportConfig, WithTonicConfig,
    tonic_types::transport::{Certificate, ClientTlsConfig},
};
use opentelemetry_sdk::{
    Resource,
    resource::{EnvResourceDetector, TelemetryResourceDetector},
    trace::{IdGenerator, RandomIdGenerator, SpanData, SpanExporter as _},
};
use tokio::{
    sync::{mpsc::Receiver, oneshot},
    time::{timeout, timeout_at},
};

use super::{Counts, TracedCall, WARNING_INTERVAL, spans::SpanMaker};
use crate::{config::TraceSettings, rate_limit::RateLimit};

/// How long calls are collected into one request.
const LINGER: Duration = Duration::from_secs(1);
/// Spans from which on a request is sent at once.
const BATCH: usize = 512;
/// Time limit for a request, its repetitions included.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(5);
/// A call that waited longer is not exported: the collector was away.
const MAX_AGE: Duration = Duration::from_secs(60);

/// What the task does.
pub(super) enum Command {
    /// Exports a call, which ended then.
    Call(Box<TracedCall>, Instant),
    /// Exports what is collected, then answers.
    Flush(oneshot::Sender<()>),
}

/// Sends spans to a collector.
pub(super) struct Exporter {
    client: SpanExporter,
    maker: SpanMaker,
    spans: Vec<SpanData>,
    /// The calls in `spans`.
    calls: u64,
    counts: Arc<Counts>,
    warnings: RateLimit,
}

impl Exporter {
    /// Sends to the collector of `settings`, to which it connects with the first spans. Call it in the context of a
    /// runtime.
    pub(super) fn new(settings: &TraceSettings, counts: Arc<Counts>) -> Result<Self, ExporterBuildError> {
        let endpoint = settings.endpoint.as_str();
        let mut client = SpanExporter::builder().with_tonic().with_endpoint(endpoint).with_timeout(EXPORT_TIMEOUT);
        if settings.has_tls() {
            client = client.with_tls_config(tls(settings.ca.as_ref()));
        }
        let mut client = client.build()?;
        client.set_resource(&resource());
        let warnings = RateLimit::new(1, WARNING_INTERVAL);
        Ok(Self { client, maker: SpanMaker::new(), spans: Vec::new(), calls: 0, counts, warnings })
    }

    /// Exports until the queue is closed and empty.
    pub(super) async fn run(mut self, mut queue: Receiver<Command>) {
        while let Some(command) = queue.recv().await {
            let mut flushed = self.take(command);
            let until = tokio::time::Instant::now() + LINGER;
            while flushed.is_none() && self.spans.len() < BATCH {
                match timeout_at(until, queue.recv()).await {
                    Ok(Some(command)) => flushed = self.take(command),
                    Ok(None) | Err(_) => break,
                }
            }
            self.export().await;
            if let Some(flushed) = flushed {
                let _ = flushed.send(());
            }
        }
    }

    /// Collects the spans of a call, or returns whom to answer after a flush.
    fn take(&mut self, command: Command) -> Option<oneshot::Sender<()>> {
        match command {
            Command::Call(call, ended) if ended.elapsed() <= MAX_AGE => {
                self.maker.append(&call, &mut self.spans);
                self.calls += 1;
                None
            }
            Command::Call(..) => {
                self.counts.dropped.fetch_add(1, Relaxed);
                None
            }
            Command::Flush(flushed) => Some(flushed),
        }
    }

    async fn export(&mut self) {
        let (spans, calls) = (std::mem::take(&mut self.spans), std::mem::take(&mut self.calls));
        if spans.is_empty() {
            return;
        }
        let error = match timeout(EXPORT_TIMEOUT, self.client.export(spans)).await {
            Ok(Ok(())) => {
                self.counts.exported.fetch_add(calls, Relaxed);
                return;
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {} s", EXPORT_TIMEOUT.as_secs()),
        };
        self.counts.failed.fetch_add(calls, Relaxed);
        if let Some(more) = self.warnings.admit() {
            tracing::warn!(error, more, "traces could not be exported; calls are not affected");
        }
    }
}

/// TLS towards a collector whose certificate is signed by `ca`; `None`: by an authority that the system trusts.
fn tls(ca: Option<&Certificates>) -> ClientTlsConfig {
    match ca {
        Some(ca) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(ca.pem())),
        None => ClientTlsConfig::new().with_native_roots(),
    }
}

/// What every span says of this server. `OTEL_RESOURCE_ATTRIBUTES` adds to it or overrides it, and
/// `OTEL_SERVICE_NAME` overrides the name.
fn resource() -> Resource {
    let instance = RandomIdGenerator::default().new_trace_id().to_string();
    let own = [
        KeyValue::new("service.name", "floor-server"),
        KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
        KeyValue::new("service.instance.id", instance),
    ];
    let resource = Resource::builder_empty()
        .with_attributes(own)
        .with_detectors(&[Box::new(TelemetryResourceDetector), Box::new(EnvResourceDetector::new())]);
    match env::var("OTEL_SERVICE_NAME").ok().filter(|name| !name.is_empty()) {
        Some(name) => resource.with_service_name(name).build(),
        None => resource.build(),
    }
}
