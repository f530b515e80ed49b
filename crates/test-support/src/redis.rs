//! A redis-server for one test.

use std::{
    env,
    io::{ErrorKind, Read, Write},
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    time::Duration,
};

use tempfile::TempDir;

use crate::wait_until;

/// A redis-server on a free port. Killed when dropped.
pub struct Redis {
    process: Child,
    port: u16,
    _directory: TempDir,
}

impl Redis {
    /// Starts redis-server. If there is none, prints that the test is skipped, or fails with
    /// `FLOORS_TEST_REDIS=required`.
    pub fn start() -> Option<Self> {
        let directory = TempDir::new().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let started = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir"])
            .arg(directory.path())
            .stdout(Stdio::null())
            .spawn();
        let process = match started {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let required = env::var("FLOORS_TEST_REDIS").is_ok_and(|value| value == "required");
                assert!(!required, "FLOORS_TEST_REDIS=required, but redis-server is not installed");
                println!("skipped: redis-server is not installed");
                return None;
            }
            started => started.unwrap(),
        };
        wait_until("redis-server listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Some(Self { process, port, _directory: directory })
    }

    /// Sends a command. Returns the first 64 KiB of the raw reply.
    pub fn command(&self, arguments: &[&[u8]]) -> Vec<u8> {
        let mut connection = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let mut request = format!("*{}\r\n", arguments.len()).into_bytes();
        for argument in arguments {
            request.extend_from_slice(format!("${}\r\n", argument.len()).as_bytes());
            request.extend_from_slice(argument);
            request.extend_from_slice(b"\r\n");
        }
        connection.write_all(&request).unwrap();
        let mut reply = vec![0; 64 << 10];
        let length = connection.read(&mut reply).unwrap();
        reply.truncate(length);
        reply
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
