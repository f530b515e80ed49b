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
    orders: Sender<Order>,
    waiting: Arc<Waiting>,
    writes: Writes,
}

/// What has been ordered and is not carried out yet.
#[derive(Debug, Default)]
struct Waiting {
    orders: AtomicUsize,
    /// Of values to be put.
    bytes: AtomicUsize,
}

enum Order {
    Put(Key, Bytes),
    /// Tells when the write before it was carried out, and whether the tier took it.
    Tell(oneshot::Sender<bool>),
    Remove(Vec<Key>, Done),
    Flush(Done),
    Compact(Done),
}

/// Where the end of an order is awaited.
type Done = oneshot::Sender<Result<(), TierError>>;

/// The end of an order that was given; it comes whether this is awaited or not.
pub(crate) type Carried = BoxFuture<'static, Result<(), TierError>>;

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
        let (orders, queue) = mpsc::channel();
        let waiting = Arc::<Waiting>::default();
        let writer = Writer {
            tier,
            runtime: runtime.clone(),
            queue,
            waiting: waiting.clone(),
            writes: writes.clone(),
            batch: Vec::with_capacity(BATCH),
            batch_bytes: 0,
            told: Vec::new(),
            took: true,
        };
        thread::Builder::new().name(format!("write-{}", writer.tier.name())).spawn(move || writer.run())?;
        Ok(Self { orders, waiting, writes })
    }

    /// Has `value` written, or dropped and counted when too much waits already. Never waits.
    pub(crate) fn put(&self, key: Key, value: &Bytes) {
        if value.len() > MAX_VALUE {
            self.writes.failed.inc();
            return;
        }
        let bytes = self.waiting.bytes.fetch_add(value.len(), Relaxed);
        let has_room = bytes < QUEUE_BYTES && self.waiting.orders.load(Relaxed) < QUEUE;
        if !has_room || !self.give(Order::Put(key, value.clone())) {
            self.waiting.bytes.fetch_sub(value.len(), Relaxed);
            self.writes.dropped.inc();
        }
    }

    /// Whether the tier took what was put last before this, once it was given it.
    pub(crate) fn written(&self) -> impl Future<Output = bool> + Send + use<> {
        let (told, written) = oneshot::channel();
        // Not sent, it is dropped, and whoever awaits it is told so.
        self.give(Order::Tell(told));
        async { written.await.unwrap_or(false) }
    }

    /// Removes `keys` after everything that is queued now, so that no queued write brings them back.
    pub(crate) fn remove(&self, keys: Vec<Key>) -> Carried {
        self.order(|done| Order::Remove(keys, done))
    }

    /// Has the tier give back what room it can, after everything that is queued now.
    pub(crate) fn compact(&self) -> Carried {
        self.order(Order::Compact)
    }

    /// What became of the writes so far, and how many wait.
    pub(crate) fn counts(&self) -> WriteCounts {
        let Writes { stored, failed, dropped } = &self.writes;
        WriteCounts {
            stored: stored.get(),
            failed: failed.get(),
            dropped: dropped.get(),
            waiting: self.waiting.orders.load(Relaxed) as u64,
        }
    }

    /// Carries out and makes durable what is queued now; `false` when any of it was not taken, or that took longer than
    /// `deadline`.
    pub(crate) async fn flush(&self, deadline: tokio::time::Instant) -> bool {
        let failed = self.writes.failed.get();
        let flushed = tokio::time::timeout_at(deadline, self.order(Order::Flush)).await;
        matches!(flushed, Ok(Ok(()))) && self.writes.failed.get() == failed
    }

    /// Puts `order` in the queue, unless the writer has ended.
    fn give(&self, order: Order) -> bool {
        self.waiting.orders.fetch_add(1, Relaxed);
        let given = self.orders.send(order).is_ok();
        if !given {
            self.waiting.orders.fetch_sub(1, Relaxed);
        }
        given
    }

    fn order(&self, order: impl FnOnce(Done) -> Order) -> Carried {
        let (done, finished) = oneshot::channel();
        self.give(order(done));
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
    queue: Receiver<Order>,
    waiting: Arc<Waiting>,
    writes: Writes,
    batch: Vec<(Key, Bytes)>,
    batch_bytes: usize,
    /// Who is to be told what becomes of the batch.
    told: Vec<oneshot::Sender<bool>>,
    /// Whether the tier took the last batch.
    took: bool,
}

impl Writer {
    fn run(mut self) {
        while let Ok(order) = self.queue.recv() {
            let until = Instant::now() + LINGER;
            let mut next = Some(order);
            while let Some(order) = next.take() {
                self.waiting.orders.fetch_sub(1, Relaxed);
                match order {
                    Order::Put(key, value) => self.add(key, value),
                    Order::Tell(told) => self.told.push(told),
                    Order::Remove(keys, done) => {
                        self.write();
                        let removed = self.runtime.block_on(self.tier.remove_many(&keys));
                        self.log("remove", &removed);
                        let _ = done.send(removed);
                    }
                    Order::Flush(done) => {
                        self.write();
                        let flushed = self.runtime.block_on(self.tier.flush());
                        if let Err(error) = &flushed {
                            warn!(tier = self.tier.name(), %error, "what was written may not be durable");
                        }
                        let _ = done.send(flushed);
                    }
                    Order::Compact(done) => {
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
            self.took = written.is_ok();
            let count = if self.took { &self.writes.stored } else { &self.writes.failed };
            count.inc_by(self.batch.len() as u64);
            self.waiting.bytes.fetch_sub(self.batch_bytes, Relaxed);
            self.batch.clear();
            self.batch_bytes = 0;
            self.log("write", &written);
        }
        for told in self.told.drain(..) {
            let _ = told.send(self.took);
        }
    }

    fn log(&self, what: &str, result: &Result<(), TierError>) {
        if let Err(error) = result {
            debug!(tier = self.tier.name(), what, %error, "a tier took no write; going on without");
        }
    }
}
