//! The open connections, and how a drain closes them.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
    time::Duration,
};

use tokio::{
    task::{AbortHandle, Id, JoinSet},
    time::{Instant, timeout_at},
};

use super::coalescing::WriteBuffer;

/// How long a connection may stay open without unsent bytes once every call has ended: enough for a client that reads,
/// and short for a client that watches health or is unreachable.
pub(super) const CLOSE_GRACE: Duration = Duration::from_secs(2);
/// How often the drain checks whether a connection has flushed.
const FLUSH_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// The write buffer of a connection. Empty until the connection has one, which with TLS is after the handshake.
pub(super) type WriteBufferSlot = Arc<OnceLock<WriteBuffer>>;

/// The open connections.
#[derive(Default)]
pub(super) struct Connections {
    tasks: JoinSet<()>,
    write_buffers: HashMap<Id, (AbortHandle, WriteBufferSlot)>,
}

impl Connections {
    /// Runs `connection`, which puts its write buffer into `slot`, in a task of its own.
    pub(super) fn spawn(&mut self, slot: WriteBufferSlot, connection: impl Future<Output = ()> + Send + 'static) {
        let task = self.tasks.spawn(connection);
        self.write_buffers.insert(task.id(), (task, slot));
    }

    /// Waits until a connection ends, and removes it. `None` at once if no connection is open. Cancel safe.
    pub(super) async fn remove_ended(&mut self) -> Option<()> {
        let ended = self.tasks.join_next_with_id().await?;
        // An error is a panic in the transport. Other connections continue.
        let id = ended.map_or_else(|error| error.id(), |(id, ())| id);
        self.write_buffers.remove(&id);
        Some(())
    }

    /// Waits until every connection has ended. Aborts those without unsent bytes after [`CLOSE_GRACE`], and waits for
    /// those that still send.
    pub(super) async fn close(mut self) {
        let grace_ends = Instant::now() + CLOSE_GRACE;
        loop {
            let next_check = grace_ends.max(Instant::now() + FLUSH_CHECK_INTERVAL);
            match timeout_at(next_check, self.remove_ended()).await {
                Ok(Some(())) => {}
                Ok(None) => return,
                Err(_) => self
                    .write_buffers
                    .values()
                    .filter(|(_, slot)| !slot.get().is_some_and(WriteBuffer::is_busy))
                    .for_each(|(task, _)| task.abort()),
            }
        }
    }
}
