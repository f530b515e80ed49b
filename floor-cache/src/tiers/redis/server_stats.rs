//! The size of the Redis server, cached for reports and metrics.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use redis::{Pipeline, Value};
use tokio::runtime::Handle;

use super::connection::Connection;
use crate::tier::TierStats;

/// Age at which the cached size is refreshed; dashboards scrape about every 15 s.
const AGE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
pub(super) struct ServerStats {
    connection: Connection,
    runtime: Handle,
    last: Arc<Mutex<Last>>,
}

#[derive(Debug, Default)]
struct Last {
    size: TierStats,
    asked: Option<Instant>,
}

impl ServerStats {
    pub(super) fn new(connection: Connection, runtime: Handle) -> Self {
        Self { connection, runtime, last: Arc::default() }
    }

    /// The last known values, bytes and `maxmemory`. If they are old, starts a refresh in the background for the next
    /// caller.
    pub(super) fn last_known(&self) -> TierStats {
        if self.is_due() {
            let stats = self.clone();
            self.runtime.spawn(async move { stats.query().await });
        }
        self.last.lock().size
    }

    /// Queries the server if the cached size is old. Ignores errors, which concern no caller.
    pub(super) async fn refresh(&self) {
        if self.is_due() {
            self.query().await;
        }
    }

    /// Whether to refresh now. Only one of several concurrent callers gets `true`.
    fn is_due(&self) -> bool {
        let mut last = self.last.lock();
        let due = last.asked.is_none_or(|asked| asked.elapsed() >= AGE);
        if due {
            last.asked = Some(Instant::now());
        }
        due
    }

    async fn query(&self) {
        let mut pipeline = Pipeline::with_capacity(2);
        pipeline.cmd("DBSIZE").cmd("INFO").arg("memory");
        let Ok(replies) = self.connection.send_all("ask redis for its size", &pipeline).await else { return };
        if let [Value::Int(entries), memory] = replies.as_slice() {
            self.last.lock().size = TierStats {
                entries: u64::try_from(*entries).unwrap_or(0),
                bytes: number(memory, "used_memory:").unwrap_or(0),
                limit: number(memory, "maxmemory:").unwrap_or(0),
                ..TierStats::default()
            };
        }
    }
}

/// The number after `field`, which ends in a colon, in the answer to `INFO memory`.
fn number(info: &Value, field: &str) -> Option<u64> {
    let text = match info {
        // In a cluster, the sum over its nodes.
        Value::Map(nodes) => return nodes.iter().map(|(_, info)| number(info, field)).sum(),
        Value::BulkString(text) => std::str::from_utf8(text).ok()?,
        Value::VerbatimString { text, .. } => text,
        _ => return None,
    };
    text.lines().find_map(|line| line.strip_prefix(field))?.trim().parse().ok()
}
