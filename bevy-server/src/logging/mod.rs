//! Logs: events go to standard error, as text or as JSON lines. The composition root installs the subscriber before
//! everything else; [`LogControl`] changes its filter while the server runs.
//!
//! Bevy's `LogPlugin` is not used: its filter cannot be changed at run time, and its output layer is a type of its own
//! into which the limit for libraries does not fit. As with the plugin, events of the crate `log` are logged too.

mod access;
mod library_limit;

use std::{
    io::{self, IsTerminal},
    panic,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bevy::prelude::*;
use tokio::runtime::Handle;
use tracing::Subscriber;
use tracing_subscriber::{
    EnvFilter, Layer, Registry, fmt, layer::SubscriberExt, registry::LookupSpan, reload, util::SubscriberInitExt,
};

pub(crate) use access::{AccessEntry, AccessLog};
use library_limit::LibraryLimit;

use crate::{
    config::{LogFilter, LogFormat, LogSettings},
    reload::Reload,
    runtime::TokioHandle,
};

/// Adds the [`LogControl`] of the installed log.
#[derive(Debug)]
pub struct LogPlugin(pub LogControl);

impl Plugin for LogPlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(self.0.clone()).add_observer(apply_filter);
    }

    fn finish(&self, app: &mut App) {
        self.0.set_runtime(app.world().resource::<TokioHandle>());
    }
}

fn apply_filter(mut reload: On<'_, '_, Reload>, log: Res<'_, LogControl>) {
    if let Err(error) = log.configure(&reload.config.log.filter) {
        tracing::warn!(%error, "the log filter cannot be changed");
    }
    reload.apply(|key| key == "log.level");
}

/// Changes the filter of the log. Cheap to clone.
#[derive(Resource, Debug, Clone)]
pub struct LogControl(Arc<Control>);

#[derive(Debug)]
struct Control {
    handle: reload::Handle<EnvFilter, Registry>,
    /// The filter to which an operator can return.
    base: Mutex<LogFilter>,
    /// Whether `base` is from the environment, which wins over the configuration.
    is_from_environment: bool,
    limit: LibraryLimit,
}

/// Installs the subscriber of this process. If it already has one, events go on to that one, and the returned control
/// has no effect.
#[must_use]
pub fn install(settings: &LogSettings) -> LogControl {
    let environment = LogFilter::from_environment();
    let (base, is_from_environment) = match &environment {
        Some(Ok(filter)) => (filter, true),
        Some(Err(_)) | None => (&settings.filter, false),
    };
    let (filter, handle) = reload::Layer::new(base.build());
    let limit = LibraryLimit::default();
    let subscriber = tracing_subscriber::registry().with(filter).with(limit.clone()).with(output(settings.format));
    if subscriber.try_init().is_err() {
        tracing::warn!("this process already has a log; the settings of this server's log have no effect");
    } else if settings.format == LogFormat::Json {
        log_panics();
    }
    if let Some(Err(error)) = &environment {
        tracing::warn!(%error, "RUST_LOG is wrong; log.level is used");
    }
    let base = Mutex::new(base.clone());
    LogControl(Arc::new(Control { handle, base, is_from_environment, limit }))
}

impl LogControl {
    /// Lets `runtime` report what libraries logged too often.
    pub fn set_runtime(&self, runtime: &Handle) {
        self.0.limit.set_runtime(runtime.clone());
    }

    /// Logs what `filter` selects until the next call.
    ///
    /// # Errors
    /// If this control's subscriber is not that of the process.
    pub fn set(&self, filter: &LogFilter) -> Result<(), reload::Error> {
        self.0.handle.reload(filter.build())
    }

    /// Takes over the configured filter. `RUST_LOG` wins over it.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn configure(&self, filter: &LogFilter) -> Result<(), reload::Error> {
        if !self.0.is_from_environment {
            *self.base() = filter.clone();
        }
        self.reset().map(|_| ())
    }

    /// Returns to the filter of the environment or of the configuration, and returns it.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn reset(&self) -> Result<LogFilter, reload::Error> {
        let base = self.base().clone();
        self.set(&base).map(|()| base)
    }

    fn base(&self) -> MutexGuard<'_, LogFilter> {
        self.0.base.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes events to standard error: text with colour if that is a terminal, or JSON lines with flat fields.
fn output<S>(format: LogFormat) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    // The server outlives the terminal that it was started from, and reporting a failed write there would panic.
    let layer = fmt::layer().with_writer(io::stderr).log_internal_errors(false);
    match format {
        LogFormat::Text => {
            let colour = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            layer.with_ansi(colour).boxed()
        }
        LogFormat::Json => layer.json().flatten_event(true).with_current_span(false).with_span_list(false).boxed(),
    }
}

/// Logs panics as events, so that every line on standard error is JSON. Text keeps the message of the standard library.
fn log_panics() {
    panic::set_hook(Box::new(|panic| {
        let location = panic.location().map(tracing::field::display);
        let message = panic.payload_as_str().unwrap_or("a panic without a message");
        let thread = std::thread::current().name().unwrap_or_default().to_owned();
        tracing::error!(target: "floors::panic", panic = message, location, thread, "a thread panicked");
    }));
}
