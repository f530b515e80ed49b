//! Timed loops, and the statistics of their results. Every bench and command uses it.

use std::{
    fmt,
    future::Future,
    ops::Range,
    time::{Duration, Instant},
};

use floor_cache::{TierError, tier::Answer};
use tokio::runtime::Runtime;

/// The result of a tier's operation; awaits only an operation that is not ready.
#[inline]
pub async fn answered<T>(answer: Answer<'_, T>) -> Result<T, TierError> {
    match answer {
        Answer::Now(result) => result,
        Answer::Later(work) => work.await,
    }
}

/// Times `work` with its steps split over `tasks` concurrent tasks of `runtime`, from before the first starts until the
/// last is done. Each task has `steps / tasks` steps, rounded up. Returns the time, scaled to `steps`, and the counts.
pub fn timed<F>(
    runtime: &Runtime,
    tasks: u64,
    steps: u64,
    work: impl Fn(Range<u64>) -> F,
) -> (Duration, Vec<(Range<u64>, u64)>)
where
    F: Future<Output = u64> + Send + 'static,
{
    let share = steps.div_ceil(tasks);
    let shares: Vec<Range<u64>> = (0..tasks).map(|task| task * share..(task + 1) * share).collect();
    let works: Vec<F> = shares.iter().cloned().map(work).collect();
    runtime.block_on(async {
        let started = Instant::now();
        let tasks_running: Vec<_> = works.into_iter().map(|work| tokio::spawn(work)).collect();
        let mut counted = Vec::with_capacity(tasks_running.len());
        for (task, share) in tasks_running.into_iter().zip(shares) {
            counted.push((share, task.await.expect("the work ends well")));
        }
        (started.elapsed().mul_f64(steps as f64 / (share * tasks) as f64), counted)
    })
}

/// Splits `steps` into rounds of at most `most`. Returns the sum of the times that `round` returns.
pub fn in_rounds(steps: u64, most: u64, mut round: impl FnMut(u64) -> Duration) -> Duration {
    let (mut took, mut left) = (Duration::ZERO, steps);
    while left > 0 {
        let count = left.min(most);
        left -= count;
        took += round(count);
    }
    took
}

/// `all`, in reverse order in every other round: what runs second may find the machine warmer or busier.
pub fn alternate<T: Clone>(round: usize, all: &[T]) -> Vec<T> {
    let mut order = all.to_vec();
    if round % 2 == 1 {
        order.reverse();
    }
    order
}

/// The median, the least and the greatest of some samples. Printed as `2.0 (1.0 .. 4.0)`, and one sample as `2.0`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The middle sample; of an even number the mean of the two in the middle.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// The greatest.
    pub greatest: f64,
    has_one: bool,
}

impl Spread {
    /// That of `samples`.
    ///
    /// # Panics
    /// When there is none, or one is not a number.
    pub fn of(samples: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = samples.into_iter().collect();
        sorted.sort_by(|a, b| a.partial_cmp(b).expect("samples are numbers"));
        let (least, greatest) = (sorted[0], sorted[sorted.len() - 1]);
        let median = f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        Self { median, least, greatest, has_one: sorted.len() == 1 }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = f.precision().unwrap_or(0);
        let Self { median, least, greatest, has_one } = self;
        write!(f, "{median:.decimals$}")?;
        if *has_one { Ok(()) } else { write!(f, " ({least:.decimals$} .. {greatest:.decimals$})") }
    }
}

/// The median of `samples`.
///
/// # Panics
/// As [`Spread::of`].
pub fn median(samples: impl IntoIterator<Item = f64>) -> f64 {
    Spread::of(samples).median
}

/// Student's t for a two-sided interval of 95 %, by degrees of freedom from 1.
const T_95: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// The mean of `samples` and half of its 95 % interval, which is infinite for one sample.
pub fn mean_and_interval(samples: &[f64]) -> (f64, f64) {
    let count = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / count;
    let Some(freedom) = samples.len().checked_sub(2) else { return (mean, f64::INFINITY) };
    let variance = samples.iter().map(|sample| (sample - mean).powi(2)).sum::<f64>() / (count - 1.0);
    // Beyond the table its last entry, which makes the interval slightly too wide.
    (mean, T_95[freedom.min(T_95.len() - 1)] * (variance / count).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 to 5: variance 2.5, so 2.776 * sqrt(0.5).
    #[test]
    fn an_interval_is_student_s() {
        let (mean, half) = mean_and_interval(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert!((mean - 3.0).abs() < 1e-9 && (half - 1.963).abs() < 1e-3, "{mean} {half}");
        assert_eq!(mean_and_interval(&[7.0]), (7.0, f64::INFINITY));
        // Fifteen samples: 14 degrees of freedom.
        let (_, half) = mean_and_interval(&(1..=15).map(f64::from).collect::<Vec<_>>());
        assert!((half - 2.145 * (20.0_f64 / 15.0).sqrt()).abs() < 1e-3, "{half}");
    }

    #[test]
    fn a_median_of_an_even_number_lies_between_the_middle_two() {
        assert_eq!(median([5.0, 1.0, 3.0]), 3.0);
        assert_eq!(median([4.0, 1.0, 3.0, 8.0]), 3.5);
        assert_eq!(format!("{:.1}", Spread::of([4.0, 1.0])), "2.5 (1.0 .. 4.0)");
        assert_eq!(format!("{:.1}", Spread::of([7.5])), "7.5");
    }

    #[test]
    fn every_share_is_worked_once() {
        let runtime = crate::stores::runtime();
        let (_, shares) = timed(&runtime, 3, 10, |steps| async move { steps.count() as u64 });
        assert_eq!(shares, [(0..4, 4), (4..8, 4), (8..12, 4)]);
    }
}
