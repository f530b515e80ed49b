//! What is remembered of a call for its trace and for the access log. Calls ask [`CallObserver`] at their start; if
//! neither wants the call, nothing is remembered.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use bevy::prelude::*;
use floor_cache::Served;
use floor_proto::rpc::Rpc;
use http::{HeaderMap, HeaderValue};
use tokio::runtime::Handle;
use tonic::{Code, Status};

use crate::{
    callers::Caller,
    config::{Config, LogSettings},
    headers::FLOOR_SERVED_BY,
    logging::{AccessEntry, AccessLog},
    reload::Reload,
    tenants::TenantNames,
    traces::{Lookup, Origin, TraceError, TracedCall, Traces},
};

/// Lookups of a call that are remembered. A stream has one for each window of 16 floors.
const MAX_LOOKUPS: usize = 32;
/// The longest message of an error that is remembered, in characters. Some messages quote the request.
const MAX_MESSAGE: usize = 256;

/// Adds the [`CallObserver`], and [`Traces`] if there are any.
#[derive(Debug)]
pub struct CallObserverPlugin {
    observer: CallObserver,
}

impl CallObserverPlugin {
    /// Starts the export of traces, if `config` has one.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn start(config: &Config, runtime: &Handle) -> Result<Self, TraceError> {
        let traces = config.trace.as_ref().map(|settings| Traces::start(settings, runtime)).transpose()?;
        Ok(Self { observer: CallObserver::new(traces, &config.log, config.tenant_names()) })
    }
}

impl Plugin for CallObserverPlugin {
    fn build(&self, app: &mut App) {
        if let Some(traces) = &self.observer.0.traces {
            app.insert_resource(traces.clone());
        }
        app.insert_resource(self.observer.clone()).add_observer(apply_access_log);
    }
}

fn apply_access_log(mut reload: On<'_, '_, Reload>, observer: Res<'_, CallObserver>) {
    observer.configure(&reload.config.log);
    reload.apply(|key| key == "log.access");
}

/// Decides which calls are recorded. Cheap to clone.
#[derive(Resource, Debug, Clone)]
pub struct CallObserver(Arc<Observers>);

#[derive(Debug)]
struct Observers {
    traces: Option<Traces>,
    access: AccessLog,
    tenants: TenantNames,
    /// Here, so that a call that is not recorded asks nothing else.
    has_access_log: AtomicBool,
}

/// The record of one call.
#[derive(Debug)]
pub(crate) struct CallRecord {
    observer: CallObserver,
    caller: Caller,
    /// Set if the call is traced.
    origin: Option<Origin>,
    measured: Mutex<Measured>,
}

/// What a call tells its record.
#[derive(Debug, Default)]
struct Measured {
    served_by: Option<HeaderValue>,
    floors: usize,
    bytes: u64,
    message: Option<String>,
    lookups: Vec<Lookup>,
}

impl CallObserver {
    /// An observer for traces, if there are any, and for the access log of `settings`, which names `tenants`.
    #[must_use]
    pub fn new(traces: Option<Traces>, settings: &LogSettings, tenants: TenantNames) -> Self {
        let (access, has_access_log) = (AccessLog::new(settings), AtomicBool::new(false));
        let observer = Self(Arc::new(Observers { traces, access, tenants, has_access_log }));
        observer.configure(settings);
        observer
    }

    /// Takes over the settings of the access log. They apply to the calls that end from now on; if it was off, to those
    /// that begin.
    pub fn configure(&self, settings: &LogSettings) {
        self.0.access.configure(settings);
        self.0.has_access_log.store(settings.access > 0, Relaxed);
    }

    /// The record of a call with these headers. `None` if the call is not recorded.
    pub(crate) fn begin(&self, headers: &HeaderMap, caller: &Caller) -> Option<Arc<CallRecord>> {
        let origin = self.0.traces.as_ref().and_then(|traces| traces.sample(headers));
        // A call that fails is logged, sampled or not, so the access log records every call.
        let is_recorded = origin.is_some() || self.0.has_access_log.load(Relaxed);
        is_recorded.then(|| {
            let (observer, caller, measured) = (self.clone(), caller.clone(), Mutex::default());
            Arc::new(CallRecord { observer, caller, origin, measured })
        })
    }
}

impl CallRecord {
    /// Whether the call is traced, and its lookups too.
    pub(crate) const fn is_traced(&self) -> bool {
        self.origin.is_some()
    }

    /// The call was answered with `bytes` of messages and these headers or trailers.
    pub(crate) fn answered(&self, headers: &HeaderMap, bytes: usize) {
        self.sent(bytes);
        self.measured().served_by = headers.get(&FLOOR_SERVED_BY).cloned();
    }

    /// The transport took `bytes` of messages.
    pub(crate) fn sent(&self, bytes: usize) {
        self.measured().bytes += bytes as u64;
    }

    /// The call ends with this error.
    pub(crate) fn failed(&self, status: &Status) {
        self.measured().message = Some(status.message().chars().take(MAX_MESSAGE).collect());
    }

    /// The call has ended.
    pub(crate) fn finish(&self, rpc: Rpc, code: Code, started: Instant, took: Duration) {
        let Measured { served_by, floors, bytes, message, lookups } = std::mem::take(&mut *self.measured());
        let served_by = served_by.as_ref().and_then(|by| by.to_str().ok()).unwrap_or_default();
        let (caller, name) = (self.caller.address(), self.caller.name());
        let Observers { traces, access, tenants, has_access_log } = &*self.observer.0;
        if has_access_log.load(Relaxed) {
            let trace_id = self.origin.as_ref().map(|origin| origin.trace_id.to_string());
            let tenant = self.caller.tenant().map(|tenant| tenants.name(tenant));
            access.log(&AccessEntry { rpc, code, caller, name, tenant, took, served_by, floors, bytes, trace_id });
        }
        if let (Some(traces), Some(origin)) = (traces, &self.origin) {
            let (origin, name, served_by) = (origin.clone(), name.map(str::to_owned), served_by.to_owned());
            traces.send(TracedCall {
                origin,
                rpc,
                code,
                message,
                caller,
                name,
                started,
                took,
                served_by,
                floors,
                bytes,
                lookups,
            });
        }
    }

    fn lookup_ended(&self, started: Instant, served: Option<&[Served]>) {
        let mut measured = self.measured();
        measured.floors += served.map_or(0, <[Served]>::len);
        if self.is_traced() && measured.lookups.len() < MAX_LOOKUPS {
            measured.lookups.push(Lookup::ended(started, served));
        }
    }

    fn measured(&self) -> MutexGuard<'_, Measured> {
        self.measured.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Times a lookup of a recorded call. If it is dropped before its end, the lookup failed or was cut off.
#[derive(Debug)]
pub(crate) struct LookupTimer<'a>(Option<(&'a CallRecord, Instant)>);

impl<'a> LookupTimer<'a> {
    /// Starts now. Does nothing without a record.
    pub(crate) fn start(record: Option<&'a Arc<CallRecord>>) -> Self {
        Self(record.map(|record| (&**record, Instant::now())))
    }

    /// The lookup found `served`.
    pub(crate) fn finish(mut self, served: &[Served]) {
        if let Some((record, started)) = self.0.take() {
            record.lookup_ended(started, Some(served));
        }
    }
}

impl Drop for LookupTimer<'_> {
    fn drop(&mut self) {
        if let Some((record, started)) = self.0.take() {
            record.lookup_ended(started, None);
        }
    }
}
