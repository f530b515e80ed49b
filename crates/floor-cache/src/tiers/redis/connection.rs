//! A connection to a Redis server or cluster, shared by many calls. It connects when it is first used and reconnects
//! after a failure. A request whose connection was closed, or whose server is no master any more, is sent once more on
//! a new connection.

use std::{
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, Shared, try_join_all},
};
use redis::{
    AsyncConnectionConfig, Client, Cmd, ErrorKind, Pipeline, RedisConnectionInfo, RedisError, Value,
    aio::{ConnectionLike, MultiplexedConnection},
    cluster::ClusterClient,
    cluster_async::ClusterConnection,
    cluster_routing::{MultipleNodeRoutingInfo, RoutingInfo, SingleNodeRoutingInfo},
};
use tokio::runtime::Handle;

use super::{
    connector::{self, Sentinels},
    error::{Remedy, accepted, failed, remedy},
};
use crate::{
    config::RedisConfig,
    core_thread,
    redis_url::{Form, RedisUrl},
    sync::Mutex,
    tier::TierError,
};

/// A connection that is replaced because its server is no master is replaced at most this often. Behind the name there
/// may be no other one.
const SEARCH_INTERVAL: Duration = Duration::from_secs(1);

/// A connection that may not be established yet.
///
/// A spawned task connects, so a caller whose deadline ends does not cancel it. A server that takes longer to reach
/// than a caller waits is still reached.
#[derive(Clone)]
pub(super) struct Connection(Arc<Inner>);

struct Inner {
    server: Arc<Server>,
    form: Form,
    /// The scheme that the URL would have with TLS. `None` if it has it.
    scheme_with_tls: Option<&'static str>,
    runtime: Handle,
    current: Mutex<Current>,
}

/// What the connections of all threads share.
struct Server {
    endpoint: Endpoint,
    /// How often a request had no answer in time. The server may be gone without closing its connections, of which those of
    /// idle threads would not be noticed.
    losses: AtomicU64,
}

/// The most threads that have connections of their own. Further ones share them, which costs them wake-ups.
const MAX_THREADS: usize = 64;

/// A connection for each thread that [serves calls](core_thread), and one for all others.
pub(super) struct ThreadConnections {
    common: Connection,
    of_threads: [OnceLock<Connection>; MAX_THREADS],
}

impl ThreadConnections {
    /// All to the server of `common`, which is for other threads.
    pub(super) fn new(common: Connection) -> Self {
        Self { common, of_threads: [const { OnceLock::new() }; MAX_THREADS] }
    }

    /// The connection of the calling thread. Call it in a runtime.
    pub(super) fn here(&self) -> &Connection {
        core_thread::number().map_or(&self.common, |number| {
            self.of_threads[number % MAX_THREADS].get_or_init(|| self.common.on(Handle::current()))
        })
    }
}

/// The server or cluster to connect to.
enum Endpoint {
    Server(Client, AsyncConnectionConfig),
    Cluster(ClusterClient),
    Sentinel(Box<Sentinels>, AsyncConnectionConfig),
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
    /// The losses of the server when it was established.
    losses: u64,
    /// When a master was last looked for.
    searched: Option<Instant>,
}

type Connecting = Shared<BoxFuture<'static, Result<Transport, RedisError>>>;

impl Connection {
    /// A connection to `url`, not established yet, with timeouts for connecting and for a reply.
    pub(super) fn new(
        url: &RedisUrl<'_>,
        config: &RedisConfig,
        connect_timeout: Duration,
        reply_timeout: Duration,
        runtime: Handle,
    ) -> Result<Self, RedisError> {
        let endpoint = Endpoint::new(url, config, connect_timeout, reply_timeout)?;
        let (form, scheme_with_tls) = (url.form, url.scheme_with_tls());
        let server = Arc::new(Server { endpoint, losses: AtomicU64::new(0) });
        Ok(Self(Arc::new(Inner { server, form, scheme_with_tls, runtime, current: Mutex::default() })))
    }

    /// Another connection to the same server, on `runtime`.
    fn on(&self, runtime: Handle) -> Self {
        let Inner { server, form, scheme_with_tls, .. } = &*self.0;
        let (server, form, scheme_with_tls) = (Arc::clone(server), *form, *scheme_with_tls);
        Self(Arc::new(Inner { server, form, scheme_with_tls, runtime, current: Mutex::default() }))
    }

    /// Whether the library can use `url`. Connects to nothing.
    pub(super) fn check(url: &RedisUrl<'_>, config: &RedisConfig) -> Result<(), RedisError> {
        Endpoint::new(url, config, config.timeout, config.timeout).map(drop)
    }

    /// Whether each key has a node of its own, so that a command may name only one.
    pub(super) fn is_cluster(&self) -> bool {
        self.0.form == Form::Cluster
    }

    /// Sends a command for `action` and returns the reply, which is no error.
    pub(super) async fn send(&self, action: &'static str, command: &Cmd) -> Result<Value, TierError> {
        let mut attempts = self.attempts(action);
        loop {
            let mut transport = attempts.next().await?;
            if let Some(reply) = attempts.ended(transport.send(command).await) {
                return reply;
            }
        }
    }

    /// Sends many commands for `action` and returns their replies, of which none is an error: in one round trip to a
    /// server, or each to the node of its slot in a cluster.
    pub(super) async fn send_all(&self, action: &'static str, pipeline: &Pipeline) -> Result<Vec<Value>, TierError> {
        let mut attempts = self.attempts(action);
        loop {
            let transport = attempts.next().await?;
            if let Some(replies) = attempts.ended(transport.send_all(pipeline).await) {
                return replies;
            }
        }
    }

    /// Sends `command` to the master at `node`, as [`send_to_masters`](Self::send_to_masters) names it.
    pub(super) async fn send_to_master(
        &self,
        action: &'static str,
        command: &Cmd,
        node: &str,
    ) -> Result<Value, TierError> {
        let mut attempts = self.attempts(action);
        loop {
            let transport = attempts.next().await?;
            if let Some(reply) = attempts.ended(transport.send_to_master(command, node).await) {
                return reply;
            }
        }
    }

    /// Sends `command` to every master. Returns the name of each and its reply; a server has the empty name.
    pub(super) async fn send_to_masters(
        &self,
        action: &'static str,
        command: &Cmd,
    ) -> Result<Vec<(String, Value)>, TierError> {
        let mut attempts = self.attempts(action);
        loop {
            let transport = attempts.next().await?;
            if let Some(replies) = attempts.ended(transport.send_to_masters(command).await) {
                return replies;
            }
        }
    }

    fn attempts(&self, action: &'static str) -> Attempts<'_> {
        Attempts { connection: self, action, call: None, is_repeated: false }
    }

    /// The current connection, which is established if it is not, and its generation.
    async fn transport(&self, action: &'static str) -> Result<(Transport, u64), TierError> {
        let (connecting, generation) = {
            let mut current = self.0.current.lock();
            let losses = self.0.server.losses.load(Relaxed);
            if current.losses != losses {
                current.losses = losses;
                current.replace();
            }
            let generation = current.generation;
            (current.connecting.get_or_insert_with(|| self.connect(generation)).clone(), generation)
        };
        let transport = connecting.await.map_err(|error| failed(action, &error, self.0.form))?;
        Ok((transport, generation))
    }

    /// Starts to connect. A failed attempt is discarded at once, even if no caller waits for it, so that the next call
    /// tries again.
    fn connect(&self, generation: u64) -> Connecting {
        let connection = self.clone();
        let task = self.0.runtime.spawn(async move {
            connection.0.server.endpoint.connect().await.map_err(|error| {
                connection.invalidate(generation);
                connector::explained(error, connection.0.scheme_with_tls)
            })
        });
        let connecting = async move {
            task.await.unwrap_or_else(|_| Err((redis::ErrorKind::Io, "the runtime is shutting down").into()))
        };
        connecting.boxed().shared()
    }

    /// Replaces the connection of `generation` if `error` says so. Whether the request may succeed on the next one.
    fn replace(&self, generation: u64, error: &RedisError) -> bool {
        match remedy(error) {
            Remedy::ReplaceConnection => {
                self.invalidate(generation);
                true
            }
            Remedy::FindMaster => self.search(generation),
            Remedy::None => {
                // A server without an answer may be gone without closing the connection, and a cluster may have another
                // master. An error with a code came from a server that is available.
                if error.is_timeout() {
                    self.invalidate_all(generation);
                } else if self.is_cluster() && error.code().is_none() {
                    self.invalidate(generation);
                }
                false
            }
        }
    }

    /// Makes the next call reconnect, unless that has happened since `generation`.
    fn invalidate(&self, generation: u64) {
        let mut current = self.0.current.lock();
        if current.generation == generation {
            current.replace();
        }
    }

    /// Makes the next call of every thread reconnect, unless that has happened since `generation`.
    fn invalidate_all(&self, generation: u64) {
        let current = self.0.current.lock();
        if current.generation == generation {
            // This connection is older than the loss, too.
            let _ = self.0.server.losses.compare_exchange(current.losses, current.losses + 1, Relaxed, Relaxed);
        }
    }

    /// As [`invalidate`](Self::invalidate), at most once in [`SEARCH_INTERVAL`]. Whether the next call has another
    /// connection than that of `generation`.
    fn search(&self, generation: u64) -> bool {
        let mut current = self.0.current.lock();
        if current.generation != generation {
            return true;
        }
        let is_due = current.searched.is_none_or(|searched| searched.elapsed() >= SEARCH_INTERVAL);
        if is_due {
            current.searched = Some(Instant::now());
            current.replace();
        }
        is_due
    }
}

impl Current {
    fn replace(&mut self) {
        self.generation += 1;
        self.connecting = None;
    }
}

fn name_of(node: Value) -> String {
    redis::from_redis_value(node).unwrap_or_default()
}

/// The attempts at a request: one, and a second on another connection if that may help.
struct Attempts<'a> {
    connection: &'a Connection,
    action: &'static str,
    call: Option<Call<'a>>,
    is_repeated: bool,
}

impl Attempts<'_> {
    /// The connection for the next attempt.
    async fn next(&mut self) -> Result<Transport, TierError> {
        let (transport, generation) = self.connection.transport(self.action).await?;
        self.call = Some(Call { connection: self.connection, generation });
        Ok(transport)
    }

    /// The result of an attempt; `None` if there is another one.
    fn ended<T>(&mut self, reply: Result<T, RedisError>) -> Option<Result<T, TierError>> {
        let generation = self.call.take().map_or(0, Call::ended);
        let error = match reply {
            Ok(reply) => return Some(Ok(reply)),
            Err(error) => error,
        };
        let is_last = !self.connection.replace(generation, &error) || self.is_repeated;
        self.is_repeated = true;
        is_last.then(|| Err(failed(self.action, &error, self.connection.0.form)))
    }
}

/// A call on a connection. If it is dropped before its end, it invalidates the connections of all threads: the server may be
/// gone without closing them, or a cluster may have another master. Other calls continue; the next ones reconnect.
struct Call<'a> {
    connection: &'a Connection,
    generation: u64,
}

impl Call<'_> {
    /// The generation of its connection.
    fn ended(self) -> u64 {
        std::mem::ManuallyDrop::new(self).generation
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.connection.invalidate_all(self.generation);
    }
}

/// How long a cluster's client waits before its one retry, in milliseconds: less than a caller does, so that the caller
/// gets the error and not a timeout.
const CLUSTER_RETRY_WAIT: std::ops::Range<u64> = 5..20;

impl Endpoint {
    fn new(
        url: &RedisUrl<'_>,
        config: &RedisConfig,
        connect_timeout: Duration,
        reply_timeout: Duration,
    ) -> Result<Self, RedisError> {
        let limits = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(connect_timeout))
            .set_response_timeout(Some(reply_timeout));
        Ok(match url.form {
            Form::Server | Form::Socket => Self::Server(connector::client(url, &config.tls)?, limits),
            Form::Sentinel => Self::Sentinel(Box::new(Sentinels::new(url, &config.tls)?), limits),
            Form::Cluster => {
                // One retry, to follow a slot that has moved to another node. More would outlast the caller.
                let cluster = connector::cluster(url, &config.tls)
                    .connection_timeout(connect_timeout)
                    .response_timeout(reply_timeout)
                    .min_retry_wait(CLUSTER_RETRY_WAIT.start)
                    .max_retry_wait(CLUSTER_RETRY_WAIT.end)
                    .retries(1);
                Self::Cluster(cluster.build()?)
            }
        })
    }

    async fn connect(&self) -> Result<Transport, RedisError> {
        match self {
            Self::Server(client, config) => match client.get_multiplexed_async_connection_with_config(config).await {
                Err(error) if error.kind() == ErrorKind::AuthenticationFailed => {
                    Err(refusal_of_login(client, config).await.unwrap_or(error))
                }
                connected => connected.map(Transport::Server),
            },
            Self::Cluster(client) => client.get_async_connection().await.map(Transport::Cluster),
            Self::Sentinel(sentinels, config) => sentinels.connect(config).await.map(Transport::Server),
        }
    }
}

/// What Redis says to the user and password of `client`, which the library keeps to itself.
async fn refusal_of_login(client: &Client, config: &AsyncConnectionConfig) -> Option<RedisError> {
    let info = client.get_connection_info().clone();
    let mut login = redis::cmd("AUTH");
    login.arg(info.redis_settings().username()).arg(info.redis_settings().password());
    let anonymous = Client::open(info.set_redis_settings(RedisConnectionInfo::default())).ok()?;
    let mut connection = anonymous.get_multiplexed_async_connection_with_config(config).await.ok()?;
    accepted(connection.req_packed_command(&login).await.ok()?).err()
}

impl Transport {
    async fn send(&mut self, command: &Cmd) -> Result<Value, RedisError> {
        let reply = match self {
            Self::Server(server) => server.req_packed_command(command).await,
            Self::Cluster(cluster) => cluster.req_packed_command(command).await,
        };
        accepted(reply?)
    }

    async fn send_all(self, pipeline: &Pipeline) -> Result<Vec<Value>, RedisError> {
        match self {
            Self::Server(mut server) => {
                let replies = server.send_packed_commands(pipeline, 0, pipeline.len()).await?;
                replies.into_iter().map(accepted).collect()
            }
            cluster @ Self::Cluster(_) => {
                let send = async |command| cluster.clone().send(command).await;
                try_join_all(pipeline.cmd_iter().map(send)).await
            }
        }
    }

    async fn send_to_master(self, command: &Cmd, node: &str) -> Result<Value, RedisError> {
        match (self, node.rsplit_once(':')) {
            (Self::Cluster(mut cluster), Some((host, port))) => {
                let port = port.parse().unwrap_or(0);
                let route = RoutingInfo::SingleNode(SingleNodeRoutingInfo::ByAddress { host: host.to_owned(), port });
                accepted(cluster.route_command(command.clone(), route).await?)
            }
            (mut transport, _) => transport.send(command).await,
        }
    }

    async fn send_to_masters(self, command: &Cmd) -> Result<Vec<(String, Value)>, RedisError> {
        let mut cluster = match self {
            Self::Cluster(cluster) => cluster,
            mut server @ Self::Server(_) => return Ok(vec![(String::new(), server.send(command).await?)]),
        };
        let route = RoutingInfo::MultiNode((MultipleNodeRoutingInfo::AllMasters, None));
        match cluster.route_command(command.clone(), route).await? {
            Value::Map(replies) => {
                replies.into_iter().map(|(node, reply)| Ok((name_of(node), accepted(reply)?))).collect()
            }
            _ => Err((ErrorKind::UnexpectedReturnType, "the cluster did not answer for each master").into()),
        }
    }
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

    #[tokio::test]
    async fn after_a_loss_every_thread_connects_anew() {
        let (config, timeout) = (RedisConfig::default(), Duration::from_secs(1));
        // Nobody listens on this port, so each attempt fails and is discarded.
        let url = RedisUrl::parse("redis://127.0.0.1:1").unwrap();
        let one = Connection::new(&url, &config, timeout, timeout, Handle::current()).unwrap();
        let other = one.on(Handle::current());
        let generation = |connection: &Connection| connection.0.current.lock().generation;
        assert!(other.transport("test").await.is_err());
        assert_eq!(generation(&other), 1);
        let before = generation(&one);
        one.invalidate_all(before);
        one.invalidate_all(before);
        assert!(other.transport("test").await.is_err());
        assert_eq!(generation(&other), 3, "the loss, once, and this attempt");
        assert!(other.transport("test").await.is_err());
        assert_eq!(generation(&other), 4);
    }
}
