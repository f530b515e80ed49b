//! The operator's pages for the chain: `/purge`, `/contains`, `/stats`, `/compact`, `/backup`. They take a query and
//! return JSON.
//!
//! They are on the operations port, not on the gRPC port, because players must not purge floors.

use std::{fmt::Display, sync::Arc};

use axum::{
    extract::{RawQuery, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use floor_cache::{
    Backup, Chain, Compaction, Holdings, KeyPattern, PatternRemoval, Removal, TierError, TierErrorKind, TierStats,
};
use floor_gen::FloorSpec;
use floor_proto::operations::{
    BackedUp, Compacted, CompactedTier, Contained, FailedTier, FloorTiers, Purged, PurgedTier, PurgedTiers, Size,
    Stats, TierHoldings, TierResult, Writes,
};
use futures_util::future::join_all;
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};

use super::{
    OpsState,
    floors::{self, FloorsOf, Whose},
    json::json,
};
use crate::{cache::Chains, key, tenants::TenantId};

/// Purges at once. Each may wait seconds for the writers of the stores, and holds their locks for a batch of floors.
const MAX_PURGES: usize = 4;

/// Admits [`MAX_PURGES`] purges at once.
pub(super) struct PurgeLimit(Arc<Semaphore>);

impl Default for PurgeLimit {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_PURGES)))
    }
}

impl PurgeLimit {
    /// A permit for one purge; `None` if too many run.
    fn try_begin(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.0).try_acquire_owned().ok()
    }
}

pub(super) async fn purge(State(state): State<Arc<OpsState>>, RawQuery(query): RawQuery) -> Response {
    let (query, names) = (query.unwrap_or_default(), state.chains.names());
    match floors::parse_stored(&query, &state.packs, names) {
        Ok(None) => {}
        Ok(Some((patterns, whose))) => return purge_stored(&state, patterns, whose).await,
        Err(error) => return bad_request(&error),
    }
    let floors = match floors::parse(&query, &state.packs, names) {
        Ok(parsed) => parsed,
        Err(error) => return bad_request(&error),
    };
    let Some(permit) = state.purges.try_begin() else { return too_many_purges() };
    let count = floors.first().map_or(0, |floors| floors.specs.len());
    let of_chains = floors.iter().map(|FloorsOf { tenant, specs, .. }| {
        (of_tenant(&state.chains, *tenant), specs.iter().map(key::of).collect::<Vec<_>>())
    });
    let of_chains: Vec<_> = of_chains.collect();
    // In its own task, so that it completes even if the operator disconnects. It holds the permit until then.
    let purge = async move {
        let purges = of_chains.into_iter().map(async |((tenant, chain), keys)| {
            let removals = chain.purge(&keys).await;
            let memory = chain.holdings().into_iter().filter(|tier| tier.writes.is_none());
            let memory = memory.map(|tier| tier_result(tier.name, tenant.as_deref(), Ok::<(), &str>(())));
            let below = removals.into_iter();
            let below = below.map(|Removal { tier, result }| tier_result(tier, tenant.as_deref(), result));
            memory.chain(below).collect::<Vec<_>>()
        });
        let removed = join_all(purges).await.concat();
        drop(permit);
        removed
    };
    let Ok(tiers) = tokio::spawn(purge).await else {
        return task_failed("purge");
    };
    let complete = tiers.iter().all(|tier| tier.done);
    json(status(complete), &Purged { floors: count as u64, tiers })
}

/// The chains that a query is about, each with the name of its tenant.
fn selected(chains: &Chains, whose: Whose) -> Vec<(Option<String>, Chain)> {
    whose.callers(chains.names()).map(|tenant| of_tenant(chains, tenant)).collect()
}

/// The chain of `tenant`, with its name.
fn of_tenant(chains: &Chains, tenant: Option<TenantId>) -> (Option<String>, Chain) {
    (tenant.map(|tenant| chains.names().name(tenant).to_owned()), chains.of(tenant).clone())
}

/// Removes every stored floor that matches one of `patterns`: of a tower, of the versions of a pack, or all. One purge at a
/// time, because each reads whole stores, once for each pattern.
async fn purge_stored(state: &OpsState, patterns: Vec<KeyPattern>, whose: Whose) -> Response {
    const NAME: &str = "purge of a tower, of a pack or of everything";
    let chains = selected(&state.chains, whose);
    let work = async move {
        let mut tiers = Vec::new();
        for (tenant, chain) in chains {
            let mut of_chain: Vec<PurgedTier> = Vec::new();
            for pattern in &patterns {
                for PatternRemoval { tier, removed, result } in chain.purge_matching(*pattern).await {
                    let result = tier_result(tier, tenant.as_deref(), result);
                    match of_chain.iter_mut().find(|known| known.done.tier == tier) {
                        None => of_chain.push(PurgedTier { done: result, removed }),
                        Some(known) => {
                            known.removed += removed;
                            if known.done.done {
                                known.done = result;
                            }
                        }
                    }
                }
            }
            tiers.append(&mut of_chain);
        }
        tiers
    };
    match run_alone(&state.stored_purge, NAME, work).await {
        Ok(tiers) => {
            let complete = tiers.iter().all(|tier| tier.done.done);
            json(status(complete), &PurgedTiers { tiers })
        }
        Err(refusal) => refusal,
    }
}

pub(super) async fn contains(State(state): State<Arc<OpsState>>, RawQuery(query): RawQuery) -> Response {
    let floors = match floors::parse(&query.unwrap_or_default(), &state.packs, state.chains.names()) {
        Ok(parsed) => parsed,
        Err(error) => return bad_request(&error),
    };
    let lookups = floors.iter().flat_map(|floors| floors.specs.iter().map(move |spec| (floors, spec)));
    let lookups = lookups.map(async |(floors, spec)| {
        let (tenant, chain) = of_tenant(&state.chains, floors.tenant);
        let (mut tiers, mut failed) = (Vec::new(), Vec::new());
        for (tier, held) in chain.contains(&key::of(spec)).await {
            match held {
                Ok(true) => tiers.push(tier.to_owned()),
                Ok(false) => {}
                Err(error) => failed.push(FailedTier { tier: tier.to_owned(), error: error.to_string() }),
            }
        }
        FloorTiers {
            floor: label(spec),
            pack: Some(floors.pack.reference()).filter(|reference| !reference.is_empty()).map(str::to_owned),
            tenant,
            tiers,
            failed,
        }
    });
    let floors = join_all(lookups).await;
    json(status(floors.iter().all(|floor| floor.failed.is_empty())), &Contained { floors })
}

pub(super) async fn stats(State(state): State<Arc<OpsState>>, RawQuery(query): RawQuery) -> Response {
    let whose = match floors::parse_whose(&query.unwrap_or_default(), state.chains.names()) {
        Ok(whose) => whose,
        Err(error) => return bad_request(&error),
    };
    let chains = selected(&state.chains, whose);
    join_all(chains.iter().map(|(_, chain)| chain.refresh_stats())).await;
    let tiers = chains
        .iter()
        .flat_map(|(tenant, chain)| chain.holdings().into_iter().map(|holdings| tier(tenant.clone(), holdings)));
    json(StatusCode::OK, &Stats { tiers: tiers.collect() })
}

pub(super) async fn compact(State(state): State<Arc<OpsState>>, RawQuery(query): RawQuery) -> Response {
    let whose = match floors::parse_whose(&query.unwrap_or_default(), state.chains.names()) {
        Ok(whose) => whose,
        Err(error) => return bad_request(&error),
    };
    let chains = selected(&state.chains, whose);
    let work = async move {
        let mut done = Vec::new();
        // One after the other: a compaction needs as much free space as the store.
        for (tenant, chain) in chains {
            done.extend(chain.compact().await.into_iter().map(|tier| compacted(tenant.as_deref(), tier)));
        }
        done
    };
    match run_alone(&state.compaction, "compaction", work).await {
        Ok(tiers) => {
            let complete = tiers.iter().all(|tier| tier.done.done);
            json(status(complete), &Compacted { tiers })
        }
        Err(refusal) => refusal,
    }
}

fn compacted(tenant: Option<&str>, Compaction { tier, before, after, result }: Compaction) -> CompactedTier {
    CompactedTier { done: tier_result(tier, tenant, result), before: size(before), after: size(after) }
}

/// Runs `work` in its own task, so that it completes even if the operator disconnects, and no other with `lock` begins
/// before. Fails with an answer if one runs, and if `work` panics; `name` is its name.
async fn run_alone<T: Send + 'static>(
    lock: &Arc<Mutex<()>>,
    name: &str,
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, Response> {
    let Ok(running) = Arc::clone(lock).try_lock_owned() else {
        return Err(
            (StatusCode::CONFLICT, format!("a {name} is already running; wait until it ends\n")).into_response()
        );
    };
    let work = async move {
        let _running = running;
        work.await
    };
    tokio::spawn(work).await.map_err(|_| task_failed(name))
}

pub(super) async fn back_up(State(state): State<Arc<OpsState>>, RawQuery(query): RawQuery) -> Response {
    let names = state.chains.names();
    let (tier, whose) = match floors::parse_tier(&query.unwrap_or_default(), names) {
        Ok(parsed) => parsed,
        Err(error) => {
            let message = format!("{error}; write ?tier= and the name of a tier, as in ?tier=lmdb\n");
            return (StatusCode::BAD_REQUEST, message).into_response();
        }
    };
    if whose == Whose::All && !names.is_empty() {
        // One copy at a time. An operator who forgets the tenants finds out now, not when a copy is needed.
        let message = format!(
            "write whose store to copy, as tenant=NAME ({}), or tenant= for callers without one\n",
            names.list()
        );
        return (StatusCode::BAD_REQUEST, message).into_response();
    }
    let (tenant, chain) = selected(&state.chains, whose).swap_remove(0);
    let asked = tier.clone();
    let copied = match run_alone(&state.backup, "backup", async move { chain.back_up(&asked).await }).await {
        Ok(copied) => copied,
        Err(refusal) => return refusal,
    };
    let absent = || TierError::new(TierErrorKind::Refused, "back up the tier", "cache.chain has no such tier on disk");
    let copied = copied.unwrap_or_else(|| Err(absent()));
    match &copied {
        Ok(Backup { path, bytes }) => tracing::info!(tier, tenant, path = %path.display(), bytes, "backed up a tier"),
        Err(error) => tracing::warn!(tier, tenant, %error, "a tier could not be backed up"),
    }
    let (path, bytes) = copied.as_ref().map(|copy| (copy.path.display().to_string(), copy.bytes)).ok().unzip();
    let done = tier_result(&tier, tenant.as_deref(), copied.map(|_| ()));
    json(status(done.done), &BackedUp { done, path, bytes })
}

/// 503 if any tier failed, so that a script can check just the status.
const fn status(complete: bool) -> StatusCode {
    if complete { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }
}

fn task_failed(what: &str) -> Response {
    (StatusCode::INTERNAL_SERVER_ERROR, format!("the {what} failed\n")).into_response()
}

fn too_many_purges() -> Response {
    let message = format!("{MAX_PURGES} purges are running; wait until one ends\n");
    (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "1")], message).into_response()
}

fn bad_request(error: &floors::QueryError) -> Response {
    (StatusCode::BAD_REQUEST, format!("{error}\n")).into_response()
}

fn tier_result(tier: &str, tenant: Option<&str>, result: Result<(), impl Display>) -> TierResult {
    let (tier, tenant) = (tier.to_owned(), tenant.map(str::to_owned));
    TierResult { tier, tenant, done: result.is_ok(), error: result.err().map(|error| error.to_string()) }
}

fn tier(tenant: Option<String>, Holdings { name, stats, writes }: Holdings) -> TierHoldings {
    TierHoldings {
        tier: name.to_owned(),
        tenant,
        entries: (!stats.unknown.entries).then_some(stats.entries),
        bytes: (!stats.unknown.bytes).then_some(stats.bytes),
        limit_bytes: nonzero(stats.limit),
        disk_bytes: nonzero(stats.disk),
        corrupt: stats.corrupt,
        writes: writes.map(|counts| Writes {
            stored: counts.stored,
            failed: counts.failed,
            dropped: counts.dropped,
            waiting: counts.waiting,
        }),
    }
}

fn size(stats: TierStats) -> Size {
    Size { bytes: stats.bytes, disk_bytes: nonzero(stats.disk) }
}

fn nonzero(bytes: u64) -> Option<u64> {
    (bytes > 0).then_some(bytes)
}

/// The floor in the notation of floorctl.
fn label(spec: &FloorSpec) -> String {
    format!("{}/{}:{}@{}x{}", spec.seed(), spec.number(), spec.kind(), spec.width(), spec.height())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_purges_run_at_once() {
        let limit = PurgeLimit::default();
        let running: Vec<_> = (0..MAX_PURGES).map(|_| limit.try_begin().unwrap()).collect();
        assert!(limit.try_begin().is_none());
        let response = too_many_purges();
        assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(response.headers()[header::RETRY_AFTER], "1");
        drop(running);
        assert!(limit.try_begin().is_some());
    }
}
