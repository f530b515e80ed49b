//! Counts the floors that are not generated for their callers, by reason, by the token of the caller, and by its tenant.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use floor_cache::CallerId;
use prometheus::Registry;

use crate::{
    callers::Callers,
    metrics::{Family, register_families},
};

/// Tokens that have series of their own, in the order of their first refusals. Each series costs Prometheus memory.
const MAX_TOKENS: usize = 32;
/// The client of all other callers, and of a token with this name.
const OTHER: &str = "other";

/// `floors_generation_refusals_total{reason,client,tenant}`.
#[derive(Debug)]
pub(super) struct RefusedFloors {
    callers: Callers,
    counts: Arc<Mutex<Counts>>,
}

#[derive(Debug, Default)]
struct Counts {
    series: BTreeMap<Series, u64>,
    /// The names of the tokens that have series.
    tokens: HashSet<Arc<str>>,
}

/// The reason, the token, and the tenant.
type Series = (&'static str, Option<Arc<str>>, Option<Arc<str>>);

impl RefusedFloors {
    pub(super) fn register(callers: Callers, registry: &Registry) -> prometheus::Result<Self> {
        let refused = Self { callers, counts: Arc::default() };
        refused.add_zeros(None);
        let counts = Arc::clone(&refused.counts);
        register_families(registry, move || {
            let counts = lock(&counts);
            let series = counts.series.iter().map(|((reason, client, tenant), count)| {
                ([*reason, client.as_deref().unwrap_or(OTHER), tenant.as_deref().unwrap_or_default()], *count)
            });
            let help = "Floors that were not generated: the queue was full, or the client had used up its quota.";
            let labels = ["reason", "client", "tenant"];
            vec![Family::counter("floors_generation_refusals_total", help, labels, series)]
        })?;
        Ok(refused)
    }

    /// Shows the tenant `name` before its first refusal, because a rate needs a sample from then.
    pub(super) fn add_tenant(&self, name: &Arc<str>) {
        self.add_zeros(Some(name));
    }

    fn add_zeros(&self, tenant: Option<&Arc<str>>) {
        let series = ["queue", "quota"].map(|reason| ((reason, None, tenant.cloned()), 0));
        lock(&self.counts).series.extend(series);
    }

    /// The queue was full, or a job of a caller with a smaller share took the place of one of `caller`.
    pub(super) fn by_queue(&self, caller: CallerId, tenant: Option<&Arc<str>>) {
        self.count("queue", caller, tenant);
    }

    /// `caller` had used up its quota, or its tenant had.
    pub(super) fn by_quota(&self, caller: CallerId, tenant: Option<&Arc<str>>) {
        self.count("quota", caller, tenant);
    }

    fn count(&self, reason: &'static str, caller: CallerId, tenant: Option<&Arc<str>>) {
        let token = self.callers.report_refused(caller, reason);
        let mut counts = lock(&self.counts);
        let client = token.filter(|token| counts.has_series(token));
        *counts.series.entry((reason, client, tenant.cloned())).or_default() += 1;
    }
}

impl Counts {
    fn has_series(&mut self, token: &Arc<str>) -> bool {
        let has_room = self.tokens.len() < MAX_TOKENS;
        **token != *OTHER && (self.tokens.contains(token) || (has_room && self.tokens.insert(Arc::clone(token))))
    }
}

fn lock(counts: &Mutex<Counts>) -> MutexGuard<'_, Counts> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::config::CallerIdentity;

    #[test]
    fn so_many_tokens_have_series_and_no_address_or_certificate_has_one() {
        let (callers, registry) = (Callers::new(CallerIdentity::default()), Registry::new());
        let refused = RefusedFloors::register(callers.clone(), &registry).unwrap();
        let here = Ipv4Addr::LOCALHOST.into();
        for number in 0..2 * MAX_TOKENS {
            let caller = callers.named(&number.to_string(), here);
            refused.by_quota(caller.id(), None);
            refused.by_queue(caller.id(), None);
        }
        refused.by_queue(callers.at(here).id(), None);
        refused.by_queue(callers.certified("CN=game", here).id(), None);
        refused.by_queue(callers.named(OTHER, here).id(), None);
        let families = registry.gather();
        let family = families.iter().find(|family| family.name() == "floors_generation_refusals_total").unwrap();
        assert_eq!(family.get_metric().len(), 2 * (MAX_TOKENS + 1));
        let counts = lock(&refused.counts);
        let count = |reason, client: Option<&str>| counts.series[&(reason, client.map(Arc::from), None)];
        assert_eq!((count("queue", Some("0")), count("quota", Some("0"))), (1, 1));
        assert_eq!((count("queue", None), count("quota", None)), (MAX_TOKENS as u64 + 3, MAX_TOKENS as u64));
    }
}
