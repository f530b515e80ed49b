//! The cost of a query to a tier, by its number of keys.

use crate::ewma::Ewma;

/// A running estimate of `T(n)`, the response time of a query for `n` keys: `T(1)` and the time of each further key.
///
/// Queries for one key give `T(1)`, larger queries the slope. If only one of the two was measured, a remote tier is
/// assumed to answer any query in the same time, and a local tier in time proportional to the keys.
#[derive(Debug)]
pub(super) struct QueryCost {
    is_remote: bool,
    /// Seconds of a query for one key.
    single: Ewma,
    /// Seconds of a query for several keys, and their average number.
    several: Ewma,
    keys: Ewma,
}

/// A single sample counts as at most this many times the estimate: its thread may have been suspended.
const OUTLIER: f64 = 8.0;

impl QueryCost {
    pub(super) fn new(is_remote: bool) -> Self {
        Self { is_remote, single: Ewma::new(), several: Ewma::new(), keys: Ewma::new() }
    }

    /// Records a query for `keys` keys that took `seconds`, with `weight` against all earlier ones.
    pub(super) fn learn(&mut self, keys: usize, seconds: f64, weight: f64) {
        let seconds = self.seconds(keys).map_or(seconds, |usual| seconds.min(OUTLIER * usual));
        if keys == 1 {
            self.single.add(seconds, weight);
        } else {
            self.several.add(seconds, weight);
            self.keys.add(keys as f64, weight);
        }
    }

    /// `T(n)` in seconds; `None` before the first answer.
    pub(super) fn seconds(&self, keys: usize) -> Option<f64> {
        let n = keys as f64;
        let slope_without_round_trip = |seconds: f64, keys: f64| if self.is_remote { 0.0 } else { seconds / keys };
        match (self.single.get(), self.several.get().zip(self.keys.get())) {
            (Some(single), None) => Some(single + slope_without_round_trip(single, 1.0) * (n - 1.0)),
            (None, Some((several, keys))) => {
                Some((several + slope_without_round_trip(several, keys) * (n - keys)).max(0.0))
            }
            (Some(single), Some((several, keys))) => {
                // More keys never make a query cheaper.
                let slope = ((several - single) / (keys - 1.0)).max(0.0);
                Some(single + slope * (n - 1.0))
            }
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEIGHT: f64 = 1.0 / 16.0;

    /// A round trip of 300 us, and 2 us for each key.
    fn network(keys: usize) -> f64 {
        300e-6 + 2e-6 * keys as f64
    }

    /// A store in this process.
    fn store(keys: usize) -> f64 {
        1e-6 * keys as f64
    }

    fn measured(is_remote: bool, sizes: impl IntoIterator<Item = usize>, seconds: fn(usize) -> f64) -> QueryCost {
        let mut cost = QueryCost::new(is_remote);
        sizes.into_iter().for_each(|keys| cost.learn(keys, seconds(keys), WEIGHT));
        cost
    }

    fn assert_query_near(cost: &QueryCost, keys: usize, truth: f64) {
        let estimate = cost.seconds(keys).expect("queries were answered");
        assert!((estimate / truth - 1.0).abs() < 0.01, "{keys} keys: {estimate} against {truth}");
    }

    #[test]
    fn nothing_is_known_before_the_first_answer() {
        assert_eq!(QueryCost::new(true).seconds(1), None);
    }

    #[test]
    fn single_queries_and_batches_give_the_cost_of_every_size() {
        for (is_remote, seconds) in [(true, network as fn(usize) -> f64), (false, store)] {
            let cost = measured(is_remote, [1, 64].into_iter().cycle().take(200), seconds);
            [1, 2, 16, 64, 256].into_iter().for_each(|keys| assert_query_near(&cost, keys, seconds(keys)));
        }
    }

    #[test]
    fn across_a_network_the_round_trip_is_taken_for_the_cost_of_every_size() {
        let cost = measured(true, [64; 100], network);
        [1, 64, 256].into_iter().for_each(|keys| assert_query_near(&cost, keys, network(64)));
        let cost = measured(true, [1; 100], network);
        [1, 64, 256].into_iter().for_each(|keys| assert_query_near(&cost, keys, network(1)));
    }

    #[test]
    fn in_this_process_the_cost_is_taken_to_be_proportional_to_the_keys() {
        for size in [1, 64] {
            let cost = measured(false, [size; 100], store);
            [1, 64, 256].into_iter().for_each(|keys| assert_query_near(&cost, keys, store(keys)));
        }
    }

    #[test]
    fn a_change_is_followed() {
        let mut cost = measured(true, [1, 64].into_iter().cycle().take(200), network);
        (0..200).for_each(|_| cost.learn(1, 6e-3, WEIGHT));
        assert_query_near(&cost, 1, 6e-3);
        assert_query_near(&cost, 64, 6e-3);
    }

    #[test]
    fn one_slow_answer_counts_as_no_more_than_eight_usual_ones() {
        let mut cost = measured(true, [1; 100], network);
        cost.learn(1, 1.0, WEIGHT);
        assert!(cost.seconds(1).is_some_and(|seconds| seconds < 1.5 * network(1)), "{cost:?}");
    }
}
