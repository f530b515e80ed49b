//! `GetFloor`: one floor.

use std::{iter, pin::pin, slice, time::Duration};

use bytes::Bytes;
use floor_cache::TierKind;
use floor_gen::FloorSpec;
use floor_proto::v1;
use prost::Message;
use tonic::Status;

use super::{
    Call, Services,
    resolve::{Refused, decoded, resolve, validity},
};
use crate::{
    grpc::{
        answer::{Answer, ServedBy, Validity},
        status::{from_source_error, invalid, malformed},
    },
    key,
    observer::LookupTimer,
    packs::VisiblePacks,
    prefetch::Tower,
};

pub(super) async fn answer(services: &Services, call: &Call<'_>, message: Bytes) -> Result<Answer, Status> {
    let options = &call.options;
    let Requested { spec, sides, scheduled, validity } = decoded(services, call, message, decode).await?;
    let key = key::of(&spec);
    let timer = LookupTimer::start(call.record);
    // A hit in memory is ready at the first poll: no task, no timer, no allocation.
    let chain = services.chains.of(options.tenant);
    let get = async { chain.get(key, options.of_lookup()).await.map_err(from_source_error) };
    let served = options.with_deadline(pin!(get)).await?;
    timer.finish(slice::from_ref(&served));
    if let Some(recorder) = services.access_recorder.as_ref().filter(|_| scheduled) {
        let tower = Tower::of(&spec, options.tenant, sides);
        recorder.record(call.caller.id(), tower, spec.number(), served.by != TierKind::Lru.name());
    }
    Ok(Answer {
        frame: served.value.into(),
        served: ServedBy::Tier { name: served.by, coalesced: served.coalesced },
        steps: served.trace,
        validity,
    })
}

/// The requested floor.
struct Requested {
    spec: FloorSpec,
    /// Width and height in the request, which may be 0.
    sides: (u32, u32),
    /// Whether its kind was not requested by name.
    scheduled: bool,
    validity: Validity,
}

fn decode(packs: VisiblePacks<'_>, message: &[u8], mut allowed: Duration) -> Result<Requested, Refused> {
    let request = v1::GetFloorRequest::decode(message).map_err(|error| malformed(&error))?;
    let spec = resolve(packs, request.spec.as_ref(), "spec", &mut allowed);
    let spec = spec.map_err(|unresolved| unresolved.or_invalid(invalid))?;
    let requested = request.spec.unwrap_or_default();
    Ok(Requested {
        spec,
        sides: (requested.width, requested.height),
        scheduled: requested.kind == 0,
        validity: validity(packs, iter::once(&*requested.pack)),
    })
}
