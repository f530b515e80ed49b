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

use super::connector;
use crate::config::RedisConfig;

/// Begins the URL of a cluster: `redis+cluster://[user:password@]host:port,host:port`.
const CLUSTER: &str = "redis+cluster://";

/// A line to a server, perhaps not there yet.
///
/// Dialling goes on in a task of its own: a caller whose deadline ends meanwhile does not undo what it has come to, so
/// that a server which takes longer to reach than a caller may wait is reached all the same.
#[derive(Clone)]
pub(super) struct Connection(Arc<Inner>);

struct Inner {
    endpoint: Endpoint,
    runtime: Handle,
    current: Mutex<Current>,
}

/// Where the line leads.
enum Endpoint {
    Server(Client, AsyncConnectionConfig),
    Cluster(ClusterClient),
}

/// What a dialled line is.
#[derive(Clone)]
enum Transport {
    Server(MultiplexedConnection),
    Cluster(ClusterConnection),
}

/// The connection, and how many there were before it.
#[derive(Default)]
struct Current {
    generation: u64,
    connecting: Option<Connecting>,
}

type Connecting = Shared<BoxFuture<'static, Result<Transport, RedisError>>>;

impl Connection {
    /// A line to `config.url`, not dialled yet. Dialling may take `connect`, and a reply `reply`.
    pub(super) fn new(
        config: &RedisConfig,
        connect_timeout: Duration,
        reply_timeout: Duration,
        runtime: Handle,
    ) -> Result<Self, RedisError> {
        let endpoint = match config.url.strip_prefix(CLUSTER) {
            None => {
                let limits = AsyncConnectionConfig::new()
                    .set_connection_timeout(Some(connect_timeout))
                    .set_response_timeout(Some(reply_timeout));
                Endpoint::Server(connector::client(&config.url, &config.tls)?, limits)
            }
            Some(nodes) => {
                // One retry, to follow a slot that has moved to another node. More would outlast the caller.
                let cluster = ClusterClient::builder(node_urls(nodes))
                    .connection_timeout(connect_timeout)
                    .response_timeout(reply_timeout)
                    .retries(1);
                Endpoint::Cluster(cluster.build()?)
            }
        };
        Ok(Self(Arc::new(Inner { endpoint, runtime, current: Mutex::default() })))
    }

    /// One command and its reply.
    pub(super) async fn send(&self, command: &Cmd) -> Result<Value, RedisError> {
        let (mut transport, call) = self.transport().await?;
        call.ended(transport.send(command).await)
    }

    /// Many commands at once and their replies: on one connection in one round trip, in a cluster each to the node that
    /// has its slot.
    pub(super) async fn send_all(&self, pipeline: &Pipeline) -> Result<Vec<Value>, RedisError> {
        let (transport, call) = self.transport().await?;
        call.ended(match transport {
            Transport::Server(mut server) => server.send_packed_commands(pipeline, 0, pipeline.len()).await,
            Transport::Cluster(cluster) => {
                let send = async |command| Transport::Cluster(cluster.clone()).send(command).await;
                try_join_all(pipeline.cmd_iter().map(send)).await
            }
        })
    }

    async fn transport(&self) -> Result<(Transport, Call<'_>), RedisError> {
        let (connecting, generation) = {
            let mut current = self.0.current.lock();
            let generation = current.generation;
            (current.connecting.get_or_insert_with(|| self.connect(generation)).clone(), generation)
        };
        let transport = connecting.await?;
        Ok((transport, Call { connection: self, generation, replied: false }))
    }

    /// A dialling that fails is forgotten when it fails, whether or not somebody still waits for it: the next call is not told
    /// of it, but dials.
    fn connect(&self, generation: u64) -> Connecting {
        let connection = self.clone();
        let task = self.0.runtime.spawn(async move {
            connection.0.endpoint.connect().await.inspect_err(|_| connection.invalidate(generation))
        });
        let connecting = async move {
            task.await.unwrap_or_else(|_| Err((redis::ErrorKind::Io, "the runtime is shutting down").into()))
        };
        connecting.boxed().shared()
    }

    /// Has the next call dial anew, if nobody did since `generation`.
    fn invalidate(&self, generation: u64) {
        let mut current = self.0.current.lock();
        if current.generation == generation {
            *current = Current { generation: generation + 1, connecting: None };
        }
    }
}

/// One call on a connection. One that its caller gives up, its deadline over, hangs up: the other end may be gone without
/// a word, and a cluster may have made another node the master. Other calls go on; the next one dials.
struct Call<'a> {
    connection: &'a Connection,
    generation: u64,
    replied: bool,
}

impl Call<'_> {
    /// What came of it. A connection that broke, and a cluster that could not be asked, are dialled anew.
    fn ended<T>(mut self, reply: Result<T, RedisError>) -> Result<T, RedisError> {
        let is_cluster = matches!(self.connection.0.endpoint, Endpoint::Cluster(_));
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
            self.connection.invalidate(self.generation);
        }
    }
}

impl Endpoint {
    async fn connect(&self) -> Result<Transport, RedisError> {
        match self {
            Self::Server(client, config) => {
                client.get_multiplexed_async_connection_with_config(config).await.map(Transport::Server)
            }
            Self::Cluster(client) => client.get_async_connection().await.map(Transport::Cluster),
        }
    }
}

impl Transport {
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

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let current = self.0.current.lock();
        f.debug_struct("Connection").field("generation", &current.generation).finish_non_exhaustive()
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
