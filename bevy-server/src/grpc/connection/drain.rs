//! The open connections, and how a drain closes them.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
    time::Duration,
};

use tokio::{
    task::{AbortHandle, Id, JoinSet},
    time::{Instant, timeout},
};

use super::coalescing::WriteBuffer;
use crate::grpc::InFlight;

/// How long a connection may stay open without unsent bytes while no call is in flight: enough for a client that reads or
/// that has not heard yet that the connection closes, and short for a client that watches health or is unreachable.
pub(super) const CLOSE_GRACE: Duration = Duration::from_secs(2);
/// How often the drain checks whether calls are in flight and whether connections have flushed.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

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

    /// Waits until every connection has ended, each of which has been told to close. When no call has been in flight for
    /// [`CLOSE_GRACE`], aborts those without unsent bytes, and waits for those that still send.
    pub(super) async fn close(mut self, in_flight: &InFlight) {
        let mut grace_ends = Instant::now() + CLOSE_GRACE;
        loop {
            match timeout(CHECK_INTERVAL, self.remove_ended()).await {
                Ok(Some(())) => {}
                Ok(None) => return,
                Err(_) if in_flight.calls() > 0 => grace_ends = Instant::now() + CLOSE_GRACE,
                Err(_) if Instant::now() < grace_ends => {}
                Err(_) => self.abort_idle(),
            }
        }
    }

    /// Aborts the connections without unsent bytes.
    fn abort_idle(&self) {
        self.write_buffers
            .values()
            .filter(|(_, slot)| !slot.get().is_some_and(WriteBuffer::is_busy))
            .for_each(|(task, _)| task.abort());
    }
}
