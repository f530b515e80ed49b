//! The commands of the Redis tier and the handling of their replies.

use std::{
    fmt, slice,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use bytes::Bytes;
use redis::{Cmd, Pipeline, RedisError, Value};
use tokio::runtime::Handle;
use tracing::debug;

use super::{
    NAME,
    connection::{Connection, ThreadConnections},
    connector, scan,
    server_stats::ServerStats,
};
use crate::{
    config::RedisConfig,
    envelope::{Defect, Envelope, StoredKey, StoredPattern},
    key::{Key, KeyPattern},
    layers::Timeouts,
    open_error::OpenError,
    tier::{Answer, RemovedBatch, ScanPosition, Tier, TierAdmin, TierError, TierErrorKind, TierStats},
    tiers::pending_deletes::PendingDeletes,
};

/// A tier in a Redis server or cluster.
///
/// The reads of a [thread that serves calls](crate::core_thread) share one connection, all other reads another, and all
/// writes a third. Each connects when it is first used and reconnects after a failure. A reader therefore neither waits
/// behind a large write nor loses its connection to a slow one. A read is one `MGET`, a write one pipeline of `SET`s.
pub struct RedisTier {
    reads: ThreadConnections,
    writes: Connection,
    url: String,
    envelope: Envelope,
    corrupt: AtomicU64,
    pending_deletes: PendingDeletes,
    server_stats: ServerStats,
}

/// Bytes of values in one pipeline: a tenth of a second of a slow network, and less time on the server.
const PIPELINE: usize = 1 << 20;

/// Deadline of connecting. Longer than a caller waits, because later calls use the new connection.
const MIN_CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

impl RedisTier {
    /// A tier for `config.url`. It connects at its first request.
    ///
    /// # Errors
    /// When the URL is invalid, or the TLS options do not fit it.
    pub fn open(config: &RedisConfig, envelope: Envelope, runtime: &Handle) -> Result<Self, OpenError> {
        let url = connector::check(config)?;
        let unusable = |error: RedisError| invalid_url(config, &error);
        // Callers see the deadlines of the tier. These timeouts end requests that no caller waits for.
        let connection = |reply_timeout| {
            Connection::new(&url, config, MIN_CONNECT_TIMEOUT.max(config.timeout), reply_timeout, runtime.clone())
        };
        let reads = connection(config.timeout).map_err(unusable)?;
        let writes = connection(Timeouts::new(config.timeout).change).map_err(unusable)?;
        let server_stats = ServerStats::new(reads.clone(), config.timeout, runtime.clone());
        Ok(Self {
            reads: ThreadConnections::new(reads),
            writes,
            url: config.redacted_url(),
            envelope,
            corrupt: AtomicU64::new(0),
            pending_deletes: PendingDeletes::default(),
            server_stats,
        })
    }

    /// Checks the URL and the TLS options without connecting.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn check(config: &RedisConfig) -> Result<(), OpenError> {
        let url = connector::check(config)?;
        Connection::check(&url, config).map_err(|error| invalid_url(config, &error))
    }

    /// Uses `MGET` also for one key: for a key with a value that is not a string it replies nil, which is a miss. In a
    /// cluster each key has a command of its own, since hardly two of them are in the same slot.
    async fn read(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, TierError> {
        const ACTION: &str = "read from redis";
        let connection = self.reads.here();
        let replies = if keys.len() > 1 && connection.is_cluster() {
            let mut pipeline = Pipeline::with_capacity(keys.len());
            for key in keys {
                pipeline.add_command(self.mget(slice::from_ref(key)));
            }
            connection.send_all(ACTION, &pipeline).await?
        } else if keys.is_empty() {
            Vec::new()
        } else {
            vec![connection.send(ACTION, &self.mget(keys)).await?]
        };
        let mut values = Vec::with_capacity(keys.len());
        for reply in replies {
            match reply {
                Value::Array(replies) => values.extend(replies),
                other => {
                    return Err(TierError::new(
                        TierErrorKind::Internal,
                        ACTION,
                        format!("it sent {}", kind_of(&other)),
                    ));
                }
            }
        }
        if values.len() != keys.len() {
            let reason = format!("it sent {} values for {} keys", values.len(), keys.len());
            return Err(TierError::new(TierErrorKind::Internal, ACTION, reason));
        }
        Ok(keys.iter().zip(values).map(|(key, reply)| self.opened(key, reply)).collect())
    }

    fn mget(&self, keys: &[Key]) -> Cmd {
        let mut command = redis::cmd("MGET");
        for key in keys {
            command.arg(self.envelope.stored(key).as_bytes());
        }
        command
    }

    /// The value in `reply` to a request for `key`.
    fn opened(&self, key: &Key, reply: Value) -> Option<Bytes> {
        let stored = self.envelope.stored(key);
        let defect = match reply {
            Value::Nil => return None,
            Value::BulkString(envelope) => match self.envelope.open_owned(&stored, envelope) {
                Ok(value) => return Some(value),
                Err(Defect::UnknownKey) => return None,
                Err(defect) => defect.to_string(),
            },
            other => format!("the server sent {}", kind_of(&other)),
        };
        debug!(tier = NAME, %key, %defect, "a stored value is wrong; it will be removed");
        self.corrupt.fetch_add(1, Relaxed);
        self.pending_deletes.add(stored);
        None
    }

    /// The pipeline that writes `entries`.
    fn sealed(&self, entries: &[(Key, Bytes)]) -> Pipeline {
        let mut pipeline = Pipeline::with_capacity(entries.len());
        let mut record = Vec::new();
        for (key, value) in entries {
            let stored = self.envelope.stored(key);
            record.clear();
            match self.envelope.seal(&stored, value, &mut record) {
                Ok(()) => {
                    pipeline.set(stored.as_bytes(), record.as_slice());
                }
                Err(defect) => debug!(tier = NAME, %key, %defect, "a value cannot be stored"),
            }
        }
        pipeline
    }

    async fn write(&self, pipeline: Pipeline) -> Result<(), TierError> {
        const ACTION: &str = "write to redis";
        self.remove_pending().await?;
        if !pipeline.is_empty() {
            self.writes.send_all(ACTION, &pipeline).await?;
        }
        self.server_stats.refresh().await;
        Ok(())
    }

    async fn remove_pending(&self) -> Result<(), TierError> {
        let pending = self.pending_deletes.take();
        self.unlink(pending.keys()).await?;
        pending.removed();
        Ok(())
    }

    /// Removes `keys` and returns how many there were.
    async fn unlink<'k>(&self, keys: impl ExactSizeIterator<Item = &'k [u8]>) -> Result<u64, TierError> {
        const ACTION: &str = "remove from redis";
        if keys.len() == 0 {
            return Ok(0);
        }
        let mut command = redis::cmd("UNLINK");
        keys.for_each(|key| {
            command.arg(key);
        });
        let removed = self.writes.send(ACTION, &command).await?;
        Ok(if let Value::Int(count) = removed { u64::try_from(count).unwrap_or(0) } else { 0 })
    }

    /// Removes the keys of one step of a scan for `pattern`; of the first step of each master if it begins.
    async fn remove_batch(
        &self,
        pattern: StoredPattern,
        from: Option<&ScanPosition>,
    ) -> Result<RemovedBatch, TierError> {
        const ACTION: &str = "scan redis";
        let (mut scans, replies) = match from {
            None => (Vec::new(), self.writes.send_to_masters(ACTION, &scan::step("0", &pattern)).await?),
            Some(position) => {
                let mut scans = scan::from_position(position);
                let Some((node, cursor)) = scans.pop() else { return Ok(RemovedBatch { entries: 0, next: None }) };
                let reply = self.writes.send_to_master(ACTION, &scan::step(&cursor, &pattern), &node).await?;
                (scans, vec![(node, reply)])
            }
        };
        let mut entries = 0;
        for (node, reply) in replies {
            let found = scan::found(reply).ok_or_else(|| {
                TierError::new(TierErrorKind::Internal, ACTION, "it sent no cursor with keys".to_owned())
            })?;
            // A glob of bytes that are special to it may match more.
            let keys: Vec<_> = found.keys.iter().map(Vec::as_slice).filter(|key| pattern.matches(key)).collect();
            entries += self.unlink(keys.into_iter()).await?;
            scans.extend(found.cursor.map(|cursor| (node, cursor)));
        }
        Ok(RemovedBatch { entries, next: scan::position(&scans) })
    }
}

const fn kind_of(reply: &Value) -> &'static str {
    match reply {
        Value::Int(_) => "an integer",
        Value::Array(_) => "an array",
        Value::SimpleString(_) | Value::Okay => "a status",
        Value::ServerError(_) => "an error",
        _ => "something else",
    }
}

fn invalid_url(config: &RedisConfig, error: &RedisError) -> OpenError {
    // The library may name parts of the URL in what it says beside the kind of an error.
    OpenError::RedisUrl {
        url: config.redacted_url(),
        reason: format!("{}; {}", error.category(), RedisConfig::EXPECTED_URL),
    }
}

impl Tier for RedisTier {
    fn name(&self) -> &'static str {
        NAME
    }

    fn waits(&self) -> bool {
        true
    }

    fn get<'a>(&'a self, key: &'a Key) -> Answer<'a, Option<Bytes>> {
        Answer::later(async move { Ok(self.read(slice::from_ref(key)).await?.pop().flatten()) })
    }

    fn get_many<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, Vec<Option<Bytes>>> {
        Answer::later(self.read(keys))
    }

    fn put_many<'a>(&'a self, entries: &'a [(Key, Bytes)]) -> Answer<'a, ()> {
        // Sealed before the deadline of the write starts.
        Answer::later(self.write(self.sealed(entries)))
    }

    fn batch_bytes(&self) -> usize {
        PIPELINE
    }

    fn remove_many<'a>(&'a self, keys: &'a [Key]) -> Answer<'a, ()> {
        Answer::later(async move {
            let stored: Vec<StoredKey> = keys.iter().map(|key| self.envelope.stored(key)).collect();
            self.remove_pending().await?;
            self.unlink(stored.iter().map(StoredKey::as_bytes)).await.map(drop)
        })
    }

    fn flush(&self) -> Answer<'_, ()> {
        Answer::later(self.remove_pending())
    }
}

impl TierAdmin for RedisTier {
    fn contains<'a>(&'a self, key: &'a Key) -> Answer<'a, bool> {
        Answer::later(async move {
            // One byte tells a value and a missing key apart.
            let mut command = redis::cmd("GETRANGE");
            command.arg(self.envelope.stored(key).as_bytes()).arg(0).arg(0);
            let start = self.reads.here().send("look in redis", &command).await?;
            Ok(matches!(start, Value::BulkString(start) if !start.is_empty()))
        })
    }

    fn remove_matching<'a>(
        &'a self,
        pattern: &'a KeyPattern,
        from: Option<&'a ScanPosition>,
    ) -> Answer<'a, RemovedBatch> {
        Answer::later(self.remove_batch(self.envelope.stored_pattern(pattern), from))
    }

    fn stats(&self) -> TierStats {
        TierStats { corrupt: self.corrupt.load(Relaxed), ..self.server_stats.last_known() }
    }

    fn refresh_stats(&self) -> Answer<'_, ()> {
        Answer::later(async move {
            self.server_stats.refresh_for_page().await;
            Ok(())
        })
    }
}

impl fmt::Debug for RedisTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisTier").field("url", &self.url).finish_non_exhaustive()
    }
}
