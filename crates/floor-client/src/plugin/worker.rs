//! Where the calls are made: on a thread of their own, or, where there are no threads, between frames.

use std::future::Future;

/// Runs `calls` on a thread with a tokio runtime. If that fails, every request fails with
/// [`ClientError::Stopped`](crate::ClientError::Stopped).
#[cfg(not(target_family = "wasm"))]
pub(super) fn start<F: Future<Output = ()>>(calls: impl FnOnce() -> F + Send + 'static) {
    use tokio::runtime::Builder;

    let run = || match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(calls()),
        Err(error) => tracing::error!("the floor client cannot make calls: {error}"),
    };
    if let Err(error) = std::thread::Builder::new().name("floor-client".to_owned()).spawn(run) {
        tracing::error!("the thread of the floor client cannot be started: {error}");
    }
}

/// Runs `calls` as a task of Bevy, whose executor has the one thread of a page.
#[cfg(target_family = "wasm")]
pub(super) fn start<F: Future<Output = ()> + 'static>(calls: impl FnOnce() -> F) {
    use bevy::tasks::{IoTaskPool, TaskPool};

    IoTaskPool::get_or_init(TaskPool::default).spawn_local(calls()).detach();
}
