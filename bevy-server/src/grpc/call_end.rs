//! The end of a call: its metrics and its record, also if it is cancelled.

use std::{sync::Arc, time::Instant};

use http::HeaderMap;
use tonic::Code;

use super::{Rpc, call_metrics::RequestMetrics};
use crate::{
    callers::Caller,
    observer::{CallObserver, CallRecord},
    tenants::TenantId,
};

/// Who counts and records calls.
#[derive(Debug)]
pub(super) struct CallCounts {
    pub(super) metrics: RequestMetrics,
    /// `None`: no call is recorded.
    pub(super) observer: Option<CallObserver>,
}

/// Counts a call when dropped, so a cancelled call is counted too, and ends its record.
pub(super) struct CallEnd {
    counts: Arc<CallCounts>,
    rpc: Rpc,
    /// Of the caller.
    tenant: Option<TenantId>,
    pub(super) started: Instant,
    pub(super) code: Code,
    /// After it, a call without a code counts as DEADLINE_EXCEEDED.
    pub(super) deadline: Option<Instant>,
    /// For traces and the access log.
    pub(super) record: Option<Arc<CallRecord>>,
}

impl CallEnd {
    /// The end of a call that begins now. It counts as cancelled until it has another code.
    pub(super) fn of(counts: Arc<CallCounts>, rpc: Rpc, headers: &HeaderMap, caller: &Caller) -> Self {
        let started = Instant::now();
        let record = counts.observer.as_ref().and_then(|observer| observer.begin(headers, caller));
        Self { counts, rpc, tenant: caller.tenant(), started, code: Code::Cancelled, deadline: None, record }
    }
}

impl Drop for CallEnd {
    fn drop(&mut self) {
        if self.code == Code::Cancelled && self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            self.code = Code::DeadlineExceeded;
        }
        let took = self.started.elapsed();
        self.counts.metrics.record(self.rpc, self.code, self.tenant, took);
        if let Some(record) = &self.record {
            record.finish(self.rpc, self.code, self.started, took);
        }
    }
}
