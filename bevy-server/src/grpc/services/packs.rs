//! `ListPacks` and `GetPack`: what packs the caller may use, and the files of one.

use std::{iter, pin::pin, time::Duration};

use bytes::Bytes;
use floor_proto::v1;
use prost::Message;
use tonic::Status;

use super::{
    Call, Services,
    resolve::{find_pack, validity},
};
use crate::{
    grpc::{
        answer::Answer,
        status::{self, invalid, malformed},
    },
    packs::HeldPack,
};

pub(super) fn list(services: &Services, call: &Call<'_>, message: Bytes) -> Result<Answer, Status> {
    v1::ListPacksRequest::decode(message).map_err(|error| malformed(&error))?;
    let info = |HeldPack { pack, is_current }: HeldPack| v1::PackInfo {
        name: pack.pack().name().to_owned(),
        hash: pack.pack().hash().0,
        current: is_current,
        description: pack.pack().description().to_owned(),
        floors_authored: u32::try_from(pack.authored_count()).unwrap_or(u32::MAX),
    };
    let packs = services.packs.for_caller(call.options.tenant).held().into_iter().map(info).collect();
    Ok(Answer::of_message(&v1::ListPacksResponse { packs }))
}

/// The files of the pack, as one frame that all calls share.
pub(super) async fn get(services: &Services, call: &Call<'_>, message: Bytes) -> Result<Answer, Status> {
    if call.options.only.is_some() {
        return Err(status::no_files_for_players());
    }
    let request = v1::GetPackRequest::decode(message).map_err(|error| malformed(&error))?;
    let packs = services.packs.for_caller(call.options.tenant);
    let validity = validity(packs, iter::once(&*request.pack));
    let pack = find_pack(packs, &request.pack, "pack").map_err(|unresolved| unresolved.or_invalid(invalid))?;
    let time = Duration::from_nanos(if pack.is_framed() { 0 } else { 2 * pack.pack().files().encoded_len() as u64 });
    let framed = services.offload.run(call.caller, time, move || pack.framed_files());
    Ok(Answer::of_frame(call.options.with_deadline(pin!(framed)).await?, validity))
}
