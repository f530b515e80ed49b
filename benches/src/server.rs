//! Starts the floor server as a process: the release binary in the directory of the running one.

use std::{
    env,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context, bail};
use tempfile::TempDir;

use crate::process::{KillOnDrop, free_address, wait_until};

/// How long a server may take to start or to end.
const SERVER_TIMEOUT: Duration = Duration::from_secs(20);

/// The binary of a server to start, and environment variables for it.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    binary: Option<PathBuf>,
    variables: Vec<(String, String)>,
}

impl Setup {
    /// Whether there is a server to start. When there is none, prints on standard error that benches are skipped.
    pub fn is_available() -> bool {
        let binary = binary();
        if let Err(error) = &binary {
            eprintln!("skipped: everything that needs the server: {error}");
        }
        binary.is_ok()
    }

    /// The default settings, on free ports.
    pub fn new() -> Self {
        Self::default()
    }

    /// The default settings with `binary` instead of the one in this directory.
    pub fn of_binary(binary: impl Into<PathBuf>) -> Self {
        Self { binary: Some(binary.into()), ..Self::default() }
    }

    /// Sets the environment variable `FLOORS__` + `key` to `value`.
    pub fn with(self, key: &str, value: impl Into<String>) -> Self {
        self.with_variable(&format!("FLOORS__{key}"), value)
    }

    /// As [`with`](Self::with), for each of `settings`.
    pub fn with_all(self, settings: &[(&str, &str)]) -> Self {
        settings.iter().fold(self, |setup, (key, value)| setup.with(key, *value))
    }

    /// As [`with`](Self::with), unless the setting has a value.
    pub fn with_default(self, key: &str, value: &str) -> Self {
        let is_set = self.variables.iter().any(|(name, _)| name.strip_prefix("FLOORS__") == Some(key));
        if is_set { self } else { self.with(key, value) }
    }

    /// Sets the environment variable `name` to `value`.
    pub fn with_variable(mut self, name: &str, value: impl Into<String>) -> Self {
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    /// Starts the server in a new directory, which is removed with it, and waits until it is ready.
    pub fn start(&self) -> anyhow::Result<Server> {
        self.start_on(tempfile::tempdir()?)
    }

    /// As [`start`](Self::start), with its files in `data`, which is removed with the server.
    pub fn start_on(&self, data: TempDir) -> anyhow::Result<Server> {
        let server = self.start_in(data.path())?;
        Ok(Server { _data: Some(data), ..server })
    }

    /// As [`start`](Self::start), with its files in `data`. Tries again on other ports when that fails, since another
    /// process may take a free port first.
    pub fn start_in(&self, data: &Path) -> anyhow::Result<Server> {
        let once = || self.start_once(data);
        once().or_else(|_| once()).or_else(|_| once())
    }

    fn start_once(&self, data: &Path) -> anyhow::Result<Server> {
        let binary = self.binary.clone().map_or_else(binary, Ok)?;
        let (grpc, ops) = (free_address()?, free_address()?);
        let mut command = Command::new(&binary);
        command
            .env("FLOORS__GRPC__LISTEN", grpc.to_string())
            .env("FLOORS__OPS__LISTEN", ops.to_string())
            .env("FLOORS__CACHE__LMDB__PATH", data.join("lmdb"))
            .env("FLOORS__CACHE__SLED__PATH", data.join("sled"))
            .env("RUST_LOG", "error")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(data)
            .stdin(Stdio::null());
        let process = command.spawn().with_context(|| format!("cannot start {}", binary.display()))?;
        let process = KillOnDrop(process);
        let mut server = Server { process, grpc, ops, _data: None };
        server.wait_until_ready()?;
        Ok(server)
    }
}

/// A running server; killed when dropped.
#[derive(Debug)]
pub struct Server {
    process: KillOnDrop,
    /// The address of its gRPC port.
    pub grpc: SocketAddr,
    ops: SocketAddr,
    _data: Option<TempDir>,
}

impl Server {
    /// The id of its process.
    pub fn pid(&self) -> u32 {
        self.process.0.id()
    }

    /// The body of a page of its operations port.
    pub fn page(&self, path: &str) -> anyhow::Result<String> {
        let mut connection = TcpStream::connect(self.ops)?;
        connection.set_read_timeout(Some(SERVER_TIMEOUT))?;
        connection.write_all(format!("GET {path} HTTP/1.1\r\nhost: ops\r\nconnection: close\r\n\r\n").as_bytes())?;
        let mut answer = String::new();
        connection.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").context("no end of the headers")?;
        if !head.starts_with("HTTP/1.1 200") {
            bail!("{path} answers {}", head.lines().next().unwrap_or_default());
        }
        Ok(body.to_owned())
    }

    /// The sum of the metrics whose names and labels, as `/metrics` writes them, begin with `prefix`.
    pub fn metric(&self, prefix: &str) -> anyhow::Result<f64> {
        let page = self.page("/metrics")?;
        let values = page.lines().filter(|line| line.starts_with(prefix)).filter_map(|line| line.rsplit(' ').next());
        Ok(values.filter_map(|value| value.parse::<f64>().ok()).sum())
    }

    /// Floors of all kinds generated so far.
    pub fn generations(&self) -> anyhow::Result<f64> {
        self.metric("floors_generations_total{")
    }

    /// Hits of `tier` so far.
    pub fn hits(&self, tier: &str) -> anyhow::Result<f64> {
        self.metric(&format!("floors_tier_requests_total{{outcome=\"hit\",tier=\"{tier}\"}}"))
    }

    /// Drains the server and waits for its end.
    pub fn stop(mut self) -> anyhow::Result<()> {
        Command::new("kill").arg(self.pid().to_string()).status()?;
        wait_until("the end of the server", SERVER_TIMEOUT, || match self.process.0.try_wait()? {
            Some(status) if !status.success() => bail!("the server ended with {status}"),
            status => Ok(status.is_some()),
        })
    }

    fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        wait_until("a ready server", SERVER_TIMEOUT, || {
            if let Some(status) = self.process.0.try_wait()? {
                bail!("the server ended with {status} before it was ready");
            }
            Ok(self.page("/readyz").is_ok())
        })
    }
}

/// `FLOORS_BENCH_SERVER`, else the server in the directory of this binary or, for benches, in the one above.
pub fn binary() -> anyhow::Result<PathBuf> {
    if let Some(path) = env::var_os("FLOORS_BENCH_SERVER") {
        return Ok(path.into());
    }
    let here = env::current_exe()?;
    let name = format!("bevy-server{}", env::consts::EXE_SUFFIX);
    let mut paths = here.ancestors().skip(1).take(2).map(|directory| directory.join(&name));
    let found = paths.find(|path| path.exists());
    found.with_context(|| {
        format!("no {name} beside {}; build it with `cargo build --release -p bevy-server`", here.display())
    })
}

/// Waits until `address` takes connections.
pub fn wait_until_listening(address: SocketAddr) -> anyhow::Result<()> {
    wait_until("a listening server", SERVER_TIMEOUT, || Ok(TcpStream::connect(address).is_ok()))
}
