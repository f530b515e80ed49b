//! The two costs that the policy compares: of a query to a tier, and of generating a value.

use std::time::Duration;

use parking_lot::Mutex;

use crate::{ewma::Ewma, key::Class};

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

/// Estimates the cost of generation from recent values and the queue.
///
/// The response time is predicted from the queue: with `b` seconds of work queued, `w` workers and `s` seconds for the
/// value itself, a call waits `(b + s) / w`, and at least `s`. Two corrections are measured: the dispatch time to an
/// idle worker and back, and the factor by which a queued call exceeds the prediction.
#[derive(Debug)]
pub(crate) struct GenerationCost {
    workers: f64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Seconds on a worker per unit of size, by class, and the CPU seconds of it.
    run: [Ewma; Class::COUNT],
    cpu: [Ewma; Class::COUNT],
    /// Seconds of dispatch to an idle worker and back.
    dispatch: Ewma,
    /// Measured over predicted response time of queued values.
    stretch: Ewma,
    /// Seconds of unfinished work for callers, and the number of its values.
    backlog: f64,
    queued: usize,
    /// Background values in progress.
    background: usize,
}

/// The properties of a value that its cost depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Work {
    pub(crate) class: Class,
    /// In the source's units. Within a class, the cost is proportional to it.
    pub(crate) size: u32,
}

/// The predicted cost of values generated now, together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Forecast {
    /// Seconds until the last value is ready.
    pub(crate) response: f64,
    /// Seconds on workers for all values, one after the other.
    pub(crate) run: f64,
    /// CPU seconds of all values.
    pub(crate) cpu: f64,
}

/// A generation in progress. If it is dropped, the generation was cancelled.
#[derive(Debug)]
pub(crate) struct InProgress<'a> {
    cost: &'a GenerationCost,
    work: Work,
    /// Estimated seconds on a worker.
    run: f64,
    /// Predicted seconds until the value is ready, without corrections.
    predicted: f64,
    is_background: bool,
    /// Whether a worker was free.
    was_idle: bool,
}

const WEIGHT: f64 = 1.0 / 16.0;

/// Bounds of one measurement of the stretch.
const MIN_STRETCH: f64 = 0.25;
const MAX_STRETCH: f64 = 8.0;

impl GenerationCost {
    pub(crate) fn new(workers: usize) -> Self {
        let state = State {
            run: [Ewma::new(); Class::COUNT],
            cpu: [Ewma::new(); Class::COUNT],
            dispatch: Ewma::new(),
            stretch: Ewma::new(),
            backlog: 0.0,
            queued: 0,
            background: 0,
        };
        Self { workers: workers.max(1) as f64, state: Mutex::new(state) }
    }

    /// Whether a value of `class` was ever generated.
    pub(crate) fn is_known(&self, class: Class) -> bool {
        self.state.lock().run[class.index()].get().is_some()
    }

    /// The cost of `works` together now; `None` if the cost of a class is unknown or `works` is empty.
    pub(crate) fn forecast(&self, works: impl IntoIterator<Item = Work>) -> Option<Forecast> {
        let state = self.state.lock();
        let (mut run, mut longest, mut cpu) = (0.0, 0.0_f64, 0.0);
        for Work { class, size } in works {
            let size = f64::from(size);
            let one = state.run[class.index()].get()? * size;
            cpu += state.cpu[class.index()].get()? * size;
            run += one;
            longest = longest.max(one);
        }
        let predicted = self.predicted(state.backlog + run, longest);
        let stretch = if state.queued < self.workers as usize { 1.0 } else { state.stretch.get().unwrap_or(1.0) };
        let response = state.dispatch.get().unwrap_or_default() + stretch * predicted;
        (run > 0.0).then_some(Forecast { response, run, cpu })
    }

    /// Seconds to finish `work` seconds of work, whose longest item takes `longest`.
    fn predicted(&self, work: f64, longest: f64) -> f64 {
        (work / self.workers).max(longest)
    }

    /// Records the start of a generation of `work`.
    pub(crate) fn begin(&self, work: Work, is_background: bool) -> InProgress<'_> {
        let mut state = self.state.lock();
        let run = state.run[work.class.index()].get().unwrap_or_default() * f64::from(work.size);
        let in_front = state.queued + state.background;
        let predicted = self.predicted(state.backlog + run, run);
        if is_background {
            state.background += 1;
        } else {
            state.backlog += run;
            state.queued += 1;
        }
        // Background work runs after callers' work, so only an idle source shows its duration.
        let was_idle = if is_background { in_front == 0 } else { in_front < self.workers as usize };
        InProgress { cost: self, work, run, predicted, is_background, was_idle }
    }
}

impl InProgress<'_> {
    /// Records that the value is ready `elapsed` after the start. Generating it took `took`, and `cpu` of CPU time.
    pub(crate) fn finish(self, elapsed: Duration, took: Duration, cpu: Duration) {
        let mut state = self.cost.state.lock();
        let elapsed = elapsed.as_secs_f64();
        if self.was_idle {
            let dispatch = (elapsed - took.as_secs_f64()).max(0.0);
            let usual = state.dispatch.get().unwrap_or(dispatch);
            state.dispatch.add(dispatch.min(OUTLIER * usual.max(took.as_secs_f64())), WEIGHT);
        } else if !self.is_background && self.predicted > 0.0 {
            let beyond = elapsed - state.dispatch.get().unwrap_or_default();
            state.stretch.add((beyond / self.predicted).clamp(MIN_STRETCH, MAX_STRETCH), WEIGHT);
        }
        state.learn(self.work, took.as_secs_f64(), cpu.as_secs_f64());
    }
}

impl Drop for InProgress<'_> {
    fn drop(&mut self) {
        let mut state = self.cost.state.lock();
        if self.is_background {
            state.background -= 1;
        } else {
            state.queued -= 1;
            // Discards accumulated rounding errors.
            state.backlog = if state.queued == 0 { 0.0 } else { (state.backlog - self.run).max(0.0) };
        }
    }
}

impl State {
    fn learn(&mut self, work: Work, took: f64, cpu: f64) {
        let (class, size) = (work.class.index(), f64::from(work.size.max(1)));
        for (estimate, sample) in [(&mut self.run[class], took / size), (&mut self.cpu[class], cpu / size)] {
            let most = estimate.get().map_or(f64::INFINITY, |usual| OUTLIER * usual);
            // An estimate of zero could never rise.
            estimate.add(sample.min(most).max(f64::MIN_POSITIVE), WEIGHT);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    const STANDARD: Class = Class::new(1);
    const BOSS: Class = Class::new(7);

    const fn micros(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    const fn work(class: Class, size: u32) -> Work {
        Work { class, size }
    }

    /// Two workers with many past values of 100 us and a dispatch time of 20 us.
    fn known() -> GenerationCost {
        let cost = GenerationCost::new(2);
        (0..200).for_each(|_| cost.begin(work(STANDARD, 10), false).finish(micros(120), micros(100), micros(90)));
        cost
    }

    fn assert_forecast_near(forecast: Option<Forecast>, response: f64, cpu: f64) {
        let Forecast { response: predicted, cpu: used, .. } = forecast.expect("values of the class were generated");
        let near = |a: f64, b: f64| (a / b - 1.0).abs() < 0.01;
        assert!(near(predicted, response) && near(used, cpu), "{predicted} and {used}");
    }

    #[test]
    fn a_class_is_unknown_until_a_value_of_it_was_generated() {
        let cost = known();
        assert!(cost.is_known(STANDARD) && !cost.is_known(BOSS));
        assert_eq!(cost.forecast([work(STANDARD, 10), work(BOSS, 10)]), None);
        assert_eq!(cost.forecast([]), None);
    }

    #[test]
    fn an_idle_worker_takes_as_long_as_the_value_does() {
        let cost = known();
        assert_forecast_near(cost.forecast([work(STANDARD, 10)]), 120e-6, 90e-6);
        assert_forecast_near(cost.forecast([work(STANDARD, 40)]), 420e-6, 360e-6);
    }

    #[test]
    fn a_batch_is_distributed_over_the_workers() {
        assert_forecast_near(known().forecast([work(STANDARD, 10); 16]), 820e-6, 16.0 * 90e-6);
        assert_forecast_near(known().forecast([work(STANDARD, 100), work(STANDARD, 10)]), 1020e-6, 990e-6);
    }

    #[test]
    fn the_forecast_includes_queued_work_and_excludes_cancelled_work() {
        let cost = known();
        let queued: Vec<InProgress<'_>> = (0..9).map(|_| cost.begin(work(STANDARD, 10), false)).collect();
        let _ahead = cost.begin(work(STANDARD, 1000), true);
        assert_forecast_near(cost.forecast([work(STANDARD, 10)]), 520e-6, 90e-6);
        drop(queued);
        assert_forecast_near(cost.forecast([work(STANDARD, 10)]), 120e-6, 90e-6);
    }

    #[test]
    fn waits_longer_than_predicted_raise_the_forecast() {
        let cost = known();
        let _queued: Vec<InProgress<'_>> = (0..9).map(|_| cost.begin(work(STANDARD, 10), false)).collect();
        for _ in 0..200 {
            // The prediction is 500 us and 20 us of dispatch.
            cost.begin(work(STANDARD, 10), false).finish(micros(1520), micros(100), micros(90));
        }
        assert_forecast_near(cost.forecast([work(STANDARD, 10)]), 1520e-6, 90e-6);
    }
}
