//! A bounded queue that is fair between callers. [`GenerationQueue`](super::GenerationQueue) keeps its jobs in one.
//!
//! Jobs leave the queue by start-time fair queueing (P. Goyal, H. Vin, H. Cheng, "Start-time Fair Queueing", SIGCOMM
//! 1996): callers that wait get equal shares of the workers' time, whatever the number and the cost of their jobs. When
//! the queue is full, a job of the caller with the largest share of the queue makes room for a caller with a smaller
//! one. A caller's share is the larger of its shares of places and of cost (A. Ghodsi et al., "Dominant Resource
//! Fairness", NSDI 2011).

use std::collections::{BTreeSet, HashMap, VecDeque};

use floor_cache::CallerId;

/// Callers without jobs that are remembered, beyond as many as have jobs.
const REMEMBERED_CLIENTS: usize = 4096;

/// The limits of a queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Capacity {
    /// Jobs.
    pub(super) jobs: usize,
    /// Cost of all jobs, in the unit of [`FairQueue::push`].
    pub(super) cost: u64,
}

/// A bounded queue of jobs, fair between callers. Callers that wait for the same job share it: it has a place among the jobs
/// of each, leaves with the first of these that is served, and counts as served for that caller alone. Of the capacity it
/// takes part as a job of the first of them.
#[derive(Debug)]
pub(super) struct FairQueue<J> {
    capacity: Capacity,
    jobs: HashMap<JobId, Queued<J>>,
    /// Cost of all jobs.
    cost: u64,
    callers: HashMap<CallerId, Backlog>,
    /// The callers with places, in the order in which they are served next: by start tag, then by arrival.
    order: BTreeSet<(u64, u64, CallerId)>,
    /// The start tag of the place that was served last.
    virtual_time: u64,
    arrivals: u64,
}

/// Identifies a job of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct JobId(u64);

#[derive(Debug)]
struct Queued<J> {
    job: J,
    cost: u64,
    /// The callers among whose jobs it has a place; not empty. It counts as a job of the first.
    callers: Vec<CallerId>,
}

/// The places of one caller, and how much of the capacity its jobs take.
#[derive(Debug, Default)]
struct Backlog {
    places: VecDeque<Place>,
    jobs: usize,
    cost: u64,
    /// The finish tag of its newest place.
    finish: u64,
}

#[derive(Debug)]
struct Place {
    start: u64,
    arrival: u64,
    job: JobId,
}

impl<J> FairQueue<J> {
    pub(super) fn new(capacity: Capacity) -> Self {
        Self {
            capacity,
            jobs: HashMap::new(),
            cost: 0,
            callers: HashMap::new(),
            order: BTreeSet::new(),
            virtual_time: 0,
            arrivals: 0,
        }
    }

    /// The number of jobs.
    pub(super) fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Cost of all jobs.
    pub(super) const fn cost(&self) -> u64 {
        self.cost
    }

    /// Adds a job of `caller` with an estimated `cost`. Returns the jobs that had to make room for it.
    ///
    /// # Errors
    /// The job itself, if the queue is full and no caller has a larger share of it.
    pub(super) fn push(&mut self, caller: CallerId, cost: u64, job: J) -> Result<(JobId, Vec<J>), J> {
        let mut displaced = Vec::new();
        while self.is_full_for(cost) {
            let share = self.share_with(caller, 1, cost);
            match self.largest_caller() {
                Some(largest) if largest != caller && self.share_with(largest, 0, 0) > share => {
                    displaced.extend(self.displace_newest(largest));
                }
                // Jobs that already made room are gone; that is rare and costs their callers a retry.
                _ if displaced.is_empty() => return Err(job),
                _ => break,
            }
        }
        let id = JobId(self.arrivals);
        self.jobs.insert(id, Queued { job, cost, callers: vec![caller] });
        self.cost += cost;
        self.count(caller, cost);
        self.add_place(caller, id, cost);
        Ok((id, displaced))
    }

    /// Gives the job a place among those of `caller`, which waits for it too. Nothing happens if the job has left.
    pub(super) fn join(&mut self, id: JobId, caller: CallerId) {
        let Some(queued) = self.jobs.get_mut(&id) else { return };
        if !queued.callers.contains(&caller) {
            queued.callers.push(caller);
            let cost = queued.cost;
            self.add_place(caller, id, cost);
        }
    }

    /// Takes the job from the places of `caller`, which waits for it no more. The last place stays: whether a job that no
    /// caller waits for is worth its work is the worker's question.
    pub(super) fn leave(&mut self, id: JobId, caller: CallerId) {
        let Some(queued) = self.jobs.get_mut(&id) else { return };
        if queued.callers.len() > 1
            && let Some(index) = queued.callers.iter().position(|other| *other == caller)
        {
            queued.callers.remove(index);
            let (next, cost) = (queued.callers[0], queued.cost);
            if index == 0 {
                self.uncount(caller, cost);
                self.count(next, cost);
            }
            self.remove_place(caller, id, cost);
        }
    }

    /// The next job.
    pub(super) fn pop(&mut self) -> Option<J> {
        let (start, _, caller) = self.order.pop_first()?;
        self.virtual_time = start;
        let backlog = self.callers.get_mut(&caller)?;
        let served = backlog.places.pop_front()?.job;
        if let Some(next) = backlog.places.front() {
            self.order.insert((next.start, next.arrival, caller));
        }
        let Queued { job, cost, callers } = self.jobs.remove(&served)?;
        self.cost -= cost;
        self.uncount(callers[0], cost);
        for other in callers.into_iter().filter(|other| *other != caller) {
            self.remove_place(other, served, cost);
        }
        self.forget_idle_callers();
        Some(job)
    }

    /// Share of the queue that the caller with the largest share has, 0 ..= 1.
    pub(super) fn largest_share(&self) -> f64 {
        self.largest_caller().map_or(0.0, |caller| self.share_with(caller, 0, 0))
    }

    fn is_full_for(&self, cost: u64) -> bool {
        // A job that costs more than the limit by itself is accepted by an empty queue.
        let is_empty = self.jobs.is_empty();
        self.len() >= self.capacity.jobs || (!is_empty && self.cost.saturating_add(cost) > self.capacity.cost)
    }

    /// Share of the queue that `caller` would have with so many more jobs of so much cost.
    fn share_with(&self, caller: CallerId, jobs: usize, cost: u64) -> f64 {
        let (has_jobs, has_cost) = self.callers.get(&caller).map_or((0, 0), |backlog| (backlog.jobs, backlog.cost));
        let of_jobs = (has_jobs + jobs) as f64 / self.capacity.jobs as f64;
        let of_cost = (has_cost + cost) as f64 / self.capacity.cost as f64;
        of_jobs.max(of_cost)
    }

    fn largest_caller(&self) -> Option<CallerId> {
        let callers = self.order.iter().map(|(_, _, caller)| *caller);
        callers.max_by(|a, b| self.share_with(*a, 0, 0).total_cmp(&self.share_with(*b, 0, 0)))
    }

    /// Counts a job as one of `caller`.
    fn count(&mut self, caller: CallerId, cost: u64) {
        let backlog = self.callers.entry(caller).or_default();
        backlog.jobs += 1;
        backlog.cost += cost;
    }

    fn uncount(&mut self, caller: CallerId, cost: u64) {
        if let Some(backlog) = self.callers.get_mut(&caller) {
            backlog.jobs -= 1;
            backlog.cost -= cost;
        }
    }

    fn add_place(&mut self, caller: CallerId, job: JobId, cost: u64) {
        self.arrivals += 1;
        let arrival = self.arrivals;
        let backlog = self.callers.entry(caller).or_default();
        let start = backlog.finish.max(self.virtual_time);
        backlog.finish = start.saturating_add(cost);
        if backlog.places.is_empty() {
            self.order.insert((start, arrival, caller));
        }
        backlog.places.push_back(Place { start, arrival, job });
    }

    /// Removes a place that was not served, so that it costs `caller` nothing: its later places move up.
    fn remove_place(&mut self, caller: CallerId, job: JobId, cost: u64) {
        let Some(backlog) = self.callers.get_mut(&caller) else { return };
        let Some(index) = backlog.places.iter().position(|place| place.job == job) else { return };
        let front = backlog.places.front().map(|place| (place.start, place.arrival, caller));
        backlog.places.remove(index);
        // No place moves to before what is served now.
        let earlier = |tag: u64| tag.min(tag.saturating_sub(cost).max(self.virtual_time));
        backlog.places.iter_mut().skip(index).for_each(|place| place.start = earlier(place.start));
        backlog.finish = earlier(backlog.finish);
        if index == 0 {
            front.map(|front| self.order.remove(&front));
            self.order.extend(backlog.places.front().map(|place| (place.start, place.arrival, caller)));
        }
    }

    /// Takes the newest job of `caller` from it. Returns the job if no other caller waits for it.
    fn displace_newest(&mut self, caller: CallerId) -> Option<J> {
        let places = self.callers.get(&caller)?.places.iter().rev();
        let newest = places.map(|place| place.job).find(|job| self.jobs[job].callers[0] == caller)?;
        self.leave(newest, caller);
        if self.jobs[&newest].callers != [caller] {
            return None;
        }
        let Queued { job, cost, .. } = self.jobs.remove(&newest)?;
        self.cost -= cost;
        self.uncount(caller, cost);
        self.remove_place(caller, newest, cost);
        Some(job)
    }

    /// Forgets callers without jobs when the queue is empty, and when there are too many of them.
    fn forget_idle_callers(&mut self) {
        if self.order.is_empty() {
            self.callers.clear();
        } else if self.callers.len() > self.order.len() + REMEMBERED_CLIENTS {
            self.callers.retain(|_, backlog| !backlog.places.is_empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const A: CallerId = CallerId(1);
    const B: CallerId = CallerId(2);
    const C: CallerId = CallerId(3);

    fn queue(jobs: usize, cost: u64) -> FairQueue<(CallerId, u64)> {
        FairQueue::new(Capacity { jobs, cost })
    }

    fn fill(queue: &mut FairQueue<(CallerId, u64)>, caller: CallerId, jobs: usize, cost: u64) {
        for _ in 0..jobs {
            queue.push(caller, cost, (caller, cost)).unwrap();
        }
    }

    /// Adds a job, and returns those that had to make room for it.
    fn displaced(queue: &mut FairQueue<(CallerId, u64)>, caller: CallerId, cost: u64) -> Option<Vec<(CallerId, u64)>> {
        queue.push(caller, cost, (caller, cost)).ok().map(|(_, displaced)| displaced)
    }

    #[test]
    fn a_small_job_waits_for_at_most_one_large_job_of_another_client() {
        let mut queue = queue(1000, 1_000_000);
        fill(&mut queue, A, 100, 1000);
        queue.pop();
        queue.push(B, 10, (B, 10)).unwrap();
        let before = std::iter::from_fn(|| queue.pop()).take_while(|(caller, _)| *caller != B).count();
        assert!(before <= 1, "{before} jobs of the other client went first");
    }

    #[test]
    fn clients_get_equal_shares_of_the_cost_served() {
        let mut queue = queue(10_000, 10_000_000);
        fill(&mut queue, A, 1000, 1000);
        fill(&mut queue, B, 5000, 10);
        let mut served = HashMap::new();
        for _ in 0..1010 {
            let (caller, cost) = queue.pop().unwrap();
            *served.entry(caller).or_insert(0) += cost;
        }
        let (a, b) = (served[&A], served[&B]);
        assert!(a.abs_diff(b) <= 1000, "{a} and {b}");
    }

    #[test]
    fn a_client_that_always_has_one_large_job_waiting_does_not_starve_another() {
        let mut queue = queue(1000, 1_000_000);
        fill(&mut queue, B, 200, 10);
        let mut served = 0;
        for _ in 0..20 {
            queue.push(A, 100, (A, 100)).unwrap();
            while queue.pop().unwrap().0 == B {
                served += 1;
            }
        }
        assert!(served >= 180, "{served}");
    }

    #[test]
    fn a_full_queue_makes_room_for_a_client_with_a_smaller_share() {
        let mut queue = queue(10, 1_000_000);
        fill(&mut queue, A, 10, 5);
        assert_eq!(displaced(&mut queue, A, 5), None, "A has all of it");
        assert_eq!(displaced(&mut queue, B, 7), Some(vec![(A, 5)]));
        assert_eq!(queue.len(), 10);
        for _ in 0..4 {
            assert_eq!(displaced(&mut queue, B, 7).map(|displaced| displaced.len()), Some(1));
        }
        assert_eq!(displaced(&mut queue, B, 7), None, "equal shares");
    }

    #[test]
    fn cost_is_bounded_like_places() {
        let mut queue = queue(1000, 100);
        fill(&mut queue, A, 10, 10);
        assert_eq!(displaced(&mut queue, A, 10), None);
        assert_eq!(displaced(&mut queue, B, 10), Some(vec![(A, 10)]));
        assert_eq!(queue.cost(), 100);
        let mut empty = self::queue(1000, 100);
        assert_eq!(displaced(&mut empty, C, 500), Some(vec![]), "an empty queue takes any job");
    }

    #[test]
    fn clients_that_left_are_forgotten() {
        let mut queue = queue(1000, 1_000_000);
        fill(&mut queue, A, 500, 1);
        for caller in 10..10_000 {
            queue.push(CallerId(caller), 1, (CallerId(caller), 1)).unwrap();
            queue.pop().unwrap();
        }
        assert!(queue.callers.len() <= queue.order.len() + REMEMBERED_CLIENTS, "{}", queue.callers.len());
        while queue.pop().is_some() {}
        assert!(queue.callers.is_empty());
    }

    #[test]
    fn a_shared_job_is_served_in_the_best_place_and_costs_only_who_was_served() {
        let mut queue = queue(1000, 1_000_000);
        fill(&mut queue, A, 10, 100);
        let (shared, _) = queue.push(A, 100, (C, 100)).unwrap();
        fill(&mut queue, A, 1, 100);
        queue.pop();
        fill(&mut queue, B, 1, 10);
        queue.join(shared, C);
        queue.join(shared, C);
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        let place = order.iter().position(|(caller, _)| *caller == C).unwrap();
        assert!(place <= 2, "{order:?}");
        assert_eq!(order.len(), 12, "each once");
        // C was served 100; A is not charged for it.
        fill(&mut queue, A, 1, 100);
        fill(&mut queue, C, 1, 100);
        assert_eq!(queue.pop(), Some((A, 100)));
    }

    #[test]
    fn a_shared_job_stays_as_long_as_a_client_waits_for_it() {
        let mut queue = queue(2, 1_000_000);
        let (shared, _) = queue.push(A, 1, (A, 1)).unwrap();
        fill(&mut queue, A, 1, 1);
        queue.join(shared, B);
        queue.leave(shared, A);
        assert_eq!(displaced(&mut queue, B, 1), None, "now it counts as one of B");
        assert_eq!(displaced(&mut queue, C, 1), None, "nobody has more than one");
        queue.join(shared, C);
        queue.leave(shared, B);
        queue.leave(shared, C);
        assert_eq!(queue.len(), 2, "the last place stays");
        // Of the two jobs of A, the one that C waits for is kept.
        let mut queue = self::queue(2, 1_000_000);
        fill(&mut queue, A, 1, 1);
        let (shared, _) = queue.push(A, 1, (C, 1)).unwrap();
        queue.join(shared, C);
        assert_eq!(displaced(&mut queue, B, 1), None, "A and C have one each");
        assert_eq!(queue.pop(), Some((A, 1)));
        assert_eq!(queue.pop(), Some((C, 1)));
        queue.join(shared, B);
        assert_eq!((queue.pop(), queue.callers.len()), (None, 0), "a job that has left is joined by no client");
    }

    #[derive(Debug, Clone)]
    enum Step {
        Push { caller: u64, cost: u64 },
        Pop,
        Join { job: usize, caller: u64 },
        Leave { job: usize, caller: u64 },
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => (0u64..4, 1u64..50).prop_map(|(caller, cost)| Step::Push { caller, cost }),
            2 => Just(Step::Pop),
            2 => (0usize..40, 0u64..4).prop_map(|(job, caller)| Step::Join { job, caller }),
            1 => (0usize..40, 0u64..4).prop_map(|(job, caller)| Step::Leave { job, caller }),
        ]
    }

    proptest! {
        #[test]
        fn counts_agree_with_what_is_queued(steps in prop::collection::vec(step(), 1..300)) {
            let mut queue = queue(20, 400);
            let (mut entered, mut left, mut ids) = (0, 0, Vec::new());
            for step in steps {
                match step {
                    Step::Pop => left += usize::from(queue.pop().is_some()),
                    Step::Push { caller, cost } => {
                        if let Ok((id, displaced)) = queue.push(CallerId(caller), cost, (CallerId(caller), cost)) {
                            entered += 1;
                            left += displaced.len();
                            ids.push(id);
                        }
                    }
                    Step::Join { job, caller } => {
                        ids.iter().rev().nth(job).into_iter().for_each(|id| queue.join(*id, CallerId(caller)));
                    }
                    Step::Leave { job, caller } => {
                        ids.iter().rev().nth(job).into_iter().for_each(|id| queue.leave(*id, CallerId(caller)));
                    }
                }
                prop_assert!(queue.len() <= 20);
                prop_assert_eq!(queue.len(), entered - left);
                let sum = |of: fn(&Backlog) -> u64| queue.callers.values().map(of).sum::<u64>();
                prop_assert_eq!(sum(|backlog| backlog.cost), queue.cost());
                prop_assert_eq!(sum(|backlog| backlog.jobs as u64), queue.len() as u64);
                let places: usize = queue.jobs.values().map(|queued| queued.callers.len()).sum();
                prop_assert_eq!(sum(|backlog| backlog.places.len() as u64), places as u64);
                let fronts: BTreeSet<_> = queue.callers.iter().filter_map(|(caller, backlog)| {
                    backlog.places.front().map(|place| (place.start, place.arrival, *caller))
                }).collect();
                prop_assert_eq!(&queue.order, &fronts);
            }
            let rest: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
            prop_assert_eq!(rest.len(), entered - left);
            prop_assert_eq!((queue.len(), queue.cost()), (0, 0));
        }
    }
}
