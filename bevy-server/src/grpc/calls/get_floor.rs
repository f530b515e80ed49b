//! `GetFloor`: one floor.

use std::{slice, time::Duration};

use floor_cache::TierKind;
use floor_gen::FloorSpec;
use floor_proto::v1;
use http::{HeaderValue, Response};
use prost::Message;
use tonic::Status;

use super::{
    FloorBody, Received, ServiceState,
    request::{Refused, decoded, resolve},
    response::{add_trace, respond},
};
use crate::{
    grpc::status::{from_source_error, invalid, malformed},
    headers::FLOOR_COALESCED,
    key,
    observer::LookupTimer,
    packs::VisiblePacks,
    prefetch::Tower,
};

pub(super) async fn answer(state: &ServiceState, received: Received<'_>) -> Result<Response<FloorBody>, Status> {
    let Received { call, client, message, record } = received;
    let Requested { spec, sides, scheduled } = decoded(state, client, &call, message, decode).await?;
    let key = key::of(&spec);
    let timer = LookupTimer::start(record);
    // A hit in memory is ready at the first poll: no task, no timer, no allocation.
    let get = async { state.deps.chains.of(call.tenant).get(key, call.options()).await.map_err(from_source_error) };
    let served = call.with_deadline(get).await?;
    timer.finish(slice::from_ref(&served));
    if let Some(recorder) = state.deps.access_recorder.as_ref().filter(|_| scheduled) {
        let tower = Tower::of(&spec, call.tenant, sides);
        recorder.record(client.id(), tower, spec.number(), served.by != TierKind::Lru.name());
    }
    let mut response = respond(call.framing, FloorBody::unary(served.value), HeaderValue::from_static(served.by));
    if served.coalesced {
        response.headers_mut().insert(&FLOOR_COALESCED, HeaderValue::from_static("1"));
    }
    add_trace(&call, served.trace.as_deref().unwrap_or_default(), response.headers_mut());
    Ok(response)
}

/// The requested floor.
struct Requested {
    spec: FloorSpec,
    /// Width and height in the request, which may be 0.
    sides: (u32, u32),
    /// Whether its kind was not requested by name.
    scheduled: bool,
}

fn decode(packs: VisiblePacks<'_>, message: &[u8], mut allowed: Duration) -> Result<Requested, Refused> {
    let request = v1::GetFloorRequest::decode(message).map_err(|error| malformed(&error))?;
    let spec = resolve(packs, request.spec.as_ref(), "spec", &mut allowed);
    let spec = spec.map_err(|unresolved| unresolved.or_invalid(invalid))?;
    let requested = request.spec.unwrap_or_default();
    Ok(Requested { spec, sides: (requested.width, requested.height), scheduled: requested.kind == 0 })
}
