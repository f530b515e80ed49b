//! How long a question to a tier takes, by the number of its keys.

use crate::ewma::Ewma;

/// A running estimate of `T(n)`, the response time of a question for `n` keys: `T(1)` and what each further key adds.
///
/// Questions for one key teach `T(1)`, larger questions teach the slope. Where only one of the two was seen, a tier
/// across a network is taken to answer any question in the same time, and one in this process in time proportional to
/// the keys.
#[derive(Debug)]
pub(super) struct QueryCost {
    is_remote: bool,
    /// Seconds of a question for one key.
    single: Ewma,
    /// Seconds of a question for several keys, and how many keys these have on average.
    several: Ewma,
    keys: Ewma,
}

/// One slow answer in a fast tier is an accident: it counts as no more than so many times the estimate.
const OUTLIER: f64 = 8.0;

impl QueryCost {
    pub(super) fn new(is_remote: bool) -> Self {
        Self { is_remote, single: Ewma::new(), several: Ewma::new(), keys: Ewma::new() }
    }

    /// Takes in that a question for `keys` keys took `seconds`, with `weight` against all that was before.
    pub(super) fn learn(&mut self, keys: usize, seconds: f64, weight: f64) {
        let seconds = self.seconds(keys).map_or(seconds, |usual| seconds.min(OUTLIER * usual));
        if keys == 1 {
            self.single.add(seconds, weight);
        } else {
            self.several.add(seconds, weight);
            self.keys.add(keys as f64, weight);
        }
    }

    /// `T(n)` in seconds; `None` until a question was answered.
    pub(super) fn seconds(&self, keys: usize) -> Option<f64> {
        let n = keys as f64;
        let slope_without_round_trip = |seconds: f64, keys: f64| if self.is_remote { 0.0 } else { seconds / keys };
        match (self.single.get(), self.several.get().zip(self.keys.get())) {
            (Some(single), None) => Some(single + slope_without_round_trip(single, 1.0) * (n - 1.0)),
            (None, Some((several, keys))) => {
                Some((several + slope_without_round_trip(several, keys) * (n - keys)).max(0.0))
            }
            (Some(single), Some((several, keys))) => {
                // No question is cheaper for having more keys.
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

    fn learnt(is_remote: bool, sizes: impl IntoIterator<Item = usize>, seconds: fn(usize) -> f64) -> QueryCost {
        let mut cost = QueryCost::new(is_remote);
        sizes.into_iter().for_each(|keys| cost.learn(keys, seconds(keys), WEIGHT));
        cost
    }

    fn assert_near(cost: &QueryCost, keys: usize, truth: f64) {
        let estimate = cost.seconds(keys).expect("questions were answered");
        assert!((estimate / truth - 1.0).abs() < 0.01, "{keys} keys: {estimate} against {truth}");
    }

    #[test]
    fn nothing_is_known_before_the_first_answer() {
        assert_eq!(QueryCost::new(true).seconds(1), None);
    }

    #[test]
    fn single_questions_and_batches_teach_the_cost_of_every_size() {
        for (is_remote, seconds) in [(true, network as fn(usize) -> f64), (false, store)] {
            let cost = learnt(is_remote, [1, 64].into_iter().cycle().take(200), seconds);
            [1, 2, 16, 64, 256].into_iter().for_each(|keys| assert_near(&cost, keys, seconds(keys)));
        }
    }

    #[test]
    fn across_a_network_the_round_trip_is_taken_for_the_cost_of_every_size() {
        let cost = learnt(true, [64; 100], network);
        [1, 64, 256].into_iter().for_each(|keys| assert_near(&cost, keys, network(64)));
        let cost = learnt(true, [1; 100], network);
        [1, 64, 256].into_iter().for_each(|keys| assert_near(&cost, keys, network(1)));
    }

    #[test]
    fn in_this_process_the_cost_is_taken_to_be_proportional_to_the_keys() {
        for size in [1, 64] {
            let cost = learnt(false, [size; 100], store);
            [1, 64, 256].into_iter().for_each(|keys| assert_near(&cost, keys, store(keys)));
        }
    }

    #[test]
    fn a_change_is_followed() {
        let mut cost = learnt(true, [1, 64].into_iter().cycle().take(200), network);
        (0..200).for_each(|_| cost.learn(1, 6e-3, WEIGHT));
        assert_near(&cost, 1, 6e-3);
        assert_near(&cost, 64, 6e-3);
    }

    #[test]
    fn one_slow_answer_counts_as_no_more_than_eight_usual_ones() {
        let mut cost = learnt(true, [1; 100], network);
        cost.learn(1, 1.0, WEIGHT);
        assert!(cost.seconds(1).is_some_and(|seconds| seconds < 1.5 * network(1)), "{cost:?}");
    }
}
