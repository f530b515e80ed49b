//! Writes to a lower tier, behind the response: bounded, batched, and from a thread of their own.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

use async_channel::{Receiver, Sender};
use bytes::Bytes;
use prometheus::IntCounterVec;
use tokio::{runtime::Handle, sync::oneshot, time::Instant};
use tracing::debug;

use crate::{
    key::Key,
    report::WriteCounts,
    tier::{Tier, TierError, TierErrorKind},
};

/// Orders that may wait. Beyond it writes are dropped: every value can be made again.
const QUEUE: usize = 8192;

/// Bytes of values that may wait: about a quarter of a second of a fast disk.
const QUEUE_BYTES: usize = 64 << 20;

/// The most entries in one transaction or pipeline: enough to share the cost of a sync, few enough that a reader who
/// shares the tier waits a few milliseconds at most.
const BATCH: usize = 256;

/// The queue in front of one tier. Orders are carried out in the order in which they came.
#[derive(Debug)]
pub(crate) struct WriteBehind {
    orders: Sender<Order>,
    queued_bytes: Arc<AtomicUsize>,
    writes: Writes,
}

enum Order {
    Put(Key, Bytes),
    Remove(Vec<Key>, Done),
    Flush(Done),
    Compact(Done),
}

/// Where the end of an order is awaited.
type Done = oneshot::Sender<Result<(), TierError>>;

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
        let (orders, queue) = async_channel::bounded(QUEUE);
        let queued_bytes = Arc::new(AtomicUsize::new(0));
        let writer = Writer {
            tier,
            runtime: runtime.clone(),
            queue,
            queued_bytes: queued_bytes.clone(),
            writes: writes.clone(),
            batch: Vec::with_capacity(BATCH),
        };
        thread::Builder::new().name(format!("write-{}", writer.tier.name())).spawn(move || writer.run())?;
        Ok(Self { orders, queued_bytes, writes })
    }

    /// Has `value` written, or dropped and counted when too much waits already. Never waits.
    pub(crate) fn put(&self, key: Key, value: &Bytes) {
        let queued = self.queued_bytes.fetch_add(value.len(), Relaxed);
        let taken = queued < QUEUE_BYTES && self.orders.try_send(Order::Put(key, value.clone())).is_ok();
        if !taken {
            self.queued_bytes.fetch_sub(value.len(), Relaxed);
            self.writes.dropped.inc();
        }
    }

    /// Removes `keys` after everything that is queued now, so that no queued write brings them back. Returns when it
    /// is done.
    pub(crate) async fn remove(&self, keys: Vec<Key>) -> Result<(), TierError> {
        self.order(|done| Order::Remove(keys, done)).await
    }

    /// Has the tier give back what room it can, after everything that is queued now. Returns when it is done.
    pub(crate) async fn compact(&self) -> Result<(), TierError> {
        self.order(Order::Compact).await
    }

    /// What became of the writes so far, and how many wait.
    pub(crate) fn counts(&self) -> WriteCounts {
        let Writes { stored, failed, dropped } = &self.writes;
        WriteCounts {
            stored: stored.get(),
            failed: failed.get(),
            dropped: dropped.get(),
            waiting: self.orders.len() as u64,
        }
    }

    /// Carries out and makes durable what is queued now; `false` when that took longer than `deadline`.
    pub(crate) async fn flush(&self, deadline: Instant) -> bool {
        tokio::time::timeout_at(deadline, self.order(Order::Flush)).await.is_ok()
    }

    async fn order(&self, order: impl FnOnce(Done) -> Order) -> Result<(), TierError> {
        let (done, finished) = oneshot::channel();
        // An error says that the writer ended, so nothing will be written that was not yet.
        let ended = |what| TierError::new(TierErrorKind::Internal, what, "the thread that writes has ended");
        self.orders.send(order(done)).await.map_err(|_| ended("give an order to a tier"))?;
        finished.await.map_err(|_| ended("carry out an order to a tier"))?
    }
}

/// The thread's side.
struct Writer {
    tier: Arc<dyn Tier>,
    runtime: Handle,
    queue: Receiver<Order>,
    queued_bytes: Arc<AtomicUsize>,
    writes: Writes,
    batch: Vec<(Key, Bytes)>,
}

impl Writer {
    fn run(mut self) {
        while let Ok(order) = self.queue.recv_blocking() {
            let mut next = Some(order);
            while let Some(order) = next.take() {
                match order {
                    Order::Put(key, value) => {
                        self.batch.push((key, value));
                        if self.batch.len() == BATCH {
                            self.write();
                        }
                    }
                    Order::Remove(keys, done) => {
                        self.write();
                        let removed = self.runtime.block_on(self.tier.remove_many(&keys));
                        self.log("remove", &removed);
                        let _ = done.send(removed);
                    }
                    Order::Flush(done) => {
                        self.write();
                        let flushed = self.runtime.block_on(self.tier.flush());
                        self.log("flush", &flushed);
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
            }
            self.write();
        }
    }

    /// Writes the batch, if there is one.
    fn write(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let written = self.runtime.block_on(self.tier.put_many(&self.batch));
        let count = if written.is_ok() { &self.writes.stored } else { &self.writes.failed };
        count.inc_by(self.batch.len() as u64);
        self.queued_bytes.fetch_sub(self.batch.iter().map(|(_, value)| value.len()).sum(), Relaxed);
        self.batch.clear();
        self.log("write", &written);
    }

    fn log(&self, what: &str, result: &Result<(), TierError>) {
        if let Err(error) = result {
            debug!(tier = self.tier.name(), what, %error, "a tier took no write; going on without");
        }
    }
}
