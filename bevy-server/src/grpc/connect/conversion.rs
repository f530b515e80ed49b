//! Converts JSON in threads of its own, so that hits do not wait for it: a floor takes a hundred times as long as a hit, and
//! the longest request ten times as long as a floor. Clients take turns.

use std::{panic::resume_unwind, sync::Arc};

use tokio::{sync::Semaphore, task::spawn_blocking};
use tonic::Status;

use crate::clients::{CONVERSIONS_AT_ONCE, Client};

/// The places of all clients.
#[derive(Debug)]
pub(in crate::grpc) struct Conversions(Arc<Semaphore>);

impl Conversions {
    pub(in crate::grpc) fn new() -> Self {
        Self(Arc::new(Semaphore::new(*CONVERSIONS_AT_ONCE)))
    }

    /// The result of `convert`, which runs when it is its turn. A client has few places in the line of all, and a line of
    /// its own before that.
    ///
    /// # Errors
    /// UNAVAILABLE if the server stops.
    pub(in crate::grpc) async fn run<T: Send + 'static>(
        &self,
        client: &Client,
        convert: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Status> {
        // The semaphores are never closed.
        let of_client = Arc::clone(client.conversions()).acquire_owned().await.ok();
        let place = Arc::clone(&self.0).acquire_owned().await.ok();
        // A thread keeps both until it is free, also if the call has ended by then.
        let work = move || {
            let _places = (of_client, place);
            convert()
        };
        spawn_blocking(work).await.map_err(|error| match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(_) => Status::unavailable("the server stops"),
        })
    }
}
