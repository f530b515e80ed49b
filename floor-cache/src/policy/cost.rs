//! What a question costs, by how many keys it is for: a round trip, and so much a key.

/// A running estimate of `a` and `b` in `T(n) = (a + b n) / n`, the share of a key in a question for `n`.
///
/// A line through the questions of late, by least squares, of which the newest weigh most. Questions of much the same size
/// say nothing of `b`; then a question for one key is taken to cost as much as any.
#[derive(Debug, Default)]
pub(super) struct Cost {
    questions: u64,
    /// The means of keys and of seconds a question, through which the line goes.
    keys: f64,
    seconds: f64,
    /// The variance of the keys, and their covariance with the seconds: their ratio is the line's slope.
    variance: f64,
    covariance: f64,
}

/// One slow answer in a fast tier is an accident: it counts as no more than so many times the usual.
const OUTLIER: f64 = 8.0;

/// Sizes that spread by less than this share of their mean tell of accidents, or of what was long ago, and not of `b`.
const SPREAD: f64 = 0.1;

impl Cost {
    /// Takes in that a question for `keys` keys took `seconds`, with `weight` against all that was before. The first few count
    /// alike: the very first has to connect.
    pub(super) fn learn(&mut self, keys: f64, seconds: f64, weight: f64) {
        let seconds = if self.questions == 0 { seconds } else { seconds.min(OUTLIER * self.usual(keys)) };
        self.questions += 1;
        let weight = weight.max(1.0 / self.questions as f64);
        let (more_keys, more_seconds) = (keys - self.keys, seconds - self.seconds);
        self.keys += weight * more_keys;
        self.seconds += weight * more_seconds;
        self.variance = (1.0 - weight) * (self.variance + weight * more_keys * more_keys);
        self.covariance = (1.0 - weight) * (self.covariance + weight * more_keys * more_seconds);
    }

    /// `T(n)`: what each of `keys` keys costs that are asked for at once.
    pub(super) fn of_each(&self, keys: usize) -> f64 {
        let keys = keys.max(1) as f64;
        self.question(keys) / keys
    }

    /// What a key has cost of late, in questions of whatever sizes.
    pub(super) fn of_a_key(&self) -> f64 {
        if self.keys == 0.0 { 0.0 } else { self.seconds / self.keys }
    }

    fn question(&self, keys: f64) -> f64 {
        self.seconds + self.slope().unwrap_or_default() * (keys - self.keys)
    }

    /// `b`: no question is cheaper for being for more keys, and none comes back before it has set out.
    fn slope(&self) -> Option<f64> {
        (self.variance > (SPREAD * self.keys).powi(2))
            .then(|| (self.covariance / self.variance).clamp(0.0, self.of_a_key()))
    }

    /// The most that a question for `keys` keys would usually take.
    fn usual(&self, keys: f64) -> f64 {
        match self.slope() {
            Some(_) => self.question(keys),
            None => self.seconds.max(self.of_a_key() * keys),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEIGHT: f64 = 1.0 / 16.0;

    /// A road of 300 us there and back, and 2 us for each key.
    fn road(keys: usize) -> f64 {
        300e-6 + 2e-6 * keys as f64
    }

    fn learnt(sizes: impl IntoIterator<Item = usize>, seconds: impl Fn(usize) -> f64) -> Cost {
        let mut cost = Cost::default();
        sizes.into_iter().for_each(|keys| cost.learn(keys as f64, seconds(keys), WEIGHT));
        cost
    }

    fn near(estimate: f64, truth: f64) -> bool {
        (estimate / truth - 1.0).abs() < 0.01
    }

    #[test]
    fn two_sizes_tell_what_every_other_costs() {
        let cost = learnt([1, 64].into_iter().cycle().take(200), road);
        for keys in [1, 2, 16, 64, 256] {
            let (estimate, truth) = (cost.of_each(keys), road(keys) / keys as f64);
            assert!(near(estimate, truth), "{keys} keys: {estimate} against {truth}");
        }
    }

    #[test]
    fn of_one_size_it_tells_what_that_costs_and_of_fewer_that_a_round_trip_costs_the_same() {
        let cost = learnt([64; 100], road);
        assert!(near(cost.of_each(64), road(64) / 64.0));
        assert!(near(cost.of_each(1), road(64)));
        let cost = learnt([1; 100], road);
        assert!(near(cost.of_each(1), road(1)));
        assert!(near(cost.of_each(64), road(1) / 64.0), "the benefit of the doubt");
    }

    #[test]
    fn a_slow_first_question_does_not_make_a_round_trip_look_cheap() {
        // It connects, and is for a few keys more than those that follow.
        let cost = learnt([100].into_iter().chain([64; 50]), |keys| if keys == 100 { 20e-3 } else { road(keys) });
        assert!(cost.of_each(1) > 0.9 * road(1), "{}", cost.of_each(1));
    }

    #[test]
    fn one_single_question_after_batches_tells_what_single_ones_cost() {
        // A store in this process: no round trip.
        let store = |keys: usize| 1e-6 * keys as f64;
        let cost = learnt([64; 100].into_iter().chain([1]), store);
        assert!(near(cost.of_each(1), 1e-6), "{}", cost.of_each(1));
        // And across a network, where the round trip is nearly all.
        let cost = learnt([64; 100].into_iter().chain([1]), road);
        assert!(near(cost.of_each(1), road(1)), "{}", cost.of_each(1));
    }

    #[test]
    fn batches_after_many_single_questions_are_soon_known() {
        let store = |keys: usize| 1e-6 * keys as f64;
        let cost = learnt([1; 1000].into_iter().chain([256; 4]), store);
        assert!(near(cost.of_each(256), 1e-6), "{}", cost.of_each(256));
        assert!(near(cost.of_each(1), 1e-6), "{}", cost.of_each(1));
    }

    #[test]
    fn a_change_is_followed_and_no_estimate_is_below_nothing() {
        let mut cost = learnt([1, 64].into_iter().cycle().take(200), road);
        for _ in 0..200 {
            // Now only the single ones, and slow: what the batches cost is a guess, but a sane one.
            cost.learn(1.0, 6e-3, WEIGHT);
            assert!([1, 2, 64, 256].into_iter().all(|keys| cost.of_each(keys) > 0.0), "{cost:?}");
        }
        assert!(near(cost.of_each(1), 6e-3));
        assert!(near(cost.of_each(64), 6e-3 / 64.0));
        (0..2000).for_each(|_| cost.learn(1.0, 1e-3, WEIGHT));
        assert!(near(cost.of_each(1), 1e-3));
        assert!(near(cost.of_each(64), 1e-3 / 64.0), "batches long ago are forgotten: {cost:?}");
    }

    #[test]
    fn one_accident_counts_as_no_more_than_eight_usual_answers() {
        let mut cost = learnt([1; 100], road);
        cost.learn(1.0, 1.0, WEIGHT);
        assert!(cost.of_each(1) < 1.5 * road(1), "{cost:?}");
    }
}
