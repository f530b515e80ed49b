//! The load of `bench` and `capacity`: calls in a closed or an open loop, and what they measured.

use std::{
    collections::BTreeMap,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use floor_client::{Answer, ClientError, EncodedFloor, FloorClient, Served};
use futures_util::{FutureExt as _, future::BoxFuture};
use hdrhistogram::Histogram;
use tokio::{
    sync::{Mutex, mpsc},
    task::JoinSet,
    time::timeout_at,
};

use crate::target::Tower;

/// Latencies are recorded in microseconds, up to one minute.
const MAX_LATENCY_US: u64 = 60_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;

/// Pause of a stream whose call did not reach the server. The next call would fail at once, in a busy loop.
const UNREACHABLE_PAUSE: Duration = Duration::from_millis(100);

/// How long the last answers of an open loop may take, counted from the end of the measurement.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// The parts of a measurement in which answers are counted apart.
const SLICES: usize = 40;

/// Chooses the next floor of a stream.
pub(crate) type FloorPicker = Box<dyn FnMut() -> u32 + Send>;

/// A sequence of calls, one at a time.
pub(crate) struct LoadStream {
    pub(crate) client: FloorClient,
    pub(crate) tower: Tower,
    pub(crate) next_floor: FloorPicker,
}

/// When a load starts, when its calls begin to count, and when it ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Period {
    pub(crate) start: Instant,
    pub(crate) measured_from: Instant,
    pub(crate) until: Instant,
}

/// The measurements of one or more streams.
pub(crate) struct Measurements {
    pub(crate) latency: Histogram<u64>,
    pub(crate) served: Served,
    pub(crate) bytes: u64,
    pub(crate) failures: BTreeMap<String, u64>,
    /// Calls of an open loop that started late, because every stream was busy when they were due.
    pub(crate) late: u64,
    /// Calls of an open loop that had no answer at its end. Their latency is the time that they had waited.
    pub(crate) unanswered: u64,
    /// The floors that came in each part of the measurement.
    slices: [u64; SLICES],
}

impl Period {
    /// A period that starts now and is measured for `measured` after `warm_up`.
    pub(crate) fn starting_now(warm_up: Duration, measured: Duration) -> Self {
        let start = Instant::now();
        let measured_from = start + warm_up;
        Self { start, measured_from, until: measured_from + measured }
    }

    /// The part of the measurement that `time` is in.
    fn slice(&self, time: Instant) -> Option<usize> {
        let (since, all) = (time.checked_duration_since(self.measured_from)?, self.until - self.measured_from);
        Some((since.div_duration_f64(all) * SLICES as f64) as usize).filter(|slice| *slice < SLICES)
    }
}

/// Runs a closed loop: each stream calls again after its last answer.
pub(crate) async fn closed_loop(streams: Vec<LoadStream>, period: Period) -> anyhow::Result<Measurements> {
    let mut running = JoinSet::new();
    for stream in streams {
        running.spawn(stream.run(period));
    }
    sum(running).await
}

/// Runs an open loop: starts `rate` calls a second, evenly, whatever the answers take. A call that is due while every
/// stream is busy starts when one is free. Latency counts from when the call was due.
pub(crate) async fn open_loop(streams: Vec<LoadStream>, rate: u32, period: Period) -> anyhow::Result<Measurements> {
    paced(streams.into_iter().map(LoadStream::into_calls).collect(), rate, period).await
}

type CallResult = Result<Answer<EncodedFloor>, ClientError>;

/// Makes the next call of a stream.
type Calls = Box<dyn FnMut() -> BoxFuture<'static, CallResult> + Send>;

/// The open loop over streams that make `calls`.
async fn paced(calls: Vec<Calls>, rate: u32, period: Period) -> anyhow::Result<Measurements> {
    let (due, waiting) = mpsc::unbounded_channel();
    // A thread of its own: the runtime's timers round to a millisecond, and the calls would start in bursts.
    let pacer = thread::Builder::new().name("pacer".to_owned()).spawn(move || pace(rate, period, &due));
    pacer.context("cannot start the thread that paces the calls")?;
    let waiting = Arc::new(Mutex::new(waiting));
    let mut running = JoinSet::new();
    for calls in calls {
        running.spawn(run_paced(calls, waiting.clone(), period));
    }
    sum(running).await
}

/// Sends the time of each call when it is due. Ends with the period, or when no stream is left.
fn pace(rate: u32, period: Period, due: &mpsc::UnboundedSender<Instant>) {
    let times = (0_u64..).map(|call| period.start + Duration::from_secs_f64(call as f64 / f64::from(rate)));
    for time in times.take_while(|time| *time < period.until) {
        thread::sleep(time.saturating_duration_since(Instant::now()));
        if due.send(time).is_err() {
            return;
        }
    }
}

/// A stream of the open loop. The streams wait for the lock in the order in which they became free, so the one that
/// takes a call was free before all others.
async fn run_paced(
    mut next_call: Calls,
    waiting: Arc<Mutex<mpsc::UnboundedReceiver<Instant>>>,
    period: Period,
) -> anyhow::Result<Measurements> {
    let mut measurements = Measurements::new()?;
    let end = (period.until + ANSWER_TIMEOUT).into();
    let mut free_since = period.start;
    loop {
        let Some(due) = waiting.lock().await.recv().await else { return Ok(measurements) };
        let answer = timeout_at(end, next_call()).await;
        if due >= period.measured_from {
            measurements.late += u64::from(free_since > due);
            match answer {
                Ok(answer) => measurements.add_call(due, &answer, period),
                Err(_) => measurements.add_unanswered(due.elapsed()),
            }
        }
        free_since = Instant::now();
    }
}

async fn sum(mut running: JoinSet<anyhow::Result<Measurements>>) -> anyhow::Result<Measurements> {
    let mut sum = Measurements::new()?;
    while let Some(measurements) = running.join_next().await {
        sum.add(&measurements.context("a stream panicked")??)?;
    }
    Ok(sum)
}

impl LoadStream {
    async fn run(mut self, period: Period) -> anyhow::Result<Measurements> {
        let mut measurements = Measurements::new()?;
        loop {
            let started = Instant::now();
            if started >= period.until {
                return Ok(measurements);
            }
            let answer = self.client.get_encoded(self.tower.floor((self.next_floor)())).await;
            if started >= period.measured_from {
                measurements.add_call(started, &answer, period);
            }
            if matches!(answer, Err(ClientError::Unreachable { .. })) {
                tokio::time::sleep(UNREACHABLE_PAUSE).await;
            }
        }
    }

    fn into_calls(self) -> Calls {
        let Self { client, tower, mut next_floor } = self;
        Box::new(move || {
            let (client, floor) = (client.clone(), tower.floor(next_floor()));
            async move { client.get_encoded(floor).await }.boxed()
        })
    }
}

impl Measurements {
    fn new() -> anyhow::Result<Self> {
        Ok(Self {
            latency: Histogram::new_with_max(MAX_LATENCY_US, SIGNIFICANT_DIGITS)?,
            served: Served::default(),
            bytes: 0,
            failures: BTreeMap::new(),
            late: 0,
            unanswered: 0,
            slices: [0; SLICES],
        })
    }

    /// The number of calls that were answered with a floor.
    pub(crate) fn requests(&self) -> u64 {
        self.latency.len() - self.unanswered
    }

    /// The floors a second in each part of a measurement that took `measured`.
    pub(crate) fn rates(&self, measured: Duration) -> [f64; SLICES] {
        self.slices.map(|floors| floors as f64 * SLICES as f64 / measured.as_secs_f64())
    }

    /// Adds a call that was due at `due`, and whose answer came now.
    fn add_call(&mut self, due: Instant, answer: &CallResult, period: Period) {
        let now = Instant::now();
        match answer {
            Ok(answer) => {
                self.add_latency(now - due);
                if let Some(slice) = period.slice(now) {
                    self.slices[slice] += 1;
                }
                self.served.add(&answer.served);
                self.bytes += answer.value.bytes().len() as u64;
            }
            Err(error) => *self.failures.entry(error.to_string()).or_default() += 1,
        }
    }

    fn add_unanswered(&mut self, waited: Duration) {
        self.add_latency(waited);
        self.unanswered += 1;
    }

    fn add_latency(&mut self, took: Duration) {
        self.latency.saturating_record(u64::try_from(took.as_micros()).unwrap_or(MAX_LATENCY_US));
    }

    fn add(&mut self, other: &Self) -> anyhow::Result<()> {
        self.latency.add(&other.latency)?;
        self.served.add(&other.served);
        self.bytes += other.bytes;
        self.late += other.late;
        self.unanswered += other.unanswered;
        self.slices.iter_mut().zip(other.slices).for_each(|(sum, floors)| *sum += floors);
        for (failure, count) in &other.failures {
            *self.failures.entry(failure.clone()).or_default() += count;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream whose calls take `time`.
    fn calls_of(time: Duration) -> Calls {
        Box::new(move || {
            async move {
                tokio::time::sleep(time).await;
                Ok(Answer { value: EncodedFloor::new(vec![0].into()), served: Served::default() })
            }
            .boxed()
        })
    }

    #[test]
    fn answers_are_counted_in_the_part_of_the_measurement_in_which_they_come() {
        let period = Period::starting_now(Duration::from_secs(1), Duration::from_secs(10));
        let Period { start, measured_from, until } = period;
        let [second, instant] = [Duration::from_secs(1), Duration::from_nanos(1)];
        let slices =
            [start, measured_from, measured_from + second, until - instant, until].map(|time| period.slice(time));
        assert_eq!(slices, [None, Some(0), Some(SLICES / 10), Some(SLICES - 1), None]);
        let (mut sum, mut other) = (Measurements::new().unwrap(), Measurements::new().unwrap());
        (sum.slices[1], other.slices[1]) = (3, 5);
        sum.add(&other).unwrap();
        assert_eq!(sum.rates(10 * second)[..3], [0.0, 8.0 * SLICES as f64 / 10.0, 0.0]);
    }

    #[tokio::test]
    async fn waiting_for_a_stream_is_counted_and_is_latency() {
        let period = Period::starting_now(Duration::ZERO, Duration::from_millis(200));
        let load = paced(vec![calls_of(Duration::from_millis(40))], 100, period).await.unwrap();
        assert_eq!((load.requests(), load.bytes, load.unanswered), (20, 20, 0), "every call that was due");
        assert_eq!(load.late, 19, "only the first call found the stream free");
        // The last call is due after 190 ms, and 20 calls of 40 ms one after the other take 800 ms.
        assert!(load.latency.max() >= 600_000, "{} us", load.latency.max());
    }

    #[tokio::test]
    async fn free_streams_start_calls_in_time() {
        let period = Period::starting_now(Duration::from_millis(50), Duration::from_millis(200));
        let streams = (0..50).map(|_| calls_of(Duration::from_millis(20))).collect();
        let load = paced(streams, 100, period).await.unwrap();
        assert_eq!((load.requests(), load.late), (20, 0), "calls of the warm-up do not count");
    }

    #[tokio::test]
    async fn a_call_without_an_answer_counts_with_the_time_that_it_waited() {
        let period = Period::starting_now(Duration::ZERO, Duration::from_millis(20));
        let load = paced(vec![calls_of(Duration::from_secs(3600))], 100, period).await.unwrap();
        assert_eq!((load.requests(), load.unanswered, load.latency.len()), (0, 2, 2));
        assert!(load.latency.min() >= 2_000_000, "{} us", load.latency.min());
    }
}
