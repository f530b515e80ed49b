//! Starts a redis-server for one bench, on a free port, without persistence; or a Redis Cluster, three masters with one
//! replica each, for the command `regret servers`.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context, bail, ensure};
use tempfile::TempDir;

use crate::{
    process::{KillOnDrop, wait_until},
    server::free_address,
};

/// How long a server may take to start or to answer.
const REDIS_TIMEOUT: Duration = Duration::from_secs(10);

/// A running server; killed when dropped.
#[derive(Debug)]
pub struct RedisServer {
    process: KillOnDrop,
    port: u16,
    _directory: TempDir,
}

impl RedisServer {
    /// Whether there is a redis-server to start. When there is none, prints on standard error that benches are skipped.
    pub fn is_available() -> bool {
        let here = Command::new("redis-server").arg("--version").stdout(Stdio::null()).status().is_ok();
        if !here {
            eprintln!("skipped: everything that needs redis-server, which is not on the PATH");
        }
        here
    }

    /// Starts a server with the settings of `docker-compose.yml`: bounded memory, LRU eviction, no persistence.
    pub fn start() -> anyhow::Result<Self> {
        Self::start_with(&[])
    }

    /// As [`start`](Self::start), with additional command line options.
    pub fn start_with(options: &[&str]) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir()?;
        // If another process takes the port before the server does, the start fails.
        let port = free_address()?.port();
        let process = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
            .args(["--maxmemory", "256mb", "--maxmemory-policy", "allkeys-lru"])
            .arg("--dir")
            .arg(directory.path())
            .args(options)
            .stdout(Stdio::null())
            .spawn()
            .context("redis-server does not start")?;
        let server = Self { process: KillOnDrop(process), port, _directory: directory };
        wait_until("an answer of redis-server", REDIS_TIMEOUT, || Ok(server.answers()))?;
        Ok(server)
    }

    /// The id of its process.
    pub fn pid(&self) -> u32 {
        self.process.0.id()
    }

    /// The address of its TCP port.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    /// Its URL over TCP.
    pub fn tcp_url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    fn answers(&self) -> bool {
        self.command("PING").is_ok_and(|reply| reply.starts_with("+PONG"))
    }

    /// The reply to `command` in the Redis protocol.
    pub fn command(&self, command: &str) -> std::io::Result<String> {
        let mut connection = TcpStream::connect(self.address())?;
        connection.set_read_timeout(Some(REDIS_TIMEOUT))?;
        // On QUIT the server closes the connection, which ends the reply. The reply to QUIT is removed.
        connection.write_all(format!("{command}\r\nQUIT\r\n").as_bytes())?;
        let mut reply = String::new();
        connection.read_to_string(&mut reply)?;
        Ok(reply.strip_suffix("+OK\r\n").unwrap_or(&reply).to_owned())
    }

    /// Removes every key.
    pub fn flush(&self) -> anyhow::Result<()> {
        let reply = self.command("FLUSHALL")?;
        if reply.starts_with("+OK") { Ok(()) } else { bail!("FLUSHALL is answered {reply:?}") }
    }

    /// The number of its keys.
    pub fn keys(&self) -> anyhow::Result<u64> {
        let reply = self.command("DBSIZE")?;
        reply
            .trim()
            .strip_prefix(':')
            .and_then(|count| count.parse().ok())
            .with_context(|| format!("DBSIZE is {reply:?}"))
    }
}

/// How long the nodes may take until each knows every slot and every replica is synchronized.
const CLUSTER_TIMEOUT: Duration = Duration::from_secs(60);

/// Nodes, of which half are replicas.
const NODES: usize = 6;

/// A running cluster, or one server; killed when dropped.
#[derive(Debug)]
pub struct RedisCluster {
    nodes: Vec<RedisServer>,
}

impl RedisCluster {
    /// Starts one server, which is no cluster.
    pub fn single() -> anyhow::Result<Self> {
        Ok(Self { nodes: vec![RedisServer::start()?] })
    }

    /// Starts a cluster and waits until it is ready.
    pub fn start() -> anyhow::Result<Self> {
        let mut nodes = Vec::with_capacity(NODES);
        for _ in 0..NODES {
            // By default the port of the cluster bus is 10,000 above the server's, which may exceed 65,535.
            let bus = free_address()?.port().to_string();
            let options = ["--cluster-enabled", "yes", "--cluster-port", &bus, "--repl-diskless-sync-delay", "0"];
            nodes.push(RedisServer::start_with(&options)?);
        }
        let created = Command::new("redis-cli")
            .args(["--cluster", "create"])
            .args(nodes.iter().map(|node| node.address().to_string()))
            .args(["--cluster-replicas", "1", "--cluster-yes"])
            .stdout(Stdio::null())
            .status()
            .context("redis-cli does not start; it comes with redis-server")?;
        ensure!(created.success(), "redis-cli did not create the cluster: {created}");
        let cluster = Self { nodes };
        wait_until("a ready Redis Cluster", CLUSTER_TIMEOUT, || Ok(cluster.nodes.iter().all(is_ready)))?;
        Ok(cluster)
    }

    /// The URL with the addresses of all nodes.
    pub fn url(&self) -> String {
        if let [single] = &self.nodes[..] {
            return single.tcp_url();
        }
        let hosts: Vec<_> = self.nodes.iter().map(|node| node.address().to_string()).collect();
        format!("redis+cluster://{}", hosts.join(","))
    }

    /// Its servers.
    pub fn nodes(&self) -> &[RedisServer] {
        &self.nodes
    }

    /// The number of keys of its masters.
    pub fn keys(&self) -> anyhow::Result<u64> {
        self.nodes.iter().filter(|node| is_master(node)).map(RedisServer::keys).sum()
    }

    /// Removes every key.
    pub fn flush(&self) -> anyhow::Result<()> {
        self.nodes.iter().filter(|node| is_master(node)).try_for_each(RedisServer::flush)
    }
}

fn is_ready(node: &RedisServer) -> bool {
    let info = node.command("CLUSTER INFO").unwrap_or_default();
    let is_synchronized = is_master(node) || replication(node).contains("master_link_status:up");
    info.contains("cluster_state:ok") && info.contains(&format!("cluster_known_nodes:{NODES}")) && is_synchronized
}

fn is_master(node: &RedisServer) -> bool {
    replication(node).contains("role:master")
}

fn replication(node: &RedisServer) -> String {
    node.command("INFO replication").unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_starts_with_three_masters_and_no_key() {
        if !RedisServer::is_available() {
            return;
        }
        let cluster = RedisCluster::start().unwrap();
        assert_eq!(cluster.nodes.len(), NODES);
        assert_eq!(cluster.nodes.iter().filter(|node| is_master(node)).count(), NODES / 2);
        assert_eq!(cluster.keys().unwrap(), 0);
        assert!(cluster.url().starts_with("redis+cluster://127.0.0.1:"), "{}", cluster.url());
    }
}
