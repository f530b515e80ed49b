//! The bounded queue of generation jobs.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bevy::prelude::*;
use floor_cache::{
    CallerId, Class, Demand, DemandObserver, Forecast, GenerationRequest, Key, Made, Priority, Source, SourceError,
};
use floor_gen::Kind;
use futures_util::{FutureExt, future::BoxFuture};
use prometheus::{IntGauge, Registry};
use tokio::sync::{Notify, oneshot};

use super::{
    costs::Costs,
    fair_queue::{Capacity, FairQueue, JobId},
    refusals::RefusedFloors,
};
use crate::{
    callers::{Callers, Charge, Quota, Quotas},
    config::{Config, TenantConfig},
    key,
    metrics::register_gauge,
    packs::Packs,
    tower_keys::TowerKeys,
};

/// Floors of callers that may wait: 1,024 for each worker, and at most as many as the memory for calls that wait has room
/// for (`callers/budget.rs`).
pub(super) const fn max_waiting(workers: usize) -> usize {
    const EACH: usize = 1024;
    const ALL: usize = 4096;
    let waiting = EACH.saturating_mul(workers);
    if waiting < ALL { waiting } else { ALL }
}

/// Background jobs, mostly prefetches, that may wait. Smaller than the foreground queue, so that they are dropped
/// first.
const BACKGROUND_CAPACITY: usize = 64;
/// Every so many jobs, a worker takes a background job even if callers wait: a caller may be waiting for a floor whose
/// prefetch is in the background queue.
const BACKGROUND_INTERVAL: u32 = 16;
/// The most work that waits, in time of one worker.
const MAX_QUEUED_TIME: Duration = Duration::from_secs(10);
/// How long the queue must be full, of several callers' jobs, before the server reports that it is saturated.
const SATURATION: Duration = Duration::from_secs(30);
/// A pause between refusals after which a queue was not full. Refused callers come again after their retry delay, which
/// is at most as long.
const SATURATION_GAP: Duration = Duration::from_secs(5);

/// The bounded queue of generation jobs, and the [`Source`] behind the chain. Cheap to clone.
#[derive(Debug, Clone, Resource)]
pub struct GenerationQueue(pub(super) Arc<Queue>);

#[derive(Debug)]
pub(super) struct Queue {
    jobs: Mutex<Jobs>,
    /// Notified for each job, and when the queue stops.
    arrived: Condvar,
    pub(super) callers: Callers,
    pub(super) packs: Packs,
    /// Of the sealed towers, if there are any.
    pub(super) tower_keys: OnceLock<TowerKeys>,
    quotas: Arc<Quotas>,
    /// Those of tenants, by the caller that stands for all of one.
    tenant_quotas: Arc<Quotas>,
    waiting: IntGauge,
    refused: RefusedFloors,
    /// Notified when no caller waits any more, if that was requested: a busy queue empties thousands of times a second,
    /// and each notification wakes a thread.
    idle: Notify,
    idle_wake_requested: AtomicBool,
    pub(super) workers: usize,
    /// Workers that generate a floor.
    busy: AtomicUsize,
    pub(super) costs: Costs,
}

#[derive(Debug)]
struct Jobs {
    foreground: FairQueue<Job>,
    background: VecDeque<Job>,
    is_stopped: bool,
    /// Since when the queue has been full again and again, and when it was last, of jobs of several callers.
    full: Option<(Instant, Instant)>,
}

impl Jobs {
    /// The next job, foreground first, but every so many jobs a background job first.
    fn pop(&mut self, job_number: u32) -> Option<Job> {
        if job_number.is_multiple_of(BACKGROUND_INTERVAL)
            && let Some(job) = self.background.pop_front()
        {
            return Some(job);
        }
        self.foreground.pop().or_else(|| self.background.pop_front())
    }

    /// Notes that a job was refused or displaced. A queue full of one caller's jobs still has room for others.
    fn note_full(&mut self) {
        if self.foreground.largest_share() <= 0.5 {
            let now = Instant::now();
            let first = self.full.filter(|(_, last)| now - *last < SATURATION_GAP).map_or(now, |(first, _)| first);
            self.full = Some((first, now));
        }
    }
}

/// Where the caller of a job waits.
type Reply = oneshot::Sender<Result<Made, SourceError>>;

/// A floor to generate.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) key: Key,
    pub(super) caller: CallerId,
    pub(super) cells: u64,
    /// Of the caller's quota, and of its tenant's; `None` for work of the server itself.
    pub(super) charges: [Option<Charge>; 2],
    /// Where the floor is counted, if its caller has a tenant.
    pub(super) tenant: Option<Arc<TenantAccount>>,
    demand: Demand,
    pub(super) reply: Reply,
    /// When it was pushed, if a worker was idle then.
    woke: Option<Instant>,
}

impl GenerationQueue {
    /// A queue for at most `capacity` foreground jobs and for `workers` workers, in which each of `callers` may have
    /// so many cells generated per second; `None` for no limit.
    /// `packs` have the content of the floors.
    ///
    /// # Errors
    /// If `registry` already has the metrics of a queue.
    pub fn new(
        capacity: usize,
        workers: usize,
        cells_per_second: Option<u64>,
        callers: Callers,
        packs: Packs,
        registry: &Registry,
    ) -> prometheus::Result<Self> {
        let waiting = IntGauge::new("floors_generation_queue", "Floors waiting for the task pool.")?;
        registry.register(Box::new(waiting.clone()))?;
        let time = u64::try_from(MAX_QUEUED_TIME.as_nanos()).unwrap_or(u64::MAX).saturating_mul(workers as u64);
        let foreground = FairQueue::new(Capacity { jobs: capacity, cost: time });
        let jobs = Jobs { foreground, background: VecDeque::new(), is_stopped: false, full: None };
        let queue = Self(Arc::new(Queue {
            jobs: Mutex::new(jobs),
            arrived: Condvar::new(),
            quotas: Arc::new(Quotas::new(Quota::of_cells(cells_per_second))),
            tenant_quotas: Arc::new(Quotas::new(Quota::of_cells(None))),
            waiting,
            refused: RefusedFloors::register(callers.clone(), registry)?,
            callers,
            packs,
            tower_keys: OnceLock::new(),
            idle: Notify::new(),
            idle_wake_requested: AtomicBool::new(false),
            workers,
            busy: AtomicUsize::new(0),
            costs: Costs::default(),
        }));
        queue.register_gauges(capacity, registry)?;
        Ok(queue)
    }

    fn register_gauges(&self, capacity: usize, registry: &Registry) -> prometheus::Result<()> {
        let (help, workers) = ("Threads that generate floors.", self.0.workers);
        register_gauge(registry, "floors_generation_threads", help, move || workers as f64)?;
        let help = "The most floors of callers that may wait for the task pool.";
        register_gauge(registry, "floors_generation_queue_limit", help, move || capacity as f64)?;
        let help = "Whether the queue has long been full of floors of several clients: 1 if it has, and 0.";
        let queue = self.clone();
        let saturated = move || f64::from(u8::from(queue.is_saturated()));
        register_gauge(registry, "floors_generation_saturated", help, saturated)
    }

    /// Whether the queue has long been full of jobs of several callers.
    #[must_use]
    pub fn is_saturated(&self) -> bool {
        let full = self.0.lock().full;
        full.is_some_and(|(first, last)| last - first >= SATURATION && last.elapsed() < SATURATION_GAP)
    }

    /// Whether a caller waits for a worker.
    #[must_use]
    pub fn has_waiting_callers(&self) -> bool {
        self.0.lock().foreground.len() > 0
    }

    /// Replaces the quotas of callers and tenants by those of `config`.
    pub(super) fn set_quotas(&self, config: &Config) {
        self.0.quotas.set(Quota::of_cells(config.cells_per_second));
        let rate = |tenant: &TenantConfig| (self.0.callers.tenant_id(&tenant.name), tenant.cells_per_second);
        self.0.tenant_quotas.set_rates(config.tenants.iter().map(rate).collect());
    }

    /// Replaces the cells per second of the callers that have a rate of their own; `None` for no limit.
    pub fn set_caller_rates(&self, rates: HashMap<CallerId, Option<u64>>) {
        self.0.quotas.set_rates(rates);
    }

    /// From now on floors of sealed towers are generated, too.
    pub(crate) fn set_tower_keys(&self, keys: TowerKeys) {
        let _ = self.0.tower_keys.set(keys);
    }

    /// Charges `caller` and its `tenant` for work that takes as long as to generate so many cells.
    ///
    /// # Errors
    /// [`SourceError::Limited`] if a quota does not allow it now. It is counted as a floor that was refused.
    pub(crate) fn charge_work(
        &self,
        caller: CallerId,
        cells: u64,
        tenant: Option<&TenantSource>,
    ) -> Result<(), SourceError> {
        let charges = self.0.charge_waiting(caller, cells, tenant.map(TenantSource::account))?;
        charges.into_iter().flatten().for_each(Charge::spend);
        Ok(())
    }

    /// The source of the chain of the tenant `name`.
    #[must_use]
    pub fn for_tenant(&self, name: &str) -> TenantSource {
        let (id, name) = (self.0.callers.tenant_id(name), Arc::from(name));
        self.0.refused.add_tenant(&name);
        TenantSource { queue: self.clone(), account: Arc::new(TenantAccount { id, name, cells: AtomicU64::new(0) }) }
    }

    /// Requests that [`idle`](Self::idle) completes when no caller waits for a worker any more. Check
    /// [`has_waiting_callers`](Self::has_waiting_callers) after this call, not before it.
    pub fn request_idle_wake(&self) {
        self.0.idle_wake_requested.store(true, Ordering::SeqCst);
    }

    /// Waits until no caller waits for a worker, if [`request_idle_wake`](Self::request_idle_wake) was called. For one
    /// waiter.
    pub async fn idle(&self) {
        self.0.idle.notified().await;
    }

    /// Refuses new jobs. Workers end after the queued jobs.
    pub fn stop(&self) {
        self.0.lock().is_stopped = true;
        self.0.arrived.notify_all();
    }
}

impl Source for GenerationQueue {
    fn generate(&self, request: GenerationRequest) -> BoxFuture<'static, Result<Made, SourceError>> {
        self.0.generate(request, None)
    }

    fn class_name(&self, class: Class) -> &'static str {
        Kind::from_number(class.index() as u32).map_or("unknown", Kind::name)
    }

    fn classes(&self) -> Vec<Class> {
        Kind::ALL.map(key::class).to_vec()
    }

    fn forecast(&self, keys: &[Key]) -> Option<Forecast> {
        self.0.forecast(keys)
    }
}

/// The queue as the source of a tenant's chain. All callers of the tenant are one caller of the queue, and share a quota.
#[derive(Debug)]
pub struct TenantSource {
    queue: GenerationQueue,
    account: Arc<TenantAccount>,
}

/// A tenant in the queue and in the quotas.
#[derive(Debug)]
pub(crate) struct TenantAccount {
    /// Stands for all callers of the tenant.
    id: CallerId,
    pub(crate) name: Arc<str>,
    /// Cells that were generated.
    pub(crate) cells: AtomicU64,
}

impl TenantSource {
    pub(crate) const fn account(&self) -> &Arc<TenantAccount> {
        &self.account
    }
}

impl Source for TenantSource {
    fn generate(&self, request: GenerationRequest) -> BoxFuture<'static, Result<Made, SourceError>> {
        self.queue.0.generate(request, Some(self.account.clone()))
    }

    fn class_name(&self, class: Class) -> &'static str {
        self.queue.class_name(class)
    }

    fn classes(&self) -> Vec<Class> {
        self.queue.classes()
    }

    fn forecast(&self, keys: &[Key]) -> Option<Forecast> {
        self.queue.forecast(keys)
    }
}

/// Gives a job a place in the queue for each caller that waits for it.
struct JobPlaces {
    queue: Weak<Queue>,
    id: JobId,
}

impl DemandObserver for JobPlaces {
    fn joined(&self, caller: CallerId) {
        if let Some(queue) = self.queue.upgrade() {
            queue.lock().foreground.join(self.id, caller);
        }
    }

    fn left(&self, caller: CallerId) {
        if let Some(queue) = self.queue.upgrade() {
            queue.lock().foreground.leave(self.id, caller);
        }
    }
}

impl Job {
    /// The caller of the queue to which it belongs.
    fn lane(&self) -> CallerId {
        self.tenant.as_ref().map_or(self.caller, |tenant| tenant.id)
    }
}

impl Queue {
    fn generate(
        self: &Arc<Self>,
        request: GenerationRequest,
        tenant: Option<Arc<TenantAccount>>,
    ) -> BoxFuture<'static, Result<Made, SourceError>> {
        let answer = self.push(request, tenant);
        async move { answer?.await.unwrap_or(Err(SourceError::Stopped)) }.boxed()
    }

    fn push(
        self: &Arc<Self>,
        request: GenerationRequest,
        tenant: Option<Arc<TenantAccount>>,
    ) -> Result<oneshot::Receiver<Result<Made, SourceError>>, SourceError> {
        let GenerationRequest { key, priority, caller, demand } = request;
        let (reply, answer) = oneshot::channel();
        let cells = key::cells(&key);
        let charges = match priority {
            Priority::Foreground => self.charge_waiting(caller, cells, tenant.as_ref()),
            Priority::Background => self.charge(caller, cells, tenant.as_ref()),
        }?;
        let job = Job { key, caller, cells, charges, tenant, demand, reply, woke: None };
        match priority {
            Priority::Foreground => self.push_foreground(job)?,
            Priority::Background => self.push_background(job)?,
        }
        Ok(answer)
    }

    fn push_background(&self, job: Job) -> Result<(), SourceError> {
        let mut jobs = self.lock();
        if jobs.is_stopped {
            return Err(SourceError::Stopped);
        }
        if jobs.background.len() == BACKGROUND_CAPACITY {
            return Err(self.busy_error(BACKGROUND_CAPACITY, 0));
        }
        jobs.background.push_back(job);
        self.waiting.inc();
        drop(jobs);
        self.arrived.notify_one();
        Ok(())
    }

    /// As [`charge`](Self::charge), for a caller who waits: a refusal is counted.
    fn charge_waiting(
        &self,
        caller: CallerId,
        cells: u64,
        tenant: Option<&Arc<TenantAccount>>,
    ) -> Result<[Option<Charge>; 2], SourceError> {
        let charges = self.charge(caller, cells, tenant);
        charges.inspect_err(|_| self.refused.by_quota(caller, tenant.map(|tenant| &tenant.name)))
    }

    /// Charges `caller` and its `tenant` for a floor of `cells`. The server itself pays nothing.
    fn charge(
        &self,
        caller: CallerId,
        cells: u64,
        tenant: Option<&Arc<TenantAccount>>,
    ) -> Result<[Option<Charge>; 2], SourceError> {
        if caller == CallerId::default() {
            return Ok([None, None]);
        }
        let charge = |quotas, caller, who| {
            Charge::new(quotas, caller, cells).map_err(|retry_after| SourceError::Limited { who, retry_after })
        };
        let own = charge(&self.quotas, caller, "this client")?;
        // If this fails, its own is given back.
        let of_tenant = tenant.map(|tenant| charge(&self.tenant_quotas, tenant.id, "the tenant of this client"));
        Ok([Some(own), of_tenant.transpose()?])
    }

    fn push_foreground(self: &Arc<Self>, mut job: Job) -> Result<(), SourceError> {
        let (lane, cost, demand) = (job.lane(), self.costs.run(&job.key, job.cells), job.demand.clone());
        let is_shared = job.tenant.is_none();
        let mut jobs = self.lock();
        if jobs.is_stopped {
            return Err(SourceError::Stopped);
        }
        if self.busy.load(Ordering::Relaxed) + jobs.foreground.len() < self.workers {
            job.woke = Some(Instant::now());
        }
        let pushed = jobs.foreground.push(lane, cost, job);
        if pushed.as_ref().map_or(true, |(_, displaced)| !displaced.is_empty()) {
            jobs.note_full();
        }
        if pushed.is_ok() {
            self.waiting.inc();
        }
        let (queued, queued_cost) = (jobs.foreground.len(), jobs.foreground.cost());
        drop(jobs);
        let busy = || self.busy_error(queued, queued_cost);
        let (id, displaced) = pushed.map_err(|job| {
            self.count_displaced(&job);
            busy()
        })?;
        self.arrived.notify_one();
        // All callers of a tenant's chain are one caller of the queue.
        if is_shared {
            demand.observe(JobPlaces { queue: Arc::downgrade(self), id });
        }
        for job in displaced {
            self.waiting.dec();
            self.count_displaced(&job);
            let _ = job.reply.send(Err(busy()));
        }
        Ok(())
    }

    /// Counts a job that has no place.
    fn count_displaced(&self, job: &Job) {
        self.refused.by_queue(job.caller, job.tenant.as_ref().map(|tenant| &tenant.name));
    }

    /// The cost of generating the floors of `keys` now, together: `None` until a floor of each kind was generated.
    ///
    /// The queue is served in the order of shares, so a caller with a small share waits less than this.
    fn forecast(&self, keys: &[Key]) -> Option<Forecast> {
        let (mut run, mut longest, mut cpu) = (0, 0, 0);
        for key in keys {
            let one = self.costs.measured(key, key::cells(key))?;
            run += one.run;
            cpu += one.cpu;
            longest = longest.max(one.run);
        }
        // A floor that is being generated is half done, on average.
        let waiting = self.lock().foreground.cost() + self.busy.load(Ordering::Relaxed) as u64 * longest / 2;
        let response = self.costs.dispatch() + ((waiting + run) / self.workers as u64).max(longest);
        let seconds = |nanoseconds: u64| nanoseconds as f64 * 1e-9;
        Some(Forecast { response: seconds(response), run: seconds(run), cpu: seconds(cpu) })
    }

    /// The retry delay is the estimated time for half of the queue.
    fn busy_error(&self, queued: usize, cost: u64) -> SourceError {
        let half = Duration::from_nanos(cost / self.workers as u64 / 2);
        SourceError::Busy { queued, retry_after: half.clamp(Duration::from_millis(1), Duration::from_secs(5)) }
    }

    /// Waits for the next job of a worker, which has had `job_number` before. `None` if the queue is stopped and empty.
    /// Blocks the thread: one wake-up for each job, where an executor's threads wake one another.
    pub(super) fn next(&self, job_number: u32) -> Option<Job> {
        let mut jobs = self.lock();
        let job = loop {
            match jobs.pop(job_number) {
                Some(job) => break job,
                None if jobs.is_stopped => return None,
                None => jobs = self.arrived.wait(jobs).unwrap_or_else(PoisonError::into_inner),
            }
        };
        let is_idle = jobs.foreground.len() == 0;
        self.busy.fetch_add(1, Ordering::Relaxed);
        drop(jobs);
        self.waiting.dec();
        if let Some(pushed) = job.woke {
            self.costs.record_wake_up(pushed.elapsed());
        }
        if is_idle
            && self.idle_wake_requested.load(Ordering::SeqCst)
            && self.idle_wake_requested.swap(false, Ordering::SeqCst)
        {
            self.idle.notify_one();
        }
        Some(job)
    }

    /// Whether a worker skips `job`: no caller waits for it, and a caller waits for another.
    pub(super) fn skips(&self, job: &Job) -> bool {
        self.lock().foreground.len() > 0 && job.demand.abandon()
    }

    /// Notes that a worker has ended the job that it took.
    pub(super) fn end(&self) {
        self.busy.fetch_sub(1, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use floor_gen::FloorSpec;
    use prometheus::proto::Metric;

    use super::*;
    use crate::config::CallerIdentity;

    #[tokio::test]
    async fn the_tokens_of_a_tenant_have_one_share_of_the_queue() {
        const PLACES: usize = 10;
        let (registry, callers) = (Registry::new(), Callers::new(CallerIdentity::default()));
        let queue = GenerationQueue::new(PLACES, 1, None, callers.clone(), Packs::built_in(), &registry).unwrap();
        let sources = ["acme", "globex"].map(|tenant| queue.for_tenant(tenant));
        // A floor for the token `name`. No worker runs: what is refused is refused at once.
        let ask = |source: &TenantSource, name: &str, number: usize| {
            let spec = FloorSpec::resolve(1, number as u32 + 1, 0, 0, None).unwrap();
            let caller = callers.named(name, Ipv4Addr::LOCALHOST.into());
            let demand = Demand::always();
            let priority = Priority::Foreground;
            let answer =
                source.generate(GenerationRequest { key: key::of(&spec), priority, caller: caller.id(), demand });
            (caller, answer)
        };
        let mut waiting: Vec<_> = (0..PLACES).map(|n| ask(&sources[0], &format!("acme-{n}"), n)).collect();
        let (_client, refused) = ask(&sources[0], "acme-new", PLACES);
        assert!(
            matches!(refused.now_or_never(), Some(Err(SourceError::Busy { .. }))),
            "the tenant has all of the queue"
        );
        let (_client, admitted) = ask(&sources[1], "globex-0", PLACES);
        assert!(admitted.now_or_never().is_none(), "it waits");
        let refused = |tenant: &str| -> f64 {
            let families = registry.gather();
            let family = families.iter().find(|family| family.name() == "floors_generation_refusals_total").unwrap();
            let metrics = family.get_metric().iter();
            let of_tenant = |metric: &&Metric| metric.get_label().iter().any(|label| label.value() == tenant);
            metrics.filter(of_tenant).map(|metric| metric.get_counter().get_value()).sum()
        };
        let displaced = waiting.iter_mut().filter_map(|(_, answer)| answer.now_or_never()).count();
        assert_eq!((displaced, refused("acme"), refused("globex")), (1, 2.0, 0.0));
    }
}
