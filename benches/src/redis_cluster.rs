//! Starts a Redis Cluster, three masters with one replica each, or one server in its place. The command `regret servers`
//! uses it.

use std::{
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context, ensure};

use crate::{process::wait_until, redis_server::RedisServer, server::free_address};

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
