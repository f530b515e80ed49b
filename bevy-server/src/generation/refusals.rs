//! Counts the floors that are not generated for their callers, by reason and by the token of the caller.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use floor_cache::CallerId;
use prometheus::{IntCounter, IntCounterVec, Opts, Registry};

use crate::callers::Callers;

/// Tokens that have a series of their own, in the order of their first refusals. Each series costs Prometheus memory.
const MAX_TOKENS: usize = 32;
/// The series of all other callers, and of a token with this name.
const OTHER: &str = "other";

/// `floors_generation_refusals_total{reason}` and `floors_client_refusals_total{client}`.
#[derive(Debug)]
pub(super) struct RefusedFloors {
    callers: Callers,
    queue: IntCounter,
    quota: IntCounter,
    by_caller: IntCounterVec,
    /// The names of the tokens that have a series.
    tokens: Mutex<HashSet<Arc<str>>>,
}

impl RefusedFloors {
    pub(super) fn register(callers: Callers, registry: &Registry) -> prometheus::Result<Self> {
        let help = "Floors that were not generated: the queue was full, or the client had used up its quota.";
        let refused = IntCounterVec::new(Opts::new("floors_generation_refusals_total", help), &["reason"])?;
        registry.register(Box::new(refused.clone()))?;
        let help = "Floors that were not generated, by the name of the client's token.";
        let by_caller = IntCounterVec::new(Opts::new("floors_client_refusals_total", help), &["client"])?;
        registry.register(Box::new(by_caller.clone()))?;
        let _ = by_caller.with_label_values(&[OTHER]);
        let count = |reason| refused.with_label_values(&[reason]);
        let (queue, quota) = (count("queue"), count("quota"));
        Ok(Self { callers, queue, quota, by_caller, tokens: Mutex::default() })
    }

    /// The queue was full, or a job of a caller with a smaller share took the place of one of `caller`.
    pub(super) fn by_queue(&self, caller: CallerId) {
        self.queue.inc();
        self.count(caller, "queue");
    }

    /// `caller` had used up its quota.
    pub(super) fn by_quota(&self, caller: CallerId) {
        self.quota.inc();
        self.count(caller, "quota");
    }

    fn count(&self, caller: CallerId, reason: &'static str) {
        let token = self.callers.report_refused(caller, reason).filter(|token| self.has_series(token));
        self.by_caller.with_label_values(&[token.as_deref().unwrap_or(OTHER)]).inc();
    }

    fn has_series(&self, token: &Arc<str>) -> bool {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.contains(token) || (tokens.len() < MAX_TOKENS && tokens.insert(Arc::clone(token)))
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::config::CallerIdentity;

    #[test]
    fn so_many_tokens_have_a_series_and_no_address_or_certificate_has_one() {
        let (callers, registry) = (Callers::new(CallerIdentity::default()), Registry::new());
        let refused = RefusedFloors::register(callers.clone(), &registry).unwrap();
        let here = Ipv4Addr::LOCALHOST.into();
        let series = |caller: &str| refused.by_caller.with_label_values(&[caller]).get();
        for number in 0..2 * MAX_TOKENS {
            let caller = callers.named(&number.to_string(), here);
            refused.by_quota(caller.id());
            refused.by_queue(caller.id());
        }
        refused.by_queue(callers.at(here).id());
        refused.by_queue(callers.certified("CN=game", here).id());
        let families = registry.gather();
        let family = families.iter().find(|family| family.name() == "floors_client_refusals_total").unwrap();
        assert_eq!(family.get_metric().len(), MAX_TOKENS + 1);
        assert_eq!((series("0"), series(OTHER)), (2, 2 * MAX_TOKENS as u64 + 2));
        assert_eq!((refused.quota.get(), refused.queue.get()), (2 * MAX_TOKENS as u64, 2 * MAX_TOKENS as u64 + 2));
    }
}
