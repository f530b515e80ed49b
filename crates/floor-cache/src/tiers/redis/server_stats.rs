//! The size of the Redis server, cached for reports, metrics and admission.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::future::join;
use redis::Value;
use tokio::runtime::Handle;

use super::connection::Connection;
use crate::{
    sync::Mutex,
    tier::{TierError, TierErrorKind, TierStats, UnknownStats},
};

/// Age at which the writer and the reports refresh the cached size.
const AGE: Duration = Duration::from_secs(5);

/// Pages refresh the cached size at most this often. They have an interval of their own: otherwise the first of many
/// writes would refresh it, and a page after the last one would show what the server had then.
const PAGE_INTERVAL: Duration = Duration::from_secs(1);

/// The longest that a page waits for the server, however long a query may take.
const MAX_PAGE_WAIT: Duration = Duration::from_millis(500);

#[derive(Debug, Clone)]
pub(super) struct ServerStats {
    connection: Connection,
    runtime: Handle,
    /// How long a page waits for the server.
    page_wait: Duration,
    last: Arc<Mutex<Last>>,
}

#[derive(Debug)]
struct Last {
    size: TierStats,
    asked: Option<Instant>,
    asked_for_page: Option<Instant>,
    /// Whether the last request for a page has no answer, or not yet.
    is_unanswered: bool,
}

impl Default for Last {
    fn default() -> Self {
        let size = TierStats { unknown: UnknownStats { entries: true, bytes: true }, ..TierStats::default() };
        Self { size, asked: None, asked_for_page: None, is_unanswered: false }
    }
}

impl ServerStats {
    /// The size of the server behind `connection`, whose queries have the deadline `timeout`.
    pub(super) fn new(connection: Connection, timeout: Duration, runtime: Handle) -> Self {
        Self { connection, runtime, page_wait: timeout.min(MAX_PAGE_WAIT), last: Arc::default() }
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

    /// Queries the server for a page, at most once per [`PAGE_INTERVAL`], and waits for its answer for a bounded time.
    /// Does not wait for a server that has not answered the page before.
    pub(super) async fn refresh_for_page(&self) {
        let Some(wait) = self.begin_page_refresh() else { return };
        let stats = self.clone();
        // Spawned, because a request that is dropped before its reply closes the connection.
        let answer = self.runtime.spawn(async move {
            let is_answered = stats.query().await;
            stats.last.lock().is_unanswered = !is_answered;
        });
        let _ = tokio::time::timeout(wait, answer).await;
    }

    /// How long a page waits for the query that it starts now; `None` if it starts none.
    fn begin_page_refresh(&self) -> Option<Duration> {
        let mut last = self.last.lock();
        if last.asked_for_page.is_some_and(|asked| asked.elapsed() < PAGE_INTERVAL) {
            return None;
        }
        let now = Instant::now();
        (last.asked, last.asked_for_page) = (Some(now), Some(now));
        let was_unanswered = std::mem::replace(&mut last.is_unanswered, true);
        Some(if was_unanswered { Duration::ZERO } else { self.page_wait })
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

    /// Asks the server for its size. `false` if it did not answer. A user may have the right to neither question.
    async fn query(&self) -> bool {
        const ACTION: &str = "ask redis for its size";
        let mut info = redis::cmd("INFO");
        info.arg("memory");
        let size = redis::cmd("DBSIZE");
        let (entries, memory) = join(self.connection.send(ACTION, &size), self.connection.send(ACTION, &info)).await;
        let is_answer = |answer: &Result<Value, TierError>| {
            answer.as_ref().map_or_else(|error| error.kind() == TierErrorKind::Refused, |_| true)
        };
        let mut last = self.last.lock();
        if is_answer(&entries) {
            let entries = entries.ok().and_then(|entries| redis::from_redis_value::<u64>(entries).ok());
            (last.size.entries, last.size.unknown.entries) = (entries.unwrap_or(0), entries.is_none());
        }
        if is_answer(&memory) {
            let figure = |field| memory.as_ref().ok().and_then(|memory| number(memory, field));
            let bytes = figure("used_memory:");
            (last.size.bytes, last.size.unknown.bytes) = (bytes.unwrap_or(0), bytes.is_none());
            last.size.limit = figure("maxmemory:").unwrap_or(0);
            return true;
        }
        false
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
