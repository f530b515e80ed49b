//! A bounded queue that is fair between clients. [`GenerationQueue`](super::GenerationQueue) keeps its jobs in one.
//!
//! Jobs leave the queue by start-time fair queueing (P. Goyal, H. Vin, H. Cheng, "Start-time Fair Queueing", SIGCOMM
//! 1996): clients that wait get equal shares of the workers' time, whatever the number and the cost of their jobs. When
//! the queue is full, a job of the client with the largest share of the queue makes room for a client with a smaller
//! one. A client's share is the larger of its shares of places and of cost (A. Ghodsi et al., "Dominant Resource
//! Fairness", NSDI 2011).

use std::collections::{BTreeSet, HashMap, VecDeque};

use floor_cache::ClientId;

/// Clients without jobs that are remembered, beyond as many as have jobs.
const REMEMBERED_CLIENTS: usize = 4096;

/// The limits of a queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Capacity {
    /// Jobs.
    pub(super) jobs: usize,
    /// Cost of all jobs, in the unit of [`FairQueue::push`].
    pub(super) cost: u64,
}

/// A bounded queue of jobs, fair between clients.
#[derive(Debug)]
pub(super) struct FairQueue<J> {
    capacity: Capacity,
    clients: HashMap<ClientId, Backlog<J>>,
    /// The clients with jobs, in the order in which they are served next: by start tag, then by arrival.
    order: BTreeSet<(u64, u64, ClientId)>,
    /// The start tag of the job that left last.
    virtual_time: u64,
    arrivals: u64,
    jobs: usize,
    cost: u64,
}

/// The jobs of one client.
#[derive(Debug)]
struct Backlog<J> {
    jobs: VecDeque<Entry<J>>,
    cost: u64,
    /// The finish tag of its newest job.
    finish: u64,
}

#[derive(Debug)]
struct Entry<J> {
    start: u64,
    arrival: u64,
    cost: u64,
    job: J,
}

impl<J> FairQueue<J> {
    pub(super) fn new(capacity: Capacity) -> Self {
        Self {
            capacity,
            clients: HashMap::new(),
            order: BTreeSet::new(),
            virtual_time: 0,
            arrivals: 0,
            jobs: 0,
            cost: 0,
        }
    }

    /// The number of jobs.
    pub(super) const fn len(&self) -> usize {
        self.jobs
    }

    /// Cost of all jobs.
    pub(super) const fn cost(&self) -> u64 {
        self.cost
    }

    /// Adds a job of `client` with an estimated `cost`. Returns the jobs that had to make room for it.
    ///
    /// # Errors
    /// The job itself, if the queue is full and no client has a larger share of it.
    pub(super) fn push(&mut self, client: ClientId, cost: u64, job: J) -> Result<Vec<J>, J> {
        let mut displaced = Vec::new();
        while self.is_full_for(cost) {
            let share = self.share_with(client, 1, cost);
            match self.largest_client() {
                Some(largest) if largest != client && self.share_with(largest, 0, 0) > share => {
                    displaced.extend(self.remove_newest(largest));
                }
                // Jobs that already made room are gone; that is rare and costs their callers a retry.
                _ if displaced.is_empty() => return Err(job),
                _ => break,
            }
        }
        self.arrivals += 1;
        let arrival = self.arrivals;
        let idle = Backlog { jobs: VecDeque::new(), cost: 0, finish: 0 };
        let backlog = self.clients.entry(client).or_insert(idle);
        let start = backlog.finish.max(self.virtual_time);
        backlog.finish = start.saturating_add(cost);
        backlog.cost += cost;
        if backlog.jobs.is_empty() {
            self.order.insert((start, arrival, client));
        }
        backlog.jobs.push_back(Entry { start, arrival, cost, job });
        self.jobs += 1;
        self.cost += cost;
        Ok(displaced)
    }

    /// The next job.
    pub(super) fn pop(&mut self) -> Option<J> {
        let (start, _, client) = self.order.pop_first()?;
        self.virtual_time = start;
        let backlog = self.clients.get_mut(&client)?;
        let entry = backlog.jobs.pop_front()?;
        backlog.cost -= entry.cost;
        if let Some(next) = backlog.jobs.front() {
            self.order.insert((next.start, next.arrival, client));
        }
        self.jobs -= 1;
        self.cost -= entry.cost;
        self.forget_idle_clients();
        Some(entry.job)
    }

    /// Share of the queue that the client with the largest share has, 0 ..= 1.
    pub(super) fn largest_share(&self) -> f64 {
        self.largest_client().map_or(0.0, |client| self.share_with(client, 0, 0))
    }

    const fn is_full_for(&self, cost: u64) -> bool {
        // A job that costs more than the limit by itself is accepted by an empty queue.
        self.jobs >= self.capacity.jobs || (self.jobs > 0 && self.cost.saturating_add(cost) > self.capacity.cost)
    }

    /// Share of the queue that `client` would have with so many more jobs of so much cost.
    fn share_with(&self, client: ClientId, jobs: usize, cost: u64) -> f64 {
        let (has_jobs, has_cost) =
            self.clients.get(&client).map_or((0, 0), |backlog| (backlog.jobs.len(), backlog.cost));
        let of_jobs = (has_jobs + jobs) as f64 / self.capacity.jobs as f64;
        let of_cost = (has_cost + cost) as f64 / self.capacity.cost as f64;
        of_jobs.max(of_cost)
    }

    fn largest_client(&self) -> Option<ClientId> {
        let clients = self.order.iter().map(|(_, _, client)| *client);
        clients.max_by(|a, b| self.share_with(*a, 0, 0).total_cmp(&self.share_with(*b, 0, 0)))
    }

    /// Removes the newest job of `client`.
    fn remove_newest(&mut self, client: ClientId) -> Option<J> {
        let backlog = self.clients.get_mut(&client)?;
        let entry = backlog.jobs.pop_back()?;
        backlog.cost -= entry.cost;
        backlog.finish = entry.start;
        if backlog.jobs.is_empty() {
            self.order.remove(&(entry.start, entry.arrival, client));
        }
        self.jobs -= 1;
        self.cost -= entry.cost;
        Some(entry.job)
    }

    /// Forgets clients without jobs when the queue is empty, and when there are too many of them.
    fn forget_idle_clients(&mut self) {
        if self.order.is_empty() {
            self.clients.clear();
        } else if self.clients.len() > self.order.len() + REMEMBERED_CLIENTS {
            self.clients.retain(|_, backlog| !backlog.jobs.is_empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const A: ClientId = ClientId(1);
    const B: ClientId = ClientId(2);
    const C: ClientId = ClientId(3);

    fn queue(jobs: usize, cost: u64) -> FairQueue<(ClientId, u64)> {
        FairQueue::new(Capacity { jobs, cost })
    }

    fn fill(queue: &mut FairQueue<(ClientId, u64)>, client: ClientId, jobs: usize, cost: u64) {
        for _ in 0..jobs {
            queue.push(client, cost, (client, cost)).unwrap();
        }
    }

    #[test]
    fn a_small_job_waits_for_at_most_one_large_job_of_another_client() {
        let mut queue = queue(1000, 1_000_000);
        fill(&mut queue, A, 100, 1000);
        queue.pop();
        queue.push(B, 10, (B, 10)).unwrap();
        let before = std::iter::from_fn(|| queue.pop()).take_while(|(client, _)| *client != B).count();
        assert!(before <= 1, "{before} jobs of the other client went first");
    }

    #[test]
    fn clients_get_equal_shares_of_the_cost_served() {
        let mut queue = queue(10_000, 10_000_000);
        fill(&mut queue, A, 1000, 1000);
        fill(&mut queue, B, 5000, 10);
        let mut served = HashMap::new();
        for _ in 0..1010 {
            let (client, cost) = queue.pop().unwrap();
            *served.entry(client).or_insert(0) += cost;
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
        assert_eq!(queue.push(A, 5, (A, 5)), Err((A, 5)), "A has all of it");
        assert_eq!(queue.push(B, 7, (B, 7)), Ok(vec![(A, 5)]));
        assert_eq!(queue.len(), 10);
        for _ in 0..4 {
            assert_eq!(queue.push(B, 7, (B, 7)).map(|displaced| displaced.len()), Ok(1));
        }
        assert_eq!(queue.push(B, 7, (B, 7)), Err((B, 7)), "equal shares");
    }

    #[test]
    fn cost_is_bounded_like_places() {
        let mut queue = queue(1000, 100);
        fill(&mut queue, A, 10, 10);
        assert_eq!(queue.push(A, 10, (A, 10)), Err((A, 10)));
        assert_eq!(queue.push(B, 10, (B, 10)), Ok(vec![(A, 10)]));
        assert_eq!(queue.cost(), 100);
        let mut empty = self::queue(1000, 100);
        assert_eq!(empty.push(C, 500, (C, 500)), Ok(vec![]), "an empty queue takes any job");
    }

    #[test]
    fn clients_that_left_are_forgotten() {
        let mut queue = queue(1000, 1_000_000);
        fill(&mut queue, A, 500, 1);
        for client in 10..10_000 {
            queue.push(ClientId(client), 1, (ClientId(client), 1)).unwrap();
            queue.pop().unwrap();
        }
        assert!(queue.clients.len() <= queue.order.len() + REMEMBERED_CLIENTS, "{}", queue.clients.len());
        while queue.pop().is_some() {}
        assert!(queue.clients.is_empty());
    }

    proptest! {
        #[test]
        fn counts_agree_with_what_is_queued(steps in prop::collection::vec((0u64..4, 1u64..50, any::<bool>()), 1..300)) {
            let mut queue = queue(20, 400);
            let (mut entered, mut left) = (0, 0);
            for (client, cost, pop) in steps {
                if pop {
                    left += usize::from(queue.pop().is_some());
                } else if let Ok(displaced) = queue.push(ClientId(client), cost, (ClientId(client), cost)) {
                    entered += 1;
                    left += displaced.len();
                }
                prop_assert!(queue.len() <= 20);
                prop_assert_eq!(queue.len(), entered - left);
            }
            let rest: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
            prop_assert_eq!(rest.len(), entered - left);
            prop_assert_eq!((queue.len(), queue.cost()), (0, 0));
        }
    }
}
