//! Probes a tier when the pause of its open breaker ends, so that a server without calls notices that the tier is back. The
//! chain's builder starts one for each tier in another process.

use std::sync::{Arc, Weak};

use tokio::{runtime::Handle, task::AbortHandle};

use crate::{
    key::{Class, Key},
    layers::Circuit,
    tier::Tier,
};

/// The task that probes a tier. It sleeps while the breaker is closed, and ends when this is dropped.
#[derive(Debug)]
pub(crate) struct BreakerProbe(AbortHandle);

impl BreakerProbe {
    /// Probes `tier`, whose breaker has the state `circuit`.
    pub(crate) fn start(tier: &Arc<dyn Tier>, circuit: Arc<Circuit>, runtime: &Handle) -> Self {
        Self(runtime.spawn(probe_after_pauses(Arc::downgrade(tier), circuit)).abort_handle())
    }
}

impl Drop for BreakerProbe {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Asks `tier` after each pause as lookups do, which counts as no lookup. The breaker takes the answer as that of any
/// query.
async fn probe_after_pauses(tier: Weak<dyn Tier>, circuit: Arc<Circuit>) {
    for number in 0.. {
        circuit.probe_due().await;
        let Some(tier) = tier.upgrade() else { return };
        if let Err(error) = tier.probe(&[probe_key(2 * number), probe_key(2 * number + 1)]).await {
            tracing::debug!(tier = tier.name(), %error, "a probe failed");
        }
    }
}

/// A key that differs from probe to probe, so that the probes of a Redis Cluster ask all of its nodes.
fn probe_key(number: u64) -> Key {
    let mut identity = [0xFF; Key::LEN - 1];
    identity[..8].copy_from_slice(&number.to_le_bytes());
    Key::new(identity, Class::new(0))
}
