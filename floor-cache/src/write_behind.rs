//! Writes to a lower tier, behind the response: bounded, batched, and from a thread of their own.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::{FutureExt, future::BoxFuture};
use prometheus::IntCounterVec;
use tokio::{runtime::Handle, sync::oneshot};
use tracing::{debug, warn};

use crate::{
    envelope::MAX_VALUE,
    key::Key,
    report::WriteCounts,
    tier::{Tier, TierError, TierErrorKind},
};

/// Orders that may wait. Beyond it writes are dropped: every value can be made again. Other orders are always taken, since
/// whoever gives one counts on it; they are few.
const QUEUE: usize = 8192;

/// Bytes of values that may wait: about a quarter of a second of a fast disk.
const QUEUE_BYTES: usize = 64 << 20;

/// The most entries in one transaction or pipeline: enough to share the cost of a sync, few enough that a reader who
/// shares the tier waits a few milliseconds at most.
const BATCH: usize = 256;

/// How long a store in this process is not written to while more may come: a transaction costs about as much for fifty floors
/// as for one. Nobody waits for it. A tier across a network is written to at once, since what it is sent waits there.
const LINGER: Duration = Duration::from_millis(5);

/// The queue in front of one tier. Orders are carried out in the order in which they came.
#[derive(Debug)]
pub(crate) struct WriteBehind {
    commands: Sender<Command>,
    queued: Arc<Queued>,
    writes: Writes,
}

/// What has been ordered and is not carried out yet.
#[derive(Debug, Default)]
struct Queued {
    commands: AtomicUsize,
    /// Of values to be put.
    bytes: AtomicUsize,
}

enum Command {
    Put(Key, Bytes),
    /// Tells when the write before it was carried out, and whether the tier took it.
    Ack(oneshot::Sender<bool>),
    Remove(Vec<Key>, Done),
    Flush(Done),
    Compact(Done),
}

/// Where the end of an order is awaited.
type Done = oneshot::Sender<Result<(), TierError>>;

/// The end of an order that was given; it comes whether this is awaited or not.
pub(crate) type Completion = BoxFuture<'static, Result<(), TierError>>;

/// What became of the writes: `floors_tier_writes_total{tier,outcome}`.
#[derive(Debug, Clone)]
pub(crate) struct Writes {
    stored: prometheus::IntCounter,
    failed: prometheus::IntCounter,
    dropped: prometheus::IntCounter,
}

impl Writes {
    pub(crate) fn new(tier: &str, totals: &IntCounterVec) -> Self {
        let count = |outcome| totals.with_label_values(&[tier, outcome]);
        Self { stored: count("stored"), failed: count("failed"), dropped: count("dropped") }
    }
}

impl WriteBehind {
    /// Starts the thread that writes to `tier`. It ends when this is dropped and the queue is empty.
    pub(crate) fn start(tier: Arc<dyn Tier>, runtime: &Handle, writes: Writes) -> io::Result<Self> {
        let (commands, queue) = mpsc::channel();
        let queued = Arc::<Queued>::default();
        let writer = Writer {
            tier,
            runtime: runtime.clone(),
            queue,
            queued: queued.clone(),
            writes: writes.clone(),
            batch: Vec::with_capacity(BATCH),
            batch_bytes: 0,
            acks: Vec::new(),
            stored_last: true,
        };
        thread::Builder::new().name(format!("write-{}", writer.tier.name())).spawn(move || writer.run())?;
        Ok(Self { commands, queued, writes })
    }

    /// Has `value` written, or dropped and counted when too much waits already. Never waits.
    pub(crate) fn put(&self, key: Key, value: &Bytes) {
        if value.len() > MAX_VALUE {
            self.writes.failed.inc();
            return;
        }
        let bytes = self.queued.bytes.fetch_add(value.len(), Relaxed);
        let fits = bytes < QUEUE_BYTES && self.queued.commands.load(Relaxed) < QUEUE;
        if !fits || !self.send(Command::Put(key, value.clone())) {
            self.queued.bytes.fetch_sub(value.len(), Relaxed);
            self.writes.dropped.inc();
        }
    }

    /// Whether the tier took what was put last before this, once it was given it.
    pub(crate) fn written(&self) -> impl Future<Output = bool> + Send + use<> {
        let (ack, written) = oneshot::channel();
        // Not sent, it is dropped, and whoever awaits it is told so.
        self.send(Command::Ack(ack));
        async { written.await.unwrap_or(false) }
    }

    /// Removes `keys` after everything that is queued now, so that no queued write brings them back.
    pub(crate) fn remove(&self, keys: Vec<Key>) -> Completion {
        self.request(|done| Command::Remove(keys, done))
    }

    /// Has the tier give back what room it can, after everything that is queued now.
    pub(crate) fn compact(&self) -> Completion {
        self.request(Command::Compact)
    }

    /// What became of the writes so far, and how many wait.
    pub(crate) fn counts(&self) -> WriteCounts {
        let Writes { stored, failed, dropped } = &self.writes;
        WriteCounts {
            stored: stored.get(),
            failed: failed.get(),
            dropped: dropped.get(),
            waiting: self.queued.commands.load(Relaxed) as u64,
        }
    }

    /// Carries out and makes durable what is queued now; `false` when any of it was not taken, or that took longer than
    /// `deadline`.
    pub(crate) async fn flush(&self, deadline: tokio::time::Instant) -> bool {
        let failed = self.writes.failed.get();
        let flushed = tokio::time::timeout_at(deadline, self.request(Command::Flush)).await;
        matches!(flushed, Ok(Ok(()))) && self.writes.failed.get() == failed
    }

    /// Puts `command` in the queue, unless the writer has ended.
    fn send(&self, command: Command) -> bool {
        self.queued.commands.fetch_add(1, Relaxed);
        let sent = self.commands.send(command).is_ok();
        if !sent {
            self.queued.commands.fetch_sub(1, Relaxed);
        }
        sent
    }

    fn request(&self, command: impl FnOnce(Done) -> Command) -> Completion {
        let (done, finished) = oneshot::channel();
        self.send(command(done));
        // An error says that the writer ended, so nothing will be written that was not yet.
        let ended = |_| {
            TierError::new(TierErrorKind::Internal, "carry out an order to a tier", "the thread that writes has ended")
        };
        async move { finished.await.map_err(ended)? }.boxed()
    }
}

/// The thread's side.
struct Writer {
    tier: Arc<dyn Tier>,
    runtime: Handle,
    queue: Receiver<Command>,
    queued: Arc<Queued>,
    writes: Writes,
    batch: Vec<(Key, Bytes)>,
    batch_bytes: usize,
    /// Who is to be told what becomes of the batch.
    acks: Vec<oneshot::Sender<bool>>,
    /// Whether the tier took the last batch.
    stored_last: bool,
}

impl Writer {
    fn run(mut self) {
        while let Ok(command) = self.queue.recv() {
            let until = Instant::now() + LINGER;
            let mut next = Some(command);
            while let Some(command) = next.take() {
                self.queued.commands.fetch_sub(1, Relaxed);
                match command {
                    Command::Put(key, value) => self.add(key, value),
                    Command::Ack(ack) => self.acks.push(ack),
                    Command::Remove(keys, done) => {
                        self.write();
                        let removed = self.runtime.block_on(self.tier.remove_many(&keys));
                        self.log("remove", &removed);
                        let _ = done.send(removed);
                    }
                    Command::Flush(done) => {
                        self.write();
                        let flushed = self.runtime.block_on(self.tier.flush());
                        if let Err(error) = &flushed {
                            warn!(tier = self.tier.name(), %error, "what was written may not be durable");
                        }
                        let _ = done.send(flushed);
                    }
                    Command::Compact(done) => {
                        self.write();
                        let compacted = self.runtime.block_on(self.tier.compact());
                        self.log("compact", &compacted);
                        let _ = done.send(compacted);
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

    /// Adds to the batch, and writes it when it is full.
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

    /// Writes the batch, if there is one.
    fn write(&mut self) {
        if !self.batch.is_empty() {
            let written = self.runtime.block_on(self.tier.put_many(&self.batch));
            self.stored_last = written.is_ok();
            let count = if self.stored_last { &self.writes.stored } else { &self.writes.failed };
            count.inc_by(self.batch.len() as u64);
            self.queued.bytes.fetch_sub(self.batch_bytes, Relaxed);
            self.batch.clear();
            self.batch_bytes = 0;
            self.log("write", &written);
        }
        for ack in self.acks.drain(..) {
            let _ = ack.send(self.stored_last);
        }
    }

    fn log(&self, what: &str, result: &Result<(), TierError>) {
        if let Err(error) = result {
            debug!(tier = self.tier.name(), what, %error, "a tier took no write; going on without");
        }
    }
}
