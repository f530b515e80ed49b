//! The one connection to a server: made when it is first needed, shared by all calls, made again after it broke.

use std::{fmt, sync::Arc};

use futures_util::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use parking_lot::Mutex;
use redis::{AsyncConnectionConfig, Client, Cmd, Pipeline, RedisError, Value, aio::MultiplexedConnection};
use tokio::runtime::Handle;

/// A line to a server, perhaps not there yet.
///
/// Dialling goes on in a task of its own: a caller whose deadline ends meanwhile does not undo what it has come to, so
/// that a server which takes longer to reach than a caller may wait is reached all the same.
#[derive(Clone)]
pub(super) struct Line(Arc<Inner>);

struct Inner {
    client: Client,
    config: AsyncConnectionConfig,
    runtime: Handle,
    current: Mutex<Current>,
}

/// The connection, and how many there were before it.
#[derive(Default)]
struct Current {
    generation: u64,
    dialled: Option<Dialled>,
}

type Dialled = Shared<BoxFuture<'static, Result<MultiplexedConnection, RedisError>>>;

impl Line {
    /// A line through `client`, not dialled yet.
    pub(super) fn new(client: Client, config: AsyncConnectionConfig, runtime: Handle) -> Self {
        Self(Arc::new(Inner { client, config, runtime, current: Mutex::default() }))
    }

    /// One command and its reply.
    pub(super) async fn send(&self, command: &Cmd) -> Result<Value, RedisError> {
        let (mut connection, generation) = self.connection().await?;
        let reply = connection.send_packed_command(command).await;
        reply.inspect_err(|error| self.judge(error, generation))
    }

    /// Many commands in one round trip and their replies.
    pub(super) async fn send_all(&self, pipeline: &Pipeline) -> Result<Vec<Value>, RedisError> {
        let (mut connection, generation) = self.connection().await?;
        let replies = connection.send_packed_commands(pipeline, 0, pipeline.len()).await;
        replies.inspect_err(|error| self.judge(error, generation))
    }

    async fn connection(&self) -> Result<(MultiplexedConnection, u64), RedisError> {
        let (dialled, generation) = {
            let mut current = self.0.current.lock();
            let generation = current.generation;
            (current.dialled.get_or_insert_with(|| self.dial()).clone(), generation)
        };
        let connection = dialled.await.inspect_err(|_| self.hang_up(generation))?;
        Ok((connection, generation))
    }

    fn dial(&self) -> Dialled {
        let inner = self.0.clone();
        let dialling = self
            .0
            .runtime
            .spawn(async move { inner.client.get_multiplexed_async_connection_with_config(&inner.config).await });
        let dialled = async move {
            dialling.await.unwrap_or_else(|_| Err((redis::ErrorKind::Io, "the runtime is shutting down").into()))
        };
        dialled.boxed().shared()
    }

    /// Hangs up when `error` says that the connection is of no more use.
    fn judge(&self, error: &RedisError, generation: u64) {
        if error.is_unrecoverable_error() || error.is_connection_dropped() {
            self.hang_up(generation);
        }
    }

    /// Has the next call dial anew, if nobody did since `generation`.
    fn hang_up(&self, generation: u64) {
        let mut current = self.0.current.lock();
        if current.generation == generation {
            *current = Current { generation: generation + 1, dialled: None };
        }
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let current = self.0.current.lock();
        f.debug_struct("Line").field("generation", &current.generation).finish_non_exhaustive()
    }
}
