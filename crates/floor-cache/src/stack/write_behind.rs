//! The write-behind queue of a lower tier: bounded, and written in batches by its own thread, which also decides what a
//! nearly full tier admits.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::{FutureExt, future::BoxFuture};
use tokio::{runtime::Handle, sync::oneshot};
use tracing::{debug, warn};

use super::{
    admission::{Admission, WriteReason},
    write_failures::WriteFailures,
};
use crate::{
    envelope::MAX_VALUE,
    histogram::Counter,
    key::{Key, KeyPattern},
    report::WriteCounts,
    tier::{RemovedBatch, ScanPosition, Tier, TierError, TierErrorKind},
};

/// Bytes of queued values for each command that may be queued: 8,192 commands for 64 MiB.
const BYTES_PER_COMMAND: usize = 8 << 10;

/// Values that memory serves are queued only while fewer than one in this of the commands that may be queued are, so that
/// they displace no other write.
const SHORT_QUEUE_PART: usize = 8;

/// Most entries in one transaction or pipeline: enough to share the cost of a sync, few enough that a reader of the
/// same tier waits a few milliseconds at most.
const BATCH: usize = 256;

/// How long the writer waits for more entries before it writes to a store in this process: a transaction costs about as
/// much for fifty values as for one. A remote tier is written to at once.
const LINGER: Duration = Duration::from_millis(5);

/// The queue of one tier. Commands run in the order in which they were sent.
#[derive(Debug)]
pub(crate) struct WriteBehind {
    commands: Sender<Command>,
    limits: QueueLimits,
    queued: Arc<Queued>,
    writes: Arc<Writes>,
}

/// Beyond these, writes are dropped, since every value can be generated again. Other commands are always queued: they are
/// few, and their callers wait for them.
#[derive(Debug, Clone, Copy)]
struct QueueLimits {
    commands: usize,
    /// Bytes of values.
    bytes: usize,
}

impl QueueLimits {
    /// Those of a queue for values of so many bytes. A batch always fits.
    fn new(bytes: usize) -> Self {
        Self { commands: (bytes / BYTES_PER_COMMAND).max(BATCH), bytes }
    }
}

/// Commands that are queued, and the state of the tier behind them.
#[derive(Debug, Default)]
struct Queued {
    commands: AtomicUsize,
    /// Bytes of queued values.
    bytes: AtomicUsize,
    /// Whether the tier was nearly full when the writer last read its size.
    is_tier_nearly_full: AtomicBool,
}

enum Command {
    Put(Key, Bytes, WriteReason),
    Remove(Vec<Key>, Done),
    RemoveMatching(KeyPattern, Option<ScanPosition>, Done<RemovedBatch>),
    Flush(Done),
    Compact(Done),
}

/// Where the result of a command is sent.
type Done<T = ()> = oneshot::Sender<Result<T, TierError>>;

/// The result of a command. The command runs whether or not this is awaited.
pub(crate) type Completion<T = ()> = BoxFuture<'static, Result<T, TierError>>;

/// Writes by outcome.
#[derive(Debug, Default)]
struct Writes {
    stored: Counter,
    failed: Counter,
    dropped: Counter,
    refused: Counter,
}

impl WriteBehind {
    /// Starts the writer thread of `tier`, with a queue for values of `queue_bytes`. It ends when this is dropped and the
    /// queue is empty.
    pub(crate) fn start(tier: Arc<dyn Tier>, queue_bytes: usize, runtime: &Handle) -> io::Result<Self> {
        let writes = Arc::<Writes>::default();
        let (commands, queue) = mpsc::channel();
        let queued = Arc::<Queued>::default();
        let writer = Writer {
            tier,
            runtime: runtime.clone(),
            queue,
            queued: queued.clone(),
            writes: writes.clone(),
            admission: Admission::new(),
            batch: Vec::with_capacity(BATCH),
            batch_bytes: 0,
            failures: WriteFailures::default(),
        };
        thread::Builder::new().name(format!("write-{}", writer.tier.name())).spawn(move || writer.run())?;
        Ok(Self { commands, limits: QueueLimits::new(queue_bytes), queued, writes })
    }

    /// Queues `value`, or drops and counts it if the queue is full. Never waits. A nearly full tier may refuse it,
    /// depending on `reason`.
    pub(crate) fn put(&self, key: Key, value: &Bytes, reason: WriteReason) {
        if value.len() > MAX_VALUE {
            self.writes.failed.add(1);
            return;
        }
        let bytes = self.queued.bytes.fetch_add(value.len(), Relaxed);
        let fits = bytes < self.limits.bytes && self.queued.commands.load(Relaxed) < self.limits.commands;
        if !fits || !self.send(Command::Put(key, value.clone(), reason)) {
            self.queued.bytes.fetch_sub(value.len(), Relaxed);
            self.writes.dropped.add(1);
        }
    }

    /// Queues `value`, which a memory tier serves, if the tier is nearly full and the queue is short. Never waits.
    pub(crate) fn keep(&self, key: Key, value: &Bytes) {
        let short = self.limits.commands / SHORT_QUEUE_PART;
        if self.queued.is_tier_nearly_full.load(Relaxed) && self.queued.commands.load(Relaxed) < short {
            self.put(key, value, WriteReason::Popular);
        }
    }

    /// Removes `keys` after everything that is queued now, so that no queued write restores them.
    pub(crate) fn remove(&self, keys: Vec<Key>) -> Completion {
        self.request(|done| Command::Remove(keys, done))
    }

    /// Removes a batch of the entries that match `pattern`, as [`TierAdmin::remove_matching`](crate::TierAdmin::remove_matching)
    /// does, after everything that is queued now.
    pub(crate) fn remove_matching(&self, pattern: KeyPattern, from: Option<ScanPosition>) -> Completion<RemovedBatch> {
        self.request(|done| Command::RemoveMatching(pattern, from, done))
    }

    /// Compacts the tier after everything that is queued now.
    pub(crate) fn compact(&self) -> Completion {
        self.request(Command::Compact)
    }

    /// The writes so far by outcome, and the queue length.
    pub(crate) fn counts(&self) -> WriteCounts {
        let Writes { stored, failed, dropped, refused } = &*self.writes;
        WriteCounts {
            stored: stored.get(),
            failed: failed.get(),
            dropped: dropped.get(),
            refused: refused.get(),
            waiting: self.queued.commands.load(Relaxed) as u64,
        }
    }

    /// Writes what is queued now and makes it durable. `false` if a write failed or `deadline` passed.
    pub(crate) async fn flush(&self, deadline: tokio::time::Instant) -> bool {
        let failed = self.writes.failed.get();
        let flushed = tokio::time::timeout_at(deadline, self.request(Command::Flush)).await;
        matches!(flushed, Ok(Ok(()))) && self.writes.failed.get() == failed
    }

    /// Queues `command`; `false` if the writer has ended.
    fn send(&self, command: Command) -> bool {
        self.queued.commands.fetch_add(1, Relaxed);
        let sent = self.commands.send(command).is_ok();
        if !sent {
            self.queued.commands.fetch_sub(1, Relaxed);
        }
        sent
    }

    fn request<T: Send + 'static>(&self, command: impl FnOnce(Done<T>) -> Command) -> Completion<T> {
        let (done, finished) = oneshot::channel();
        self.send(command(done));
        // The channel closes when the writer ends. It writes nothing after that.
        let ended =
            |_| TierError::new(TierErrorKind::Internal, "run a command on a tier", "the writer thread has ended");
        async move { finished.await.map_err(ended)? }.boxed()
    }
}

/// The state of the writer thread.
struct Writer {
    tier: Arc<dyn Tier>,
    runtime: Handle,
    queue: Receiver<Command>,
    queued: Arc<Queued>,
    writes: Arc<Writes>,
    admission: Admission,
    batch: Vec<(Key, Bytes)>,
    batch_bytes: usize,
    failures: WriteFailures,
}

impl Writer {
    fn run(mut self) {
        // A remote tier is asked for its size after its first write, because the size before it says little.
        if !self.tier.waits() {
            self.update_admission();
        }
        while let Ok(command) = self.queue.recv() {
            let until = Instant::now() + LINGER;
            let mut next = Some(command);
            while let Some(command) = next.take() {
                self.queued.commands.fetch_sub(1, Relaxed);
                match command {
                    Command::Put(key, value, reason) => self.offer(key, value, reason),
                    Command::Remove(keys, done) => {
                        self.write();
                        let removed = self.runtime.block_on(self.tier.remove_many(&keys));
                        self.log("remove", &removed);
                        self.notice_room();
                        let _ = done.send(removed);
                    }
                    Command::RemoveMatching(pattern, from, done) => {
                        self.write();
                        let removed = self.runtime.block_on(self.tier.remove_matching(&pattern, from.as_ref()));
                        self.log("remove by pattern", &removed);
                        self.notice_room();
                        let _ = done.send(removed);
                    }
                    Command::Flush(done) => {
                        self.write();
                        let flushed = self.runtime.block_on(self.tier.flush());
                        if let Err(error) = &flushed {
                            warn!(tier = self.tier.name(), %error, "a flush failed; recent writes may not be durable");
                        }
                        let _ = done.send(flushed);
                    }
                    Command::Compact(done) => {
                        self.write();
                        let flushed = self.runtime.block_on(self.tier.flush());
                        self.log("compact", &flushed);
                        self.notice_room();
                        let _ = done.send(flushed);
                    }
                }
                next = self.queue.try_recv().ok();
                if next.is_none() && !self.batch.is_empty() && !self.tier.waits() {
                    next = self.queue.recv_timeout(until.saturating_duration_since(Instant::now())).ok();
                }
            }
            self.write();
        }
    }

    /// Adds an entry to the batch if the tier admits it.
    fn offer(&mut self, key: Key, value: Bytes, reason: WriteReason) {
        if self.admission.needs_update() {
            self.update_admission();
        }
        if self.admission.admits(&key, value.len(), reason) {
            return self.add(key, value);
        }
        self.queued.bytes.fetch_sub(value.len(), Relaxed);
        if reason == WriteReason::Missed {
            self.writes.refused.add(1);
        }
    }

    /// Reads the size of a nearly full tier again, which may have room now.
    fn notice_room(&mut self) {
        if self.admission.is_nearly_full() {
            self.update_admission();
        }
    }

    /// Reads the size of the tier.
    fn update_admission(&mut self) {
        self.admission.update(self.tier.stats(), !self.tier.waits());
        self.queued.is_tier_nearly_full.store(self.admission.is_nearly_full(), Relaxed);
    }

    /// Adds an entry to the batch and writes the batch when it is full.
    fn add(&mut self, key: Key, value: Bytes) {
        if self.batch_bytes + value.len() > self.tier.batch_bytes() {
            self.write();
        }
        self.batch_bytes += value.len();
        self.batch.push((key, value));
        if self.batch.len() == BATCH {
            self.write();
        }
    }

    /// Writes the batch, if any.
    fn write(&mut self) {
        if !self.batch.is_empty() {
            let written = self.runtime.block_on(self.tier.put_many(&self.batch));
            let count = if written.is_ok() { &self.writes.stored } else { &self.writes.failed };
            count.add(self.batch.len() as u64);
            self.queued.bytes.fetch_sub(self.batch_bytes, Relaxed);
            let (name, directory) = (self.tier.name(), self.tier.directory());
            self.failures.log(name, directory, self.batch.len(), &written, Instant::now());
            self.batch.clear();
            self.batch_bytes = 0;
            self.log("write", &written);
            if written.is_ok() {
                self.update_admission();
            }
        }
    }

    fn log<T>(&self, what: &str, result: &Result<T, TierError>) {
        if let Err(error) = result {
            debug!(tier = self.tier.name(), what, %error, "a tier failed a command; the chain continues without it");
        }
    }
}
