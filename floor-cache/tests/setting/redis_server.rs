//! A real redis-server for one test, on a free port, gone with it.

use std::{
    collections::BTreeSet,
    env,
    io::{ErrorKind, Read, Write},
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use floor_cache::RedisConfig;
use parking_lot::Mutex;
use tempfile::TempDir;

pub(crate) struct RedisServer {
    process: Child,
    port: u16,
    directory: TempDir,
}

impl RedisServer {
    /// Starts a server, or says that the test is skipped when there is no redis-server here. With
    /// `FLOORS_TEST_REDIS=required` that is a failure instead.
    pub(crate) fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    /// Starts a server with further options.
    pub(crate) fn start_with(options: &[&str]) -> Option<Self> {
        let directory = tempfile::tempdir().expect("a directory for the server");
        let port = free_port();
        let process = match spawn(port, &directory, options) {
            Ok(process) => process,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let required = env::var("FLOORS_TEST_REDIS").is_ok_and(|value| value == "required");
                assert!(!required, "FLOORS_TEST_REDIS=required, but there is no redis-server here");
                println!("skipped: there is no redis-server here");
                return None;
            }
            Err(error) => panic!("redis-server does not start: {error}"),
        };
        let server = Self { process, port, directory };
        server.wait_until_ready();
        Some(server)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// With a deadline that a busy machine keeps too; tests of the deadline itself set their own.
    pub(crate) fn config(&self) -> RedisConfig {
        RedisConfig { url: self.url(), timeout: Duration::from_secs(2), ..RedisConfig::default() }
    }

    /// Makes it a replica of `primary` and waits until it holds what that does; without, makes it a primary.
    pub(crate) async fn follow(&self, primary: Option<&Self>) {
        let port = primary.map(|primary| primary.port.to_string());
        let (host, port) = port.as_deref().map_or(("NO", "ONE"), |port| ("127.0.0.1", port));
        assert_eq!(self.command(&[b"REPLICAOF", host.as_bytes(), port.as_bytes()]), b"+OK\r\n");
        if let Some(primary) = primary {
            // The copy begins at once, not after the five seconds in which other replicas may join it.
            primary.command(&[b"CONFIG", b"SET", b"repl-diskless-sync-delay", b"0"]);
            super::until("the replica is like its primary", || {
                let info = self.command(&[b"INFO", b"replication"]);
                String::from_utf8(info).is_ok_and(|info| info.contains("master_link_status:up"))
            })
            .await;
        }
    }

    /// Kills the server as a crash would.
    pub(crate) fn kill(&mut self) {
        self.process.kill().expect("the server can be killed");
        self.process.wait().expect("the server ends");
    }

    /// Starts it again on the same port, empty.
    pub(crate) fn restart(&mut self) {
        self.process = spawn(self.port, &self.directory, &[]).expect("redis-server starts again");
        self.wait_until_ready();
    }

    /// Has it stand still with its connections open.
    pub(crate) fn pause(&self) {
        self.signal("STOP");
    }

    pub(crate) fn resume(&self) {
        self.signal("CONT");
    }

    fn signal(&self, signal: &str) {
        let pid = self.process.id().to_string();
        let status = Command::new("kill").args(["-s", signal, &pid]).status().expect("kill runs");
        assert!(status.success(), "the server takes the signal {signal}");
    }

    /// Sends a command by a connection of its own; the reply as it comes.
    pub(crate) fn command(&self, words: &[&[u8]]) -> Vec<u8> {
        let mut connection = TcpStream::connect(("127.0.0.1", self.port)).expect("the server answers");
        connection.set_read_timeout(Some(Duration::from_secs(5))).expect("a timeout can be set");
        let mut request = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            request.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            request.extend_from_slice(word);
            request.extend_from_slice(b"\r\n");
        }
        connection.write_all(&request).expect("the server reads");
        let mut reply = vec![0; 16 << 10];
        let len = connection.read(&mut reply).expect("the server replies");
        reply.truncate(len);
        reply
    }

    fn wait_until_ready(&self) {
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() || self.command(&[b"PING"]) != b"+PONG\r\n" {
            assert!(started.elapsed() < Duration::from_secs(10), "redis-server is not ready within ten seconds");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

fn spawn(port: u16, directory: &TempDir, options: &[&str]) -> std::io::Result<Child> {
    Command::new("redis-server")
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
        .arg("--dir")
        .arg(directory.path())
        .args(options)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

/// A port that nothing listens on, and that no other test of this process was given. Another process may take it before the
/// server does; that is rare and shows.
pub(crate) fn free_port() -> u16 {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    loop {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        if GIVEN.lock().insert(port) {
            return port;
        }
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
