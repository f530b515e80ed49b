//! A source whose values follow from their keys, and which counts, waits and breaks as a test tells it to.

use std::{
    panic,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

use bytes::Bytes;
use floor_cache::{Class, Key, Made, Priority, Source, SourceError};
use futures_util::{FutureExt, future::BoxFuture};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

/// Grinds keys into values.
#[derive(Debug)]
pub(crate) struct Mill {
    ground: AtomicU64,
    gate: Arc<Semaphore>,
    cost: Mutex<Duration>,
    mood: Mutex<Mood>,
    /// Values that are ground at the same time.
    workers: Arc<Semaphore>,
}

/// As many values as a test asks for are ground at the same time, but for a serial mill.
const MANY: usize = 1024;

/// What the mill does with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Mood {
    #[default]
    Grind,
    /// Waits until [`Mill::open`].
    Wait,
    Fail,
    /// Waits until [`Mill::open`], and then fails.
    WaitAndFail,
    /// Keeps what nobody waits for until [`Mill::open`], and then turns it away; grinds what a caller waits for.
    TurnBackgroundAway,
    /// Panics on the key alone.
    PanicOn(Key),
    /// The same, and has all others wait until [`Mill::open`].
    WaitAndPanicOn(Key),
}

impl Default for Mill {
    fn default() -> Self {
        Self {
            ground: AtomicU64::new(0),
            gate: Arc::new(Semaphore::new(0)),
            cost: Mutex::new(Duration::from_micros(300)),
            mood: Mutex::default(),
            workers: Arc::new(Semaphore::new(MANY)),
        }
    }
}

/// The value of `key`: bytes that no other key has, as many as the key's first word says, of 1 to 4,000.
pub(crate) fn value_of(key: &Key) -> Bytes {
    let number = u64::from_le_bytes(key.as_bytes()[..8].try_into().expect("eight bytes"));
    let len = 1 + (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize % 4000;
    key.as_bytes().iter().copied().cycle().enumerate().map(|(i, byte)| byte ^ (i / 24) as u8).take(len).collect()
}

impl Mill {
    /// Grinds one value at a time.
    pub(crate) fn serial() -> Self {
        Self { workers: Arc::new(Semaphore::new(1)), ..Self::default() }
    }

    /// How many values it has begun to make.
    pub(crate) fn ground(&self) -> u64 {
        self.ground.load(SeqCst)
    }

    pub(crate) fn set(&self, mood: Mood) {
        *self.mood.lock() = mood;
    }

    /// What a value costs to make; above a millisecond, the mill also takes that long.
    pub(crate) fn set_cost(&self, cost: Duration) {
        *self.cost.lock() = cost;
    }

    /// Lets all go on that wait, and come after.
    pub(crate) fn open(&self) {
        self.set(Mood::Grind);
        self.gate.add_permits(Semaphore::MAX_PERMITS / 2);
    }
}

impl Source for Mill {
    fn generate(&self, key: Key, priority: Priority) -> BoxFuture<'static, Result<Made, SourceError>> {
        self.ground.fetch_add(1, SeqCst);
        let cost = *self.cost.lock();
        let made = move || Ok(Made { value: value_of(&key), took: cost, cpu: cost });
        let mood = *self.mood.lock();
        let workers = self.workers.clone();
        match mood {
            Mood::Grind => async move {
                let _worker = workers.acquire_owned().await;
                if cost >= Duration::from_millis(1) {
                    tokio::time::sleep(cost).await;
                }
                made()
            }
            .boxed(),
            Mood::Fail => {
                let busy = SourceError::Busy { queued: 1024, retry_after: Duration::from_millis(10) };
                std::future::ready(Err(busy)).boxed()
            }
            Mood::WaitAndFail => {
                let gate = self.gate.clone();
                async move {
                    let _through = gate.acquire_owned().await;
                    Err(SourceError::Failed { key, reason: "the stone split".to_owned() })
                }
                .boxed()
            }
            Mood::TurnBackgroundAway if priority == Priority::Background => {
                let gate = self.gate.clone();
                async move {
                    let _through = gate.acquire_owned().await;
                    Err(SourceError::Busy { queued: 64, retry_after: Duration::from_millis(10) })
                }
                .boxed()
            }
            Mood::TurnBackgroundAway => async move { made() }.boxed(),
            Mood::PanicOn(bad) | Mood::WaitAndPanicOn(bad) if bad == key => {
                async move { panic::resume_unwind(Box::new("the stone split")) }.boxed()
            }
            Mood::PanicOn(_) => async move { made() }.boxed(),
            Mood::Wait | Mood::WaitAndPanicOn(_) => {
                let gate = self.gate.clone();
                async move {
                    let _through = gate.acquire_owned().await;
                    made()
                }
                .boxed()
            }
        }
    }

    fn workers(&self) -> usize {
        self.workers.available_permits().max(1)
    }

    fn class_name(&self, class: Class) -> &'static str {
        ["plain", "standard", "special"][class.index() % 3]
    }
}
