//! Counts and histograms of times that many threads add to.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// A histogram of times.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Times {
    /// Upper bounds, and how many times were at most that long.
    pub buckets: Vec<(Duration, u64)>,
    /// How many times there are.
    pub count: u64,
    /// Their sum.
    pub sum: Duration,
}

impl Times {
    /// Adds the times of `other`, which has the same bounds.
    pub fn add(&mut self, other: &Self) {
        for (bucket, (_, count)) in self.buckets.iter_mut().zip(&other.buckets) {
            bucket.1 += count;
        }
        self.count += other.count;
        self.sum += other.sum;
    }
}

/// Counts times in `N` buckets, each twice as wide as the one before.
#[derive(Debug)]
pub(crate) struct Histogram<const N: usize> {
    /// The upper bound of the first bucket in nanoseconds.
    first: u64,
    buckets: [AtomicU64; N],
    longer: AtomicU64,
    nanoseconds: AtomicU64,
}

impl<const N: usize> Histogram<N> {
    pub(crate) fn new(first: Duration) -> Self {
        let buckets = std::array::from_fn(|_| AtomicU64::new(0));
        Self { first: nanoseconds(first), buckets, longer: AtomicU64::new(0), nanoseconds: AtomicU64::new(0) }
    }

    pub(crate) fn observe(&self, took: Duration) {
        let took = nanoseconds(took);
        let parts = took.div_ceil(self.first).max(1);
        let bucket = parts.next_power_of_two().ilog2() as usize;
        self.buckets.get(bucket).unwrap_or(&self.longer).fetch_add(1, Relaxed);
        self.nanoseconds.fetch_add(took, Relaxed);
    }

    pub(crate) fn times(&self) -> Times {
        let mut count = 0;
        let bucket = |(number, bucket): (usize, &AtomicU64)| {
            count += bucket.load(Relaxed);
            (Duration::from_nanos(self.first << number), count)
        };
        let buckets = self.buckets.iter().enumerate().map(bucket).collect();
        let sum = Duration::from_nanos(self.nanoseconds.load(Relaxed));
        Times { buckets, count: count + self.longer.load(Relaxed), sum }
    }
}

/// A count that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// `duration` in nanoseconds; the largest number if it is longer than five centuries.
pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_counts_in_the_first_bucket_that_is_not_shorter() {
        let histogram = Histogram::<3>::new(Duration::from_nanos(500));
        for took in [0, 500, 501, 1_000, 1_001, 2_000, 2_001, u64::MAX / 2 + 1_000] {
            histogram.observe(Duration::from_nanos(took));
        }
        let times = histogram.times();
        assert_eq!(times.buckets, [(500, 2), (1_000, 4), (2_000, 6)].map(|(ns, n)| (Duration::from_nanos(ns), n)));
        assert_eq!(times.count, 8);
    }
}
