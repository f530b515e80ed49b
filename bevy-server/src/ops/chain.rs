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
use floor_cache::{Backup, Compaction, Holdings, Removal, TierError, TierErrorKind, TierStats};
use floor_gen::FloorSpec;
use floor_proto::operations::{
    BackedUp, Compacted, CompactedTier, Contained, FloorTiers, Purged, Size, Stats, TierHoldings, TierResult, Writes,
};
use futures_util::future::join_all;
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};

use super::{OpsState, floors, json::json};
use crate::key;

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
    let specs = match floors::parse(&state.packs, &query.unwrap_or_default()) {
        Ok(specs) => specs,
        Err(error) => return bad_request(&error),
    };
    let Some(permit) = state.purges.try_begin() else { return too_many_purges() };
    let keys: Vec<_> = specs.iter().map(key::of).collect();
    // In its own task, so that it completes even if the operator disconnects. It holds the permit until then.
    let chain = state.chain.clone();
    let purge = async move {
        let removals = chain.purge(&keys).await;
        drop(permit);
        removals
    };
    let Ok(removals) = tokio::spawn(purge).await else {
        return task_failed("purge");
    };
    let memory = state.chain.holdings().into_iter().filter(|tier| tier.writes.is_none());
    let memory = memory.map(|tier| tier_result(tier.name, Ok::<(), &str>(())));
    let below = removals.into_iter().map(|Removal { tier, result }| tier_result(tier, result));
    let tiers: Vec<TierResult> = memory.chain(below).collect();
    let complete = tiers.iter().all(|tier| tier.done);
    json(status(complete), &Purged { floors: specs.len() as u64, tiers })
}

pub(super) async fn contains(State(state): State<Arc<OpsState>>, RawQuery(query): RawQuery) -> Response {
    let specs = match floors::parse(&state.packs, &query.unwrap_or_default()) {
        Ok(specs) => specs,
        Err(error) => return bad_request(&error),
    };
    let lookups = specs.iter().map(async |spec| {
        let tiers = state.chain.contains(&key::of(spec)).await;
        FloorTiers {
            floor: label(spec),
            tiers: tiers.into_iter().filter(|(_, held)| *held).map(|(tier, _)| tier.to_owned()).collect(),
        }
    });
    json(StatusCode::OK, &Contained { floors: join_all(lookups).await })
}

pub(super) async fn stats(State(state): State<Arc<OpsState>>) -> Response {
    state.chain.refresh_stats().await;
    json(StatusCode::OK, &Stats { tiers: state.chain.holdings().into_iter().map(tier).collect() })
}

pub(super) async fn compact(State(state): State<Arc<OpsState>>) -> Response {
    let chain = state.chain.clone();
    let done = match run_alone(&state.compaction, "compaction", async move { chain.compact().await }).await {
        Ok(done) => done,
        Err(refusal) => return refusal,
    };
    let complete = done.iter().all(|tier| tier.result.is_ok());
    let tiers = done.into_iter().map(|Compaction { tier, before, after, result }| CompactedTier {
        done: tier_result(tier, result),
        before: size(before),
        after: size(after),
    });
    json(status(complete), &Compacted { tiers: tiers.collect() })
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
    let Some(tier) = tier_to_back_up(&query.unwrap_or_default()) else {
        return (StatusCode::BAD_REQUEST, "write ?tier= and the name of a tier, as in ?tier=lmdb\n").into_response();
    };
    let (chain, asked) = (state.chain.clone(), tier.clone());
    let copied = match run_alone(&state.backup, "backup", async move { chain.back_up(&asked).await }).await {
        Ok(copied) => copied,
        Err(refusal) => return refusal,
    };
    let absent = || TierError::new(TierErrorKind::Refused, "back up the tier", "cache.chain has no such tier on disk");
    let copied = copied.unwrap_or_else(|| Err(absent()));
    match &copied {
        Ok(Backup { path, bytes }) => tracing::info!(tier, path = %path.display(), bytes, "backed up a tier"),
        Err(error) => tracing::warn!(tier, %error, "a tier could not be backed up"),
    }
    let (path, bytes) = copied.as_ref().map(|copy| (copy.path.display().to_string(), copy.bytes)).ok().unzip();
    json(status(copied.is_ok()), &BackedUp { done: tier_result(&tier, copied.map(|_| ())), path, bytes })
}

/// The value of `tier`, the only parameter of `query`.
fn tier_to_back_up(query: &str) -> Option<String> {
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    let (Some((name, tier)), None) = (pairs.next(), pairs.next()) else { return None };
    (name == "tier" && !tier.is_empty()).then(|| tier.into_owned())
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

fn tier_result(tier: &str, result: Result<(), impl Display>) -> TierResult {
    TierResult { tier: tier.to_owned(), done: result.is_ok(), error: result.err().map(|error| error.to_string()) }
}

fn tier(Holdings { name, stats, writes }: Holdings) -> TierHoldings {
    TierHoldings {
        tier: name.to_owned(),
        entries: stats.entries,
        bytes: stats.bytes,
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
