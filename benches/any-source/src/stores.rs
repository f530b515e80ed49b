//! A Redis whose replies come late, and directories. The Redis and its proxy are those of the benches of floors.

use std::time::Duration;

use tempfile::TempDir;

use crate::{caches::Below, delay_proxy::DelayProxy, redis_server::RedisServer};

/// A store, which ends with this.
pub enum Store {
    Redis { _server: RedisServer, proxy: DelayProxy },
    Disk(TempDir),
}

impl Store {
    /// An empty Redis, whose replies come `delay` later.
    pub fn redis(delay: Duration) -> anyhow::Result<Self> {
        let server = RedisServer::start()?;
        let proxy = DelayProxy::start(server.address(), delay)?;
        Ok(Self::Redis { _server: server, proxy })
    }

    pub fn disk() -> anyhow::Result<Self> {
        Ok(Self::Disk(tempfile::tempdir()?))
    }

    /// Where caches find it.
    pub fn below(&self) -> Below {
        match self {
            Self::Redis { proxy, .. } => Below::Redis(format!("redis://{}", proxy.address())),
            Self::Disk(directory) => Below::Disk(directory.path().to_owned()),
        }
    }
}
