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

/// How long a floor may wait for the next ones, to be sent with them. docs/decisions/0110-answers-together.md has the
/// measurements.
const MAX_HELD: Duration = Duration::from_millis(1);

/// Serves `queue` until it is stopped and empty. Floors are sent on a thread of `runtime`.
pub(super) async fn run(queue: Arc<Queue>, runtime: Handle) {
    let mut generator = Generator::new();
    let mut finished = Finished::new(runtime);
    let mut job_number = 0u32;
    while let Some(job) = next(&queue, job_number, &mut finished).await {
        job_number = job_number.wrapping_add(1);
        if finished.held() + queue.expected_duration(&job) > MAX_HELD {
            finished.send();
        }
        if job.reply.is_closed() || queue.skips(&job) {
            queue.refund(&job);
            job.reply.send(Err(SourceError::Abandoned));
            continue;
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
        if !job.may_wait {
            finished.send();
        }
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
/// A floor that is sent alone wakes a thread, which interrupts generation for one answer. A client that has other jobs in a
/// queue that is busy gets several floors together, from one task of the runtime.
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
            self.runtime.spawn(async move {
                for (reply, outcome) in outcomes {
                    // A panic fails the flights of this reply only.
                    let _ = catch_unwind(AssertUnwindSafe(|| reply.send(outcome)));
                }
            });
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
    use tokio::task;

    use super::*;
    use crate::{config::Quota, generation::GenerationQueue};

    /// The outcomes of requested floors, each with its client and the task that sent it.
    type Outcomes = mpsc::Receiver<(u64, task::Id, Outcome)>;

    fn queue() -> GenerationQueue {
        GenerationQueue::new(64, 1, Quota::default(), &Registry::new()).unwrap()
    }

    fn reply(key: Key, client: u64, sender: &mpsc::Sender<(u64, task::Id, Outcome)>) -> Reply {
        let sender = sender.clone();
        Reply::new(key, move |outcome| sender.send((client, task::id(), outcome)).unwrap())
    }

    /// Requests floors of `side` cells: as many for each client as given.
    fn request(queue: &GenerationQueue, side: u32, floors: &[u32]) -> Outcomes {
        let (sender, outcomes) = mpsc::channel();
        for (client, floors) in (0..).zip(floors) {
            for number in 1..=*floors {
                let key = key::of(&FloorSpec::resolve(client, number, side, side, None).unwrap());
                let (priority, demand) = (Priority::Foreground, Demand::always());
                let request = GenerationRequest { key, priority, client: ClientId(client), demand };
                queue.generate_then(request, reply(key, client, &sender), &Handle::current());
            }
        }
        outcomes
    }

    /// Runs one worker until the queue is empty. Returns how many floors each task sent, and of which clients.
    async fn sent_together(queue: GenerationQueue, outcomes: Outcomes) -> Vec<Vec<u64>> {
        queue.stop();
        let runtime = Handle::current();
        tokio::spawn(async move { run(queue.0, runtime).await }).await.unwrap();
        let mut tasks: Vec<(task::Id, Vec<u64>)> = Vec::new();
        // Each outcome has a sender, so this ends with the last of them.
        tokio::spawn(async move {
            task::yield_now().await;
            for (client, task, outcome) in outcomes.try_iter() {
                assert!(outcome.is_ok(), "{outcome:?}");
                match tasks.last_mut() {
                    Some((last, clients)) if *last == task => clients.push(client),
                    _ => tasks.push((task, vec![client])),
                }
            }
            tasks.into_iter().map(|(_, clients)| clients).collect()
        })
        .await
        .unwrap()
    }

    #[tokio::test]
    async fn a_busy_queue_sends_floors_of_one_client_together_and_all_of_them() {
        let queue = queue();
        // By the estimate before the first floor, a floor of 64x64 takes 41 us and 60 of them 2.5 ms.
        let outcomes = request(&queue, 64, &[60]);
        let sent = sent_together(queue, outcomes).await;
        assert_eq!(sent.iter().map(Vec::len).sum::<usize>(), 60);
        assert!(sent.len() < 60, "{sent:?}");
        assert_eq!(sent.last().unwrap().len(), 1, "the last one waits for nothing: {sent:?}");
    }

    #[tokio::test]
    async fn a_short_queue_sends_each_floor_at_once() {
        let queue = queue();
        let outcomes = request(&queue, 16, &[6]);
        assert_eq!(sent_together(queue, outcomes).await, vec![vec![0]; 6]);
    }

    #[tokio::test]
    async fn the_only_floor_of_a_client_is_sent_at_once() {
        let queue = queue();
        let outcomes = request(&queue, 64, &[50, 1]);
        let sent = sent_together(queue, outcomes).await;
        let with_the_other = sent.iter().find(|clients| clients.contains(&1)).unwrap();
        assert_eq!(with_the_other.last(), Some(&1), "nothing is generated before it is sent: {sent:?}");
    }

    #[tokio::test]
    async fn large_floors_do_not_wait_for_each_other() {
        let queue = queue();
        let outcomes = request(&queue, 512, &[4]);
        assert_eq!(sent_together(queue, outcomes).await, vec![vec![0]; 4]);
    }

    #[tokio::test]
    async fn what_is_finished_is_sent_before_a_wait() {
        let (mut finished, queue) = (Finished::new(Handle::current()), queue());
        let (sender, outcomes) = mpsc::channel();
        let key = key::of(&FloorSpec::resolve(42, 7, 16, 16, None).unwrap());
        for client in 0..3 {
            finished.add(ReplyTo::Caller(reply(key, client, &sender)), Err(SourceError::Abandoned));
        }
        task::yield_now().await;
        assert_eq!(outcomes.try_iter().count(), 0, "held");
        assert!(next(&queue.0, 1, &mut finished).now_or_never().is_none(), "no job");
        assert_eq!(finished.held(), Duration::ZERO);
        task::yield_now().await;
        let tasks: Vec<task::Id> = outcomes.try_iter().map(|(_, task, _)| task).collect();
        assert_eq!(tasks, [tasks[0]; 3]);
    }

    #[tokio::test]
    async fn a_stopped_queue_answers_at_once() {
        let queue = queue();
        queue.stop();
        let key = key::of(&FloorSpec::resolve(42, 7, 16, 16, None).unwrap());
        let (priority, client, demand) = (Priority::Foreground, ClientId::default(), Demand::always());
        let request = GenerationRequest { key, priority, client, demand };
        assert_eq!(queue.generate(request).now_or_never().unwrap().unwrap_err(), SourceError::Stopped);
    }
}
