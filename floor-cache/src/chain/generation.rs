//! Generates the values that no tier had, alone or under a lease, and completes their flights. The lookups use it.

use std::time::Instant;

use super::{
    handle::Inner,
    lease::{Leased, Leases},
};
use crate::{
    key::Key,
    producer::GenerateResult,
    served::{Found, Options, Outcome, Step},
    single_flight::Leader,
    stack::{PurgeEpoch, RequiredIn},
};

/// Generates the value of `leader`, stores it, then completes the flight. Lower tiers that are nearly full may refuse it
/// unless `required` includes them. An error completes the flight at once.
pub(super) async fn generate_and_complete(
    inner: &Inner,
    leader: &mut Leader,
    options: Options,
    steps: &[Step],
    required: RequiredIn,
) {
    let made = inner.producer.generate(leader.request(options)).await;
    complete_with(inner, leader, made, steps, required);
}

fn complete_with(inner: &Inner, leader: &mut Leader, made: GenerateResult, steps: &[Step], required: RequiredIn) {
    match made {
        Ok(made) => {
            leader.store_and_complete(made.after(steps), |key, value| inner.stack.store(key, value, required));
        }
        Err(error) => leader.complete(Err(error)),
    }
}

/// Whether the value of `key`, which the shared tier missed, is worth a lease.
pub(super) fn is_worth_lease(inner: &Inner, leases: &Leases, key: &Key) -> bool {
    leases.is_worthwhile(&inner.producer, key, || {
        let query = inner.stack.lower[leases.tier].policy.status().cost;
        (query, inner.cpu_cost(Instant::now()))
    })
}

/// Generates the value of `leader` under a lease, or waits for another server to do so, and completes the flight. A
/// value from another server is not stored if a purge ran since `epoch`.
pub(super) async fn complete_leased(
    inner: &Inner,
    leases: &Leases,
    leader: &mut Leader,
    options: Options,
    steps: &[Step],
    epoch: PurgeEpoch,
) {
    let shared = &inner.stack.lower[leases.tier];
    let started = Instant::now();
    match leases.generate_once(&inner.producer, leader.request(options)).await {
        Leased::Found(value) => {
            if let Some(_permit) = inner.stack.purges.fill_permit(epoch) {
                inner.stack.promote(leader.hashed(), &value, leases.tier);
            }
            let step = Step::of_tier(shared.name(), Outcome::Hit, started, started.elapsed());
            let steps = steps.iter().copied().chain([step]).collect();
            leader.complete(Ok(Found { value, by: shared.name(), steps }));
        }
        Leased::Generated(made, guard) => {
            // Other servers may be waiting for the value of a lease.
            let required = guard.as_ref().map_or(RequiredIn::NoTier, |_| RequiredIn::Tier(leases.tier));
            complete_with(inner, leader, made, steps, required);
            if let Some(guard) = guard {
                guard.keep_until(shared.writes.last_stored());
            }
        }
    }
}
