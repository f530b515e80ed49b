//! What the calls share, and the record of a call in the metrics.

use std::{sync::Arc, time::Instant};

use floor_cache::Chain;
use tonic::Code;

use super::message::MemoryBudget;
use crate::{grpc::Rpc, lifecycle::InFlight, metrics::RequestMetrics, prefetch::AccessRecorder};

/// The dependencies of [`FloorService`](crate::grpc::FloorService).
#[derive(Debug, Clone)]
pub struct ServiceDeps {
    /// The source of floors.
    pub chain: Chain,
    /// Counts calls.
    pub metrics: RequestMetrics,
    /// Counts the calls in flight and refuses new ones during a drain.
    pub in_flight: InFlight,
    /// Records accesses for prefetching. `None` if that is off.
    pub access_recorder: Option<AccessRecorder>,
}

/// The state of the floor service.
#[derive(Debug)]
pub(in crate::grpc) struct ServiceState {
    pub(super) deps: ServiceDeps,
    pub(super) budget: MemoryBudget,
    pub(super) since: Instant,
}

impl ServiceState {
    /// The state of a service whose uptime starts now.
    pub(in crate::grpc) fn new(deps: ServiceDeps) -> Self {
        Self { deps, budget: MemoryBudget::default(), since: Instant::now() }
    }
}

/// Records the metrics of a call when dropped, so a cancelled call is counted too.
pub(in crate::grpc) struct MetricsGuard {
    pub(in crate::grpc) state: Arc<ServiceState>,
    pub(in crate::grpc) rpc: Rpc,
    pub(in crate::grpc) started: Instant,
    pub(in crate::grpc) code: Code,
}

impl Drop for MetricsGuard {
    fn drop(&mut self) {
        self.state.deps.metrics.record(self.rpc, self.code, self.started.elapsed());
    }
}
