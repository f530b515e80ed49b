//! Servers that send a floor as a file over HTTP/2: what an answer of its size costs programs that do nothing else.

use std::{
    env, fs,
    net::SocketAddr,
    process::{Command, Stdio},
};

use anyhow::Context;
use benches::{
    process::{KillOnDrop, free_address},
    server::wait_until_listening,
};
use tempfile::TempDir;

/// A program that may be installed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FileProgram {
    /// The server of nghttp2.
    Nghttpd,
    H2o,
}

/// A running one.
pub(crate) struct FileServer {
    process: KillOnDrop,
    _files: TempDir,
}

impl FileServer {
    pub(crate) fn pid(&self) -> u32 {
        self.process.0.id()
    }
}

impl FileProgram {
    /// Those on the `PATH`.
    pub(crate) fn installed() -> impl Iterator<Item = Self> {
        let path = env::var_os("PATH").unwrap_or_default();
        let is_there =
            move |program: &Self| env::split_paths(&path).any(|folder| folder.join(program.name()).is_file());
        [Self::Nghttpd, Self::H2o].into_iter().filter(is_there)
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Nghttpd => "nghttpd",
            Self::H2o => "h2o",
        }
    }

    /// Serves `content` at `path` with so many threads.
    pub(crate) fn start(self, threads: usize, path: &str, content: &[u8]) -> anyhow::Result<(FileServer, SocketAddr)> {
        let (files, address) = (tempfile::tempdir()?, free_address()?);
        let root = files.path().join("root");
        let file = root.join(path.trim_start_matches('/'));
        fs::create_dir_all(file.parent().context("a path has a folder")?)?;
        fs::write(file, content)?;
        let mut command = Command::new(self.name());
        match self {
            Self::Nghttpd => {
                command.args(["--no-tls", "--address", "127.0.0.1", "--workers", &threads.to_string(), "--htdocs"]);
                command.arg(&root).arg(address.port().to_string());
            }
            Self::H2o => {
                let configuration = files.path().join("h2o.conf");
                let text = format!(
                    "num-threads: {threads}\nlisten:\n  host: 127.0.0.1\n  port: {}\nhosts:\n  default:\n    paths:\n      \
                     /:\n        file.dir: {}\n{}",
                    address.port(),
                    root.display(),
                    // It takes another user's rights only from root, and that one could not read the folder.
                    if rustix::process::geteuid().is_root() { "user: root\n" } else { "" }
                );
                fs::write(&configuration, text)?;
                command.arg("--conf").arg(configuration);
            }
        }
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = KillOnDrop(quiet.spawn().with_context(|| format!("cannot start {}", self.name()))?);
        wait_until_listening(address)?;
        Ok((FileServer { process, _files: files }, address))
    }
}
