//! The RPCs of the floor service: an encoded request in, an answer out. One file each. They know no codec, no budget and
//! no header.

mod batch_get_floors;
mod climb;
mod get_daily;
mod get_floor;
mod get_server_info;
mod packs;
mod resolve;
mod search_floors;
mod start_climb;
mod stream_floors;
mod submit_floor;

use std::{pin::pin, sync::Arc, time::Instant};

use bytes::Bytes;
use floor_cache::{Key, Served};
use tonic::Status;

pub(super) use stream_floors::FloorWindows;
use stream_floors::window_of;

use super::{Rpc, admission::Offload, answer::Answer, options::CallOptions, status::from_source_error};
use crate::{
    cache::Chains,
    callers::Caller,
    observer::{CallRecord, LookupTimer},
    packs::Packs,
    prefetch::AccessRecorder,
    towers::SealedTowers,
};

/// What the RPCs use.
#[derive(Debug, Clone)]
pub(super) struct Services {
    pub(super) chains: Chains,
    pub(super) packs: Packs,
    /// Records accesses for prefetching. `None` if that is off.
    pub(super) access_recorder: Option<AccessRecorder>,
    /// `None` without a key for them.
    pub(super) towers: Option<SealedTowers>,
    pub(super) offload: Arc<Offload>,
    /// When the server started.
    pub(super) since: Instant,
}

/// A call that a service answers.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) caller: &'a Caller,
    pub(super) options: CallOptions,
    /// For traces and the access log.
    pub(super) record: Option<&'a Arc<CallRecord>>,
}

impl Services {
    /// The answer to a unary call of `rpc`.
    pub(super) async fn answer(&self, rpc: Rpc, call: &Call<'_>, message: Bytes) -> Result<Answer, Status> {
        match rpc {
            Rpc::GetFloor => get_floor::answer(self, call, message).await,
            Rpc::BatchGetFloors => batch_get_floors::answer(self, call, message).await,
            Rpc::SearchFloors => search_floors::answer(self, call, message).await,
            Rpc::GetServerInfo => get_server_info::answer(self, call, message),
            Rpc::ListPacks => packs::list(self, call, message),
            Rpc::GetPack => packs::get(self, call, message).await,
            // Boxed because they are rare.
            Rpc::StartClimb => Box::pin(start_climb::answer(self, call, message)).await,
            Rpc::SubmitFloor => Box::pin(submit_floor::answer(self, call, message)).await,
            Rpc::GetDaily => get_daily::answer(self, call, message),
            // Routing gives it to `FloorWindows`.
            Rpc::StreamFloors => Err(Status::internal("StreamFloors answers with a stream")),
        }
    }

    /// The floors of `keys`, in their order.
    async fn get_many(&self, call: &Call<'_>, keys: &[Key]) -> Result<Vec<Served>, Status> {
        let timer = LookupTimer::start(call.record);
        let chain = self.chains.of(call.options.tenant);
        let get = async { chain.get_many(keys, call.options.of_lookup()).await.map_err(from_source_error) };
        let served = call.options.with_deadline(pin!(get)).await?;
        timer.finish(&served);
        Ok(served)
    }
}
