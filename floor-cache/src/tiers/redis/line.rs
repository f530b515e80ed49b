//! One connection to a server, or to a cluster of them: made when it is first needed, shared by many calls, made again
//! after it broke.

use std::{fmt, sync::Arc, time::Duration};

use futures_util::{
    FutureExt,
    future::{BoxFuture, Shared, try_join_all},
};
use parking_lot::Mutex;
use redis::{
    AsyncConnectionConfig, Client, Cmd, Pipeline, RedisError, Value,
    aio::{ConnectionLike, MultiplexedConnection},
    cluster::ClusterClient,
    cluster_async::ClusterConnection,
};
use tokio::runtime::Handle;

use super::dialer;
use crate::config::RedisConfig;

/// Begins the URL of a cluster: `redis+cluster://[user:password@]host:port,host:port`.
const CLUSTER: &str = "redis+cluster://";

/// A line to a server, perhaps not there yet.
///
/// Dialling goes on in a task of its own: a caller whose deadline ends meanwhile does not undo what it has come to, so
/// that a server which takes longer to reach than a caller may wait is reached all the same.
#[derive(Clone)]
pub(super) struct Line(Arc<Inner>);

struct Inner {
    number: Number,
    runtime: Handle,
    current: Mutex<Current>,
}

/// Where the line leads.
enum Number {
    Server(Client, AsyncConnectionConfig),
    Cluster(ClusterClient),
}

/// What a dialled line is.
#[derive(Clone)]
enum Connection {
    Server(MultiplexedConnection),
    Cluster(ClusterConnection),
}

/// The connection, and how many there were before it.
#[derive(Default)]
struct Current {
    generation: u64,
    dialled: Option<Dialled>,
}

type Dialled = Shared<BoxFuture<'static, Result<Connection, RedisError>>>;

impl Line {
    /// A line to `config.url`, not dialled yet. Dialling may take `dial`, and a reply `reply`.
    pub(super) fn new(
        config: &RedisConfig,
        dial: Duration,
        reply: Duration,
        runtime: Handle,
    ) -> Result<Self, RedisError> {
        let number = match config.url.strip_prefix(CLUSTER) {
            None => {
                let limits =
                    AsyncConnectionConfig::new().set_connection_timeout(Some(dial)).set_response_timeout(Some(reply));
                Number::Server(dialer::client(&config.url, &config.tls)?, limits)
            }
            Some(nodes) => {
                // One retry, to follow a slot that has moved to another node. More would outlast the caller.
                let cluster = ClusterClient::builder(node_urls(nodes))
                    .connection_timeout(dial)
                    .response_timeout(reply)
                    .retries(1);
                Number::Cluster(cluster.build()?)
            }
        };
        Ok(Self(Arc::new(Inner { number, runtime, current: Mutex::default() })))
    }

    /// One command and its reply.
    pub(super) async fn send(&self, command: &Cmd) -> Result<Value, RedisError> {
        let (mut connection, call) = self.connection().await?;
        call.ended(connection.send(command).await)
    }

    /// Many commands at once and their replies: on one connection in one round trip, in a cluster each to the node that
    /// has its slot.
    pub(super) async fn send_all(&self, pipeline: &Pipeline) -> Result<Vec<Value>, RedisError> {
        let (connection, call) = self.connection().await?;
        call.ended(match connection {
            Connection::Server(mut server) => server.send_packed_commands(pipeline, 0, pipeline.len()).await,
            Connection::Cluster(cluster) => {
                let send = async |command| Connection::Cluster(cluster.clone()).send(command).await;
                try_join_all(pipeline.cmd_iter().map(send)).await
            }
        })
    }

    async fn connection(&self) -> Result<(Connection, Call<'_>), RedisError> {
        let (dialled, generation) = {
            let mut current = self.0.current.lock();
            let generation = current.generation;
            (current.dialled.get_or_insert_with(|| self.dial(generation)).clone(), generation)
        };
        let connection = dialled.await?;
        Ok((connection, Call { line: self, generation, replied: false }))
    }

    /// A dialling that fails is forgotten when it fails, whether or not somebody still waits for it: the next call is not told
    /// of it, but dials.
    fn dial(&self, generation: u64) -> Dialled {
        let line = self.clone();
        let dialling =
            self.0.runtime.spawn(async move { line.0.number.dial().await.inspect_err(|_| line.hang_up(generation)) });
        let dialled = async move {
            dialling.await.unwrap_or_else(|_| Err((redis::ErrorKind::Io, "the runtime is shutting down").into()))
        };
        dialled.boxed().shared()
    }

    /// Has the next call dial anew, if nobody did since `generation`.
    fn hang_up(&self, generation: u64) {
        let mut current = self.0.current.lock();
        if current.generation == generation {
            *current = Current { generation: generation + 1, dialled: None };
        }
    }
}

/// One call on a connection. One that its caller gives up, its deadline over, hangs up: the other end may be gone without
/// a word, and a cluster may have made another node the master. Other calls go on; the next one dials.
struct Call<'a> {
    line: &'a Line,
    generation: u64,
    replied: bool,
}

impl Call<'_> {
    /// What came of it. A connection that broke, and a cluster that could not be asked, are dialled anew.
    fn ended<T>(mut self, reply: Result<T, RedisError>) -> Result<T, RedisError> {
        let is_cluster = matches!(self.line.0.number, Number::Cluster(_));
        // A refusal has a code; whoever sends one is there.
        self.replied = match &reply {
            Ok(_) => true,
            Err(error) if is_cluster => error.code().is_some_and(|code| code != "CLUSTERDOWN"),
            Err(error) => !error.is_unrecoverable_error() && !error.is_connection_dropped() && !error.is_timeout(),
        };
        reply
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if !self.replied {
            self.line.hang_up(self.generation);
        }
    }
}

impl Number {
    async fn dial(&self) -> Result<Connection, RedisError> {
        match self {
            Self::Server(client, config) => {
                client.get_multiplexed_async_connection_with_config(config).await.map(Connection::Server)
            }
            Self::Cluster(client) => client.get_async_connection().await.map(Connection::Cluster),
        }
    }
}

impl Connection {
    async fn send(&mut self, command: &Cmd) -> Result<Value, RedisError> {
        match self {
            Self::Server(server) => server.req_packed_command(command).await,
            Self::Cluster(cluster) => cluster.req_packed_command(command).await,
        }
    }
}

/// The URL of each node in `[user:password@]host:port,host:port`.
fn node_urls(nodes: &str) -> Vec<String> {
    let (login, hosts) = nodes.rsplit_once('@').map_or(("", nodes), |(login, hosts)| (login, hosts));
    let at = if login.is_empty() { "" } else { "@" };
    hosts.split(',').map(|host| format!("redis://{login}{at}{}", host.trim())).collect()
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let current = self.0.current.lock();
        f.debug_struct("Line").field("generation", &current.generation).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_url_names_its_nodes() {
        assert_eq!(node_urls("a:1,b:2"), ["redis://a:1", "redis://b:2"]);
        assert_eq!(node_urls("me:p@ss@a:1, b:2"), ["redis://me:p@ss@a:1", "redis://me:p@ss@b:2"]);
    }
}
