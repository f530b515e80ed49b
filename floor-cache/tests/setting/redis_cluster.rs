//! A real cluster of six redis-servers for one test: three masters, a replica each.

use std::process::{Command, Stdio};

use super::{redis_server::RedisServer, until};

pub(crate) struct RedisCluster {
    nodes: Vec<RedisServer>,
}

impl RedisCluster {
    /// Starts a cluster, or says that the test is skipped, as [`RedisServer::start`] does.
    pub(crate) async fn start() -> Option<Self> {
        let mut nodes = Vec::new();
        for _ in 0..6 {
            // Ports for the cluster's own talk are 10,000 above by default, which may be above 65,535.
            let bus = super::redis_server::free_port().to_string();
            let options = ["--cluster-enabled", "yes", "--cluster-port", &bus, "--cluster-node-timeout", "1000"];
            // A replica copies its master at once, not after the five seconds in which others may join it.
            let options = [&options[..], &["--repl-diskless-sync-delay", "0"]].concat();
            nodes.push(RedisServer::start_with(&options)?);
        }
        let addresses = nodes.iter().map(|node| format!("127.0.0.1:{}", node.port()));
        let created = Command::new("redis-cli")
            .args(["--cluster", "create"])
            .args(addresses)
            .args(["--cluster-replicas", "1", "--cluster-yes"])
            .stdout(Stdio::null())
            .status()
            .expect("redis-cli comes with redis-server");
        assert!(created.success(), "the cluster is created");
        let cluster = Self { nodes };
        until("every node knows of every slot, and every replica holds what its master does", || {
            cluster.nodes.iter().all(is_ready)
        })
        .await;
        Some(cluster)
    }

    pub(crate) fn url(&self) -> String {
        let hosts: Vec<_> = self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port())).collect();
        format!("redis+cluster://{}", hosts.join(","))
    }

    /// Kills a master. Its replica takes over within some seconds.
    pub(crate) fn kill_a_master(&mut self) {
        let master = self.nodes.iter_mut().find(|node| is_master(node)).expect("three of six are masters");
        master.kill();
    }

    /// Values on each master.
    pub(crate) fn sizes(&self) -> Vec<u64> {
        let masters = self.nodes.iter().filter(|node| is_master(node));
        masters
            .map(|node| {
                let reply = String::from_utf8(node.command(&[b"DBSIZE"])).expect("an integer");
                reply.trim_start_matches(':').trim().parse().expect("an integer")
            })
            .collect()
    }
}

fn is_ready(node: &RedisServer) -> bool {
    let info = String::from_utf8(node.command(&[b"CLUSTER", b"INFO"])).expect("text");
    let is_copied = is_master(node) || replication(node).contains("master_link_status:up");
    info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:6") && is_copied
}

fn is_master(node: &RedisServer) -> bool {
    replication(node).contains("role:master")
}

fn replication(node: &RedisServer) -> String {
    String::from_utf8(node.command(&[b"INFO", b"replication"])).expect("text")
}
