//! Decodes what takes long away from the threads that answer hits, with a limit for each client.

use std::{num::NonZero, panic::resume_unwind, sync::Arc, thread};

use bytes::Bytes;
use tokio::{sync::Semaphore, task::spawn_blocking};
use tonic::Status;

use super::ServiceState;
use crate::{
    clients::Client,
    grpc::{Rpc, connect},
};

/// JSON up to this length is decoded at once, which takes 0.1 us for each byte.
const INLINE_BYTES: usize = 1 << 10;
/// What a call holds that waits to be decoded, beside its message.
const WAITING_CALL_BYTES: usize = 20 << 10;

/// Half of the cores decode at the most, and one at least, so that calls of others go on.
pub(super) fn places() -> Arc<Semaphore> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    Arc::new(Semaphore::new((cores / 2).max(1)))
}

/// The encoded message of `json`.
pub(super) async fn request_of_json(
    state: &ServiceState,
    client: &Client,
    rpc: Rpc,
    json: Bytes,
) -> Result<Bytes, Status> {
    if json.len() <= INLINE_BYTES {
        return connect::request_of_json(rpc, &json);
    }
    let waiting = state.reserve_call(client, WAITING_CALL_BYTES + json.len())?;
    // One message of each client waits for a place, so that clients take turns. The semaphores are never closed.
    let turn = Arc::clone(client.decoding()).acquire_owned().await.ok();
    let place = Arc::clone(&state.decoding).acquire_owned().await.ok();
    // The place is taken until the thread is free, also if the call has ended by then.
    let decode = move || {
        let _held = (turn, place, waiting);
        connect::request_of_json(rpc, &json)
    };
    match spawn_blocking(decode).await {
        Ok(message) => message,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(_) => Err(Status::unavailable("the server stops")),
        },
    }
}
