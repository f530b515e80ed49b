//! Starts a redis-server for one bench, on a free port, without persistence.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context, ensure};
use tempfile::TempDir;

use crate::process::{KillOnDrop, free_address, wait_until};

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
        let directory = tempfile::tempdir()?;
        // If another process takes the port before the server does, the start fails.
        let port = free_address()?.port();
        let process = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
            .args(["--maxmemory", "256mb", "--maxmemory-policy", "allkeys-lru"])
            .arg("--dir")
            .arg(directory.path())
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
        ensure!(reply.starts_with("+OK"), "FLUSHALL is answered {reply:?}");
        Ok(())
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
