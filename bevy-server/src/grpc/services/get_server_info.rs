//! `GetServerInfo`: versions, limits and the report of the tiers.

use bytes::Bytes;
use floor_cache::{TierKind, TierReport};
use floor_gen::{GENERATOR_VERSION, Kind};
use floor_proto::{
    limits::{MAX_BATCH, MAX_STREAM},
    v1,
};
use prost::Message;
use tonic::Status;

use super::{Call, Services};
use crate::grpc::{answer::Answer, status::malformed};

pub(super) fn answer(services: &Services, call: &Call<'_>, message: Bytes) -> Result<Answer, Status> {
    v1::GetServerInfoRequest::decode(message).map_err(|error| malformed(&error))?;
    let tenant = call.options.tenant;
    let info = v1::ServerInfo {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        generator_version: GENERATOR_VERSION,
        kinds: Kind::ALL.iter().map(|kind| floor_wire::kind(*kind).into()).collect(),
        max_batch: MAX_BATCH as u32,
        max_stream: MAX_STREAM,
        uptime_seconds: services.since.elapsed().as_secs(),
        receipt_keys: services.towers.as_ref().map(|towers| towers.keys().receipt_keys()).unwrap_or_default(),
        tiers: services.chains.of(tenant).report().into_iter().map(|tier| tier_info(tier, tenant.is_some())).collect(),
    };
    Ok(Answer::of_message(&info))
}

/// A tier as its caller may see it. Redis counts what others have too, of which a tenant is not told.
fn tier_info(tier: TierReport, is_tenant: bool) -> v1::TierInfo {
    let is_shared = is_tenant && tier.name == TierKind::Redis.name();
    let (entries, bytes) = if is_shared { (0, 0) } else { (tier.entries, tier.bytes) };
    v1::TierInfo {
        name: tier.name.to_owned(),
        hits: tier.hits,
        misses: tier.misses,
        errors: tier.errors,
        bypasses: tier.bypasses,
        entries,
        bytes,
        hit_cost_us: tier.hit_cost_us,
        miss_cost_us: tier.miss_cost_us,
        verdict: tier.verdict.to_owned(),
        hit_ratio: tier.hit_ratio,
        generation_cost_us: tier.generation_cost_us,
        verdict_seconds: tier.since.as_secs(),
        probe_cost_us: tier.probe_cost_us,
        asked_ratio: tier.asked_ratio,
        reason: tier.reason.to_owned(),
    }
}
