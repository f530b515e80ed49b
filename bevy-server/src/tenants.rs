//! Tenants: the namespaces of the configuration that tokens may name. A tenant has a chain of its own (`cache`), a quota
//! of generation (`generation`), and the counts here.

mod names;

use std::{array, sync::Arc};

use floor_proto::status::code_name;
use prometheus::{IntCounter, IntCounterVec, Opts, Registry};
use tonic::Code;

pub use names::{MAX_TENANTS, TenantId, TenantNames, is_name};

/// The status codes of gRPC: 0 to 16.
const CODES: usize = 17;

/// What one tenant does, as Prometheus has it.
#[derive(Debug)]
pub struct TenantCounts {
    /// By status code.
    requests: [IntCounter; CODES],
    /// Floors that were refused, because the queue was full.
    pub(crate) refused_by_queue: IntCounter,
    /// Floors that were refused, because the quota of the token or of the tenant was used up.
    pub(crate) refused_by_quota: IntCounter,
    /// Cells that were generated.
    pub(crate) cells: IntCounter,
}

impl TenantCounts {
    /// The counts of each tenant, registered at 0.
    ///
    /// # Errors
    /// If `registry` already has metrics with these names.
    pub fn register(names: &TenantNames, registry: &Registry) -> prometheus::Result<Vec<Arc<Self>>> {
        let counters = |name, help, labels: &[&str]| {
            let counters = IntCounterVec::new(Opts::new(name, help), labels)?;
            registry.register(Box::new(counters.clone()))?;
            prometheus::Result::Ok(counters)
        };
        let help = "Calls of a tenant by status code.";
        let requests = counters("floors_tenant_requests_total", help, &["tenant", "code"])?;
        let help = "Floors that were not generated for a tenant: the queue was full, or a quota was used up.";
        let refusals = counters("floors_tenant_refusals_total", help, &["tenant", "reason"])?;
        let help = "Cells of floors that were generated for a tenant.";
        let cells = counters("floors_tenant_generated_cells_total", help, &["tenant"])?;
        let counts = names.iter().map(|(_, name)| {
            let count = |code: usize| requests.with_label_values(&[name, code_name(Code::from_i32(code as i32))]);
            Arc::new(Self {
                requests: array::from_fn(count),
                refused_by_queue: refusals.with_label_values(&[name, "queue"]),
                refused_by_quota: refusals.with_label_values(&[name, "quota"]),
                cells: cells.with_label_values(&[name]),
            })
        });
        Ok(counts.collect())
    }

    /// Counts a finished call.
    pub(crate) fn count_call(&self, code: Code) {
        self.requests[code as usize].inc();
    }
}
