//! A connection to a Redis server or cluster, shared by many calls. It connects when it is first used and reconnects
//! after a failure.

use std::{fmt, sync::Arc, time::Duration};

use futures_util::{
    FutureExt,
    future::{BoxFuture, Shared, try_join_all},
};
use redis::{
    AsyncConnectionConfig, Client, Cmd, Pipeline, RedisError, Value,
    aio::{ConnectionLike, MultiplexedConnection},
    cluster::ClusterClient,
    cluster_async::ClusterConnection,
    cluster_routing::{MultipleNodeRoutingInfo, RoutingInfo, SingleNodeRoutingInfo},
};
use tokio::runtime::Handle;

use super::{connector, error::failed};
use crate::{
    config::RedisConfig,
    sync::Mutex,
    tier::{TierError, TierErrorKind},
};

/// A connection that may not be established yet.
///
/// A spawned task connects, so a caller whose deadline ends does not cancel it. A server that takes longer to reach
/// than a caller waits is still reached.
#[derive(Clone)]
pub(super) struct Connection(Arc<Inner>);

struct Inner {
    endpoint: Endpoint,
    /// What the URL would begin with if it used TLS. `None` if it does.
    scheme_with_tls: Option<&'static str>,
    runtime: Handle,
    current: Mutex<Current>,
}

/// The server or cluster to connect to.
enum Endpoint {
    Server(Client, AsyncConnectionConfig),
    Cluster(ClusterClient),
}

/// An established connection.
#[derive(Clone)]
enum Transport {
    Server(MultiplexedConnection),
    Cluster(ClusterConnection),
}

/// The current connection, and how many preceded it.
#[derive(Default)]
struct Current {
    generation: u64,
    connecting: Option<Connecting>,
}

type Connecting = Shared<BoxFuture<'static, Result<Transport, RedisError>>>;

impl Connection {
    /// A connection to `config.url`, not established yet, with timeouts for connecting and for a reply.
    pub(super) fn new(
        config: &RedisConfig,
        connect_timeout: Duration,
        reply_timeout: Duration,
        runtime: Handle,
    ) -> Result<Self, RedisError> {
        let endpoint = Endpoint::new(config, connect_timeout, reply_timeout)?;
        let scheme_with_tls = connector::scheme_with_tls(&config.url);
        Ok(Self(Arc::new(Inner { endpoint, scheme_with_tls, runtime, current: Mutex::default() })))
    }

    /// Whether `config.url` can be parsed. Connects to nothing.
    pub(super) fn check(config: &RedisConfig) -> Result<(), RedisError> {
        Endpoint::new(config, config.timeout, config.timeout).map(drop)
    }

    /// Sends a command for `action` and returns the reply.
    pub(super) async fn send(&self, action: &'static str, command: &Cmd) -> Result<Value, TierError> {
        let (mut transport, call) = self.transport(action).await?;
        call.ended(action, transport.send(command).await)
    }

    /// Sends many commands for `action` and returns their replies: in one round trip to a server, or each to the node of
    /// its slot in a cluster.
    pub(super) async fn send_all(&self, action: &'static str, pipeline: &Pipeline) -> Result<Vec<Value>, TierError> {
        let (transport, call) = self.transport(action).await?;
        let replies = match transport {
            Transport::Server(mut server) => server.send_packed_commands(pipeline, 0, pipeline.len()).await,
            Transport::Cluster(cluster) => {
                let send = async |command| Transport::Cluster(cluster.clone()).send(command).await;
                try_join_all(pipeline.cmd_iter().map(send)).await
            }
        };
        call.ended(action, replies)
    }

    /// Sends `command` to the master at `node`, as [`send_to_masters`](Self::send_to_masters) names it.
    pub(super) async fn send_to_master(
        &self,
        action: &'static str,
        command: &Cmd,
        node: &str,
    ) -> Result<Value, TierError> {
        let (transport, call) = self.transport(action).await?;
        let reply = match (transport, node.rsplit_once(':')) {
            (Transport::Cluster(mut cluster), Some((host, port))) => {
                let port = port.parse().unwrap_or(0);
                let route = RoutingInfo::SingleNode(SingleNodeRoutingInfo::ByAddress { host: host.to_owned(), port });
                cluster.route_command(command.clone(), route).await
            }
            (mut transport, _) => transport.send(command).await,
        };
        call.ended(action, reply)
    }

    /// Sends `command` to every master. Returns the name of each and its reply; a server has the empty name.
    pub(super) async fn send_to_masters(
        &self,
        action: &'static str,
        command: &Cmd,
    ) -> Result<Vec<(String, Value)>, TierError> {
        let (transport, call) = self.transport(action).await?;
        let reply = match transport {
            Transport::Cluster(mut cluster) => {
                let route = RoutingInfo::MultiNode((MultipleNodeRoutingInfo::AllMasters, None));
                cluster.route_command(command.clone(), route).await
            }
            mut server @ Transport::Server(_) => {
                let reply = server.send(command).await;
                reply.map(|reply| Value::Map(vec![(Value::BulkString(Vec::new()), reply)]))
            }
        };
        let name = |name: Value| redis::from_redis_value::<String>(name).unwrap_or_default();
        match call.ended(action, reply)? {
            Value::Map(replies) => Ok(replies.into_iter().map(|(node, reply)| (name(node), reply)).collect()),
            _ => Err(TierError::new(TierErrorKind::Internal, action, "the cluster did not answer for each master")),
        }
    }

    async fn transport(&self, action: &'static str) -> Result<(Transport, Call<'_>), TierError> {
        let (connecting, generation) = {
            let mut current = self.0.current.lock();
            let generation = current.generation;
            (current.connecting.get_or_insert_with(|| self.connect(generation)).clone(), generation)
        };
        let transport = connecting.await.map_err(|error| failed(action, &error))?;
        Ok((transport, Call { connection: self, generation, replied: false }))
    }

    /// Starts to connect. A failed attempt is discarded at once, even if no caller waits for it, so that the next call
    /// tries again.
    fn connect(&self, generation: u64) -> Connecting {
        let connection = self.clone();
        let task = self.0.runtime.spawn(async move {
            connection.0.endpoint.connect().await.map_err(|error| {
                connection.invalidate(generation);
                connector::explained(error, connection.0.scheme_with_tls)
            })
        });
        let connecting = async move {
            task.await.unwrap_or_else(|_| Err((redis::ErrorKind::Io, "the runtime is shutting down").into()))
        };
        connecting.boxed().shared()
    }

    /// Makes the next call reconnect, unless that has happened since `generation`.
    fn invalidate(&self, generation: u64) {
        let mut current = self.0.current.lock();
        if current.generation == generation {
            *current = Current { generation: generation + 1, connecting: None };
        }
    }
}

/// A call on a connection. If it is dropped before its reply, it invalidates the connection: the server may be gone
/// without closing it, or a cluster may have another master. Other calls continue; the next one reconnects.
struct Call<'a> {
    connection: &'a Connection,
    generation: u64,
    replied: bool,
}

impl Call<'_> {
    /// Records the reply. A broken connection and an unavailable cluster are invalidated.
    fn ended<T>(mut self, action: &'static str, reply: Result<T, RedisError>) -> Result<T, TierError> {
        let is_cluster = matches!(self.connection.0.endpoint, Endpoint::Cluster(_));
        // An error with a code came from a server that is available.
        self.replied = match &reply {
            Ok(_) => true,
            Err(error) if is_cluster => error.code().is_some_and(|code| code != "CLUSTERDOWN"),
            Err(error) => !error.is_unrecoverable_error() && !error.is_connection_dropped() && !error.is_timeout(),
        };
        reply.map_err(|error| failed(action, &error))
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
    fn new(config: &RedisConfig, connect_timeout: Duration, reply_timeout: Duration) -> Result<Self, RedisError> {
        Ok(match connector::cluster(&config.url, &config.tls) {
            None => {
                let limits = AsyncConnectionConfig::new()
                    .set_connection_timeout(Some(connect_timeout))
                    .set_response_timeout(Some(reply_timeout));
                Self::Server(connector::client(&config.url, &config.tls)?, limits)
            }
            Some(cluster) => {
                // One retry, to follow a slot that has moved to another node. More would outlast the caller.
                let cluster = cluster.connection_timeout(connect_timeout).response_timeout(reply_timeout).retries(1);
                Self::Cluster(cluster.build()?)
            }
        })
    }

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

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let current = self.0.current.lock();
        f.debug_struct("Connection").field("generation", &current.generation).finish_non_exhaustive()
    }
}
