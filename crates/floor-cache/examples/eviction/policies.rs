//! Simulated eviction policies, over floors of equal size, to compare with the stores.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    num::NonZeroUsize,
};

use lru::LruCache;

/// FIFO: evicts the floor inserted first. As with the other policies, returns whether a floor was cached, and inserts
/// it if not.
pub(crate) fn fifo(capacity: usize) -> impl FnMut(usize) -> bool {
    let mut floors = queue(capacity);
    move |floor| floors.contains(&floor) || floors.put(floor, ()).is_some()
}

/// Evicts the least recently used floor.
pub(crate) fn lru(capacity: usize) -> impl FnMut(usize) -> bool {
    let mut floors = queue(capacity);
    move |floor| floors.put(floor, ()).is_some()
}

fn queue(capacity: usize) -> LruCache<usize, ()> {
    LruCache::new(NonZeroUsize::new(capacity).unwrap())
}

/// Three queues: "FIFO queues are all you need for cache eviction" (Yang, Zhang, Qiu, Yue and Vigfusson, SOSP 2023),
/// algorithm 1. The small queue has a tenth of the capacity, the ghost queue as many entries as the main queue.
pub(crate) struct S3Fifo {
    small: VecDeque<usize>,
    main: VecDeque<usize>,
    ghost: LruCache<usize, ()>,
    /// Requests for each floor in the small or main queue, up to 3.
    frequency: HashMap<usize, u8>,
    small_capacity: usize,
    capacity: usize,
}

impl S3Fifo {
    pub(crate) fn new(capacity: usize) -> Self {
        let small_capacity = capacity / 10;
        Self {
            small: VecDeque::new(),
            main: VecDeque::new(),
            ghost: queue(capacity - small_capacity),
            frequency: HashMap::new(),
            small_capacity,
            capacity,
        }
    }

    fn evict_from_small(&mut self) {
        while let Some(floor) = self.small.pop_front() {
            if self.frequency[&floor] > 1 {
                self.frequency.insert(floor, 0);
                self.main.push_back(floor);
                if self.main.len() > self.capacity - self.small_capacity {
                    return self.evict_from_main();
                }
            } else {
                self.frequency.remove(&floor);
                self.ghost.put(floor, ());
                return;
            }
        }
    }

    fn evict_from_main(&mut self) {
        while let Some(floor) = self.main.pop_front() {
            match self.frequency[&floor] {
                0 => {
                    self.frequency.remove(&floor);
                    return;
                }
                count => {
                    self.frequency.insert(floor, count - 1);
                    self.main.push_back(floor);
                }
            }
        }
    }

    pub(crate) fn ask(&mut self, floor: usize) -> bool {
        if let Some(count) = self.frequency.get_mut(&floor) {
            *count = (*count + 1).min(3);
            return true;
        }
        while self.frequency.len() >= self.capacity {
            if self.small.len() >= self.small_capacity { self.evict_from_small() } else { self.evict_from_main() }
        }
        self.frequency.insert(floor, 0);
        if self.ghost.pop(&floor).is_some() {
            self.main.push_back(floor);
        } else {
            self.small.push_back(floor);
        }
        false
    }
}

/// SIEVE as in its paper (Zhang, Yang, Yue, Vigfusson and Rashmi, NSDI 2024): the hand passes the newest entry before
/// it restarts.
pub(crate) struct Sieve {
    /// Age -> floor.
    queue: BTreeMap<u64, usize>,
    /// Floor -> whether it was requested since the hand passed it.
    visited: HashMap<usize, bool>,
    hand: u64,
    next_age: u64,
    capacity: usize,
}

impl Sieve {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { queue: BTreeMap::new(), visited: HashMap::new(), hand: 0, next_age: 0, capacity }
    }

    fn evict(&mut self) {
        loop {
            let Some((&age, &floor)) = self.queue.range(self.hand..).next() else {
                self.hand = 0;
                continue;
            };
            self.hand = age + 1;
            if self.visited.insert(floor, false) == Some(false) {
                self.visited.remove(&floor);
                self.queue.remove(&age);
                return;
            }
        }
    }

    pub(crate) fn ask(&mut self, floor: usize) -> bool {
        if let Some(visited) = self.visited.get_mut(&floor) {
            *visited = true;
            return true;
        }
        if self.visited.len() == self.capacity {
            self.evict();
        }
        self.visited.insert(floor, false);
        self.queue.insert(self.next_age, floor);
        self.next_age += 1;
        false
    }
}
