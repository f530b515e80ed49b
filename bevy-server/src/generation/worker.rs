//! The workers: each takes jobs from the queue and generates their floors.

use std::{
    any::Any,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, Instant},
};

use floor_cache::{Key, Made, SourceError};
use floor_gen::Generator;
use futures_util::FutureExt;
use tokio::runtime::Handle;

use super::queue::{Job, Outcome, Queue, ReplyTo};
use crate::{key, priority::GiveWay};

/// The longest that a floor waits for the next ones, to be sent with them. docs/decisions/0108-thread-priorities.md has
/// the measurements.
const MAX_HELD: Duration = Duration::from_millis(1);

/// Serves `queue` until it is stopped and empty. Callers get their floors on a thread of `runtime`.
pub(super) async fn run(queue: Arc<Queue>, runtime: Handle) {
    let mut generator = Generator::new();
    let mut finished = Finished::new(runtime);
    let mut job_number = 0u32;
    while let Some(job) = next(&queue, job_number, &mut finished).await {
        job_number = job_number.wrapping_add(1);
        if job.reply.is_closed() || queue.skips(&job) {
            queue.refund(&job);
            job.reply.send(Err(SourceError::Abandoned));
            continue;
        }
        if !queue.is_busy() || finished.held() + queue.expected_duration(&job) > MAX_HELD {
            finished.send();
        }
        let outcome = generate_floor(&mut generator, job.key);
        match &outcome {
            Ok(made) => queue.record_duration(&job, made.took),
            Err(error) => {
                tracing::error!(%error, "a floor could not be generated");
                // The panic may have left the scratch memory inconsistent.
                generator = Generator::new();
            }
        }
        finished.add(job.reply, outcome);
    }
    finished.send();
}

/// The next job of `queue`. Sends what is `finished` before it waits for one.
async fn next(queue: &Queue, job_number: u32, finished: &mut Finished) -> Option<Job> {
    if let Some(job) = queue.next(job_number).now_or_never() {
        return job;
    }
    finished.send();
    queue.next(job_number).await
}

/// Outcomes that are not sent yet.
///
/// A floor that is sent alone wakes a thread, which interrupts generation for one answer. While more callers wait than
/// there are workers, every caller waits longer than [`MAX_HELD`] for its turn, and workers have work meanwhile. Then
/// several outcomes are sent by one task of the runtime, which wakes one thread.
struct Finished {
    outcomes: Vec<(ReplyTo, Outcome)>,
    /// When the first of them was finished.
    since: Option<Instant>,
    runtime: Handle,
}

impl Finished {
    const fn new(runtime: Handle) -> Self {
        Self { outcomes: Vec::new(), since: None, runtime }
    }

    fn add(&mut self, reply: ReplyTo, outcome: Outcome) {
        self.since.get_or_insert_with(Instant::now);
        self.outcomes.push((reply, outcome));
    }

    /// How long the first of them has waited.
    fn held(&self) -> Duration {
        self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn send(&mut self) {
        self.since = None;
        let outcomes = mem::take(&mut self.outcomes);
        if !outcomes.is_empty() {
            self.runtime.spawn(async move { outcomes.into_iter().for_each(|(reply, outcome)| reply.send(outcome)) });
        }
    }
}

/// Generates and encodes the floor of `key`. A panic becomes an error of this floor only.
fn generate_floor(generator: &mut Generator, key: Key) -> Outcome {
    let failed = |reason: String| SourceError::Failed { key, reason };
    let spec = key::spec(&key).ok_or_else(|| failed("no floor of this generator version has this key".to_owned()))?;
    let (started, cpu) = (Instant::now(), thread_cpu());
    let value =
        catch_unwind(AssertUnwindSafe(|| floor_wire::framed(&generator.generate_observed(&spec, &GiveWay::new()))))
            .map_err(|panic| failed(format!("{spec:?}: {}", panic_message(panic.as_ref()))))?;
    let took = started.elapsed();
    let cpu = cpu.zip(thread_cpu()).map_or(took, |(before, after)| after.saturating_sub(before));
    Ok(Made { value, took, cpu })
}

/// CPU time of this thread; `None` if the system does not report it.
#[cfg(unix)]
fn thread_cpu() -> Option<Duration> {
    rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime).try_into().ok()
}

#[cfg(not(unix))]
fn thread_cpu() -> Option<Duration> {
    None
}

/// The message of a panic.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message")
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use floor_cache::{ClientId, Demand, GenerationRequest, Priority, Reply, Source};
    use floor_gen::FloorSpec;
    use prometheus::Registry;

    use super::*;
    use crate::{config::Quota, generation::GenerationQueue};

    const WORKERS: usize = 1;

    fn queue() -> GenerationQueue {
        GenerationQueue::new(16, WORKERS, Quota::default(), &Registry::new()).unwrap()
    }

    /// Requests `floors` floors of one tower; their outcomes arrive at the receiver.
    fn request(queue: &GenerationQueue, floors: i32, side: u32) -> mpsc::Receiver<Outcome> {
        let (sender, outcomes) = mpsc::channel();
        for number in 1..=floors {
            let key = key::of(&FloorSpec::resolve(42, number, side, side, None).unwrap());
            let (client, demand, sender) = (ClientId::default(), Demand::always(), sender.clone());
            let request = GenerationRequest { key, priority: Priority::Foreground, client, demand };
            let reply = Reply::new(key, move |outcome| sender.send(outcome).unwrap());
            queue.generate_then(request, reply, &Handle::current());
        }
        outcomes
    }

    #[tokio::test]
    async fn every_outcome_is_sent() {
        let queue = queue();
        let outcomes = request(&queue, 10, 64);
        queue.stop();
        run(queue.0.clone(), Handle::current()).await;
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        let outcomes: Vec<_> = outcomes.try_iter().collect();
        assert_eq!(outcomes.len(), 10);
        assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    }

    #[tokio::test]
    async fn held_outcomes_are_sent_together_and_once() {
        let (mut finished, queue) = (Finished::new(Handle::current()), queue());
        let (sender, outcomes) = mpsc::channel();
        for number in 1..=3 {
            let (key, sender) = (key::of(&FloorSpec::resolve(42, number, 16, 16, None).unwrap()), sender.clone());
            let reply = ReplyTo::Caller(Reply::new(key, move |outcome| sender.send(outcome).unwrap()));
            finished.add(reply, Err(SourceError::Abandoned));
        }
        tokio::task::yield_now().await;
        assert_eq!(outcomes.try_iter().count(), 0, "held");
        assert!(next(&queue.0, 1, &mut finished).now_or_never().is_none(), "no job");
        tokio::task::yield_now().await;
        assert_eq!(outcomes.try_iter().count(), 3, "sent before the wait for a job");
        assert_eq!(finished.held(), Duration::ZERO);
        finished.send();
        tokio::task::yield_now().await;
        assert_eq!(outcomes.try_iter().count(), 0);
    }

    #[tokio::test]
    async fn a_stopped_queue_answers_at_once() {
        let queue = queue();
        queue.stop();
        let outcomes = request(&queue, 1, 16);
        assert!(matches!(outcomes.try_recv(), Ok(Err(SourceError::Stopped))));
    }
}
