//! `ListPacks` and `GetPack`: what packs the caller may use, and the files of one.

use std::time::Duration;

use bytes::Bytes;
use floor_proto::v1;
use http::Response;
use prost::Message;
use tonic::Status;

use super::{
    Call, FloorBody, ServiceState,
    request::find_pack,
    response::{respond_frame, respond_message},
};
use crate::{
    clients::Client,
    grpc::status::{invalid, malformed},
    packs::HeldPack,
};

pub(super) fn list(state: &ServiceState, call: Call, message: Bytes) -> Result<Response<FloorBody>, Status> {
    v1::ListPacksRequest::decode(message).map_err(|error| malformed(&error))?;
    let info = |HeldPack { pack, is_current }: HeldPack| v1::PackInfo {
        name: pack.pack().name().to_owned(),
        hash: pack.pack().hash().0,
        current: is_current,
        description: pack.pack().description().to_owned(),
        floors_authored: u32::try_from(pack.authored_count()).unwrap_or(u32::MAX),
    };
    let packs = state.deps.packs.for_caller(call.tenant).held().into_iter().map(info).collect();
    Ok(respond_message(&call, &v1::ListPacksResponse { packs }))
}

/// The files of the pack, as one frame that all calls share.
pub(super) async fn get(
    state: &ServiceState,
    client: &Client,
    call: Call,
    message: Bytes,
) -> Result<Response<FloorBody>, Status> {
    let request = v1::GetPackRequest::decode(message).map_err(|error| malformed(&error))?;
    let packs = state.deps.packs.for_caller(call.tenant);
    let pack = find_pack(packs, &request.pack, "pack").map_err(|unresolved| unresolved.or_invalid(invalid))?;
    let time = Duration::from_nanos(if pack.is_framed() { 0 } else { 2 * pack.pack().files().encoded_len() as u64 });
    let frame = call.with_deadline(state.offload.run(client, time, move || pack.framed_files())).await?;
    Ok(respond_frame(&call, frame))
}
